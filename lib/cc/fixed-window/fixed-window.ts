/**
 * A window that never changes once packets have been acknowledged, at line rate: a baseline for comparisons. It reacts to nothing,
 * unless `lossReaction` bounds it.
 */
import type { Nanos } from '../../time/nanos.js'
import type { AckSample, CongestionContext, CongestionControl, LossSample } from '../congestion-control.js'
import { LossCap, lossOptions } from '../loss-cap.js'
import { type OptionSpec, type OptionValues, optionNumber } from '../options.js'

export const FIXED_WINDOW_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'window',
    kind: 'bytes',
    min: 1,
    max: 2 ** 31,
    default: null,
    doc: 'bytes in flight; default: line rate x T as the flow begins, one bandwidth-delay product',
  },
  {
    name: 'rate',
    kind: 'rate',
    min: 1,
    max: 1e12,
    default: null,
    doc: 'pacing rate; default: the line rate',
  },
  ...lossOptions(false),
]

/** The controller of one flow. */
export class FixedWindow implements CongestionControl {
  readonly name = 'fixed-window'
  readonly observed = ['windowBytes', 'rateBps'] as const
  #windowBytes: number
  readonly #rateBps: number
  readonly #cap: LossCap
  /** Rate of the host's link, where the window is one bandwidth-delay product; else 0. */
  readonly #followedBps: number
  /** Nothing has been acknowledged: T may have been a guess until now. */
  #begins = true

  constructor(context: CongestionContext, options: OptionValues = {}) {
    const value = (name: string) => optionNumber('fixed-window', FIXED_WINDOW_OPTIONS, options, name)
    const window = value('window')
    const rate = value('rate')
    this.#cap = new LossCap('fixed-window', FIXED_WINDOW_OPTIONS, context, options)
    this.#windowBytes = Number.isNaN(window) ? (context.lineRateBps * context.baseRttNs) / 8e9 : window
    this.#followedBps = Number.isNaN(window) ? context.lineRateBps : 0
    this.#rateBps = Number.isNaN(rate) ? context.lineRateBps : Math.min(rate, context.lineRateBps)
  }

  windowBytes(): number {
    return Math.min(this.#windowBytes, this.#cap.bytes)
  }

  rateBps(): number {
    return this.#rateBps
  }

  onAck(_now: Nanos, sample: AckSample): void {
    this.#begins = false
    this.#cap.onAck(sample, this.#windowBytes, this.#windowBytes)
  }

  onLoss(_now: Nanos, loss: LossSample): void {
    this.#cap.onLoss(loss, this.#windowBytes, false)
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    if (this.#followedBps > 0 && this.#begins) this.#windowBytes = (this.#followedBps * baseRttNs) / 8e9
  }

  observe(into: Float64Array): void {
    into[0] = this.windowBytes()
    into[1] = this.#rateBps
  }
}
