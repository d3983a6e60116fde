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
import type { OptionSpec, OptionValues } from './options.js'

export const RX_HPCC_OPTIONS: readonly OptionSpec[] = hpccOptions(true)

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

/** The receiver's end. */
export class RxHpccReceiver implements ReceiverControl {
  readonly #core: HpccCore
  #lastUpdateTime: Nanos = Number.NEGATIVE_INFINITY

  /** @param context the sender's; @param options as the sender gave them */
  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#core = new HpccCore(context, hpccConstants('rx-hpcc', RX_HPCC_OPTIONS, options))
  }

  /** NewINT, lines 28-34: a packet with telemetry has arrived. */
  onTelemetry(now: Nanos, hops: HopRecords, concurrentFlows: number): boolean {
    const core = this.#core
    if (!core.measureInflight(now, hops)) return false
    core.onFlows(concurrentFlows)
    return this.#newInt(now)
  }

  onDirectResponse(now: Nanos, hops: HopRecords): boolean {
    return this.#core.measureCongestion(hops) && this.#newInt(now)
  }

  #newInt(now: Nanos): boolean {
    const due = now > this.#lastUpdateTime + this.#core.t
    this.#core.computeWindow(due)
    if (due) this.#lastUpdateTime = now
    return due
  }

  windowBytes(): number {
    return this.#core.windowBytes
  }
}
