import { WeirError } from '../../../lib/errors.js'
import type { Nanos } from '../../../lib/time/nanos.js'

/** Bounds of a link's rate, because INT carries it as a u32 of kbit/s. */
export const RATE_MIN_BPS = 1_000
export const RATE_MAX_BPS = 4_000_000_000_000

// Columns of the state. Doubles, so that no store allocates.
const FLOOR_NS = 0 // exact end of the last frame, whole part
const CARRY = 1 // exact end of the last frame, the rest, in units of 1/rate ns
const END_NS = 2 // exact end rounded up: the first whole ns at which the line is free
const START_NS = 3
const BUSY_NS = 4

/**
 * The timeline of one transmitter: a frame starts at max(ready, end of the previous one) and takes bytes · 8
 * / rate.
 *
 * Returned times are whole nanoseconds, rounded up. The rounding error is carried on: n frames back to back
 * end at ceil(sum of their exact times). Otherwise a 400 Gbit/s link would become a 256 Gbit/s one for
 * 64-byte frames, which take 1.28 ns each.
 */
export class Serializer {
  #rateBps: number
  readonly #state = new Float64Array(5)

  /** @param rateBps integer bit/s, 1 kbit/s to 4 Tbit/s */
  constructor(rateBps: number) {
    this.#rateBps = checkedRate(rateBps)
  }

  get rateBps(): number {
    return this.#rateBps
  }

  /** Sets the rate of frames that start from now on. The last one ends as it began, at `endNs`. */
  setRate(rateBps: number): void {
    this.#rateBps = checkedRate(rateBps)
    this.#state[FLOOR_NS] = this.#state[END_NS]!
    this.#state[CARRY] = 0
  }

  /** When the line is free: the end of the last frame, 0 before the first. */
  get endNs(): Nanos {
    return this.#state[END_NS]!
  }

  /** When the first bit of the last frame left. */
  get startNs(): Nanos {
    return this.#state[START_NS]!
  }

  /**
   * Starts a frame that has been ready since `readyNs`. Returns the time at which its first bit leaves. Its
   * last bit leaves at `endNs`.
   */
  transmit(readyNs: Nanos, bytes: number): Nanos {
    const state = this.#state
    let startNs = state[END_NS]!
    if (readyNs > startNs) {
      startNs = readyNs
      state[FLOOR_NS] = readyNs
      state[CARRY] = 0
    }
    const rate = this.#rateBps
    const numerator = bytes * 8e9 + state[CARRY]!
    let wholeNs = Math.floor(numerator / rate)
    let carry = numerator - wholeNs * rate
    // The quotient may have been rounded up to the next integer.
    if (carry < 0) {
      wholeNs--
      carry += rate
    }
    const floorNs = state[FLOOR_NS]! + wholeNs
    const endNs = carry > 0 ? floorNs + 1 : floorNs
    state[START_NS] = startNs
    state[FLOOR_NS] = floorNs
    state[CARRY] = carry
    state[END_NS] = endNs
    state[BUSY_NS] = state[BUSY_NS]! + (endNs - startNs)
    return startNs
  }

  /** Nanoseconds before `now` for which the line was busy, since the beginning. */
  busyNs(now: Nanos): Nanos {
    const aheadNs = this.#state[END_NS]! - now
    return aheadNs > 0 ? this.#state[BUSY_NS]! - aheadNs : this.#state[BUSY_NS]!
  }
}

function checkedRate(rateBps: number): number {
  if (Number.isInteger(rateBps) && rateBps >= RATE_MIN_BPS && rateBps <= RATE_MAX_BPS) return rateBps
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `serializer: rateBps is a whole number from ${RATE_MIN_BPS} to ${RATE_MAX_BPS}, not ${rateBps}`,
  )
}
