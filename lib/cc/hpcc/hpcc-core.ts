/**
 * The parts of HPCC++ that sender and receiver share: MeasureInflight and ComputeWind
 * (draft-miao-rtgwg-hpccplus, section 4, lines 1-20 of the listing), and L.
 *
 * Units: bytes, ns, bit/s. The names are the listing's: U, u, tau, W, Wc, incStage, L.
 */
import { DOUBLE_0, DOUBLE_1 } from '../../double.js'
import type { Nanos } from '../../time/nanos.js'
import { AT_PORT, AT_SWITCH, type HopRecords } from '../../wire/telemetry/hop-records.js'
import { KEPT_NS, KEPT_TS_MODULUS, KeptHops, linkOf, ROW } from '../../wire/telemetry/kept-hops.js'
import { CAREFUL_PACKETS, type CongestionContext } from '../congestion-control.js'
import { HiddenHops } from './hidden-hops.js'
import type { HpccConstants } from './hpcc-options.js'
import { elapsedNs, probedQueueShare, queueShare, rateShare } from './link-utilization.js'

/** The round trip alone does not reduce a window of so few packets (as RFC 9438, section 4.6, for losses). */
const HIDDEN_LEAST_PACKETS = 2

/** U, W, Wc and L of one flow, and the functions that change them. */
export class HpccCore {
  /** W_init = line rate x T: flows start at line rate. No window grows beyond it. */
  wInit = DOUBLE_0
  /** T in ns. */
  t: Nanos = DOUBLE_0
  readonly #eta: number
  readonly #maxStage: number
  #wMin = DOUBLE_0
  /** The window that flows begin with. */
  #wBegin = DOUBLE_0
  /** W_ai as configured, or by the rule of thumb for the configured number of flows. */
  #wAiExpected = DOUBLE_0
  /** True if W_ai follows N as the receiver counts it. */
  readonly #countFlows: boolean
  #wAi: number
  #w: number
  #wc: number
  #u = DOUBLE_1
  #incStage = 0
  /** L of the listing: the telemetry that came last. */
  readonly #last = new KeptHops()
  /** When U was averaged last, where telemetry names only the busiest link. */
  #averagedNs: Nanos = Number.NEGATIVE_INFINITY
  readonly #hidden = new HiddenHops()
  /** The telemetry that is being measured is a probe's. */
  #probed = false
  /** The row of the busiest link, of the telemetry that was measured last; -1: telemetry names no such link. */
  #busiest = 0
  /** u' of the busiest link of the telemetry that was measured last: line 9 has not averaged it. */
  #busiestU = DOUBLE_0

  readonly #context: CongestionContext
  readonly #constants: HpccConstants
  /** No window has been computed yet. */
  #begins = true
  /** U is measured: some telemetry of the path has been compared with earlier one. */
  #measured = false

  constructor(context: CongestionContext, constants: HpccConstants) {
    this.#context = context
    this.#constants = constants
    this.#eta = constants.eta
    this.#maxStage = constants.maxStage
    this.#countFlows = constants.countFlows && Number.isNaN(constants.wAi)
    this.#setBaseRtt(context.baseRttNs)
    this.#wAi = this.#wAiExpected
    this.#w = this.#wBegin
    this.#wc = this.#wBegin
  }

  /** What follows from T. */
  #setBaseRtt(baseRttNs: Nanos): void {
    const { lineRateBps, careful, mtuBytes } = this.#context
    const { wAi, flows, minRate: minRateBps } = this.#constants
    this.t = baseRttNs
    this.wInit = (lineRateBps * this.t) / 8e9
    this.#wAiExpected = Number.isNaN(wAi) ? this.#ruleOfThumb(flows) : wAi
    const minRate = Number.isNaN(minRateBps) ? lineRateBps / 1000 : minRateBps
    const wMin = (minRate * this.t) / 8e9
    // On a path of which nothing is known a thousandth of the line rate may be too much.
    const lower = careful && Number.isNaN(minRateBps)
    this.#wMin = lower ? Math.min(wMin, mtuBytes) : wMin
    this.#wBegin = careful ? this.bounded(CAREFUL_PACKETS * mtuBytes) : this.wInit
  }

  /** T has changed. The rate stays, and with it the share of the link, unless the flow has not begun. */
  onBaseRtt(baseRttNs: Nanos): void {
    const longer = baseRttNs / this.t
    const share = this.#wAiExpected > 0 ? this.#wAi / this.#wAiExpected : 1
    this.#setBaseRtt(baseRttNs)
    this.#wAi = this.#wAiExpected * share
    this.#w = this.#begins ? this.#wBegin : this.bounded(this.#w * longer)
    this.#wc = this.#begins ? this.#wBegin : this.bounded(this.#wc * longer)
  }

  get windowBytes(): number {
    return this.#w
  }

  get referenceWindowBytes(): number {
    return this.#wc
  }

  get utilization(): number {
    return this.#u
  }

  /** Telemetry shows a link of the path that is full. */
  get isFull(): boolean {
    return this.#measured && this.#u >= this.#eta
  }

  /** Row of the busiest link, of the telemetry that was measured last; -1: it does not name that link. */
  get busiestRow(): number {
    return this.#busiest
  }

  /** u' of the busiest link, before line 9. */
  get busiestUtilization(): number {
    return this.#busiestU
  }

  /** W_ai as it is now, bytes. */
  get additiveIncrease(): number {
    return this.#wAi
  }

  get incStage(): number {
    return this.#incStage
  }

  /** W_ai = W_init (1 - eta) / N (section on parameters). */
  #ruleOfThumb(flows: number): number {
    return (this.wInit * (1 - this.#eta)) / flows
  }

  /**
   * MeasureInflight, and L = the telemetry that it was given. False if U stays as it was because nothing could be
   * learned: this is the first telemetry, or that of another path or link; it is older than L; stamps may have
   * wrapped; or a hop states no rate.
   *
   * @param probed the telemetry is a probe's: one came in the last round trip, not one with each packet
   */
  measureInflight(now: Nanos, hops: HopRecords, probed = false): boolean {
    if (hops.count === 0) return false
    this.#probed = probed
    if (hops.busiestOnly) return this.#measureBusiest(now, hops)
    const last = this.#last
    if (last.busiestOnly || last.count !== hops.count || last.pathId !== hops.pathId || this.#isOld(now, 0)) {
      last.keep(now, hops)
      return false
    }
    if (!this.#measure(hops)) {
      // If L is young, a later packet has overtaken this one. If not, L is wrong: a stamp in it was damaged, which no
      // checksum finds, since hops write stamps on the way.
      if (now - last.rows[KEPT_NS]! > this.t) last.keep(now, hops)
      return false
    }
    last.keep(now, hops)
    return true
  }

  /** True if a row of L is older than half a wrap of its stamp: a difference to it would be ambiguous. */
  #isOld(now: Nanos, row: number): boolean {
    const last = this.#last
    const { rows } = last
    const at = ROW * row
    let wrapNs = rows[at + KEPT_TS_MODULUS]!
    if (!last.busiestOnly)
      for (let i = 1; i < last.count; i++) wrapNs = Math.min(wrapNs, rows[ROW * i + KEPT_TS_MODULUS]!)
    return now - rows[at + KEPT_NS]! > wrapNs / 2
  }

  /** Lines 1-9 over all links of the path. */
  #measure(hops: HopRecords): boolean {
    let u = 0
    let tau = 0
    for (let i = 0; i < hops.count; i++) {
      const dt = this.#elapsedNs(hops, i, i)
      if (!(dt > 0)) return false
      const uLink = this.#uOf(hops, i, i, dt)
      if (uLink > u) {
        u = uLink
        tau = dt
        this.#busiest = i
      }
    }
    this.#busiestU = this.#withHidden(hops, u)
    this.#average(this.#busiestU, tau)
    return true
  }

  /** The last slot is not the last hop where the path was longer than the telemetry. */
  #withHidden(hops: HopRecords, told: number): number {
    if (!hops.overflow) return told
    const hidden = this.#hidden.utilization(hops, this.t, this.#eta)
    if (hidden <= told) return told
    // So few packets are no queue: the hosts make round trips longer, and that would hold the flow down for good.
    if (hidden > this.#eta && this.#w <= HIDDEN_LEAST_PACKETS * this.#context.mtuBytes)
      return Math.max(told, this.#eta)
    this.#busiest = -1
    return hidden
  }

  /** A round trip was measured; nothing else is known of hops that telemetry does not name. */
  onRoundTrip(now: Nanos, rttNs: Nanos): void {
    this.#hidden.onRoundTrip(now, rttNs, this.t)
  }

  /**
   * The receiver has sent back only the link with the highest inflight bytes (reference implementation for RoCEv2).
   * It is compared with the last telemetry of that link: L is then a table of links.
   */
  #measureBusiest(now: Nanos, hops: HopRecords): boolean {
    const last = this.#last
    if (!last.busiestOnly || last.pathId !== hops.pathId) {
      last.keep(now, hops)
      return false
    }
    const row = last.rowOf(linkOf(hops.ids[AT_SWITCH]!, hops.ids[AT_PORT]!))
    if (row < 0 || this.#isOld(now, row)) {
      last.keepLink(row, now, hops)
      return false
    }
    const dt = this.#elapsedNs(hops, 0, row)
    if (!(dt > 0)) {
      if (now - last.rows[ROW * row + KEPT_NS]! > this.t) last.keepLink(row, now, hops)
      return false
    }
    // The telemetry of this link may be old where another one was the busiest since: U has been averaged in the meantime.
    const sinceNs = Math.max(1, now - this.#averagedNs)
    this.#average(this.#withHidden(hops, this.#uOf(hops, 0, row, dt)), Math.min(dt, sinceNs))
    this.#averagedNs = now
    last.keepLink(row, now, hops)
    return true
  }

  #elapsedNs(hops: HopRecords, i: number, row: number): Nanos {
    return elapsedNs(hops, i, this.#last, row)
  }

  /** u' of a link, lines 4 and 5. */
  #uOf(hops: HopRecords, i: number, row: number, dt: Nanos): number {
    const last = this.#last
    const queue = this.#probed
      ? probedQueueShare(hops, i, last, row, this.t, 1 - this.#eta)
      : queueShare(hops, i, last, row, this.t)
    return queue + rateShare(hops, i, last, row, dt)
  }

  /** Lines 8 and 9. */
  #average(u: number, tau: Nanos): void {
    this.#measured = true
    const weight = Math.min(tau, this.t) / this.t
    this.#u = (1 - weight) * this.#u + weight * u
  }

  /**
   * A switch's direct response (draft-01, section 6.3): the last hop is the congested one, those before it are the
   * way to it. Its queue has passed the switch's threshold, so this is no noise to be filtered: neither line 5's
   * minimum of two queues nor line 9's average is taken. A link with a queue is taken to send at its full rate: u =
   * qlen / (B T) + 1. 0: the response states no rate.
   */
  #congestion(hops: HopRecords): number {
    const i = hops.count - 1
    if (i < 0 || !(hops.rateBps[i]! > 0)) return 0
    return (hops.qlenBytes[i]! * 8e9) / (hops.rateBps[i]! * this.t) + 1
  }

  /**
   * The window that follows from a direct response, by line 13. U, W, Wc and L stay as they are.
   * @param sentWith the window that the answered packet was sent with
   */
  congestedWindow(hops: HopRecords, sentWith: number): number {
    const u = this.#congestion(hops)
    return u > 0 ? this.bounded(sentWith / (u / this.#eta) + this.#wAi) : Number.POSITIVE_INFINITY
  }

  /** U becomes that of a direct response if this is more. L stays, because packets that are in the queue now will bring older stamps. */
  measureCongestion(hops: HopRecords): boolean {
    const u = this.#congestion(hops)
    if (u <= this.#u) return false
    this.#u = u
    this.#busiest = -1
    return true
  }

  /** The busiest link is the path's last one, or the host behind it. False where telemetry does not show that. */
  get endsBusiest(): boolean {
    const last = this.#last
    // Where hops are missing, the record before the host's is not that of the last link.
    const toHost = last.endsAtHost && !last.overflow ? 2 : 1
    const lastLink = last.overflow && !last.endsAtHost ? last.count : Math.max(0, last.count - toHost)
    return !last.busiestOnly && this.#busiest >= lastLink
  }

  /**
   * N flows send to the receiver now, 0 = unknown. W_ai follows N only while the last link, or the host behind it, is
   * the busiest: that is the one which all N share (section on receiver-based HPCC).
   */
  onFlows(flows: number): void {
    if (!this.#countFlows) return
    const shared = flows > 0 && this.endsBusiest
    this.#wAi = shared ? this.#ruleOfThumb(flows) : this.#wAiExpected
  }

  /**
   * Lines 11-20, and the bounds that a real flow needs.
   *
   * @param rounds round trips for which W_ai is added
   */
  computeWindow(updateWc: boolean, rounds = 1): void {
    const multiplicative = this.#u >= this.#eta || this.#incStage >= this.#maxStage
    const increase = rounds * this.#wAi
    const w = multiplicative ? this.#wc / (this.#u / this.#eta) + increase : this.#wc + increase
    this.#w = this.bounded(w)
    this.#begins = false
    if (updateWc) {
      this.#incStage = multiplicative ? 0 : this.#incStage + 1
      this.#wc = this.#w
    }
  }

  /** Has the next windows computed from a Wc other than the last W. */
  setReferenceWindow(windowBytes: number): void {
    this.#wc = windowBytes
  }

  /**
   * The flow takes another path: it begins as a new flow does, since windows and telemetry of two paths do not
   * compare.
   */
  restart(): void {
    this.#last.count = 0
    this.#averagedNs = Number.NEGATIVE_INFINITY
    this.#hidden.forget()
    this.#w = this.#wBegin
    this.#wc = this.#wBegin
    this.#wAi = this.#wAiExpected
    this.#u = 1
    this.#incStage = 0
    this.#busiest = 0
    this.#busiestU = 0
    this.#measured = false
    this.#begins = true
  }

  /** Goes on from where another controller was. */
  takeOver(windowBytes: number): void {
    this.restart()
    this.#begins = false
    this.#w = this.bounded(windowBytes)
    this.#wc = this.#w
  }

  /** Between minRate x T and W_init. */
  bounded(windowBytes: number): number {
    return Math.min(this.wInit, Math.max(this.#wMin, windowBytes))
  }

  /** R = W / T (line 27). */
  get rateBps(): number {
    return (this.#w * 8e9) / this.t
  }
}
