/**
 * Values of single keys of a scenario file. Each takes what YAML gives and yields a plain number, name…, and says of
 * itself what it takes: in words for the reference page, and as JSON Schema for editors.
 */
import * as z from 'zod'
import { RATE_MAX_BPS, RATE_MIN_BPS } from '../../../switch-emu/core/queueing/serializer.js'
import { WeirError } from '../../errors.js'
import {
  BYTES_PATTERN,
  DURATION_PATTERN,
  FRACTION_PATTERN,
  formatBytes,
  formatDuration,
  formatRate,
  parseBytes,
  parseDuration,
  parseFraction,
  parseRate,
  RATE_PATTERN,
} from '../../units/units.js'
import { isName, NAME_PATTERN, NAME_RULE, NAMES_PATTERN } from '../model/names.js'

/** Messages that go on from the name of their key instead of standing by themselves. */
export const ABSENCE = /^(is missing|has no value)/

/** What a field says of itself. */
export interface FieldForm {
  /** What it takes, for people: `rate, 1Kbps to 4Tbps`. */
  words: string
  /** The same as JSON Schema. Bounds of quantities with units cannot be said there. */
  json: Readonly<Record<string, unknown>>
}

/** A field from a function that throws a WeirError, or a plain Error, saying what is wrong. */
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

/** YAML reads `5` as a number and `5us` as text; both are text to the parsers of units. */
function quantity(parse: (text: string) => number) {
  return (value: unknown): number => {
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new Error(`${show(value)} is no quantity`)
    }
    return parse(String(value))
  }
}

export const RATE_JSON = { type: 'string', pattern: RATE_PATTERN }
/** A number needs a unit, unless it is 0. */
export const DURATION_JSON = {
  type: ['string', 'integer'],
  pattern: DURATION_PATTERN,
  minimum: 0,
  maximum: 0,
}
const POSITIVE_DURATION_JSON = { type: 'string', pattern: aboveZero(DURATION_PATTERN) }
const FRACTION_JSON = { type: ['string', 'number'], pattern: FRACTION_PATTERN }

export function bytesJson(minimum: number, maximum?: number) {
  const bounds = { minimum, ...(maximum !== undefined && { maximum }) }
  const pattern = minimum > 0 ? aboveZero(BYTES_PATTERN) : BYTES_PATTERN
  return { type: ['string', 'integer'], pattern, ...bounds }
}

/** The same quantities but for those of zeros alone. */
function aboveZero(pattern: string): string {
  return `^(?!\\s*[0.]+\\s*[A-Za-z\u00b5\u03bc]*\\s*$)${pattern.slice(1)}`
}

const RATE_RANGE = `${formatRate(RATE_MIN_BPS)} to ${formatRate(RATE_MAX_BPS)}`
/** Rate of a link. */
export const rate = field(`rate, ${RATE_RANGE}`, RATE_JSON, value => {
  const bps = quantity(parseRate)(value)
  if (bps < RATE_MIN_BPS || bps > RATE_MAX_BPS) {
    throw new Error(`a rate from ${RATE_RANGE} is needed, not ${formatRate(bps)}`)
  }
  return bps
})
export const duration = field('time', DURATION_JSON, quantity(parseDuration))
export const positiveDuration = field('time above 0', POSITIVE_DURATION_JSON, value => {
  const ns = quantity(parseDuration)(value)
  if (ns === 0) throw new Error('a time above zero is needed here')
  return ns
})

export function durationUpTo(max: number) {
  return field(`time up to ${formatDuration(max)}`, DURATION_JSON, value => {
    const ns = quantity(parseDuration)(value)
    if (ns > max) throw new Error(`a time up to ${formatDuration(max)} is needed, not ${formatDuration(ns)}`)
    return ns
  })
}

export const bytes = field('size', bytesJson(0), quantity(parseBytes))
export const positiveBytes = field('size above 0', bytesJson(1), value => {
  const n = quantity(parseBytes)(value)
  if (n === 0) throw new Error('a size above zero is needed here')
  return n
})
export const fraction = field(
  'share, 0 to 1 or 0% to 100%',
  { ...FRACTION_JSON, minimum: 0, maximum: 1 },
  quantity(parseFraction),
)
export const positiveFraction = field(
  'share above 0, to 1 or 100%',
  { ...FRACTION_JSON, exclusiveMinimum: 0, maximum: 1 },
  value => {
    const share = quantity(parseFraction)(value)
    if (share === 0) throw new Error('a share above zero is needed here')
    return share
  },
)

/** A share of something, `0.01` or `1%`. */
export function share(min: number, max: number) {
  return field(`share, ${min} to ${max}`, { ...FRACTION_JSON, minimum: min, maximum: max }, value => {
    const n = quantity(parseFraction)(value)
    if (!(n >= min && n <= max))
      throw new Error(`a share from ${min} to ${max} is needed, not ${show(value)}`)
    return n
  })
}

export function bytesBetween(min: number, max: number) {
  const range = `${formatBytes(min)} to ${formatBytes(max)}`
  return field(`size, ${range}`, bytesJson(min, max), value => {
    const n = quantity(parseBytes)(value)
    if (n < min || n > max) throw new Error(`a size from ${range} is needed, not ${formatBytes(n)}`)
    return n
  })
}

export function whole(min: number, max: number) {
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `${min} to ${max}`
  return field(`whole number, ${range}`, { type: 'integer', minimum: min, maximum: max }, value => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
      throw new Error(`a whole number from ${min} to ${max} is needed, not ${show(value)}`)
    }
    return value
  })
}

export function between(min: number, max: number) {
  return field(`number, ${min} to ${max}`, { type: 'number', minimum: min, maximum: max }, value => {
    if (typeof value !== 'number' || !(value >= min && value <= max)) {
      throw new Error(`a number from ${min} to ${max} is needed, not ${show(value)}`)
    }
    return value
  })
}

export function oneOf<const T extends string | number>(choices: readonly T[]) {
  return field(listed(choices), { enum: choices }, value => {
    const found = choices.find(choice => choice === value)
    if (found === undefined) throw new Error(`${show(value)} is not among the choices: ${choices.join(', ')}`)
    return found
  })
}

/** `a`, `b` or `c`, as code. */
export function listed(choices: readonly (string | number | boolean)[]): string {
  const words = choices.map(choice => `\`${choice}\``)
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

export const yesNo = field(listed([true, false]), { type: 'boolean' }, value => {
  if (typeof value !== 'boolean') throw new Error(`true or false is needed, not ${show(value)}`)
  return value
})

export const text = field('text', { type: 'string', minLength: 1 }, textOf)

/** Text of a form of its own, which whoever resolves it checks. */
export function written(words: string, pattern: string) {
  return field(words, { type: 'string', pattern }, textOf)
}

function textOf(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new Error(`a text is needed, not ${show(value)}`)
  return value
}

const KEY_BYTES_MIN = 16
const KEY_BYTES_MAX = 1024
/** A secret that hosts share. A character takes up to four bytes. */
export const key = field(
  `text of ${KEY_BYTES_MIN} to ${KEY_BYTES_MAX} bytes`,
  { type: 'string', minLength: KEY_BYTES_MIN / 4, maxLength: KEY_BYTES_MAX },
  value => {
    const bytes = typeof value === 'string' ? Buffer.byteLength(value) : 0
    if (bytes < KEY_BYTES_MIN || bytes > KEY_BYTES_MAX) {
      throw new Error(`a key is a text of ${KEY_BYTES_MIN} to ${KEY_BYTES_MAX} bytes`)
    }
    return value as string
  },
)

export const name = field('name', { type: 'string', maxLength: 32, pattern: `^${NAME_PATTERN}$` }, value => {
  if (typeof value !== 'string' || !isName(value)) {
    throw new Error(`${show(value)} is no name; a name is ${NAME_RULE}`)
  }
  return value
})

/** One name, or several as a range; whoever resolves it checks it. */
export const names = written('name, or range of names (`h1..h4`)', `^${NAMES_PATTERN}$`)

/** An IPv4 address of 10.0.0.0/8 that a host can have. */
export const address = field(
  'IPv4 address within 10.0.0.0/8',
  { type: 'string', pattern: '^10\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}$' },
  value => {
    const parts = typeof value === 'string' ? /^10\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(value) : null
    const octets = parts?.slice(1).map(Number) ?? []
    const host = octets.reduce((sum, octet) => sum * 256 + octet, 0)
    if (parts === null || octets.some(octet => octet > 255) || host === 0 || host === 0xffffff) {
      throw new Error(`${show(value)} is no host address of 10.0.0.0/8 (10.0.0.1)`)
    }
    return `10.${octets.join('.')}`
  },
)

export const baseRtt = field(
  'time from 1ns to 10s, or `measured`',
  { type: 'string', pattern: `^measured$|${aboveZero(DURATION_PATTERN)}` },
  (value): number | 'measured' => {
    if (value === 'measured') return value
    try {
      const ns = quantity(parseDuration)(value)
      if (ns > 0 && ns <= 10e9) return ns
      throw new Error(`a round-trip time from 1ns to 10s is needed, not ${formatDuration(ns)}`)
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      throw new Error(`${error.message}; or 'measured'`)
    }
  },
)

/** A value of a scenario file as a message names it. */
export function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null) return 'nothing'
  if (typeof value === 'object') return 'a mapping'
  return typeof value === 'string' ? `'${value}'` : String(value)
}
