import type { Nanos } from '../time/nanos.js'

/**
 * T of a flow that began with a guess: the first round trip replaces it, and then the smallest one counts. The
 * connection manager's round trip is no measure of it, since it includes the time that the peer's application takes to accept.
 */
export class GuessedBaseRtt {
  readonly #leastNs: Nanos
  #baseRttNs: Nanos = 0

  /** @param leastNs T is not less, whatever is measured */
  constructor(leastNs: Nanos) {
    this.#leastNs = leastNs
  }

  /** A round trip has been measured. Returns T if it has changed, else 0. */
  onRoundTrip(rttNs: Nanos): Nanos {
    const baseRttNs = Math.max(rttNs, this.#leastNs)
    if (rttNs <= 0 || (this.#baseRttNs > 0 && baseRttNs >= this.#baseRttNs)) return 0
    this.#baseRttNs = baseRttNs
    return baseRttNs
  }
}
