/** Options of a controller that bound the same value from below and from above: a least that is more than the most makes no sense. */
import { WeirError } from '../errors.js'
import { textOf } from '../options/value.js'
import type { OptionSpec, OptionValues } from './options.js'

/** Two options, by name. */
export interface OptionBounds {
  least: string
  most: string
  /** The least is a number of packets, the most one of bytes. */
  inPackets?: true
  /** The default of the least gives way to the most. */
  ifGiven?: true
}

/** A window in packets, from below, and its begin: both within `maxWindow`. */
export const WINDOW_BOUNDS: readonly OptionBounds[] = [
  { least: 'minWindow', most: 'maxWindow', inPackets: true },
  { least: 'initialWindow', most: 'maxWindow', inPackets: true, ifGiven: true },
]

/**
 * Options that are given and contradict another one, with the reason and the way to mend it.
 * @param mtuBytes payload of a full packet; 0 = not known, and nothing is said of packets
 */
export function crossedBounds(
  pairs: readonly OptionBounds[],
  specs: readonly OptionSpec[],
  options: OptionValues,
  mtuBytes: number,
): { name: string; message: string }[] {
  const specOf = (name: string) => specs.find(spec => spec.name === name)!
  const valueIn = (name: string) => Number(options[name] ?? specOf(name).default ?? Number.NaN)
  return pairs.flatMap(({ least, most, inPackets, ifGiven }) => {
    if (options[least] === undefined && (ifGiven || options[most] === undefined)) return []
    const [low, high] = [valueIn(least), valueIn(most)]
    if (!(low * (inPackets ? mtuBytes : 1) > high)) return []
    const unit = inPackets ? ` packets of ${mtuBytes} bytes` : ''
    const message = `${least} is ${textOf(specOf(least), low)}${unit}, more than ${most}, ${textOf(specOf(most), high)}: lower ${least}, or raise ${most}`
    return [{ name: options[most] === undefined ? least : most, message }]
  })
}

/** Throws WEIR_BAD_ARGUMENT for options that contradict each other, as `crossedBounds`. @param topic first word of the message */
export function checkBounds(topic: string, ...about: Parameters<typeof crossedBounds>): void {
  const [first] = crossedBounds(...about)
  if (first !== undefined) throw new WeirError('WEIR_BAD_ARGUMENT', `${topic}: ${first.message}`)
}
