/** A window that never changes, sent at line rate: what congestion control is compared with. */
import { type Nanos, NEVER } from '../time/nanos.js'
import type { AckSample, CongestionContext, CongestionControl, LossSample } from './congestion-control.js'
import { type OptionSpec, type OptionValues, optionNumber } from './options.js'

export const FIXED_WINDOW_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'window',
    unit: 'bytes',
    min: 1,
    max: 2 ** 31,
    default: null,
    doc: 'bytes in flight; default: line rate x T, one bandwidth-delay product',
  },
  {
    name: 'rate',
    unit: 'bps',
    min: 1,
    max: 1e12,
    default: null,
    doc: 'pacing rate; default: the line rate',
  },
]

/** The controller of one flow. */
export class FixedWindow implements CongestionControl {
  readonly name = 'fixed-window'
  readonly observed = ['windowBytes', 'rateBps'] as const
  readonly #windowBytes: number
  readonly #rateBps: number

  constructor(context: CongestionContext, options: OptionValues = {}) {
    const value = (name: string) => optionNumber('fixed-window', FIXED_WINDOW_OPTIONS, options, name)
    const window = value('window')
    const rate = value('rate')
    this.#windowBytes = Number.isNaN(window) ? (context.lineRateBps * context.baseRttNs) / 8e9 : window
    this.#rateBps = Number.isNaN(rate) ? context.lineRateBps : Math.min(rate, context.lineRateBps)
  }

  windowBytes(): number {
    return this.#windowBytes
  }

  rateBps(): number {
    return this.#rateBps
  }

  onSent(_now: Nanos, _seq: number, _bytes: number): void {}
  onAck(_now: Nanos, _sample: AckSample): void {}
  onTelemetry(_now: Nanos, _sample: AckSample): void {}
  onCnp(_now: Nanos): void {}
  onLoss(_now: Nanos, _loss: LossSample): void {}
  onTimeout(_now: Nanos): void {}

  nextTimeout(): Nanos {
    return NEVER
  }

  observe(into: Float64Array): void {
    into[0] = this.#windowBytes
    into[1] = this.#rateBps
  }
}
