import { MILLISECOND, type Nanos } from '../../time/nanos.js'

/** A window has at least this length, and at least a number of samples. */
const WINDOW_NS: Nanos = 1 * MILLISECOND
const SAMPLES_LEAST = 4
const SAMPLES_MOST = 32
/** Bytes that one round of the loop takes at least if more wait, in packets of 4 KiB that come alone. Of runs it takes more. */
const ROUND_BYTES = 64 * 4096

/**
 * The standing part of a queue: its minimum over the last one to two windows. A window has as many samples as
 * rounds that empty a full queue. A queue from a burst, or from a moment in which the process did not run,
 * disappears by itself, and a smaller window of the sender would only have left the host idle. A queue that
 * remains means that too much is in flight (RFC 8289, section 3.2: "good queue" and "bad queue"). A queue
 * that has reached what all peers together may have in flight counts in full, because it is about to overflow.
 */
export class StandingQueue {
  readonly #budgetBytes: number
  readonly #windowSamples: number
  #least = 0
  #leastBefore = 0
  #samples = 0
  #beganNs: Nanos = 0

  /** @param budgetBytes that can wait before the kernel drops (Port.receiveBudgetBytes); all peers together may have so much in flight */
  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes
    const rounds = Math.ceil(budgetBytes / ROUND_BYTES)
    this.#windowSamples = Math.min(SAMPLES_MOST, Math.max(SAMPLES_LEAST, rounds))
  }

  /**
   * Returns the bytes of the standing queue.
   *
   * @param bytes the queue now
   */
  sample(now: Nanos, bytes: number): number {
    // Time alone does not end a window. After a pause the first sample says nothing about the standing queue.
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
