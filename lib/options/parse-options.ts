/** Options as they are typed: `eta=0.95`, `interval=1ms`, `plain=true`. */
import { WeirError } from '../errors.js'
import { checkOptionNames } from './check-options.js'
import { decimalHint, readDecimal } from './decimal.js'
import { checkIdleOptions } from './idle.js'
import { isNumber, keyOf, type Value, type ValueOption } from './option.js'
import { isWithin, readValue } from './read-value.js'
import { rangeText } from './value.js'

/**
 * Values of the options that are named. Throws WEIR_BAD_ARGUMENT for an unknown option, for a value out of its range, for one that is given
 * twice, and for one that has no effect beside the others.
 *
 * @param topic first word of messages; @param nameOf the name under which a value is returned
 */
export function parseOptions(
  topic: string,
  options: readonly ValueOption[],
  texts: readonly string[],
  nameOf: (option: ValueOption) => string = keyOf,
): Record<string, Value> {
  const values: Record<string, Value> = {}
  for (const text of texts) {
    const [name = '', ...rest] = text.split('=')
    const value = rest.join('=')
    if (name === '' || value === '') {
      throw new WeirError('WEIR_BAD_ARGUMENT', `option "${text}" of ${topic}: NAME=VALUE is expected`)
    }
    checkOptionNames(topic, options, { [name]: value })
    const option = options.find(one => one.name === name)!
    if (values[nameOf(option)] !== undefined)
      throw new WeirError('WEIR_BAD_ARGUMENT', `${topic}: ${name} is given twice: leave one of them out`)
    values[nameOf(option)] = parseValue(`${topic}: ${name}`, option, value)
  }
  checkIdleOptions(topic, options, values)
  return values
}

/** The value that is typed for one option. Throws WEIR_BAD_ARGUMENT. @param what how the message calls it: `hpcc: eta`, `--ack-every` */
export function parseValue(what: string, option: ValueOption, text: string): Value {
  const given = inFile(option, text)
  try {
    return readValue(option, given)
  } catch (error) {
    // The message of a parser lists the units that there are.
    const why = error instanceof WeirError ? `: ${error.message}` : whyRefused(option, text, given)
    throw new WeirError('WEIR_BAD_ARGUMENT', `${what}${why}`)
  }
}

/** The same for an option that is a number. */
export function parseNumber(what: string, option: ValueOption, text: string): number {
  return parseValue(what, option, text) as number
}

function whyRefused(option: ValueOption, text: string, given: unknown): string {
  const isRead = typeof given === 'number' && !Number.isNaN(given)
  const hint = isNumber(option) ? decimalHint(text, value => isWithin(option, value)) : ''
  return ` is ${rangeText(option)}, not ${isRead ? text : `"${text}"`}${hint}`
}

/** What a file would say. */
function inFile(option: ValueOption, text: string): unknown {
  const { kind } = option
  if (kind === 'flag') return text === 'true' || (text === 'false' ? false : text)
  if (kind === 'choice') return option.choices.find(choice => String(choice) === text) ?? text
  return kind === 'number' || kind === 'count' ? readDecimal(text, kind === 'count') : text
}
