/** Values of options as they are typed. All throw WEIR_BAD_ARGUMENT, which names the option. */
import { WeirError } from '../../lib/errors.js'

/** Decimal digits alone: an empty text is not 0, and 0x10 and 1e3 are more often mistakes than meant. */
export function whole(option: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new WeirError('WEIR_BAD_ARGUMENT', `${option} is a whole number from ${min} to ${max}, not "${text}"`)
}

/** What `parse` of `lib/units` makes of the text. */
export function quantity(option: string, text: string, parse: (text: string) => number): number {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    throw new WeirError(error.code, `${option}: ${error.message}`)
  }
}
