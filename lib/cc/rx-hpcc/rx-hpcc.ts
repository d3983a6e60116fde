/**
 * Rx-HPCC: HPCC++ with the window worked out at the receiver (draft-miao-rtgwg-hpccplus, section on receiver-based HPCC).
 * This is the sender's end, which obeys the receiver's windows. The receiver's is in rx-hpcc-receiver.ts; or, to the letter of the
 * draft, in rx-listing.ts.
 */
import type { Nanos } from '../../time/nanos.js'
import {
  type AckSample,
  CAREFUL_PACKETS,
  type CongestionContext,
  type CongestionControl,
  type LossSample,
} from '../congestion-control.js'
import { HpccCore } from '../hpcc/hpcc-core.js'
import { HPCC_CONSTANTS, hpccOptions } from '../hpcc/hpcc-options.js'
import { LossCap, lossOptions } from '../loss-cap.js'
import { type OptionSpec, type OptionValues, optionFlag, optionNumber } from '../options.js'

export const RX_HPCC_OPTIONS: readonly OptionSpec[] = [
  ...hpccOptions(true),
  {
    name: 'literal',
    kind: 'flag',
    default: false,
    doc: 'line 30 to the letter: Wc is the W sent last, although no packet with it has arrived yet; windows then swing, and flows go apart in an incast (lines 28-34)',
  },
  {
    name: 'rateChange',
    kind: 'number',
    min: 0,
    max: 0.5,
    default: 0.01,
    doc: 'the receiver sends W when it differs by more than this share from the W of the sender, and after 16 T at the latest, as it tells N too; 0: each W that it works out',
    idle: [{ while: { literal: true } }],
  },
  {
    name: 'ackPackets',
    kind: 'count',
    min: 0,
    max: 64,
    default: 8,
    doc: 'packets that may be in flight beyond W, up to W_init, because packets arrive before they are acknowledged (section on Rx-HPCC, delayed ACKs)',
    idle: [{ while: { literal: true } }],
  },
  ...lossOptions(null),
]

/** Where a request to the receiver has each of them, for ever: an older peer reads them there. A new one takes a place behind these. */
export const RX_HPCC_OPTION_PLACES: Readonly<Record<string, number>> = {
  eta: 0,
  maxStage: 1,
  flows: 2,
  wAi: 3,
  minRate: 4,
  countFlows: 5,
  literal: 6,
  rateChange: 7,
  ackPackets: 8,
  lossReaction: 9,
  lossBeta: 10,
}

/** The controller of one flow, at its sender. */
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
    this.#core = new HpccCore(context, HPCC_CONSTANTS.of('rx-hpcc', RX_HPCC_OPTIONS, options))
    const ackPackets = optionNumber('rx-hpcc', RX_HPCC_OPTIONS, options, 'ackPackets')
    const literal = optionFlag('rx-hpcc', RX_HPCC_OPTIONS, options, 'literal')
    this.#unacknowledged = literal ? 0 : ackPackets * context.mtuBytes
    this.#cap = new LossCap('rx-hpcc', RX_HPCC_OPTIONS, context, options)
    this.#beginsBytes =
      context.careful === true ? CAREFUL_PACKETS * context.mtuBytes : Number.POSITIVE_INFINITY
    this.#begin = this.#core.bounded(this.#beginsBytes)
    this.#w = this.#begin
  }

  /** The rate stays as it is. The receiver learns T as well, and scales W alike. */
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
   * otherwise need an acknowledgement for each. R = W / T still holds the flow to its rate. Never more than
   * W_init, with which flows begin.
   */
  windowBytes(): number {
    const windowBytes = Math.max(this.#w, Math.min(this.#core.wInit, this.#w + this.#unacknowledged))
    return Math.min(windowBytes, this.#cap.bytes)
  }

  rateBps(): number {
    return (Math.min(this.#w, this.#cap.bytes) * 8e9) / this.#core.t
  }

  onAck(_now: Nanos, sample: AckSample): void {
    this.#cap.onAck(sample, this.#w, this.#core.wInit)
  }

  /** Telemetry goes to the receiver alone: whether it explains a loss is not known here. */
  onLoss(_now: Nanos, loss: LossSample): void {
    this.#cap.onLoss(loss, this.#w, false)
  }

  observe(into: Float64Array): void {
    into[0] = this.#w
    into[1] = this.rateBps()
  }
}
