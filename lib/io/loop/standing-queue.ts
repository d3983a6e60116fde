import { MILLISECOND, type Nanos } from '../../time/nanos.js'

/** A window has at least this length, and so many samples. */
const WINDOW_NS: Nanos = 1 * MILLISECOND
const SAMPLES_LEAST = 4
const SAMPLES_MOST = 32
/** Most bytes that one round of the loop takes, in packets of 4 KiB. */
const ROUND_BYTES = 64 * 4096

/**
 * The part of a queue that stays: the minimum over the last one to two windows, each of as many samples as it takes
 * rounds to empty a full queue. A queue made by a burst, or while the process did not run, goes by itself, and a
 * smaller window would only have left the host idle; a queue that stays means that too much is under way (RFC 8289,
 * section 3.2: "good queue" and "bad queue"). A queue larger than all that peers may have under way counts in full:
 * it is about to overflow.
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

  /** Bytes of the queue that stay. @param bytes the queue now */
  sample(now: Nanos, bytes: number): number {
    // Samples count, not time alone: after a pause, the first one says nothing of what stays.
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
