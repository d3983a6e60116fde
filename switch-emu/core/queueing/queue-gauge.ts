import type { Nanos } from '../../../lib/time/nanos.js'

// Columns of the state. Doubles, so that no store allocates.
const BYTES = 0
const LAST_NS = 1 // up to where the integral has been taken
const INTEGRAL = 2 // byte · ns since the window began
const WINDOW_NS = 3
const WINDOW_PEAK = 4

/**
 * The queue length of one port over time: its value, its exact integral and its peak over a window.
 *
 * Only waiting frames count, so not a frame in transmission. A length that lasted for no time is no peak, for
 * example of a frame that arrived at a free line and left at once.
 */
export class QueueGauge {
  readonly #state = new Float64Array(5)

  /** Bytes that wait now. */
  get bytes(): number {
    return this.#state[BYTES]!
  }

  /**
   * The queue changed by `deltaBytes` at `atNs`. A driver that wakes late reports past departures. They
   * correct the integral, and the peak is that of the lengths as they became known.
   */
  change(atNs: Nanos, deltaBytes: number): void {
    const state = this.#state
    if (atNs > state[LAST_NS]!) {
      this.#advance(atNs)
    } else if (atNs < state[LAST_NS]!) {
      state[INTEGRAL] = state[INTEGRAL]! + deltaBytes * (state[LAST_NS]! - Math.max(atNs, state[WINDOW_NS]!))
    }
    state[BYTES] = state[BYTES]! + deltaBytes
  }

  /** Mean length from the start of the window to `now`, weighted by time. */
  meanBytes(now: Nanos): number {
    const state = this.#state
    this.#advance(now)
    const windowNs = state[LAST_NS]! - state[WINDOW_NS]!
    return windowNs > 0 ? state[INTEGRAL]! / windowNs : state[BYTES]!
  }

  /** Greatest length from the start of the window to `now`. */
  peakBytes(now: Nanos): number {
    this.#advance(now)
    return this.#state[WINDOW_PEAK]!
  }

  /** Starts a new window. */
  resetWindow(now: Nanos): void {
    this.#advance(now)
    const state = this.#state
    state[WINDOW_NS] = state[LAST_NS]!
    state[INTEGRAL] = 0
    state[WINDOW_PEAK] = 0
  }

  #advance(now: Nanos): void {
    const state = this.#state
    const forNs = now - state[LAST_NS]!
    if (forNs <= 0) return
    const bytes = state[BYTES]!
    state[INTEGRAL] = state[INTEGRAL]! + bytes * forNs
    state[LAST_NS] = now
    if (bytes > state[WINDOW_PEAK]!) state[WINDOW_PEAK] = bytes
  }
}
