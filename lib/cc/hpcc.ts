/**
 * HPCC++, sender-based (draft-miao-rtgwg-hpccplus, section 4, lines 1-27 of the listing).
 *
 * Units: bytes, ns, bit/s. The names are the listing's: U, u, tau, W, Wc, incStage, lastUpdateSeq, L.
 */
import { type Nanos, NEVER } from '../time/nanos.js'
import { HopRecords } from '../wire/hop-records.js'
import type { AckSample, CongestionContext, CongestionControl } from './congestion-control.js'
import { type OptionSpec, type OptionValues, optionNumber } from './options.js'

export const HPCC_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'eta',
    unit: 'number',
    min: 0.1,
    max: 1,
    default: 0.95,
    doc: 'target utilization of the busiest link (section 4.1, figure 3)',
  },
  {
    name: 'maxStage',
    unit: 'count',
    min: 0,
    max: 1000,
    default: 5,
    doc: 'additive increases before a multiplicative one (section 4.1, figure 3)',
  },
  {
    name: 'flows',
    unit: 'count',
    min: 1,
    max: 65_535,
    default: 100,
    doc: 'N of the rule of thumb W_ai = W_init (1 - eta) / N: flows that one link is expected to carry (section 4.3)',
  },
  {
    name: 'wAi',
    unit: 'bytes',
    min: 0,
    max: 1 << 30,
    default: null,
    doc: 'W_ai, the additive increase; by default from the rule of thumb (section 4.3)',
  },
  {
    name: 'minRate',
    unit: 'bps',
    min: 1,
    max: 1e12,
    default: null,
    doc: 'lowest rate and, times T, lowest window; by default a thousandth of the line rate',
  },
]

export class Hpcc implements CongestionControl {
  readonly name = 'hpcc'
  readonly observed = ['windowBytes', 'referenceWindowBytes', 'utilization', 'rateBps', 'incStage'] as const

  readonly #eta: number
  readonly #maxStage: number
  readonly #wAi: number
  readonly #wMin: number
  /** W_init = line rate x T: flows start at line rate. No window grows beyond it. */
  readonly #wInit: number
  /** T in ns. */
  readonly #t: number
  #w: number
  #wc: number
  #u = 1
  #incStage = 0
  #lastUpdateSeq = -1
  /** L of the listing: the telemetry of the last acknowledgement. */
  readonly #last = new HopRecords()
  /** When L was stored, by the own clock. */
  #lastNs: Nanos = 0
  /** Within this time of L no stamp of it wraps twice: half of the shortest wrap. */
  #comparableNs: Nanos = 0

  constructor(context: CongestionContext, options: OptionValues = {}) {
    const value = (name: string) => optionNumber('hpcc', HPCC_OPTIONS, options, name)
    this.#t = context.baseRttNs
    this.#eta = value('eta')
    this.#maxStage = value('maxStage')
    this.#wInit = (context.lineRateBps * this.#t) / 8e9
    const wAi = value('wAi')
    this.#wAi = Number.isNaN(wAi) ? (this.#wInit * (1 - this.#eta)) / value('flows') : wAi
    const minRate = value('minRate')
    this.#wMin = ((Number.isNaN(minRate) ? context.lineRateBps / 1000 : minRate) * this.#t) / 8e9
    this.#w = this.#wInit
    this.#wc = this.#wInit
  }

  /** Lines 21-27. */
  onAck(now: Nanos, sample: AckSample): void {
    const hops = sample.hops
    if (hops.count === 0) return
    const last = this.#last
    const ageNs = now - this.#lastNs
    if (last.count !== hops.count || last.pathId !== hops.pathId || ageNs > this.#comparableNs) {
      // The first telemetry, that of another path, or after so long that stamps may have wrapped: there is
      // nothing to take differences from.
      this.#store(now, hops)
      if (this.#lastUpdateSeq < 0) this.#lastUpdateSeq = sample.sndNxt
      return
    }
    if (!this.#measureInflight(hops)) {
      // Overtaken by what is known, if that is young. Otherwise what is known is wrong: a stamp was damaged, which
      // no check sees, for hops write it.
      if (ageNs > this.#t) this.#store(now, hops)
      return
    }
    // In the listing ack.seq is the next byte expected: it exceeds lastUpdateSeq when that packet has arrived.
    if (sample.seq >= this.#lastUpdateSeq) {
      this.#computeWindow(true)
      this.#lastUpdateSeq = sample.sndNxt
    } else {
      this.#computeWindow(false)
    }
    this.#store(now, hops)
  }

  onTelemetry(now: Nanos, sample: AckSample): void {
    this.onAck(now, sample)
  }

  /** L = ack.L (line 27). */
  #store(now: Nanos, hops: HopRecords): void {
    this.#last.copyFrom(hops)
    this.#lastNs = now
    let wrapNs = NEVER
    for (let i = 0; i < hops.count; i++) wrapNs = Math.min(wrapNs, hops.tsModulusNs[i]!)
    this.#comparableNs = wrapNs / 2
  }

  /**
   * Lines 1-10. False when nothing can be learned: the telemetry is older than what is known (an acknowledgement was
   * overtaken), or a hop states no rate.
   */
  #measureInflight(hops: HopRecords): boolean {
    const last = this.#last
    let u = 0
    let tau = 0
    for (let i = 0; i < hops.count; i++) {
      const modulus = hops.tsModulusNs[i]!
      let dt = hops.tsNs[i]! - last.tsNs[i]!
      if (dt < 0) dt += modulus
      if (dt === 0 || dt > modulus / 2 || !(hops.rateBps[i]! > 0)) return false
      let sent = hops.txBytes[i]! - last.txBytes[i]!
      if (sent < 0) sent += hops.txModulusBytes[i]!
      const b = hops.rateBps[i]! / 8e9
      const txRate = sent / dt
      const qlen = Math.min(hops.qlenBytes[i]!, last.qlenBytes[i]!)
      const uLink = qlen / (b * this.#t) + txRate / b
      if (uLink > u) {
        u = uLink
        tau = dt
      }
    }
    const weight = Math.min(tau, this.#t) / this.#t
    this.#u = (1 - weight) * this.#u + weight * u
    return true
  }

  /** Lines 11-20, and the bounds that a real flow needs. */
  #computeWindow(updateWc: boolean): void {
    const multiplicative = this.#u >= this.#eta || this.#incStage >= this.#maxStage
    const w = multiplicative ? this.#wc / (this.#u / this.#eta) + this.#wAi : this.#wc + this.#wAi
    this.#w = Math.min(this.#wInit, Math.max(this.#wMin, w))
    if (updateWc) {
      this.#incStage = multiplicative ? 0 : this.#incStage + 1
      this.#wc = this.#w
    }
  }

  windowBytes(): number {
    return this.#w
  }

  /** R = W / T (line 27). */
  rateBps(): number {
    return (this.#w * 8e9) / this.#t
  }

  onSent(_now: Nanos, _seq: number, _bytes: number): void {}
  onCnp(_now: Nanos): void {}
  /** Losses do not move the window: the telemetry of the packets that got through tells of the queue. */
  onLoss(_now: Nanos, _lostBytes: number, _byTimeout: boolean): void {}
  onTimeout(_now: Nanos): void {}

  nextTimeout(): Nanos {
    return NEVER
  }

  observe(into: Float64Array): void {
    into[0] = this.#w
    into[1] = this.#wc
    into[2] = this.#u
    into[3] = this.rateBps()
    into[4] = this.#incStage
  }
}
