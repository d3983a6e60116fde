/**
 * The target delay of the network (section 3.5):
 *
 *     target = base_target + hops x h + max(0, min(alpha / sqrt(fcwnd) + beta, fs_range))
 *     alpha  = fs_range / (1 / sqrt(fs_min_cwnd) - 1 / sqrt(fs_max_cwnd))         beta = -alpha / sqrt(fs_max_cwnd)
 *
 * Flows that share a link have small windows, and queues of many flows vary more: the target rises with 1 / sqrt(fcwnd), which also lets
 * flows with small windows grow where those with large ones give way.
 */
import type { Nanos } from '../../time/nanos.js'
import type { SwiftTarget } from './swift-options.js'

export class TargetDelay {
  /** Target delay of the receiving host. */
  readonly endNs: Nanos
  readonly #baseNs: Nanos
  readonly #hopNs: Nanos
  readonly #rangeNs: Nanos
  readonly #alpha: number
  readonly #beta: number

  constructor({ baseNs, hopNs, rangeNs, minPackets, maxPackets, endNs }: SwiftTarget) {
    this.endNs = endNs
    this.#baseNs = baseNs
    this.#hopNs = hopNs
    this.#rangeNs = rangeNs
    this.#alpha = rangeNs / (1 / Math.sqrt(minPackets) - 1 / Math.sqrt(maxPackets))
    this.#beta = -this.#alpha / Math.sqrt(maxPackets)
  }

  /** @param hops switches on the way, 0 = not known; @param fcwnd the window, in packets */
  ns(hops: number, fcwnd: number): Nanos {
    const scaled = this.#alpha / Math.sqrt(fcwnd) + this.#beta
    return this.#baseNs + hops * this.#hopNs + Math.max(0, Math.min(scaled, this.#rangeNs))
  }
}
