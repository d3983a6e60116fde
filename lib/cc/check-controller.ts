import { checkBounds } from './bounds.js'
import { type ChosenController, ccBounds, ccOptions, createCongestionControl } from './catalogue.js'

/** A base RTT for controllers that are made to see whether they can be. */
const ANY_RTT_NS = 100_000

/**
 * Throws WEIR_BAD_ARGUMENT for a controller or an option that does not exist, is out of range or contradicts another one. Without this
 * check the error would only show when the first connection has measured its base RTT.
 *
 * @param mtuBytes payload of a full packet, as far as it is known before a connection is
 */
export function checkController(
  { name, options }: ChosenController,
  lineRateBps: number,
  mtuBytes: number,
): void {
  createCongestionControl(name, { lineRateBps, baseRttNs: ANY_RTT_NS, mtuBytes }, options)
  checkBounds(name, ccBounds(name), ccOptions(name), options, mtuBytes)
}
