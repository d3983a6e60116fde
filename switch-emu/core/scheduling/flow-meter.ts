import { type Nanos, NEVER } from '../../../lib/time/nanos.js'

/** When a flow is large. At least one of size and rate is given. */
export interface LargeFlowLimits {
  /** A flow that has sent so much, and has not been slow since, is large, bytes. */
  sizeBytes?: number
  /** A flow that sends so fast over an interval is large, bit/s. */
  rate?: number
  /** Below this rate a flow is slow, bit/s, below `rate`. Default: half of `rate`; without `rate` half of `size` in each `hold`. */
  smallRate?: number
  /** Over which a rate is measured. */
  intervalNs: Nanos
  /** A flow that has been slow for so long is small, and what it has sent counts no longer. */
  holdNs: Nanos
}

/**
 * Which flows are large, by their places in a table. Two thresholds and a time are the hysteresis:
 *
 *     small → large    bytes since it was last slow for `hold` >= size, or bytes of an interval x 8 / interval >= rate
 *     large → small    the rate of each interval was below `smallRate` for `hold`
 *
 * An interval ends with the first packet that comes when it is over, so a flow that is silent has a long one, and needs no timer.
 */
export class FlowMeter {
  readonly isLarge: Uint8Array
  /** In the last complete interval, bit/s. */
  readonly rateBps: Float64Array
  /** Since the flow began, or was last slow for `hold`. */
  readonly bytes: Float64Array
  readonly holdNs: Nanos
  readonly #sizeBytes: number
  readonly #rateBps: number
  readonly #smallBps: number
  readonly #intervalNs: Nanos
  readonly #beganNs: Float64Array
  readonly #intervalBytes: Float64Array
  /** Since when the flow has been slow, or NEVER. */
  readonly #slowNs: Float64Array

  constructor(limits: LargeFlowLimits, flows: number) {
    this.#sizeBytes = limits.sizeBytes ?? NEVER
    this.#rateBps = limits.rate ?? NEVER
    this.#smallBps = smallRateBps(limits)
    this.#intervalNs = limits.intervalNs
    this.holdNs = limits.holdNs
    this.isLarge = new Uint8Array(flows)
    this.rateBps = new Float64Array(flows)
    this.bytes = new Float64Array(flows)
    this.#beganNs = new Float64Array(flows)
    this.#intervalBytes = new Float64Array(flows)
    this.#slowNs = new Float64Array(flows)
  }

  /** A flow has got this place. */
  begin(row: number, now: Nanos): void {
    this.isLarge[row] = 0
    this.rateBps[row] = 0
    this.bytes[row] = 0
    this.#beganNs[row] = now
    this.#intervalBytes[row] = 0
    this.#slowNs[row] = NEVER
  }

  /** The flow sends so much. Then `isLarge` is up to date. */
  count(row: number, now: Nanos, bytes: number): void {
    if (now - this.#beganNs[row]! >= this.#intervalNs) this.#endInterval(row, now)
    this.#intervalBytes[row]! += bytes
    this.bytes[row]! += bytes
    if (this.bytes[row]! >= this.#sizeBytes) this.isLarge[row] = 1
  }

  #endInterval(row: number, now: Nanos): void {
    const beganNs = this.#beganNs[row]!
    const rateBps = (this.#intervalBytes[row]! * 8e9) / (now - beganNs)
    this.rateBps[row] = rateBps
    this.#beganNs[row] = now
    this.#intervalBytes[row] = 0
    if (rateBps >= this.#rateBps) this.isLarge[row] = 1
    if (rateBps >= this.#smallBps) {
      this.#slowNs[row] = NEVER
      return
    }
    if (this.#slowNs[row] === NEVER) this.#slowNs[row] = beganNs
    if (now - this.#slowNs[row]! < this.holdNs) return
    this.isLarge[row] = 0
    this.bytes[row] = 0
    this.#slowNs[row] = NEVER
  }
}

/** Below it a flow is slow. */
function smallRateBps({ sizeBytes = 0, rate, smallRate, holdNs }: LargeFlowLimits): number {
  return smallRate ?? (rate === undefined ? (sizeBytes * 4e9) / holdNs : rate / 2)
}
