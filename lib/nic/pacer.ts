import type { Nanos } from '../time/nanos.js'

/** The pacing clock of a flow: the next packet may leave when the last one's bytes have passed at the current rate. */
export class Pacer {
  readonly #slackNs: Nanos
  /** Not a whole number of nanoseconds. */
  #fromNs = 0
  #bytes = 0

  /** @param slackNs lateness that is made good */
  constructor(slackNs: Nanos) {
    this.#slackNs = slackNs
  }

  nextSendNs(rateBps: number): Nanos {
    return Math.ceil(this.#exactNs(rateBps))
  }

  /** With the part of a nanosecond, so that what rounding adds to one packet's wait does not add up. */
  #exactNs(rateBps: number): number {
    return this.#fromNs + (this.#bytes * 8e9) / rateBps
  }

  /** A packet of so many bytes on the wire leaves. */
  onSent(now: Nanos, rateBps: number, wireBytes: number): void {
    const due = this.#exactNs(rateBps)
    // A loop that woke late may make good a little of it, so that its rate is kept. Less than a nanosecond is no
    // lateness: it is the rounding of nextSendNs.
    this.#fromNs = now - due < this.#slackNs + 1 ? due : now - this.#slackNs
    this.#bytes = wireBytes
  }
}
