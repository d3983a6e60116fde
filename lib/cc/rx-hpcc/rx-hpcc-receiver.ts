/** Rx-HPCC: the receiver's end (draft-miao-rtgwg-hpccplus, section on receiver-based HPCC, lines 28-34 of the listing). */
import { type Nanos, NEVER } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import { type CongestionContext, type ReceiverControl, SentWith, WindowDue } from '../congestion-control.js'
import { HpccCore } from '../hpcc/hpcc-core.js'
import { HPCC_CONSTANTS } from '../hpcc/hpcc-options.js'
import { type OptionValues, optionNumber } from '../options.js'
import { RX_HPCC_OPTIONS } from './rx-hpcc.js'

/** Packets that were sent with a W are measured for so many T before the next W follows from them. */
const SETTLE_ROUND_TRIPS = 2
/** After so many T without a W sent the next W is sent even if it is no news: it carries N as well, and the last one may be lost. */
const REFRESH_ROUND_TRIPS = 16
/** A W that does not come into force within so many T and the queueing delay is retransmitted, then after twice as many, and so on… */
const FIRST_PATIENCE_ROUND_TRIPS = 2
/** …but at least as often as this. */
const PATIENCE_MAX_ROUND_TRIPS = 64
/** A W that differs by more than this share from what the sender has waits for no acknowledgement. */
const URGENT = 0.5

/**
 * The receiver's end of one flow.
 *
 * The listing sets Wc = W whenever it sends W, once per T. But a window takes a round trip to come back as packets. Packets
 * that arrive before were sent with earlier windows, and W_n+1 = W_n eta / U(W_n-1) has no damping. The sender-based algorithm
 * waits for the first packet that was sent with a new Wc (lines 22-26). Here packets say with which W they were sent, so
 * the receiver does the same: Wc is the W that it sent last, and the next W follows from packets with that W alone. They
 * are measured for two T, by when line 9 has forgotten most of what came before them. Otherwise flows drift apart
 * that measure at different moments of a growing or draining queue.
 *
 * A sender that does not say is taken to use W once a T and the queueing delay that the telemetry states have passed.
 */
export class RxHpccReceiver implements ReceiverControl {
  readonly #core: HpccCore
  readonly #rateChange: number
  /** W as last sent, and when. */
  #sentW: number
  #sentNs: Nanos = Number.NEGATIVE_INFINITY
  /** When the first packet that was sent with that W was measured; NEVER: none was. */
  #inForceNs: Nanos = NEVER
  /** When the last packet that was sent with that W was measured. */
  #seenNs: Nanos = Number.NEGATIVE_INFINITY
  #lastUpdateNs: Nanos = Number.NEGATIVE_INFINITY
  /** T for which the receiver waits for the W sent last to come into force. */
  #patienceRoundTrips = FIRST_PATIENCE_ROUND_TRIPS
  /** Sum of W_ai over the updates since a W was last sent, bytes. */
  #increases = 0
  /** W of the last update, and how many updates in a row were news that has not been sent. */
  #w: number
  #newsSince = 0

  /** @param context the sender's; @param options those that the sender was given */
  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#core = new HpccCore(context, HPCC_CONSTANTS.of('rx-hpcc', RX_HPCC_OPTIONS, options))
    this.#sentW = this.#core.windowBytes
    this.#w = this.#sentW
    this.#rateChange = optionNumber('rx-hpcc', RX_HPCC_OPTIONS, options, 'rateChange')
  }

  /** NewINT: a packet with telemetry has arrived. */
  onTelemetry(
    now: Nanos,
    hops: HopRecords,
    concurrentFlows: number,
    acknowledging: boolean,
    sentWith: number,
  ): number {
    const core = this.#core
    if (!core.measureInflight(now, hops)) return WindowDue.NOTHING
    core.onFlows(concurrentFlows)
    const queuedNs = queueingNs(hops)
    const roundTripNs = core.t + queuedNs
    const tells = sentWith !== SentWith.UNKNOWN
    if (tells ? sentWith === SentWith.EARLIER : now <= this.#sentNs + roundTripNs)
      return this.#await(now, tells, queuedNs)
    if (this.#inForceNs === NEVER) this.#inForceNs = now
    this.#seenNs = now
    this.#patienceRoundTrips = FIRST_PATIENCE_ROUND_TRIPS
    if (now < this.#inForceNs + SETTLE_ROUND_TRIPS * core.t) return WindowDue.NOTHING
    const isDue = this.#lastUpdateNs < this.#inForceNs || now > this.#lastUpdateNs + roundTripNs
    if (isDue) this.#update(now)
    return this.#sendNews(now, acknowledging)
  }

  /**
   * Until the W sent last is in force, nothing that arrives speaks of it. A sender that has used it and now uses another has lost it: who
   * forges a window can do that. The queueing delay counts once, however long the receiver waits: where the sender overloads a link
   * the delay grows with the time.
   */
  #await(now: Nanos, tells: boolean, queuedNs: Nanos): number {
    if (!tells) return WindowDue.NOTHING
    const sinceNs = Math.max(this.#sentNs, this.#seenNs)
    // Where it is in force, this packet was overtaken.
    if (now <= sinceNs + this.#patienceRoundTrips * this.#core.t + queuedNs) return WindowDue.NOTHING
    this.#sentNs = now
    this.#patienceRoundTrips = Math.min(2 * this.#patienceRoundTrips, PATIENCE_MAX_ROUND_TRIPS)
    return WindowDue.AGAIN
  }

  /** A queue that has passed a switch's threshold is no noise: W follows at once, if the W sent last is in force. */
  onDirectResponse(now: Nanos, hops: HopRecords): number {
    if (!this.#core.measureCongestion(hops) || this.#inForceNs === NEVER) return WindowDue.NOTHING
    this.#update(now)
    return this.#sendNews(now, false)
  }

  /** A round trip with the sender's W is over: decides whether the next W is news. */
  #update(now: Nanos): void {
    const core = this.#core
    core.setReferenceWindow(this.#sentW + this.#increases)
    core.computeWindow(true)
    this.#lastUpdateNs = now
    this.#increases += core.additiveIncrease
    this.#w = core.windowBytes
    const isLate = now - this.#sentNs > REFRESH_ROUND_TRIPS * core.t
    const isNews = Math.abs(this.#w - this.#sentW) > this.#rateChange * this.#sentW
    this.#newsSince = isNews || isLate ? this.#newsSince + 1 : 0
  }

  #sendNews(now: Nanos, acknowledging: boolean): number {
    if (this.#newsSince === 0 || !(acknowledging || this.#isUrgent())) return WindowDue.NOTHING
    this.#give(now, this.#w)
    return WindowDue.NEW
  }

  /** True if the new W does not wait for an acknowledgement. */
  #isUrgent(): boolean {
    const isGreat = Math.abs(this.#w - this.#sentW) > URGENT * this.#sentW
    return isGreat || this.#newsSince > 1 || this.#rateChange === 0
  }

  #give(now: Nanos, windowBytes: number): void {
    this.#w = windowBytes
    this.#sentW = windowBytes
    this.#sentNs = now
    this.#inForceNs = NEVER
    this.#seenNs = Number.NEGATIVE_INFINITY
    this.#patienceRoundTrips = FIRST_PATIENCE_ROUND_TRIPS
    this.#newsSince = 0
    this.#increases = 0
  }

  get baseRttNs(): Nanos {
    return this.#core.t
  }

  /** Windows grow as T does. */
  onBaseRtt(now: Nanos, baseRttNs: Nanos): void {
    const longer = baseRttNs / this.#core.t
    this.#core.onBaseRtt(baseRttNs)
    this.#give(now, this.#core.bounded(this.#sentW * longer))
  }

  onPathChange(): void {
    this.#core.restart()
    this.#give(Number.NEGATIVE_INFINITY, this.#core.windowBytes)
    this.#lastUpdateNs = Number.NEGATIVE_INFINITY
  }

  windowBytes(): number {
    return this.#sentW
  }
}

/** Time that a packet now waits in the queues of the path. */
function queueingNs(hops: HopRecords): Nanos {
  let ns = 0
  for (let i = 0; i < hops.count; i++) {
    if (hops.rateBps[i]! > 0) ns += (hops.qlenBytes[i]! * 8e9) / hops.rateBps[i]!
  }
  return ns
}
