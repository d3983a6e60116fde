/**
 * Parses and formats quantities: `1Gbps`, `50us`, `4MB`, `20%`. Inside Weir every quantity is a plain number:
 * bit/s, integer nanoseconds, bytes, fractions of one.
 *
 * Case distinguishes units only where it matters (`b` bit, `B` byte). K, M, G, T are powers of 1000; Ki, Mi,
 * Gi, Ti of 1024. Parsing is exact: `8.32us` is 8320 ns, and a value that is no integer in the base unit is
 * an error and is not rounded.
 */
import { WeirError } from '../errors.js'

interface Unit {
  /** The base unit × 10^exponent, and × factor for units that are no power of ten. */
  exponent: number
  factor?: number
}

const RATE_UNITS: Readonly<Record<string, Unit>> = {
  bps: { exponent: 0 },
  Kbps: { exponent: 3 },
  Mbps: { exponent: 6 },
  Gbps: { exponent: 9 },
  Tbps: { exponent: 12 },
}

const TIME_UNITS: Readonly<Record<string, Unit>> = {
  ns: { exponent: 0 },
  us: { exponent: 3 },
  ms: { exponent: 6 },
  s: { exponent: 9 },
  min: { exponent: 9, factor: 60 },
  h: { exponent: 9, factor: 3600 },
}

const BYTE_UNITS: Readonly<Record<string, Unit>> = {
  B: { exponent: 0 },
  KB: { exponent: 3 },
  MB: { exponent: 6 },
  GB: { exponent: 9 },
  TB: { exponent: 12 },
  KiB: { exponent: 0, factor: 1024 },
  MiB: { exponent: 0, factor: 1024 ** 2 },
  GiB: { exponent: 0, factor: 1024 ** 3 },
  TiB: { exponent: 0, factor: 1024 ** 4 },
}

/** Other spellings of units, such as the two Unicode letters for micro. */
const ALIASES: Readonly<Record<string, string>> = {
  kbps: 'Kbps',
  mbps: 'Mbps',
  gbps: 'Gbps',
  tbps: 'Tbps',
  'bit/s': 'bps',
  'kbit/s': 'Kbps',
  'Kbit/s': 'Kbps',
  'Mbit/s': 'Mbps',
  'Gbit/s': 'Gbps',
  'Tbit/s': 'Tbps',
  '\u00b5s': 'us',
  '\u03bcs': 'us',
  kB: 'KB',
}

/** Returns the JSON Schema pattern of a number with one of these units, or of a `bare` number. */
function patternOf(units: Readonly<Record<string, Unit>>, ...bare: string[]): string {
  const aliases = Object.keys(ALIASES).filter(alias => ALIASES[alias]! in units)
  const names = [...Object.keys(units), ...aliases].join('|')
  const forms = [`(?:[0-9]+(?:\\.[0-9]+)?|\\.[0-9]+)\\s*(?:${names})`, ...bare]
  return `^\\s*(?:${forms.join('|')})\\s*$`
}

/**
 * JSON Schema patterns of what `parseRate` and the other functions read. They also match some texts that are
 * out of range or too fine.
 */
export const RATE_PATTERN = patternOf(RATE_UNITS)
export const DURATION_PATTERN = patternOf(TIME_UNITS, '0+(?:\\.0+)?|\\.0+')
export const BYTES_PATTERN = patternOf(BYTE_UNITS, '[0-9]+')
export const FRACTION_PATTERN = '^\\s*(?:[0-9]+(?:\\.[0-9]+)?|\\.[0-9]+)\\s*%?\\s*$'

const RATE_FORMS = 'a rate is written as 100Mbps, 2.5Gbps or 64Kbps (bps, Kbps, Mbps, Gbps, Tbps)'
const DURATION_FORMS = 'a time is written as 50us, 1.5ms or 10s (ns, us, ms, s, min, h)'
const BYTES_FORMS =
  'a size is written as 52B, 500KB or 4MB (B, KB, MB, GB, TB by 1000; KiB, MiB, GiB, TiB by 1024)'
const FRACTION_FORMS = 'a share is written as 20% or 0.2, from 0 to 1'

const QUANTITY = /^\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([^\s0-9.]\S*)?\s*$/

const DIGITS = 'numbers are decimal digits, without an exponent or 0x'
/** `1e3KB`, `0x10KB`: forms of other languages, of which the rest would be taken for a unit. */
const OTHER_FORM = /^\s*(?:[0-9.]+e[+-]?[0-9]|0x)/i

/** Bit/s of `2.5Gbps`. Throws WEIR_BAD_ARGUMENT when malformed, 0, or no whole number of bit/s. */
export function parseRate(text: string): number {
  const rateBps = parseQuantity(text, RATE_UNITS, 'bps', RATE_FORMS)
  if (rateBps === 0) throw bad(text, 'a rate is above zero', RATE_FORMS)
  return rateBps
}

/**
 * Returns the nanoseconds of a text such as `1.5us`. A bare `0` is allowed. Throws WEIR_BAD_ARGUMENT when it
 * is malformed or finer than 1 ns.
 */
export function parseDuration(text: string): number {
  return parseQuantity(text, TIME_UNITS, 'ns', DURATION_FORMS)
}

/**
 * Returns the bytes of a text such as `500KB`. A bare integer counts bytes. Throws WEIR_BAD_ARGUMENT when it
 * is malformed.
 */
export function parseBytes(text: string): number {
  return parseQuantity(/^\s*\d+\s*$/.test(text) ? `${text.trim()}B` : text, BYTE_UNITS, 'bytes', BYTES_FORMS)
}

/** Returns the fraction that `20%` or `0.2` stands for, 0 to 1. Throws WEIR_BAD_ARGUMENT otherwise. */
export function parseFraction(text: string): number {
  const match = /^\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(%?)\s*$/.exec(text)
  if (match === null) throw bad(text, OTHER_FORM.test(text) ? DIGITS : 'this is no share', FRACTION_FORMS)
  const value = Number(match[2] === '%' ? `${match[1]}e-2` : match[1])
  if (value > 1) throw bad(text, 'this is more than the whole', FRACTION_FORMS)
  return value
}

/** Formats a rate with at most four significant digits: `94.3Mbps`. */
export function formatRate(bps: number): string {
  return formatScaled(bps, ['bps', 'Kbps', 'Mbps', 'Gbps', 'Tbps'])
}

/** Formats bytes in decimal units with at most four significant digits: `1.2MB`. */
export function formatBytes(bytes: number): string {
  return formatScaled(bytes, ['B', 'KB', 'MB', 'GB', 'TB'])
}

/**
 * Formats a duration with at most four significant digits: `8.32us`, `3.5s`, and from a minute on `2min` or
 * `75.5s`.
 */
export function formatDuration(ns: number): string {
  if (Math.abs(ns) >= 60e9) {
    if (ns % 3600e9 === 0) return `${ns / 3600e9}h`
    if (ns % 60e9 === 0) return `${ns / 60e9}min`
  }
  return formatScaled(ns, ['ns', 'us', 'ms', 's'])
}

/** Formats a fraction with one decimal: `93.1%`. */
export function formatPercent(fraction: number): string {
  return Number.isFinite(fraction) ? `${(fraction * 100).toFixed(1)}%` : '-'
}

function parseQuantity(
  text: string,
  units: Readonly<Record<string, Unit>>,
  base: string,
  forms: string,
): number {
  if (OTHER_FORM.test(text)) throw bad(text, DIGITS + inDigits(text), forms)
  const match = QUANTITY.exec(text)
  if (match === null)
    throw bad(text, /^\s*-/.test(text) ? 'it is negative' : 'it is no number with a unit', forms)
  const [, digits = '', written] = match
  if (written === undefined) {
    if (Number(digits) === 0) return 0
    throw bad(text, 'its unit is missing', forms)
  }
  const name = ALIASES[written] ?? written
  if (!Object.hasOwn(units, name)) throw bad(text, `the unit '${written}' is not known`, forms)
  const unit = units[name]!
  // Parsing the decimal with its exponent at once is exact. A multiplication would round.
  const value = Number(`${digits}e${unit.exponent}`) * (unit.factor ?? 1)
  if (!Number.isInteger(value)) throw bad(text, `it is no whole number of ${base}`, forms)
  if (value > Number.MAX_SAFE_INTEGER) throw bad(text, `it is too large (2^53 ${base} is the limit)`, forms)
  return value
}

/** `, as in 1000000`; empty where the text is no number, or one of more digits than anybody types. */
function inDigits(text: string): string {
  const [, number, unit = ''] = /^\s*([0-9.]+e[+-]?[0-9]+|0x[0-9a-f]+)\s*(\S*)\s*$/i.exec(text) ?? []
  const digits = String(Number(number))
  return /^[0-9.]+$/.test(digits) ? `, as in ${digits}${unit}` : ''
}

function formatScaled(value: number, units: readonly string[]): string {
  if (!Number.isFinite(value)) return '-'
  const sign = value < 0 ? '-' : ''
  let scaled = Math.abs(value)
  let unit = 0
  // The rounded figure decides, so that 999,960 becomes 1MB and not 1000KB.
  while (unit < units.length - 1 && rounded(scaled) >= 1000) {
    scaled /= 1000
    unit++
  }
  return `${sign}${rounded(scaled)}${units[unit]}`
}

/** Rounds to four significant digits, but never within the integer part. */
function rounded(value: number): number {
  return value >= 1000 ? Math.round(value) : Number(value.toPrecision(4))
}

function bad(text: string, why: string, forms: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `'${text}' is not understood: ${why}; ${forms}`)
}
