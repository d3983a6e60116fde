import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import { queuesNs } from './flow-base-rtt.js'

/** Answers to wait for: the fastest of a few most likely met empty queues. */
const ANSWERS = 5
const ATTEMPTS_MAX = 15
const ANSWER_TIMEOUT_NS = 50 * MILLISECOND
/** On a path that is known to be long the probe waits so many round trips for an answer. */
const ANSWER_ROUND_TRIPS = 2

/**
 * Measures T, the base round-trip time: full-size probes, one at a time, sent before the flow's own data, so that the
 * path is idle as far as this flow goes. T is the smallest of five round trips, or their median less the queues that others make, if
 * that is less. A probe without an answer is given up after 50 ms, or after two round trips where those are known to be
 * longer. No more than fifteen probes are sent.
 *
 * Telemetry shows the queue behind a probe. Where queues shrink, the queue before it was as long or longer. Where they
 * grow, the queue behind the probe before was no longer. So the lesser of the two is subtracted. But a switch may write the
 * queues of all its priorities: a probe that took less time than they do has not waited in them, and nothing is subtracted.
 */
export class BaseRttProbe {
  /** Number of the probe in flight, or to be sent next: the PSN field of its packet. */
  sequence: number
  /** Nothing else of the flow was in flight while a probe was. */
  clean = true
  #attempts = 0
  #answers = 0
  #sentNs: Nanos = -1
  #bestNs: Nanos = NEVER
  readonly #withoutQueuesNs: Nanos[] = []
  /** Telemetry shows queues in which the probes do not wait. */
  #ofOthers = false
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

  /** What was measured, NEVER when there was no answer at all. Less than `bestNs`: it is an estimate. */
  get baseRttNs(): Nanos {
    if (this.#ofOthers) return this.#bestNs
    const rttsNs = this.#withoutQueuesNs.sort((a, b) => a - b)
    return Math.min(this.#bestNs, rttsNs[rttsNs.length >> 1] ?? NEVER)
  }

  /** @param hops its telemetry, none if it collected none */
  onAnswer(now: Nanos, sequence: number, hops: HopRecords | null): void {
    if (this.#sentNs < 0 || sequence !== this.sequence) return
    const rttNs = now - this.#sentNs
    this.#bestNs = Math.min(this.#bestNs, rttNs)
    const behindNs = hops === null ? 0 : queuesNs(hops)
    const waitedNs = Math.min(behindNs, this.#behindNs)
    if (waitedNs >= rttNs) this.#ofOthers = true
    this.#withoutQueuesNs.push(rttNs - waitedNs)
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
