/** Resolves options in a mapping of a scenario file by any table of options. */
import { idleOptions } from '../../options/idle.js'
import { keyOf, type Option } from '../../options/option.js'
import type { DocumentPath, Problems } from '../model/problems.js'

/**
 * Returns the values that `checkShape` has accepted, by `keyOf`. Reports each option that has no effect
 * beside the others.
 */
export function resolveOptions<T>(
  problems: Problems,
  path: DocumentPath,
  options: readonly Option[],
  shape: Readonly<Record<string, unknown>>,
): Partial<T> {
  const given = options.flatMap(option => {
    const value = shape[option.name]
    return value === undefined ? [] : [[keyOf(option), value]]
  })
  const values: Readonly<Record<string, unknown>> = Object.fromEntries(given)
  for (const { name, message } of idleOptions(options, values)) problems.atKey([...path, name], message)
  return values as Partial<T>
}
