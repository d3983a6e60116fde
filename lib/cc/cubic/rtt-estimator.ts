/** A flow's round trips: smoothed, their variation, and the timeout that follows from them (RFC 6298, section 2). */
import type { Nanos } from '../../time/nanos.js'

export class RttEstimator {
  readonly #timeoutLeastNs: Nanos
  #srttNs: Nanos = 0
  #rttvarNs: Nanos = 0

  constructor(timeoutLeastNs: Nanos) {
    this.#timeoutLeastNs = timeoutLeastNs
  }

  /** 0: none has been measured. */
  get srttNs(): Nanos {
    return this.#srttNs
  }

  /** RTO. */
  get timeoutNs(): Nanos {
    return Math.max(this.#timeoutLeastNs, this.#srttNs + 4 * this.#rttvarNs)
  }

  onSample(rttNs: Nanos): void {
    if (rttNs <= 0) return
    if (this.#srttNs === 0) {
      this.#srttNs = rttNs
      this.#rttvarNs = rttNs / 2
      return
    }
    this.#rttvarNs += (Math.abs(this.#srttNs - rttNs) - this.#rttvarNs) / 4
    this.#srttNs += (rttNs - this.#srttNs) / 8
  }

  forget(): void {
    this.#srttNs = 0
    this.#rttvarNs = 0
  }
}
