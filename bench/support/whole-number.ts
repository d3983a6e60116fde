import { WeirError } from '../../lib/errors.js'

/**
 * Parses an integer option of a benchmark, from `least` to `most`. Throws WEIR_BAD_ARGUMENT with the option's
 * name.
 */
export function wholeNumber(option: string, text: string, least = 1, most = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= least && value <= most) return value
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`
  throw new WeirError('WEIR_BAD_ARGUMENT', `${option} is a whole number ${range}, not "${text}"`)
}
