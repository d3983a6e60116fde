/**
 * Rx-HPCC: HPCC++ with the window worked out at the receiver (draft-miao-rtgwg-hpccplus, section on receiver-based HPCC,
 * lines 28-34 of the listing). The receiver sends W once per T; the sender does as it is told.
 */
import { type Nanos, NEVER } from '../time/nanos.js'
import type { HopRecords } from '../wire/hop-records.js'
import {
  type AckSample,
  CAREFUL_PACKETS,
  type CongestionContext,
  type CongestionControl,
  type LossSample,
  type ReceiverControl,
} from './congestion-control.js'
import { HpccCore } from './hpcc-core.js'
import { hpccConstants, hpccOptions } from './hpcc-options.js'
import { LossCap, lossOptions } from './loss-cap.js'
import { type OptionSpec, type OptionValues, optionFlag, optionNumber } from './options.js'

export const RX_HPCC_OPTIONS: readonly OptionSpec[] = [
  ...hpccOptions(true),
  {
    name: 'literal',
    unit: 'boolean',
    min: 0,
    max: 1,
    default: 0,
    doc: 'line 30 to the letter: Wc is the W sent last, although no packet with it has arrived yet; windows then swing (lines 28-34)',
  },
  {
    name: 'rateChange',
    unit: 'number',
    min: 0,
    max: 0.5,
    default: 0.01,
    doc: 'the receiver sends W when it differs by more than this share from the W of the sender, and after 16 T at the latest; 0: once per T (line 31); not with literal',
    idle: { name: 'literal', is: true },
  },
  {
    name: 'ackPackets',
    unit: 'count',
    min: 0,
    max: 64,
    default: 8,
    doc: 'packets that may be in flight beyond W, up to W_init, because packets arrive before they are acknowledged (section on Rx-HPCC, delayed ACKs); not with literal',
    idle: { name: 'literal', is: true },
  },
  // Behind the others: a request names options by their places in this list.
  ...lossOptions(null),
]

/** After so many T without a W sent it is sent again, even unchanged: the last one may be lost. */
const REFRESH_ROUND_TRIPS = 16
/** A W that differs by more than this share from what the sender has waits for no acknowledgement. */
const URGENT = 0.5

/** The sender's end. */
export class RxHpcc implements CongestionControl {
  readonly name = 'rx-hpcc'
  readonly observed = ['windowBytes', 'rateBps'] as const
  /** Used for T, W_init and the bounds of W only. */
  readonly #core: HpccCore
  /** Bytes that may be in flight beyond W: they have arrived, but are not acknowledged yet. */
  readonly #unacknowledged: number
  #begin: number
  readonly #beginsBytes: number
  readonly #cap: LossCap
  #w: number

  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#core = new HpccCore(context, hpccConstants('rx-hpcc', RX_HPCC_OPTIONS, options))
    // These options act at the receiver, but a value out of range is to be reported here.
    optionNumber('rx-hpcc', RX_HPCC_OPTIONS, options, 'rateChange')
    const ackPackets = optionNumber('rx-hpcc', RX_HPCC_OPTIONS, options, 'ackPackets')
    const literal = optionFlag('rx-hpcc', RX_HPCC_OPTIONS, options, 'literal')
    this.#unacknowledged = literal ? 0 : ackPackets * context.mtuBytes
    this.#cap = new LossCap('rx-hpcc', RX_HPCC_OPTIONS, context, options)
    this.#beginsBytes =
      context.careful === true ? CAREFUL_PACKETS * context.mtuBytes : Number.POSITIVE_INFINITY
    this.#begin = this.#core.bounded(this.#beginsBytes)
    this.#w = this.#begin
  }

  /** The rate stays as it is. The receiver hears of T as well, and does the same with W. */
  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    const longer = baseRttNs / this.#core.t
    const begins = this.#w === this.#begin
    this.#core.onBaseRtt(baseRttNs)
    this.#begin = this.#core.bounded(this.#beginsBytes)
    this.#w = begins ? this.#begin : this.#core.bounded(this.#w * longer)
  }

  onReceiverWindow(_now: Nanos, windowBytes: number): void {
    this.#w = this.#core.bounded(windowBytes)
  }

  onPathChange(): void {
    this.#cap.forget()
    this.#w = this.#begin
  }

  /**
   * W, and what may have reached the receiver without being acknowledged yet: a window of three packets would
   * otherwise need an acknowledgement for each. R = W / T holds the flow to its rate all the same. Never more than
   * W_init, with which flows begin.
   */
  windowBytes(): number {
    const windowBytes = Math.max(this.#w, Math.min(this.#core.wInit, this.#w + this.#unacknowledged))
    return Math.min(windowBytes, this.#cap.bytes)
  }

  rateBps(): number {
    return (Math.min(this.#w, this.#cap.bytes) * 8e9) / this.#core.t
  }

  onSent(_now: Nanos, _seq: number, _bytes: number): void {}
  onAck(_now: Nanos, sample: AckSample): void {
    this.#cap.onAck(sample.ackedBytes, this.#w, this.#core.wInit)
  }

  /** Telemetry goes to the receiver alone: whether it explains a loss is not known here. */
  onLoss(_now: Nanos, loss: LossSample): void {
    this.#cap.onLoss(loss, this.#w, false)
  }

  onTelemetry(_now: Nanos, _sample: AckSample): void {}
  onCnp(_now: Nanos): void {}
  onTimeout(_now: Nanos): void {}

  nextTimeout(): Nanos {
    return NEVER
  }

  observe(into: Float64Array): void {
    into[0] = this.#w
    into[1] = this.rateBps()
  }
}

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
  readonly #literal: boolean
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
    this.#literal = optionFlag('rx-hpcc', RX_HPCC_OPTIONS, options, 'literal')
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
    const roundTripNs = this.#literal ? core.t : core.t + queueingNs(hops)
    const due = now > this.#lastUpdateTime + roundTripNs
    core.computeWindow(due)
    if (due) this.#lastUpdateTime = now
    if (this.#literal) {
      this.#sentW = core.windowBytes
      return due
    }
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
