/**
 * RoCC, robust congestion control for RDMA (Taheri et al., CoNEXT 2020): the reaction point, at the source (section 3.5, algorithm 2). The
 * congestion point, a PI controller for the fair rate of each port, is a feature of switches (`switch-emu/core/telemetry/rocc.ts`).
 *
 * | event                                          | R, and the congestion point CP that it is of                     |
 * |------------------------------------------------|------------------------------------------------------------------|
 * | fair rate F of a queue arrives                 | R <- F, CP <- its queue: if there is no CP, F is of CP, or F <= R|
 * | no accepted F for `recovery` x T (fast         | R <- 2 R; again after as long                                    |
 * | recovery)                                      |                                                                  |
 * | R reaches the rate of the host's link          | no limit, no CP                                                  |
 *
 * T is the switch's interval, which comes with F. The paper does not say how long the timer runs. Default of `recovery`: 55 us for a T of
 * 40 us, an F and the time that it may be late (the public simulation of it).
 *
 * Beyond the paper, where R alone held a flow: bytes in flight are bounded by `maxWindow`. Losses and timeouts bound the window as Reno's
 * (`lib/cc/loss-cap.ts`), and R to that window in each base RTT. A flow that knows nothing of its path begins with ten packets, and the
 * bound doubles in a round trip until something is lost. R is at least `minRate`, and T counts as `intervalMost` at most: otherwise one
 * forged packet would hold a flow for minutes.
 *
 * Units: bit/s, bytes, ns.
 */
import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'
import {
  type AckSample,
  CAREFUL_PACKETS,
  type CongestionContext,
  type CongestionControl,
  type FairRate,
  type LossSample,
} from '../congestion-control.js'
import { LossCap, lossOptions } from '../loss-cap.js'
import { type OptionSpec, type OptionValues, optionNumber } from '../options.js'
import { leastRateBps } from '../rate-guard.js'

const NAME = 'rocc'
/** A bound of so many bandwidth-delay products holds no flow back any more. */
const PRODUCTS_MOST = 4
const NO_POINT = -1

export const ROCC_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'recovery',
    kind: 'number',
    min: 1,
    max: 1000,
    default: 1.375,
    doc: 'the rate doubles when no fair rate has come for so many intervals T of the congestion point (fast recovery)',
  },
  {
    name: 'minRate',
    kind: 'rate',
    min: 1,
    max: 1e12,
    default: null,
    doc: 'lowest rate: a lower fair rate counts as this one; default: a packet each 100 ms (a bound of Weir)',
  },
  {
    name: 'intervalMost',
    kind: 'time',
    min: 1000,
    max: 4e9,
    default: 20 * MILLISECOND,
    doc: 'a longer interval T of a congestion point counts as this one (a bound of Weir)',
  },
  {
    name: 'maxWindow',
    kind: 'bytes',
    min: 1,
    max: 2 ** 40,
    default: 2 ** 26,
    doc: 'bytes in flight at most; the paper has no window',
  },
  ...lossOptions(true),
]

/** The reaction point of one flow. */
export class Rocc implements CongestionControl {
  readonly name = NAME
  readonly observed = ['rateBps', 'windowBytes', 'congestionPoint'] as const
  readonly #recovery: number
  readonly #minBps: number
  readonly #intervalMostNs: Nanos
  readonly #maxWindow: number
  readonly #cap: LossCap
  readonly #careful: boolean
  readonly #mtu: number
  readonly #lineRateBps: number
  #baseRttNs: Nanos
  /** R. */
  #rateBps: number
  /** Switch and port of CP, as one number. */
  #point = NO_POINT
  /** T of CP. */
  #intervalNs: Nanos = 0
  #recoversNs: Nanos = NEVER

  constructor(context: CongestionContext, options: OptionValues = {}) {
    const { lineRateBps, baseRttNs, mtuBytes, careful } = context
    this.#recovery = optionNumber(NAME, ROCC_OPTIONS, options, 'recovery')
    const minRate = optionNumber(NAME, ROCC_OPTIONS, options, 'minRate')
    this.#minBps = leastRateBps(context, minRate, 0)
    this.#intervalMostNs = optionNumber(NAME, ROCC_OPTIONS, options, 'intervalMost')
    this.#maxWindow = optionNumber(NAME, ROCC_OPTIONS, options, 'maxWindow')
    this.#cap = new LossCap(NAME, ROCC_OPTIONS, context, options)
    this.#careful = careful === true
    this.#mtu = mtuBytes
    this.#lineRateBps = lineRateBps
    this.#baseRttNs = baseRttNs
    this.#rateBps = lineRateBps
    this.#begin()
  }

  #begin(): void {
    if (this.#careful) this.#cap.begin(CAREFUL_PACKETS * this.#mtu)
  }

  onFairRate(now: Nanos, { switchId, port, rateBps, intervalNs }: FairRate): void {
    if (!(rateBps > 0) || !(intervalNs > 0)) return
    const point = switchId * 0x1_0000 + port
    if (this.#point !== NO_POINT && this.#point !== point && rateBps > this.#rateBps) return
    this.#point = point
    this.#intervalNs = Math.min(intervalNs, this.#intervalMostNs)
    this.#setRate(now, Math.max(rateBps, this.#minBps))
  }

  nextTimeout(): Nanos {
    return this.#recoversNs
  }

  /** Fast recovery. */
  onTimeout(now: Nanos): void {
    if (now >= this.#recoversNs) this.#setRate(now, 2 * this.#rateBps)
  }

  #setRate(now: Nanos, rateBps: number): void {
    if (rateBps >= this.#lineRateBps) {
      this.#release()
      return
    }
    this.#rateBps = rateBps
    this.#recoversNs = now + Math.ceil(this.#recovery * this.#intervalNs)
  }

  #release(): void {
    this.#rateBps = this.#lineRateBps
    this.#point = NO_POINT
    this.#recoversNs = NEVER
  }

  onAck(_now: Nanos, sample: AckSample): void {
    this.#cap.onAck(sample, Number.POSITIVE_INFINITY, this.#mostBytes())
  }

  onLoss(_now: Nanos, loss: LossSample): void {
    this.#cap.onLoss(loss, this.#maxWindow, false)
  }

  #mostBytes(): number {
    return Math.min(this.#maxWindow, (PRODUCTS_MOST * this.#lineRateBps * this.#baseRttNs) / 8e9)
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#baseRttNs = baseRttNs
  }

  onPathChange(): void {
    this.#release()
    this.#cap.forget()
    this.#begin()
  }

  windowBytes(): number {
    return Math.min(this.#maxWindow, this.#cap.bytes)
  }

  rateBps(): number {
    return Math.min(this.#rateBps, (this.#cap.bytes * 8e9) / this.#baseRttNs)
  }

  observe(into: Float64Array): void {
    into[0] = this.#rateBps
    into[1] = this.windowBytes()
    into[2] = this.#point
  }
}
