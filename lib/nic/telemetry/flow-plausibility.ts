import { PlausibilityCheck } from '../../cc/plausibility.js'
import type { Nanos } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import type { ConnectionStats } from '../types.js'

/** Stands for T where it is not known, as at a receiver that works out windows. */
const T_UNKNOWN_NS = 100_000

export interface ImplausibleCounter {
  /** Telemetry that came back and was ignored. */
  implausibleTelemetry: number
}

/** The check of one flow's telemetry; made when the first arrives, for most connections see none. */
export class FlowPlausibility {
  readonly #stats: ConnectionStats
  readonly #loadMax: number
  #check: PlausibilityCheck | null = null
  /** What the check had counted at the last call. */
  #counted = 0

  /** @param stats where it counts what it does not believe; @param loadMax as of PlausibilityCheck */
  constructor(stats: ConnectionStats, loadMax: number) {
    this.#stats = stats
    this.#loadMax = loadMax
  }

  /**
   * False if the telemetry is to be ignored. @param isDirect a switch has sent it by itself; @param totals of the host, to
   * which it is added
   */
  believes(now: Nanos, hops: HopRecords, isDirect: boolean, totals: ImplausibleCounter): boolean {
    if (hops.count === 0) return true
    this.#check ??= new PlausibilityCheck(this.#loadMax)
    const check = this.#check
    const believed = isDirect
      ? check.checkDirect(hops)
      : check.check(now, hops, this.#stats.baseRttNs || T_UNKNOWN_NS)
    const { implausible } = check
    totals.implausibleTelemetry += implausible - this.#counted
    this.#stats.implausibleTelemetry += implausible - this.#counted
    this.#counted = implausible
    return believed
  }

  /** The telemetry is that of another path from now on. */
  onPathChange(): void {
    this.#check?.onPathChange()
  }
}
