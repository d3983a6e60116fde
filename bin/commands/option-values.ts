/** Parses values of options. All functions throw WEIR_BAD_ARGUMENT with the option's name. */
import { WeirError } from '../../lib/errors.js'

/** Accepts decimal digits only. An empty text is not 0, and 0x10 and 1e3 are mostly mistakes. */
export function whole(option: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new WeirError('WEIR_BAD_ARGUMENT', `${option} is a whole number from ${min} to ${max}, not "${text}"`)
}

/** Parses the text with `parse` of `lib/units`. */
export function quantity(option: string, text: string, parse: (text: string) => number): number {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    throw new WeirError(error.code, `${option}: ${error.message}`)
  }
}
