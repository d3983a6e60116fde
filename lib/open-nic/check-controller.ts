import { createCongestionControl } from '../cc/catalogue.js'
import type { OptionValues } from '../cc/options.js'

/**
 * Throws WEIR_BAD_ARGUMENT for a controller or an option that does not exist or is out of range. Without this
 * check the error would only show when the first connection has measured its base RTT.
 */
export function checkController(
  cc: { name: string; options: OptionValues },
  lineRateBps: number,
  mtuBytes: number,
): void {
  createCongestionControl(cc.name, { lineRateBps, baseRttNs: 100_000, mtuBytes }, cc.options)
}
