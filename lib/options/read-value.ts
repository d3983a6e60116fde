/** Values of options in scenario files: YAML has numbers, texts with units, true and false. */
import { parseBytes, parseDuration, parseFraction, parseRate } from '../units/units.js'
import type { NumberKind, Value, ValueKind } from './option.js'
import { rangeText, textOf } from './value.js'

const PARSERS = { bytes: parseBytes, time: parseDuration, rate: parseRate, share: parseFraction } as const

/** The value in base units. Throws an Error, or a WeirError of the parser of its unit, which says what is wrong. */
export function readValue(option: ValueKind, given: unknown): Value {
  if (option.kind === 'flag') {
    if (typeof given === 'boolean') return given
    throw new Error(`true or false is needed, not ${show(given)}`)
  }
  if (option.kind === 'choice') {
    const found = option.choices.find(choice => choice === given)
    if (found !== undefined) return found
    throw new Error(`${show(given)} is not among the choices: ${option.choices.join(', ')}`)
  }
  const number = numberOf(option, given)
  if (isWithin(option, number)) return number
  const meant = Number.isNaN(number) ? show(given) : textOf(option, number)
  throw new Error(`${rangeText(option)} is needed, not ${meant}`)
}

/** True for a number of the kind within its bounds. */
export function isWithin({ kind, min, max, except }: NumberKind, value: number): boolean {
  const isWhole = (kind !== 'count' && kind !== 'time') || Number.isInteger(value)
  return isWhole && value >= min && value <= max && except?.includes(value) !== true
}

/** NaN stands for what is no number at all. */
function numberOf({ kind }: NumberKind, given: unknown): number {
  if (kind === 'number' || kind === 'count') return typeof given === 'number' ? given : Number.NaN
  // YAML reads 5 as a number and 5us as text; both are text to the parsers of units.
  if (typeof given !== 'string' && typeof given !== 'number') throw new Error(`${show(given)} is no quantity`)
  return PARSERS[kind](String(given))
}

/** A value of a scenario file as a message names it. */
export function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null) return 'nothing'
  if (typeof value === 'object') return 'a mapping'
  return typeof value === 'string' ? `'${value}'` : String(value)
}
