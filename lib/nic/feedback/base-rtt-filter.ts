import { type Nanos, NEVER } from '../../time/nanos.js'

const SLOTS = 8
/** A change by less than this share of T is not reported. */
const NOTICED = 1 / 128

/**
 * T, the base round-trip time: the smallest round trip of a sliding window. Any round trip may lower T, as none is shorter than T.
 * It rises when smaller ones have left the window, but only if the window holds a *clean* one, of a packet that left while nothing of
 * the flow was in flight: else a flow would take the queue that it makes itself for a longer path, make its window larger, and so the
 * queue.
 */
export class BaseRttFilter {
  readonly #leastNs: Nanos
  readonly #slotNs: Nanos
  readonly #smallestNs = new Float64Array(SLOTS).fill(NEVER)
  readonly #clean = new Uint8Array(SLOTS)
  #slot = 0
  #slotEndsNs: Nanos = Number.NEGATIVE_INFINITY
  #baseRttNs: Nanos = 0
  /** When the last clean one was measured. */
  cleanNs: Nanos = Number.NEGATIVE_INFINITY

  /**
   * @param windowNs of the window; NEVER: nothing leaves it
   * @param leastNs T is not less, whatever is measured
   */
  constructor(windowNs: Nanos, leastNs: Nanos) {
    this.#slotNs = windowNs / SLOTS
    this.#leastNs = leastNs
  }

  /** A round trip has been measured. Returns T if it has changed, else 0: the first one makes it, whatever was guessed before. */
  onRoundTrip(now: Nanos, rttNs: Nanos, clean: boolean): Nanos {
    if (now >= this.#slotEndsNs) this.#advance(now)
    if (rttNs < this.#smallestNs[this.#slot]!) this.#smallestNs[this.#slot] = rttNs
    if (clean) {
      this.#clean[this.#slot] = 1
      this.cleanNs = now
    }
    const before = this.#baseRttNs
    // Most round trips change nothing.
    if (!clean && before > 0 && rttNs >= before) return 0
    const smallestNs = this.#smallest()
    const baseRttNs = Math.max(this.#leastNs, smallestNs)
    if (before > 0 && Math.abs(baseRttNs - before) < NOTICED * before) return 0
    this.#baseRttNs = baseRttNs
    return baseRttNs
  }

  #smallest(): Nanos {
    let smallestNs = NEVER
    let clean = 0
    for (let slot = 0; slot < SLOTS; slot++) {
      smallestNs = Math.min(smallestNs, this.#smallestNs[slot]!)
      clean |= this.#clean[slot]!
    }
    return clean === 0 && this.#baseRttNs > 0 ? Math.min(smallestNs, this.#baseRttNs) : smallestNs
  }

  #advance(now: Nanos): void {
    const begun = this.#slotEndsNs === Number.NEGATIVE_INFINITY
    const passed = begun ? 0 : Math.min(SLOTS, 1 + Math.floor((now - this.#slotEndsNs) / this.#slotNs))
    for (let n = 0; n < passed; n++) {
      this.#slot = (this.#slot + 1) % SLOTS
      this.#smallestNs[this.#slot] = NEVER
      this.#clean[this.#slot] = 0
    }
    this.#slotEndsNs = now + this.#slotNs
  }

  /** The flow takes another path: what was measured of the old one counts no more. */
  forget(): void {
    this.#smallestNs.fill(NEVER)
    this.#clean.fill(0)
    this.#baseRttNs = 0
    this.cleanNs = Number.NEGATIVE_INFINITY
  }
}
