/**
 * What a path holds behind the hops that its telemetry tells: there were more hops than slots, or records that cannot be read. Of
 * those hops only the round trip tells something: what it is longer than T, without the queues that are told, packets have waited
 * elsewhere. A link with a queue is taken to send at its full rate, as after a switch's direct response: u = queue / T + 1.
 */
import type { Nanos } from '../time/nanos.js'
import type { HopRecords } from '../wire/hop-records.js'

/** So much of T may be noise: sizes of packets, a slower way back. */
const NOISE = 0.05

/** The hops of one flow's path that are not told. */
export class HiddenHops {
  /** The least round trips of the T before this one, and of this one: hosts make single ones longer. */
  #before: Nanos = Number.POSITIVE_INFINITY
  #least: Nanos = Number.POSITIVE_INFINITY
  #endNs: Nanos = 0

  /** A round trip was measured. @param tNs T */
  onRoundTrip(now: Nanos, rttNs: Nanos, tNs: Nanos): void {
    if (now >= this.#endNs) {
      this.#before = now - this.#endNs < tNs ? this.#least : Number.POSITIVE_INFINITY
      this.#least = Number.POSITIVE_INFINITY
      this.#endNs = now + tNs
    }
    if (rttNs < this.#least) this.#least = rttNs
  }

  /** The flow takes another path. */
  forget(): void {
    this.#before = Number.POSITIVE_INFINITY
    this.#least = Number.POSITIVE_INFINITY
  }

  /**
   * The least u' of the links that are not told. Where nothing waits it is eta: as a link may be full there, windows grow by W_ai
   * alone.
   */
  utilization(hops: HopRecords, tNs: Nanos, eta: number): number {
    const rttNs = Math.min(this.#before, this.#least)
    if (rttNs === Number.POSITIVE_INFINITY) return eta
    let waitingNs = rttNs - tNs
    for (let i = 0; i < hops.count; i++) {
      if (hops.rateBps[i]! > 0) waitingNs -= (hops.qlenBytes[i]! * 8e9) / hops.rateBps[i]!
    }
    return waitingNs > NOISE * tNs ? waitingNs / tNs + 1 : eta
  }
}
