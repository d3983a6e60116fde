import { MILLISECOND, type Nanos } from '../time/nanos.js'

/** The least time of a window, and the samples of one. */
const WINDOW_NS: Nanos = 1 * MILLISECOND
const SAMPLES_LEAST = 4
const SAMPLES_MOST = 32
/** What a round of the loop takes at most, of packets of 4 KiB. */
const ROUND_BYTES = 64 * 4096

/**
 * The part of a queue that stays: the least of the last one to two windows, each as many samples as it takes to empty a full queue. A queue that a burst has made, or that grew while a process did not run,
 * goes by itself, and a smaller window would only have left the host idle; what stays is too much under way (RFC 8289, section 3.2: "good
 * queue" and "bad queue"). A queue of more than peers may have under way counts as it is: it is about to overflow.
 */
export class StandingQueue {
  readonly #budgetBytes: number
  readonly #windowSamples: number
  #least = 0
  #leastBefore = 0
  #samples = 0
  #beganNs: Nanos = 0

  /** @param budgetBytes that peers may have under way (Port.receiveBudgetBytes) */
  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes
    const rounds = Math.ceil(budgetBytes / ROUND_BYTES)
    this.#windowSamples = Math.min(SAMPLES_MOST, Math.max(SAMPLES_LEAST, rounds))
  }

  /** Bytes that stay, of a queue that has so many now. */
  sample(now: Nanos, bytes: number): number {
    // Samples count, not time alone: after a time without any, what was found first says nothing of what stays.
    if (this.#samples >= this.#windowSamples && now - this.#beganNs >= WINDOW_NS) {
      this.#leastBefore = this.#least
      this.#samples = 0
    }
    if (this.#samples++ === 0) {
      this.#least = bytes
      this.#beganNs = now
    } else {
      this.#least = Math.min(this.#least, bytes)
    }
    return bytes >= this.#budgetBytes ? bytes : Math.min(this.#least, this.#leastBefore)
  }
}
