/** Values that programs give, in base units: one by one, and as settings with every default. */
import { WeirError } from '../errors.js'
import { offer } from '../offer.js'
import { printable } from '../printable.js'
import { readDecimal } from './decimal.js'
import { isIdle, type Values } from './idle.js'
import { isNumber, keyOf, type ValueOption } from './option.js'
import { isWithin } from './read-value.js'
import { baseRangeText, textOf } from './value.js'

/**
 * Throws WEIR_BAD_ARGUMENT for a value that is not of the option's kind, or out of its range.
 *
 * @param topic first word of the message; @param as what the message calls the option. Default: its name
 */
export function checkValue(topic: string, option: ValueOption, value: unknown, as?: string): void {
  if (isValue(option, value)) return
  throw wrong(topic, as === undefined ? option : { ...option, name: as }, value)
}

/** The number, which may come as text. Throws as `checkValue`. */
export function checkNumber(topic: string, option: ValueOption, value: unknown): number {
  const number =
    typeof value === 'string' ? readDecimal(value) : typeof value === 'number' ? value : Number.NaN
  if (isNumber(option) && isWithin(option, number)) return number
  throw wrong(topic, option, value)
}

/** True or false; 0 and 1 are accepted: that is how options travel between hosts. Throws as `checkValue`. */
export function checkFlag(topic: string, option: ValueOption, value: unknown): boolean {
  if (value === true || value === 1) return true
  if (value === false || value === 0) return false
  throw wrong(topic, option, value)
}

/**
 * Throws WEIR_BAD_ARGUMENT for a value whose name is not in the table, and for one that is not of its option's kind, or out of its range.
 * Numbers may come as text, flags as 0 and 1. @param topic first word of the message
 */
export function checkOptions(topic: string, options: readonly ValueOption[], values: Values): void {
  checkOptionNames(topic, options, values)
  for (const option of options) {
    const value = values[option.name]
    if (value === undefined) continue
    if (option.kind === 'flag') checkFlag(topic, option, value)
    else if (isNumber(option)) checkNumber(topic, option, value)
    else checkValue(topic, option, value)
  }
}

/** Throws WEIR_BAD_ARGUMENT for a value whose name is not in the table. @param topic first word of the message */
export function checkOptionNames(topic: string, options: readonly ValueOption[], values: Values): void {
  checkNames(
    topic,
    options.map(({ name }) => name),
    values,
  )
}

function checkNames(topic: string, known: readonly string[], values: object): void {
  const unknown = Object.keys(values).find(name => !known.includes(name))
  if (unknown === undefined) return
  const text = `${topic} has no option ${printable(unknown)}; it has ${offer(unknown, known)}`
  throw new WeirError('WEIR_BAD_ARGUMENT', text)
}

/** Defaults of a table by `keyOf`. The table has one for each option. */
export function defaultsOf<T>(options: readonly ValueOption[]): Readonly<T> {
  return Object.freeze(Object.fromEntries(options.map(option => [keyOf(option), option.default]))) as T
}

/** Fills in the defaults. Throws WEIR_BAD_ARGUMENT for an unknown name, and for a value that is out of its range. @param topic first word of the message */
export function settingsOf<T extends object>(
  topic: string,
  options: readonly ValueOption[],
  given: Partial<T>,
): T {
  checkNames(topic, options.map(keyOf), given)
  const settings: Record<string, unknown> = { ...defaultsOf<T>(options), ...given }
  for (const option of options) checkValue(topic, option, settings[keyOf(option)])
  return settings as T
}

/** Settings as texts that `parseOptions` reads, without those that have no effect. */
export function settingTexts(options: readonly ValueOption[], settings: object): string[] {
  const values = settings as Values
  const effective = options.filter(option => !isIdle(option, options, values))
  return effective.map(option => `${option.name}=${textOf(option, values[keyOf(option)])}`)
}

function isValue(option: ValueOption, value: unknown): boolean {
  if (isNumber(option)) return typeof value === 'number' && isWithin(option, value)
  if (option.kind === 'flag') return typeof value === 'boolean'
  return option.choices.includes(value as string)
}

function wrong(topic: string, option: ValueOption, value: unknown): WeirError {
  return new WeirError(
    'WEIR_BAD_ARGUMENT',
    `${topic}: ${option.name} is ${baseRangeText(option)}, not ${String(value)}`,
  )
}
