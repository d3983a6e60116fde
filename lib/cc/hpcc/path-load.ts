import type { Nanos } from '../../time/nanos.js'
import { AT_RATE, type HopRecords, MAX_HOPS } from '../../wire/telemetry/hop-records.js'
import { KEPT_LINK, KEPT_TS_MODULUS, KeptHops, ROW } from '../../wire/telemetry/kept-hops.js'
import { elapsedNs, queueShare, rateShare } from './link-utilization.js'

/**
 * How heavily one path is used, from the telemetry of probes that took it (draft-miao-rtgwg-hpccplus, section on path
 * selection and traffic admission): U of each of its links, as HPCC++ computes it (lines 3 to 9 of the listing).
 * Probes of a path are T or more apart, so line 9 has tau = T, and its average is simply the last u.
 */
export class PathLoad {
  /** U of the busiest link; NaN until two telemetries of the path have come. */
  utilization = Number.NaN
  readonly #last = new KeptHops()
  #lastNs: Nanos = Number.NEGATIVE_INFINITY
  /** U of each link, and the rate at which it sent, bit/s. */
  readonly #u = new Float64Array(MAX_HOPS)
  readonly #sentBps = new Float64Array(MAX_HOPS)

  get known(): boolean {
    return !Number.isNaN(this.utilization)
  }

  /** Links of the path, as far as they are known. */
  get hops(): number {
    return this.#last.count
  }

  /** Telemetry of the path has come. @param tNs T */
  measure(now: Nanos, hops: HopRecords, tNs: Nanos): void {
    const last = this.#last
    const comparable = last.count === hops.count && last.pathId === hops.pathId && !this.#isOld(now)
    this.utilization = comparable ? this.#measure(hops, tNs) : Number.NaN
    last.keep(now, hops)
    this.#lastNs = now
  }

  /** Forgets what is known: the flow takes another path, or it is too old. */
  forget(): void {
    this.#last.count = 0
    this.utilization = Number.NaN
  }

  #measure(hops: HopRecords, tNs: Nanos): number {
    let most = 0
    for (let i = 0; i < hops.count; i++) {
      const dt = elapsedNs(hops, i, this.#last, i)
      if (Number.isNaN(dt)) return Number.NaN
      const rate = rateShare(hops, i, this.#last, i, dt)
      this.#u[i] = queueShare(hops, i, this.#last, i, tNs) + rate
      this.#sentBps[i] = rate * hops.columns[AT_RATE + i]!
      most = Math.max(most, this.#u[i]!)
    }
    return most
  }

  /** True if the last telemetry is older than half a wrap of its stamps: a difference to it would be ambiguous. */
  #isOld(now: Nanos): boolean {
    let wrapNs = Number.POSITIVE_INFINITY
    const { rows, count } = this.#last
    for (let i = 0; i < count; i++) wrapNs = Math.min(wrapNs, rows[ROW * i + KEPT_TS_MODULUS]!)
    return now - this.#lastNs > wrapNs / 2
  }

  /**
   * U of the busiest link, without what the flow itself puts on it. A link that is also on the flow's own path
   * carries the flow: of that link's U the flow's share of its bytes is left out, or all of it on ratio-only links,
   * which have no bytes.
   *
   * @param own the path that the flow takes: this one or another
   * @param ownBps rate at which the flow sends, bit/s
   */
  usedByOthers(own: PathLoad, ownBps: number): number {
    let most = 0
    for (let i = 0; i < this.#last.count; i++) {
      const shared = own.#last.rowOf(this.#last.rows[ROW * i + KEPT_LINK]!) >= 0
      most = Math.max(most, shared ? this.#u[i]! * (1 - this.#ownShare(i, ownBps)) : this.#u[i]!)
    }
    return most
  }

  #ownShare(row: number, ownBps: number): number {
    if (this.#last.ratioOnly) return 1
    return this.#sentBps[row]! > 0 ? Math.min(1, ownBps / this.#sentBps[row]!) : 1
  }

  /** True if both are known to take the same links. */
  isSamePathAs(other: PathLoad): boolean {
    const [a, b] = [this.#last, other.#last]
    if (a.count === 0 || a.count !== b.count || a.pathId !== b.pathId) return false
    for (let i = 0; i < a.count; i++)
      if (a.rows[ROW * i + KEPT_LINK] !== b.rows[ROW * i + KEPT_LINK]) return false
    return true
  }
}
