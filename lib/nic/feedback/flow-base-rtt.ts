import type { AckSample } from '../../cc/congestion-control.js'
import type { QueuePair } from '../../qp/queue-pair.js'
import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import { BaseRttFilter } from './base-rtt-filter.js'

const NONE = -1
/** A window that a guessed T must not exceed, packets: as RFC 6928 has it. */
const UNKNOWN_PACKETS = 10
/** When a flow falls idle, probes measure its path if the last clean round trip is older than this share of the window. */
const OLD = 1 / 2
/** Queues in telemetry count as none if they cost a smaller share of the round trip. */
const QUEUES_NONE = 1 / 8
/** Numbers of probes of a flow that has begun start here; those of telemetry's own probes start at 0. A round takes so many numbers. */
const FIRST_SEQUENCE = 0x800000
const ROUND_SEQUENCES = 16
/** A first round of probes that has taken longer is repeated, so long after it at least, and at most twice as long. */
const LONG_NS = MILLISECOND
const REPEAT_LEAST_NS = 250 * MILLISECOND
/** Until the queues that the flow itself has made are empty. */
const QUIET_ROUND_TRIPS = 2

/**
 * T of a flow that goes on being measured (base-rtt-filter.ts). Round trips come from acknowledgements and, when the flow falls idle, from probes, to a
 * peer that answers them. One is clean if its packet left while nothing else was in flight and its telemetry, if there is any, shows no queues.
 *
 * Until the first round trip T is a guess, and the window is ten packets at most.
 */
export class FlowBaseRtt {
  readonly #filter: BaseRttFilter
  readonly #windowNs: Nanos
  #known = false
  readonly #repeatNs: Nanos
  /** The next round of probes is the connection's first, or repeats it. */
  isFirstRound = true
  #isRepeat = false
  #nextSequence = FIRST_SEQUENCE
  /** The packet that left last while nothing else was in flight, or -1. */
  #aloneSeq = NONE
  /** When the path is to be measured. */
  #probeNs: Nanos = NEVER
  /** The path is to be measured at once, although the flow goes on: otherwise its next packets would set T until it falls idle. */
  #pathIsNew = false

  /**
   * @param windowNs NEVER: T only falls, and nothing is probed; @param leastNs T is not less
   * @param spread 0 to 1, by which connections that are made at once differ in when they repeat their first probes
   */
  constructor(windowNs: Nanos, leastNs: Nanos, spread = 0) {
    this.#repeatNs = Math.round((1 + spread) * REPEAT_LEAST_NS)
    this.#filter = new BaseRttFilter(windowNs, leastNs)
    this.#windowNs = windowNs
  }

  /** What a window may hold for all that is known of the path, bytes. */
  windowBytes(mtuBytes: number): number {
    return this.#known ? Number.POSITIVE_INFINITY : UNKNOWN_PACKETS * mtuBytes
  }

  /** A packet with payload leaves for the first time. @param alone nothing else is in flight */
  onSent(seq: number, alone: boolean): void {
    if (!this.#pathIsNew) this.#probeNs = NEVER
    if (alone) this.#aloneSeq = seq
  }

  /**
   * An acknowledgement has come. Returns the new T, 0 = it is what it was; so do the next two.
   * @param seq the newest PSN that it acknowledges; @param lastRttNs the round trip before, 0 = none is known
   */
  onAck(now: Nanos, qp: QueuePair, seq: number, sample: AckSample, lastRttNs: Nanos): Nanos {
    const alone = this.#aloneSeq !== NONE && seq >= this.#aloneSeq
    const rttNs = alone ? qp.sendLog.rttNs(this.#aloneSeq, sample.heardNs) : sample.rttNs
    const clean = alone && queuesNs(sample.hops) < QUEUES_NONE * rttNs
    if (alone) this.#aloneSeq = NONE
    // The answer to a question that an idle connection asks is no end of work.
    if (qp.isQuiet && sample.advanced) this.#onQuiet(now, Math.max(rttNs, lastRttNs))
    return this.#measured(now, rttNs, clean)
  }

  /** A notification has measured a READ response's round trip, 0 = it is not known. Others may have been in flight. */
  onResponse(now: Nanos, rttNs: Nanos): Nanos {
    return this.#measured(now, rttNs, false)
  }

  /**
   * Probes have measured a round trip.
   * @param estimateNs what it would have been without the queues of others, or the least that another connection's probes have measured
   * @param clean nothing of the flow was in flight
   */
  onProbed(now: Nanos, rttNs: Nanos, estimateNs: Nanos, clean: boolean): Nanos {
    this.#repeatIfLong(now, rttNs)
    if (estimateNs >= rttNs) return this.#measured(now, rttNs, clean)
    this.#known = true
    return this.#filter.onEstimate(now, rttNs, estimateNs, clean)
  }

  /** Connections that are made at once measure the work of making them: while it sends nothing, a connection repeats a long first round, once. */
  #repeatIfLong(now: Nanos, rttNs: Nanos): void {
    const repeats = this.isFirstRound && !this.#isRepeat && rttNs > LONG_NS && this.#windowNs !== NEVER
    if (repeats) this.#probeNs = now + this.#repeatNs
    this.#isRepeat = repeats
    this.isFirstRound = repeats
  }

  #measured(now: Nanos, rttNs: Nanos, clean: boolean): Nanos {
    if (rttNs <= 0) return 0
    this.#known = true
    return this.#filter.onRoundTrip(now, rttNs, clean)
  }

  #onQuiet(now: Nanos, rttNs: Nanos): void {
    const old = now - this.#filter.cleanNs > OLD * this.#windowNs
    if (this.#pathIsNew) return
    this.#probeNs = old && this.#windowNs !== NEVER ? now + QUIET_ROUND_TRIPS * rttNs : NEVER
  }

  /** The first number of a round of probes: none is used twice soon, as answers may be late. */
  takeSequences(): number {
    const sequence = this.#nextSequence
    this.#nextSequence = (sequence + ROUND_SEQUENCES) | FIRST_SEQUENCE
    if (this.#nextSequence > 0xffffff - ROUND_SEQUENCES) this.#nextSequence = FIRST_SEQUENCE
    return sequence
  }

  /** When the idle path is to be measured. */
  nextTimeout(): Nanos {
    return this.#probeNs
  }

  /** True, once, if it is time for that. */
  takeDue(now: Nanos): boolean {
    if (now < this.#probeNs) return false
    this.#pathIsNew = false
    this.#probeNs = NEVER
    return true
  }

  /** The flow takes another path. */
  onPathChange(): void {
    this.#filter.forget()
    this.#aloneSeq = NONE
    this.isFirstRound = false
    if (this.#windowNs === NEVER) return
    this.#pathIsNew = true
    this.#probeNs = 0
  }
}

/** How long it takes links to send the queues that telemetry shows. */
export function queuesNs(hops: HopRecords): Nanos {
  let sumNs = 0
  for (let i = 0; i < hops.count; i++) {
    const rateBps = hops.rateBps[i]!
    if (rateBps > 0) sumNs += (hops.qlenBytes[i]! * 8e9) / rateBps
  }
  return Math.round(sumNs)
}
