/**
 * The schema of a single value of a scenario file. It converts a YAML value to a number, a name and so on. It
 * also describes the values that it accepts: in words for the reference page, and as JSON Schema for editors.
 */
import * as z from 'zod'
import { MOST, type Value, type ValueKind } from '../../options/option.js'
import { readValue } from '../../options/read-value.js'
import { words } from '../../options/value.js'
import { BYTES_PATTERN, DURATION_PATTERN, FRACTION_PATTERN, RATE_PATTERN } from '../../units/units.js'

/** Messages that continue the name of their key. Other messages are complete sentences. */
export const ABSENCE = /^(is missing|has no value)/

/** The description of a field. */
export interface FieldForm {
  /** The values that it accepts, for people: `rate, 1Kbps to 4Tbps`. */
  words: string
  /** The same as JSON Schema, which cannot express bounds of quantities with units. */
  json: Readonly<Record<string, unknown>>
}

/**
 * Returns a field for a function that converts a value. The function throws a WeirError or an Error with the
 * mistake.
 */
export function field<T>(words: string, json: FieldForm['json'], convert: (value: unknown) => T) {
  const form: FieldForm = { words, json }
  return z
    .unknown()
    .transform((value, context): T => {
      try {
        if (value === undefined) throw new Error('is missing')
        if (value === null) throw new Error('has no value')
        return convert(value)
      } catch (error) {
        context.addIssue({ code: 'custom', message: (error as Error).message })
        return z.NEVER
      }
    })
    .meta({ ...form })
}

/** Returns the field for the values of an option. */
export function valueField<T extends Value = Value>(option: ValueKind) {
  return field(words(option), json(option), given => readValue(option, given) as T)
}

/** JSON Schema of the values, which cannot express bounds of quantities with units. */
function json(option: ValueKind): Readonly<Record<string, unknown>> {
  if (option.kind === 'flag') return { type: 'boolean' }
  if (option.kind === 'choice') return { enum: option.choices }
  const { kind, min: minimum, max: maximum } = option
  switch (kind) {
    case 'count':
      return { type: 'integer', minimum, maximum }
    case 'number':
      return { type: 'number', minimum, maximum }
    case 'share':
      return { type: ['string', 'number'], pattern: FRACTION_PATTERN, minimum, maximum }
    case 'rate':
      return { type: 'string', pattern: RATE_PATTERN }
    case 'time':
      return timeJson(minimum)
    default:
      return bytesJson(minimum, maximum)
  }
}

/** A number needs a unit, unless it is 0. */
function timeJson(least: number) {
  if (least > 0) return { type: 'string', pattern: aboveZero(DURATION_PATTERN) }
  return { type: ['string', 'integer'], pattern: DURATION_PATTERN, minimum: 0, maximum: 0 }
}

function bytesJson(minimum: number, maximum: number) {
  const bounds = { minimum, ...(maximum < MOST && { maximum }) }
  const pattern = minimum > 0 ? aboveZero(BYTES_PATTERN) : BYTES_PATTERN
  return { type: ['string', 'integer'], pattern, ...bounds }
}

/** Returns the pattern for the same quantities without zero. */
export function aboveZero(pattern: string): string {
  return `^(?!\\s*[0.]+\\s*[A-Za-z\u00b5\u03bc]*\\s*$)${pattern.slice(1)}`
}
