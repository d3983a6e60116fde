import { type ProbeFindings, slowestLinkBps, switchesOf } from '../../cc/path-switches.js'
import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import { queuesNs } from './flow-base-rtt.js'

/** Answers to wait for: the fastest of a few most likely met empty queues. */
const ANSWERS = 5
const ATTEMPTS_MAX = 15
/**
 * After so many without an answer every other probe is short, to find out whether the peer answers at all. Fewer, where each waits long: a
 * flow whose packets do not arrive gives up after some seconds.
 */
const LONG_ATTEMPTS_FIRST = 8
const LONG_ATTEMPTS_LEAST = 3
/** So many short ones have to be answered, and none of the long ones between them: a queue or a socket that is full loses long ones too. */
const SHORT_ANSWERS = 3
const ANSWER_TIMEOUT_NS = 50 * MILLISECOND
/** On a path that is known to be long the probe waits so many round trips for an answer. */
const ANSWER_ROUND_TRIPS = 2

/**
 * Measures T, the base round-trip time: full-size probes, one at a time, sent before the flow's own data, so that the
 * path is idle as far as this flow goes. T is the smallest of five round trips, or their median less the queues that others make, if
 * that is less. A probe without an answer is given up after 50 ms, or after two round trips where those are known to be
 * longer. No more than fifteen probes are sent. If none of eight, or of three that wait long, has been answered and the flow is new, every
 * other one is short: three answers to those, and none to the long ones, show that packets of full size do not arrive (RFC 8899,
 * section 3). They are no measure of T.
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
  #shortAnswers = 0
  /** The probe in flight is a short one. */
  #sentShort = false
  /** Telemetry shows queues in which the probes do not wait. */
  #ofOthers = false
  /** Queues behind the last probe. */
  #behindNs: Nanos = 0

  /** Its probes collect telemetry. */
  readonly collects: boolean
  /** What they have shown. */
  readonly path: ProbeFindings = { answers: 0, slowestBps: Number.POSITIVE_INFINITY, pathId: 0 }

  #timeoutNs: Nanos
  /** It is to find out whether packets of full size arrive, and has not. */
  #findsSize: boolean
  readonly #firstSequence: number
  /** Long ones before the first short one. */
  readonly #longFirst: number

  /**
   * @param firstSequence of no earlier probe of the flow; @param rttNs of the path, 0 = not known
   * @param findsSize it is to find out whether packets of full size arrive
   */
  constructor(firstSequence = 0, collects = false, rttNs: Nanos = 0, findsSize = false) {
    this.sequence = firstSequence
    this.#firstSequence = firstSequence
    this.collects = collects
    this.#findsSize = findsSize
    this.#timeoutNs = timeoutFor(rttNs)
    const many = Math.ceil((LONG_ATTEMPTS_FIRST * ANSWER_TIMEOUT_NS) / this.#timeoutNs)
    this.#longFirst = Math.max(LONG_ATTEMPTS_LEAST, many)
  }

  /** So long is a round trip, by the flow's own packets: that of the handshake also has the time which both hosts took. 0 = not known */
  expect(rttNs: Nanos): void {
    if (rttNs > 0) this.#timeoutNs = timeoutFor(rttNs)
  }

  /** True if a probe is to be sent now. */
  get wantsToSend(): boolean {
    return this.#sentNs < 0 && !this.done
  }

  get done(): boolean {
    if (this.onlyShort) return true
    return this.#answers >= ANSWERS || (this.#attempts >= ATTEMPTS_MAX && this.#sentNs < 0)
  }

  /** The next probe has no payload. */
  get isShort(): boolean {
    return this.#findsSize && this.#isShortAttempt(this.#attempts)
  }

  /** The peer answers short probes, and has answered none of full size. */
  get onlyShort(): boolean {
    return this.#findsSize && this.#shortAnswers >= SHORT_ANSWERS
  }

  /** The smallest round trip seen, NEVER when there was no answer at all. */
  get bestNs(): Nanos {
    return this.#bestNs
  }

  onSent(now: Nanos): void {
    this.#sentShort = this.isShort
    this.#sentNs = now
    this.#attempts++
  }

  /** What was measured, NEVER when there was no answer at all. Less than `bestNs`: it is an estimate. */
  get baseRttNs(): Nanos {
    if (this.#ofOthers) return this.#bestNs
    const rttsNs = this.#withoutQueuesNs.sort((a, b) => a - b)
    return Math.min(this.#bestNs, rttsNs[rttsNs.length >> 1] ?? NEVER)
  }

  /** @param heardNs when it arrived at this host; @param hops its telemetry, none if it collected none */
  onAnswer(heardNs: Nanos, sequence: number, hops: HopRecords | null): void {
    if (this.#sentNs < 0 || sequence !== this.sequence) return
    if (this.#sentShort) {
      this.#shortAnswers++
      this.expect(heardNs - this.#sentNs)
      this.#next()
      return
    }
    this.#findsSize = false
    this.#learn(hops)
    const rttNs = Math.max(1, heardNs - this.#sentNs)
    this.#bestNs = Math.min(this.#bestNs, rttNs)
    const behindNs = hops === null ? 0 : queuesNs(hops)
    const waitedNs = Math.min(behindNs, this.#behindNs)
    if (waitedNs >= rttNs) this.#ofOthers = true
    this.#withoutQueuesNs.push(rttNs - waitedNs)
    this.#behindNs = behindNs
    this.#answers++
    this.#next()
  }

  #learn(hops: HopRecords | null): void {
    const { path } = this
    if (hops === null || switchesOf(hops) === 0) {
      path.answers = 0
      return
    }
    path.answers++
    path.slowestBps = slowestLinkBps(hops)
    path.pathId = hops.pathId
  }

  /** Another answer than that to the probe in flight: to an earlier probe, it shows that long ones arrive. */
  onOtherAnswer(sequence: number): void {
    const attempt = sequence - this.#firstSequence
    if (attempt >= 0 && attempt < this.#attempts && !this.#isShortAttempt(attempt)) this.#findsSize = false
  }

  nextTimeout(): Nanos {
    return this.#sentNs < 0 ? NEVER : this.#sentNs + this.#timeoutNs
  }

  onTimeout(now: Nanos): void {
    if (now >= this.nextTimeout()) this.#next()
  }

  /** Whether a probe that finds out the size is short; @param attempt from 0 */
  #isShortAttempt(attempt: number): boolean {
    return attempt >= this.#longFirst && (attempt - this.#longFirst) % 2 === 0
  }

  #next(): void {
    this.#sentNs = -1
    this.sequence++
  }
}

function timeoutFor(rttNs: Nanos): Nanos {
  return Math.max(ANSWER_TIMEOUT_NS, ANSWER_ROUND_TRIPS * rttNs)
}
