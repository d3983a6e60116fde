/**
 * Schemas of single values of a scenario file: those that options have, and texts with a form of their own.
 */
import { RATE_MAX_BPS, RATE_MIN_BPS } from '../../../switch-emu/core/queueing/serializer.js'
import { BASE_RTT } from '../../cc/context-options.js'
import { MOST } from '../../options/option.js'
import { readValue, show } from '../../options/read-value.js'
import { words } from '../../options/value.js'
import { DURATION_PATTERN, FRACTION_PATTERN } from '../../units/units.js'
import { isName, NAME_PATTERN, NAME_RULE, NAMES_PATTERN } from '../model/names.js'
import { aboveZero, field, valueField } from './value-field.js'

/** Rate of a link. */
export const rate = valueField<number>({ kind: 'rate', min: RATE_MIN_BPS, max: RATE_MAX_BPS })
const TIME = { kind: 'time', min: 0, max: MOST } as const
export const duration = valueField<number>(TIME)
export const positiveDuration = valueField<number>({ ...TIME, min: 1 })
export const positiveBytes = bytesBetween(1, MOST)
export const positiveFraction = field(
  'share above 0, to 1 or 100%',
  { type: ['string', 'number'], pattern: FRACTION_PATTERN, exclusiveMinimum: 0, maximum: 1 },
  value => {
    const share = readValue({ kind: 'share', min: 0, max: 1 }, value) as number
    if (share === 0) throw new Error('a share above zero is needed here')
    return share
  },
)
export const yesNo = valueField<boolean>({ kind: 'flag' })

export function bytesBetween(min: number, max: number) {
  return valueField<number>({ kind: 'bytes', min, max })
}

export function whole(min: number, max: number) {
  return valueField<number>({ kind: 'count', min, max })
}

export const text = field('text', { type: 'string', minLength: 1 }, textOf)

/** A text with a form of its own. The code that resolves it checks it further. */
export function written(words: string, pattern: string) {
  return field(words, { type: 'string', pattern }, textOf)
}

function textOf(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new Error(`a text is needed, not ${show(value)}`)
  return value
}

const KEY_BYTES_MIN = 16
const KEY_BYTES_MAX = 1024
/** A secret that hosts share. A character has up to four bytes. */
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

const BGP_PASSWORD_PATTERN = '^[ !#-~]{1,80}$'
/** What Linux signs TCP with, and what a configuration of BIRD has between two quotes. */
export const bgpPassword = field(
  '1 to 80 ASCII characters without `"`',
  { type: 'string', pattern: BGP_PASSWORD_PATTERN },
  value => {
    if (typeof value !== 'string' || !new RegExp(BGP_PASSWORD_PATTERN).test(value))
      throw new Error('a BGP password has 1 to 80 ASCII characters, and no quotation mark')
    return value
  },
)

export const name = field('name', { type: 'string', maxLength: 32, pattern: `^${NAME_PATTERN}$` }, value => {
  if (typeof value !== 'string' || !isName(value)) {
    throw new Error(`${show(value)} is no name; a name is ${NAME_RULE}`)
  }
  return value
})

/** One name, or a range of names. The code that resolves it checks it further. */
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
  `${words(BASE_RTT)}, or \`measured\``,
  { type: 'string', pattern: `^measured$|${aboveZero(DURATION_PATTERN)}` },
  (value): number | 'measured' => {
    if (value === 'measured') return value
    try {
      return readValue(BASE_RTT, value) as number
    } catch (error) {
      throw new Error(`${(error as Error).message}; or 'measured'`)
    }
  },
)
