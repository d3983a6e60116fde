import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import { queuesNs } from './flow-base-rtt.js'

/** Answers that are waited for: of a few, the fastest one most likely met empty queues. */
const ANSWERS = 5
const ATTEMPTS_MAX = 15
const ANSWER_TIMEOUT_NS = 50 * MILLISECOND
/** On a path that is known to be long an answer is awaited for so many round trips. */
const ANSWER_ROUND_TRIPS = 2

/**
 * Measures T, the base round-trip time: full-size probes, one at a time, sent before the flow's own data, so that the
 * path is idle as far as this flow goes. The smallest of five round trips counts, or the middle one of them without the queues that
 * others make, if that is less; a probe without an answer is given up after 50 ms, or two round trips
 * where they are known to be longer, and fifteen in all are tried.
 *
 * Telemetry shows the queue behind a probe. The one before it was as long or longer where queues shrink; where they grow, the one behind the
 * probe before was no longer. So the lesser of the two is subtracted.
 */
export class BaseRttProbe {
  /** Number of the probe in flight, or to be sent next: the PSN field of its packet. */
  sequence: number
  /** Nothing of the flow was in flight while a probe was under way. */
  clean = true
  #attempts = 0
  #answers = 0
  #sentNs: Nanos = -1
  #bestNs: Nanos = NEVER
  readonly #withoutQueuesNs: Nanos[] = []
  /** Queues behind the last probe. */
  #behindNs: Nanos = 0

  /** Its probes collect telemetry. */
  readonly collects: boolean

  readonly #timeoutNs: Nanos

  /** @param firstSequence of no earlier probe of the flow; @param rttNs of the path, 0 = not known */
  constructor(firstSequence = 0, collects = false, rttNs: Nanos = 0) {
    this.sequence = firstSequence
    this.collects = collects
    this.#timeoutNs = Math.max(ANSWER_TIMEOUT_NS, ANSWER_ROUND_TRIPS * rttNs)
  }

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

  /** What was measured, NEVER when there was no answer at all. */
  get baseRttNs(): Nanos {
    const rttsNs = this.#withoutQueuesNs.sort((a, b) => a - b)
    return Math.min(this.#bestNs, rttsNs[rttsNs.length >> 1] ?? NEVER)
  }

  /** @param hops its telemetry, none if it collected none */
  onAnswer(now: Nanos, sequence: number, hops: HopRecords | null): void {
    if (this.#sentNs < 0 || sequence !== this.sequence) return
    const rttNs = now - this.#sentNs
    this.#bestNs = Math.min(this.#bestNs, rttNs)
    const behindNs = hops === null ? 0 : queuesNs(hops)
    this.#withoutQueuesNs.push(Math.max(1, rttNs - Math.min(behindNs, this.#behindNs)))
    this.#behindNs = behindNs
    this.#answers++
    this.#next()
  }

  nextTimeout(): Nanos {
    return this.#sentNs < 0 ? NEVER : this.#sentNs + this.#timeoutNs
  }

  onTimeout(now: Nanos): void {
    if (now >= this.nextTimeout()) this.#next()
  }

  #next(): void {
    this.#sentNs = -1
    this.sequence++
  }
}
