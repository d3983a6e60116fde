/**
 * Rx-HPCC: HPCC++ with the window worked out at the receiver (draft-miao-rtgwg-hpccplus, section on receiver-based HPCC,
 * lines 28-34 of the listing). The receiver sends W once per T; the sender does as it is told.
 */
import { type Nanos, NEVER } from '../time/nanos.js'
import type { HopRecords } from '../wire/hop-records.js'
import type {
  AckSample,
  CongestionContext,
  CongestionControl,
  ReceiverControl,
} from './congestion-control.js'
import { HpccCore } from './hpcc-core.js'
import { hpccConstants, hpccOptions } from './hpcc-options.js'
import { type OptionSpec, type OptionValues, optionFlag } from './options.js'

export const RX_HPCC_OPTIONS: readonly OptionSpec[] = [
  ...hpccOptions(true),
  {
    name: 'literal',
    unit: 'boolean',
    min: 0,
    max: 1,
    default: 0,
    doc: 'line 30 to the letter: Wc is the W sent last, of which no packet has arrived yet; windows swing then',
  },
]

/** The sender's end. */
export class RxHpcc implements CongestionControl {
  readonly name = 'rx-hpcc'
  readonly observed = ['windowBytes', 'rateBps'] as const
  /** Of T, W_init and the bounds only. */
  readonly #core: HpccCore
  #w: number

  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#core = new HpccCore(context, hpccConstants('rx-hpcc', RX_HPCC_OPTIONS, options))
    this.#w = this.#core.wInit
  }

  onReceiverWindow(_now: Nanos, windowBytes: number): void {
    this.#w = this.#core.bounded(windowBytes)
  }

  windowBytes(): number {
    return this.#w
  }

  rateBps(): number {
    return (this.#w * 8e9) / this.#core.t
  }

  onSent(_now: Nanos, _seq: number, _bytes: number): void {}
  onAck(_now: Nanos, _sample: AckSample): void {}
  onTelemetry(_now: Nanos, _sample: AckSample): void {}
  onCnp(_now: Nanos): void {}
  onLoss(_now: Nanos, _lostBytes: number, _byTimeout: boolean): void {}
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
 * The listing takes Wc = W whenever it sends W, once per T. But a window takes T to come back as packets: what arrives
 * until the next update was sent with the window before, and U measures that one. W_n+1 = W_n eta / U(W_n-1) has no damping:
 * it swings for ever with a period of 6 T. The sender-based algorithm does not, as it waits for the first packet sent with a
 * new Wc. So Wc is here the window that the measured packets were sent with, that before the last one sent; and the time
 * between two updates is T and what the queues of the path take, which the telemetry tells: a whole round trip (section
 * 6.1 of draft-01: at most one update in it).
 */
export class RxHpccReceiver implements ReceiverControl {
  readonly #core: HpccCore
  readonly #literal: boolean
  /** W as sent last: packets that arrive until the next one were sent with the W before. */
  #sentW: number
  #lastUpdateTime: Nanos = Number.NEGATIVE_INFINITY

  /** @param context the sender's; @param options as the sender gave them */
  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#core = new HpccCore(context, hpccConstants('rx-hpcc', RX_HPCC_OPTIONS, options))
    this.#sentW = this.#core.wInit
    this.#literal = optionFlag('rx-hpcc', RX_HPCC_OPTIONS, options, 'literal')
  }

  /** NewINT, lines 28-34: a packet with telemetry has arrived. */
  onTelemetry(now: Nanos, hops: HopRecords, concurrentFlows: number): boolean {
    const core = this.#core
    if (!core.measureInflight(now, hops)) return false
    core.onFlows(concurrentFlows)
    return this.#newInt(now, hops)
  }

  onDirectResponse(now: Nanos, hops: HopRecords): boolean {
    return this.#core.measureCongestion(hops) && this.#newInt(now, hops)
  }

  #newInt(now: Nanos, hops: HopRecords): boolean {
    const core = this.#core
    const roundTripNs = this.#literal ? core.t : core.t + queueingNs(hops)
    const due = now > this.#lastUpdateTime + roundTripNs
    core.computeWindow(due)
    if (!due) return false
    this.#lastUpdateTime = now
    if (!this.#literal) {
      core.setReferenceWindow(this.#sentW)
      this.#sentW = core.windowBytes
    }
    return true
  }

  windowBytes(): number {
    return this.#core.windowBytes
  }
}

/** How long the queues of the path take now. */
function queueingNs(hops: HopRecords): Nanos {
  let ns = 0
  for (let i = 0; i < hops.count; i++) {
    if (hops.rateBps[i]! > 0) ns += (hops.qlenBytes[i]! * 8e9) / hops.rateBps[i]!
  }
  return ns
}
