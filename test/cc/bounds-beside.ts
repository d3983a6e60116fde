import { ccBounds } from '../../lib/cc/catalogue.js'
import type { OptionValues } from '../../lib/cc/options.js'

/** The other option of a pair of bounds, at the same value. */
export function boundsBeside(controller: string, option: string, value: number): OptionValues {
  const pairs = ccBounds(controller).filter(({ inPackets }) => !inPackets)
  const others = pairs.flatMap(({ least, most }) =>
    option === least ? [most] : option === most ? [least] : [],
  )
  return Object.fromEntries(others.map(other => [other, value]))
}
