/**
 * Rx-HPCC to the letter (draft-miao-rtgwg-hpccplus, section on receiver-based HPCC, lines 28-34 of the listing): Wc is the
 * W sent last, although no packet with it has arrived yet.
 */
import type { Nanos } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import { type CongestionContext, type ReceiverControl, WindowDue } from '../congestion-control.js'
import { HpccCore } from '../hpcc/hpcc-core.js'
import { HPCC_CONSTANTS } from '../hpcc/hpcc-options.js'
import type { OptionValues } from '../options.js'
import { RX_HPCC_OPTIONS } from './rx-hpcc.js'

/** The receiver's end of one flow. */
export class RxListing implements ReceiverControl {
  readonly #core: HpccCore
  #lastUpdateTime: Nanos = Number.NEGATIVE_INFINITY

  /** @param context the sender's; @param options those that the sender was given */
  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#core = new HpccCore(context, HPCC_CONSTANTS.of('rx-hpcc', RX_HPCC_OPTIONS, options))
  }

  /** NewINT, lines 28-34. */
  onTelemetry(now: Nanos, hops: HopRecords, concurrentFlows: number): number {
    if (!this.#core.measureInflight(now, hops)) return WindowDue.NOTHING
    this.#core.onFlows(concurrentFlows)
    return this.#newInt(now)
  }

  onDirectResponse(now: Nanos, hops: HopRecords): number {
    return this.#core.measureCongestion(hops) ? this.#newInt(now) : WindowDue.NOTHING
  }

  #newInt(now: Nanos): number {
    const due = now > this.#lastUpdateTime + this.#core.t
    this.#core.computeWindow(due)
    if (due) this.#lastUpdateTime = now
    return due ? WindowDue.NEW : WindowDue.NOTHING
  }

  get baseRttNs(): Nanos {
    return this.#core.t
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#core.onBaseRtt(baseRttNs)
  }

  onPathChange(): void {
    this.#core.restart()
    this.#lastUpdateTime = Number.NEGATIVE_INFINITY
  }

  windowBytes(): number {
    return this.#core.windowBytes
  }
}
