import * as z from 'zod'
import { offer } from '../../offer.js'
import { show } from '../../options/read-value.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import { isPart } from './keys.js'
import { ABSENCE } from './value-field.js'

/**
 * Checks one mapping and reports everything that is wrong with it. Returns the correct values, so that the
 * caller can check those further, or null if the value is no mapping. Nested parts are returned unchecked.
 *
 * @param what name of the mapping in messages, with its article: "a link"
 */
export function checkShape<S extends z.ZodObject>(
  problems: Problems,
  path: DocumentPath,
  schema: S,
  value: unknown,
  what: string,
): Partial<z.output<S>> | null {
  const keys = Object.keys(schema.shape)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.at(path, `${what} is a mapping with the keys ${keys.join(', ')}, not ${show(value)}`)
    return null
  }
  const good: Record<string, unknown> = {}
  for (const key of keys) {
    const field = schema.shape[key]! as z.ZodType
    const given = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
    if (isPart(field)) {
      if (given !== undefined) good[key] = given
      continue
    }
    const result = z.safeParse(field, given)
    if (result.success) {
      if (result.data !== undefined) good[key] = result.data
      continue
    }
    for (const issue of result.error.issues) {
      const at = [...path, key, ...(issue.path as (string | number)[])]
      problems.at(at, ABSENCE.test(issue.message) ? `${key} ${issue.message}` : `${key}: ${issue.message}`)
    }
  }
  for (const key of Object.keys(value)) {
    if (keys.includes(key)) continue
    problems.atKey([...path, key], `unknown key '${key}' in ${what}; its keys are ${offer(key, keys)}`)
  }
  return good as Partial<z.output<S>>
}
