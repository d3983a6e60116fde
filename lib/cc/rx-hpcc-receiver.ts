/** Rx-HPCC: the receiver's end (draft-miao-rtgwg-hpccplus, section on receiver-based HPCC, lines 28-34 of the listing). */
import type { Nanos } from '../time/nanos.js'
import type { HopRecords } from '../wire/hop-records.js'
import type { CongestionContext, ReceiverControl } from './congestion-control.js'
import { HpccCore } from './hpcc-core.js'
import { hpccConstants } from './hpcc-options.js'
import { type OptionValues, optionNumber } from './options.js'
import { RX_HPCC_OPTIONS } from './rx-hpcc.js'

/** After so many T without a W sent it is sent again, even unchanged: the last one may be lost. */
const REFRESH_ROUND_TRIPS = 16
/** A W that differs by more than this share from what the sender has waits for no acknowledgement. */
const URGENT = 0.5

/**
 * The receiver's end.
 *
 * The listing sets Wc = W whenever it sends W, once per T. But a window takes T to come back as packets: what arrives
 * before the next update was sent with the previous window, and U measures that one. W_n+1 = W_n eta / U(W_n-1) has
 * no damping, and oscillates for ever with a period of 6 T. The sender-based algorithm does not, as it waits for the
 * first packet that was sent with a new Wc. So Wc is here the window that the measured packets were sent with, the
 * last but one sent; and from one update to the next it takes T plus the queueing delay that the telemetry tells: a
 * whole round trip (section 6.1 of draft-01: at most one update in each).
 */
export class RxHpccReceiver implements ReceiverControl {
  readonly #core: HpccCore
  readonly #rateChange: number
  /** W as last sent: packets that arrive before the next W is sent were sent with the W before this one. */
  #sentW: number
  #lastSentNs: Nanos = Number.NEGATIVE_INFINITY
  #lastUpdateTime: Nanos = Number.NEGATIVE_INFINITY
  /** Sum of W_ai over the updates since a W was last sent, bytes. */
  #increases = 0
  /** W of the last update, and how many updates in a row were news that has not been sent. */
  #w: number
  #newsSince = 0

  /** @param context the sender's; @param options those that the sender was given */
  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#core = new HpccCore(context, hpccConstants('rx-hpcc', RX_HPCC_OPTIONS, options))
    this.#sentW = this.#core.windowBytes
    this.#w = this.#sentW
    this.#rateChange = optionNumber('rx-hpcc', RX_HPCC_OPTIONS, options, 'rateChange')
  }

  /** NewINT, lines 28-34: a packet with telemetry has arrived. */
  onTelemetry(now: Nanos, hops: HopRecords, concurrentFlows: number, acknowledging: boolean): boolean {
    const core = this.#core
    if (!core.measureInflight(now, hops)) return false
    core.onFlows(concurrentFlows)
    return this.#newInt(now, hops, acknowledging)
  }

  get baseRttNs(): Nanos {
    return this.#core.t
  }

  /** The sender has measured another T: windows are as much longer. */
  onBaseRtt(baseRttNs: Nanos): void {
    const longer = baseRttNs / this.#core.t
    this.#core.onBaseRtt(baseRttNs)
    this.#sentW = this.#core.bounded(this.#sentW * longer)
    this.#w = this.#core.bounded(this.#w * longer)
    this.#increases *= longer
  }

  onPathChange(): void {
    this.#core.restart()
    this.#sentW = this.#core.windowBytes
    this.#w = this.#sentW
    this.#lastSentNs = Number.NEGATIVE_INFINITY
    this.#lastUpdateTime = Number.NEGATIVE_INFINITY
    this.#increases = 0
    this.#newsSince = 0
  }

  onDirectResponse(now: Nanos, hops: HopRecords): boolean {
    return this.#core.measureCongestion(hops) && this.#newInt(now, hops, false)
  }

  #newInt(now: Nanos, hops: HopRecords, acknowledging: boolean): boolean {
    const core = this.#core
    const due = now > this.#lastUpdateTime + core.t + queueingNs(hops)
    core.computeWindow(due)
    if (due) this.#lastUpdateTime = now
    if (due) this.#update(now)
    return this.#newsSince > 0 && (acknowledging || this.#isUrgent()) && this.#send(now)
  }

  /** A round trip with the W that the sender has is over: is the next one news? */
  #update(now: Nanos): void {
    const core = this.#core
    this.#w = core.windowBytes
    this.#increases += core.additiveIncrease
    core.setReferenceWindow(this.#sentW + this.#increases)
    const isLate = now - this.#lastSentNs > REFRESH_ROUND_TRIPS * core.t
    const isNews = Math.abs(this.#w - this.#sentW) > this.#rateChange * this.#sentW
    this.#newsSince = isNews || isLate ? this.#newsSince + 1 : 0
  }

  /** True if the news does not wait for an acknowledgement. */
  #isUrgent(): boolean {
    const isGreat = Math.abs(this.#w - this.#sentW) > URGENT * this.#sentW
    return isGreat || this.#newsSince > 1 || this.#rateChange === 0
  }

  #send(now: Nanos): true {
    this.#core.setReferenceWindow(this.#sentW)
    this.#sentW = this.#w
    this.#lastSentNs = now
    this.#lastUpdateTime = now
    this.#newsSince = 0
    this.#increases = 0
    return true
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
