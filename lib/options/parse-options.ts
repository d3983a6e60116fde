/** Options as they are typed: `eta=0.95`, `interval=1ms`, `plain=true`. */
import { WeirError } from '../errors.js'
import { checkOptionNames } from './check-options.js'
import { checkIdleOptions } from './idle.js'
import { isNumber, keyOf, type Value, type ValueOption } from './option.js'
import { isWithin, readValue } from './read-value.js'
import { rangeText } from './value.js'

/** How options are typed. */
interface Typing {
  /** A number without a unit is in base units: bytes, bit/s, ns. Default: only bytes may lack their unit. */
  bare?: boolean
  /** The name under which a value is returned. Default: `keyOf`. */
  nameOf?: (option: ValueOption) => string
}

/**
 * Values of the options that are named. Throws WEIR_BAD_ARGUMENT for an unknown option, for a value out of its range, and for one that has no
 * effect beside the others.
 *
 * @param topic first word of messages
 */
export function parseOptions(
  topic: string,
  options: readonly ValueOption[],
  texts: readonly string[],
  { bare = false, nameOf = keyOf }: Typing = {},
): Record<string, Value> {
  const values: Record<string, Value> = {}
  for (const text of texts) {
    const [name = '', value = ''] = text.split('=', 2)
    if (name === '' || value === '') {
      throw new WeirError('WEIR_BAD_ARGUMENT', `option "${text}" of ${topic}: NAME=VALUE is expected`)
    }
    checkOptionNames(topic, options, { [name]: value })
    const option = options.find(one => one.name === name)!
    values[nameOf(option)] = parseValue(`${topic}: ${name}`, option, value, bare)
  }
  checkIdleOptions(topic, options, values)
  return values
}

/** The value that is typed for one option. Throws WEIR_BAD_ARGUMENT. @param what how the message calls it: `hpcc: eta`, `--ack-every` */
export function parseValue(what: string, option: ValueOption, text: string, bare = false): Value {
  const refuse = (why: string) => new WeirError('WEIR_BAD_ARGUMENT', `${what}${why}`)
  const number = numberOf(option, text)
  try {
    if (!bare || !isNumber(option) || !Number.isFinite(number)) return readValue(option, inFile(option, text))
    if (isWithin(option, number)) return number
  } catch (error) {
    // The message of a parser lists the units that there are.
    if (error instanceof WeirError) throw refuse(`: ${error.message}`)
  }
  throw refuse(` is ${rangeText(option)}, not ${Number.isNaN(number) ? `"${text}"` : text}`)
}

/** What a file would say. */
function inFile(option: ValueOption, text: string): unknown {
  const { kind } = option
  if (kind === 'flag') return text === 'true' || (text === 'false' ? false : text)
  if (kind === 'choice') return option.choices.find(choice => String(choice) === text) ?? text
  return kind === 'number' || kind === 'count' ? numberOf(option, text) : text
}

/** Whole numbers are decimal digits alone: an empty text is not 0, and 0x10 and 1e3 are more often mistakes than meant. */
function numberOf({ kind }: ValueOption, text: string): number {
  const isNumber = kind === 'count' ? /^\d+$/.test(text) : text.trim() !== ''
  return isNumber ? Number(text) : Number.NaN
}
