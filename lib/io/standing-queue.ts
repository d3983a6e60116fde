import { MILLISECOND, type Nanos } from '../time/nanos.js'

/** Samples of a window, and the least time that they take. */
const WINDOW_SAMPLES = 4
const WINDOW_NS: Nanos = 1 * MILLISECOND

/**
 * The part of a queue that stays: the least of the last 4 to 8 samples. A queue that a burst has made, or that grew while a process did not run,
 * goes by itself, and a smaller window would only have left the host idle; what stays is too much under way (RFC 8289, section 3.2: "good
 * queue" and "bad queue"). A queue that is about to overflow counts as it is.
 */
export class StandingQueue {
  readonly #dangerBytes: number
  #least = 0
  #leastBefore = 0
  #samples = 0
  #beganNs: Nanos = 0

  /** @param dangerBytes from which on a queue counts whole */
  constructor(dangerBytes: number) {
    this.#dangerBytes = dangerBytes
  }

  /** Bytes that stay, of a queue that has so many now. */
  sample(now: Nanos, bytes: number): number {
    // Samples count, not time alone: after a time without any, what was found first says nothing of what stays.
    if (this.#samples >= WINDOW_SAMPLES && now - this.#beganNs >= WINDOW_NS) {
      this.#leastBefore = this.#least
      this.#samples = 0
    }
    if (this.#samples++ === 0) {
      this.#least = bytes
      this.#beganNs = now
    } else {
      this.#least = Math.min(this.#least, bytes)
    }
    return bytes >= this.#dangerBytes ? bytes : Math.min(this.#least, this.#leastBefore)
  }
}
