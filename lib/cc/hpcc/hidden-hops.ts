/**
 * What a path holds behind the hops that its telemetry names: there were more hops than slots, or records that cannot be read.
 * Only the round trip shows something of those hops: the time beyond T, less the queues that telemetry names, packets have waited
 * elsewhere. A link with a queue is taken to send at its full rate, as after a switch's direct response: u = queue / T + 1.
 */
import { DOUBLE_0 } from '../../double.js'
import type { Nanos } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'

/** So much of T may be noise: sizes of packets, a slower way back. */
const NOISE = 0.05
/** Weight of a round trip in the mean and in its deviation (RFC 6298, section 2.3: alpha and beta). */
const MEAN_SHARE = 1 / 8
const DEVIATION_SHARE = 1 / 4

/** The hops of one flow's path that telemetry does not name. */
export class HiddenHops {
  /** The least round trip of the last T, and that of the current T: hosts make single ones longer. */
  #before: Nanos = Number.POSITIVE_INFINITY
  #least: Nanos = Number.POSITIVE_INFINITY
  #endNs: Nanos = DOUBLE_0
  /** Mean of the round trips, 0 = none yet, and their mean deviation: busy hosts make all of them longer at times. */
  #meanNs: Nanos = DOUBLE_0
  #deviationNs: Nanos = DOUBLE_0

  /** A round trip was measured. @param tNs T */
  onRoundTrip(now: Nanos, rttNs: Nanos, tNs: Nanos): void {
    if (now >= this.#endNs) {
      const isNext = now - this.#endNs < tNs
      this.#before = isNext ? this.#least : Number.POSITIVE_INFINITY
      this.#least = Number.POSITIVE_INFINITY
      this.#endNs = now + tNs
    }
    if (rttNs < this.#least) this.#least = rttNs
    this.#deviate(rttNs)
  }

  #deviate(rttNs: Nanos): void {
    if (this.#meanNs === 0) this.#meanNs = rttNs
    const error = rttNs - this.#meanNs
    this.#deviationNs += DEVIATION_SHARE * (Math.abs(error) - this.#deviationNs)
    this.#meanNs += MEAN_SHARE * error
  }

  /** The flow takes another path. */
  forget(): void {
    this.#before = Number.POSITIVE_INFINITY
    this.#least = Number.POSITIVE_INFINITY
    this.#meanNs = 0
    this.#deviationNs = 0
  }

  /**
   * The least u' of the links that telemetry does not name. Where nothing waits it is eta: as a link may be full there, windows grow by W_ai
   * alone.
   */
  utilization(hops: HopRecords, tNs: Nanos, eta: number): number {
    const rttNs = Math.min(this.#before, this.#least)
    if (rttNs === Number.POSITIVE_INFINITY) return eta
    let waitingNs = rttNs - tNs
    for (let i = 0; i < hops.count; i++) {
      if (hops.rateBps[i]! > 0) waitingNs -= (hops.qlenBytes[i]! * 8e9) / hops.rateBps[i]!
    }
    return waitingNs > Math.max(NOISE * tNs, this.#deviationNs) ? waitingNs / tNs + 1 : eta
  }
}
