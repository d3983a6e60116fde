/** Values of options in words and as text: what may be given, and how a value is written. */
import {
  formatBytes,
  formatDuration,
  formatRate,
  parseBytes,
  parseDuration,
  parseRate,
} from '../units/units.js'
import { decimalText } from './decimal.js'
import { type AnyOption, isNumber, MOST, type NumberKind, type ValueKind } from './option.js'

/** How people call the values of a kind, and how programs, which give them in base units, do. */
const NOUNS: Readonly<Record<NumberKind['kind'], readonly [forPeople: string, forPrograms: string]>> = {
  number: ['a number', 'a number'],
  count: ['a whole number', 'a whole number'],
  share: ['a share', 'a share'],
  bytes: ['a size', 'a number of bytes'],
  time: ['a time', 'a number of ns'],
  rate: ['a rate', 'a number of bit/s'],
}

/** What an option takes, as messages to people say it: `a time from 0 to 1min`, `one of ack, notify`. */
export function rangeText(option: ValueKind): string {
  if (option.kind === 'flag') return 'true or false'
  if (option.kind === 'choice') return `one of ${option.choices.join(', ')}`
  const [noun] = NOUNS[option.kind]
  if (option.max < MOST) return `${noun} from ${bounds(option)}`
  if (isBoundedBelow(option)) return `${noun} from ${textOf(option, option.min)}`
  return option.min > 0 ? `${noun} above zero` : noun
}

/** A range without an end says where it begins, but for sizes, times and rates that only have to be there. */
function isBoundedBelow({ kind, min }: NumberKind): boolean {
  return kind === 'count' || min > 1
}

/** The same in base units, as messages to programs say it: `a number of ns from 0 to 60000000000`. */
export function baseRangeText(option: ValueKind): string {
  if (!isNumber(option)) return rangeText(option)
  return `${NOUNS[option.kind][1]} from ${option.min} to ${option.max}${exceptions(option)}`
}

/** The same for the reference of scenario files: `time, 0 to 1min`, "`ack` or `notify`". */
export function words(option: ValueKind): string {
  if (option.kind === 'flag') return listed([true, false])
  if (option.kind === 'choice') return listed(option.choices)
  const { kind, min, max } = option
  const noun = NOUNS[kind][0].replace(/^a /, '')
  if (kind === 'share' && min === 0 && max === 1) return `${noun}, 0 to 1 or 0% to 100%`
  if (max < MOST) return `${noun}, ${bounds(option)}`
  if (isBoundedBelow(option)) return `${noun}, from ${textOf(option, min)}`
  return min > 0 ? `${noun} above 0` : noun
}

/** The same for help: `0 to 1min`, `ack|notify`; empty where there is nothing to say. */
export function helpRange(option: ValueKind): string {
  if (option.kind === 'flag') return 'true|false'
  if (option.kind === 'choice') return option.choices.join('|')
  if (option.max < MOST) return bounds(option)
  return isBoundedBelow(option) && option.min > 0 ? `from ${textOf(option, option.min)}` : ''
}

/** `a`, `b` or `c`, as code. */
export function listed(choices: readonly (string | number | boolean)[]): string {
  const texts = choices.map(choice => `\`${choice}\``)
  return texts.length === 1 ? texts[0]! : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`
}

function bounds(option: NumberKind): string {
  return `${textOf(option, option.min)} to ${textOf(option, option.max)}${exceptions(option)}`
}

function exceptions(option: NumberKind): string {
  const texts = option.except?.map(value => textOf(option, value)) ?? []
  if (texts.length === 0) return ''
  return `, except ${[texts.slice(0, -1).join(', '), texts.at(-1)].filter(Boolean).join(' and ')}`
}

/** A value as files and command lines have it, exactly: `64KiB`, `1.5ms`. */
export function textOf({ kind }: Pick<AnyOption, 'kind'>, value: unknown): string {
  const written = writtenOf({ kind }, value)
  return typeof written === 'number' ? decimalText(written) : String(written)
}

/** The same, where a number without a unit stays a number: as a file of YAML has it. */
export function writtenOf({ kind }: Pick<AnyOption, 'kind'>, value: unknown): unknown {
  if (typeof value !== 'number') return value
  switch (kind) {
    case 'bytes':
      return exact(value, parseBytes, [formatBytes(value), ...inPowersOf1024(value), `${value}B`])
    case 'time':
      return value === 0 ? 0 : exact(value, parseDuration, [formatDuration(value), `${value}ns`])
    case 'rate':
      return value === 0 ? 0 : exact(value, parseRate, [formatRate(value), `${value}bps`])
    default:
      return value
  }
}

function inPowersOf1024(value: number): string[] {
  return [40, 30, 20, 10].flatMap((power, i) =>
    value > 0 && value % 2 ** power === 0 ? [`${value / 2 ** power}${['TiB', 'GiB', 'MiB', 'KiB'][i]}`] : [],
  )
}

/** The shortest text that is read as this very value. A value that no text stands for, such as half a byte, is a bare number. */
function exact(value: number, parse: (text: string) => number, texts: readonly string[]): string {
  if (!Number.isInteger(value)) return String(value)
  const right = texts.filter(text => parse(text) === value)
  return right.reduce((best, text) => (text.length < best.length ? text : best))
}
