import type { Nanos } from '../time/nanos.js'

/**
 * The pacing clock of a flow: the next packet may leave when the last one's bytes have taken their time at the
 * current rate.
 */
export class Pacer {
  readonly #slackNs: Nanos
  /** Not a whole number of nanoseconds. */
  #fromNs = 0
  #bytes = 0

  /** @param slackNs lateness that is made up for, ns */
  constructor(slackNs: Nanos) {
    this.#slackNs = slackNs
  }

  nextSendNs(rateBps: number): Nanos {
    return Math.ceil(this.#exactNs(rateBps))
  }

  /** Not rounded to whole nanoseconds, so that rounding errors do not add up over packets. */
  #exactNs(rateBps: number): number {
    return this.#fromNs + (this.#bytes * 8e9) / rateBps
  }

  /** A packet of so many bytes on the wire leaves. */
  onSent(now: Nanos, rateBps: number, wireBytes: number): void {
    const due = this.#exactNs(rateBps)
    // A loop that woke late may make up for a little of it, so that its rate is kept. Less than a nanosecond is not
    // lateness but the rounding of nextSendNs.
    this.#fromNs = now - due < this.#slackNs + 1 ? due : now - this.#slackNs
    this.#bytes = wireBytes
  }
}
