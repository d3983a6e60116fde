/** Values of single keys of a scenario file: each takes what YAML gives and yields a plain number, name… */
import { z } from 'zod'
import { RATE_MAX_BPS, RATE_MIN_BPS } from '../../switch-emu/core/serializer.js'
import { WeirError } from '../errors.js'
import {
  formatBytes,
  formatDuration,
  formatRate,
  parseBytes,
  parseDuration,
  parseFraction,
  parseRate,
} from '../units/units.js'
import { isName, NAME_RULE } from './names.js'

/** Messages that go on from the name of their key instead of standing by themselves. */
export const ABSENCE = /^(is missing|has no value)/

/** A field from a function that throws a WeirError, or a plain Error, saying what is wrong. */
function field<T>(convert: (value: unknown) => T) {
  return z.unknown().transform((value, context): T => {
    try {
      if (value === undefined) throw new Error('is missing')
      if (value === null) throw new Error('has no value')
      return convert(value)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
      return z.NEVER
    }
  })
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

/** Of a link. */
export const rate = field(value => {
  const bps = quantity(parseRate)(value)
  if (bps < RATE_MIN_BPS || bps > RATE_MAX_BPS) {
    const range = `${formatRate(RATE_MIN_BPS)} to ${formatRate(RATE_MAX_BPS)}`
    throw new Error(`a rate from ${range} is needed, not ${formatRate(bps)}`)
  }
  return bps
})
export const duration = field(quantity(parseDuration))
export const positiveDuration = field(value => {
  const ns = quantity(parseDuration)(value)
  if (ns === 0) throw new Error('a time above zero is needed here')
  return ns
})

export function durationUpTo(max: number) {
  return field(value => {
    const ns = quantity(parseDuration)(value)
    if (ns > max) throw new Error(`a time up to ${formatDuration(max)} is needed, not ${formatDuration(ns)}`)
    return ns
  })
}

export const bytes = field(quantity(parseBytes))
export const positiveBytes = field(value => {
  const n = quantity(parseBytes)(value)
  if (n === 0) throw new Error('a size above zero is needed here')
  return n
})
export const fraction = field(quantity(parseFraction))
export const positiveFraction = field(value => {
  const share = quantity(parseFraction)(value)
  if (share === 0) throw new Error('a share above zero is needed here')
  return share
})

/** A share of something, `0.01` or `1%`. */
export function share(min: number, max: number) {
  return field(value => {
    const n = quantity(parseFraction)(value)
    if (!(n >= min && n <= max))
      throw new Error(`a share from ${min} to ${max} is needed, not ${show(value)}`)
    return n
  })
}

export function bytesUpTo(max: number) {
  return field(value => {
    const n = quantity(parseBytes)(value)
    if (n === 0 || n > max)
      throw new Error(`a size from 1B to ${formatBytes(max)} is needed, not ${formatBytes(n)}`)
    return n
  })
}

export function whole(min: number, max: number) {
  return field(value => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
      throw new Error(`a whole number from ${min} to ${max} is needed, not ${show(value)}`)
    }
    return value
  })
}

export function between(min: number, max: number) {
  return field(value => {
    if (typeof value !== 'number' || !(value >= min && value <= max)) {
      throw new Error(`a number from ${min} to ${max} is needed, not ${show(value)}`)
    }
    return value
  })
}

export function oneOf<const T extends string | number>(choices: readonly T[]) {
  return field(value => {
    const found = choices.find(choice => choice === value)
    if (found === undefined) throw new Error(`${show(value)} is not among the choices: ${choices.join(', ')}`)
    return found
  })
}

export const yesNo = field(value => {
  if (typeof value !== 'boolean') throw new Error(`true or false is needed, not ${show(value)}`)
  return value
})

export const text = field(value => {
  if (typeof value !== 'string' || value === '') throw new Error(`a text is needed, not ${show(value)}`)
  return value
})

/** A secret that hosts share. */
export const key = field(value => {
  const bytes = typeof value === 'string' ? Buffer.byteLength(value) : 0
  if (bytes < 16 || bytes > 1024) throw new Error('a key is a text of 16 to 1024 bytes')
  return value as string
})

export const name = field(value => {
  if (typeof value !== 'string' || !isName(value)) {
    throw new Error(`${show(value)} is no name; a name is ${NAME_RULE}`)
  }
  return value
})

/** An IPv4 address of 10.0.0.0/8 that a host can have. */
export const address = field(value => {
  const parts = typeof value === 'string' ? /^10\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(value) : null
  const octets = parts?.slice(1).map(Number) ?? []
  const host = octets.reduce((sum, octet) => sum * 256 + octet, 0)
  if (parts === null || octets.some(octet => octet > 255) || host === 0 || host === 0xffffff) {
    throw new Error(`${show(value)} is no host address of 10.0.0.0/8 (10.0.0.1)`)
  }
  return `10.${octets.join('.')}`
})

export const baseRtt = field((value): number | 'measured' => {
  if (value === 'measured') return value
  try {
    const ns = quantity(parseDuration)(value)
    if (ns > 0 && ns <= 10e9) return ns
    throw new Error(`a round-trip time from 1ns to 10s is needed, not ${formatDuration(ns)}`)
  } catch (error) {
    if (!(error instanceof WeirError)) throw error
    throw new Error(`${error.message}; or 'measured'`)
  }
})

/** A value of a scenario file as a message names it. */
export function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value === null) return 'nothing'
  if (typeof value === 'object') return 'a mapping'
  return typeof value === 'string' ? `'${value}'` : String(value)
}
