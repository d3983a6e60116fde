import { MILLISECOND, type Nanos, NEVER } from '../time/nanos.js'

/** Answers that are waited for: of a few, the fastest one most likely met empty queues. */
const ANSWERS = 5
const ATTEMPTS_MAX = 15
const ANSWER_TIMEOUT_NS = 50 * MILLISECOND

/**
 * Measures T, the base round-trip time: full-size probes, one at a time, sent before the flow's own data, so that the
 * path is idle as far as this flow goes. The smallest of five round trips counts; a probe without an
 * answer is given up after 50 ms, and fifteen in all are tried.
 */
export class BaseRttProbe {
  /** Number of the probe in flight, or to be sent next: the PSN field of its packet. */
  sequence = 0
  #attempts = 0
  #answers = 0
  #sentNs: Nanos = -1
  #bestNs: Nanos = NEVER

  /** True if a probe is to be sent now. */
  get wantsToSend(): boolean {
    return this.#sentNs < 0 && !this.done
  }

  get done(): boolean {
    return this.#answers >= ANSWERS || (this.#attempts >= ATTEMPTS_MAX && this.#sentNs < 0)
  }

  /** The smallest round trip seen, NEVER when there was no answer at all. */
  get bestNs(): Nanos {
    return this.#bestNs
  }

  onSent(now: Nanos): void {
    this.#sentNs = now
    this.#attempts++
  }

  onAnswer(now: Nanos, sequence: number): void {
    if (this.#sentNs < 0 || sequence !== this.sequence) return
    this.#bestNs = Math.min(this.#bestNs, now - this.#sentNs)
    this.#answers++
    this.#next()
  }

  nextTimeout(): Nanos {
    return this.#sentNs < 0 ? NEVER : this.#sentNs + ANSWER_TIMEOUT_NS
  }

  onTimeout(now: Nanos): void {
    if (now >= this.nextTimeout()) this.#next()
  }

  #next(): void {
    this.#sentNs = -1
    this.sequence++
  }
}
