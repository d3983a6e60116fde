import { type Nanos, NEVER } from './nanos.js'

/** Priorities of a link, 0 to 7 (IEEE 802.1Q). */
const PRIORITIES = 8
/** Column of the sums for the whole port. */
const ANY = PRIORITIES

/**
 * For each of the eight priorities of one transmitter: until when the peer has paused it (priority-based flow
 * control, IEEE 802.1Q, clause 36). The class knows neither frames nor queues and has no timer. The caller
 * passes the time.
 *
 * A pause holds from its arrival up to its end, which is not included. A new pause replaces the old one,
 * whether it is shorter or longer. A time of 0 ends it.
 */
export class PauseClock {
  /** Bit p: priority p was paused at the last check. Its pause may have ended since. */
  #mask = 0
  readonly #untilNs = new Float64Array(PRIORITIES).fill(-1)
  readonly #sinceNs = new Float64Array(PRIORITIES)
  /** Total time of ended pauses, by priority, and total time in which any priority was paused. */
  readonly #endedNs = new Float64Array(ANY + 1)
  /** Start of the part of the current pause that `#endedNs` does not include yet. */
  readonly #countedNs = new Float64Array(ANY + 1)

  /** True if any priority may be paused. `pausedMask` gives the exact answer. */
  get any(): boolean {
    return this.#mask !== 0
  }

  /** The peer pauses `priority` for `forNs` from `now` on. 0 resumes it. */
  pause(now: Nanos, priority: number, forNs: Nanos): void {
    this.#expire(now)
    const bit = 1 << priority
    if (forNs > 0) {
      if ((this.#mask & bit) === 0) {
        // A pause that arrives exactly at the end of another one continues it without a gap.
        if (this.#untilNs[priority]! < now) this.#sinceNs[priority] = now
        this.#countedNs[priority] = now
        if (this.#mask === 0) this.#countedNs[ANY] = now
        this.#mask |= bit
      }
      this.#untilNs[priority] = now + forNs
    } else if ((this.#mask & bit) !== 0) {
      this.#end(priority, now)
      if (this.#mask === 0) this.#count(ANY, now)
      // The next pause is a new one, even at this instant.
      this.#untilNs[priority] = -1
    }
  }

  /**
   * Returns bit p if priority p must not begin a frame at `now`. Forgets the pauses that have ended by then.
   */
  pausedMask(now: Nanos): number {
    if (this.#mask !== 0) this.#expire(now)
    return this.#mask
  }

  /** The same for a later time, as far as is known now. */
  pausedMaskAt(laterNs: Nanos): number {
    let mask = this.#mask
    for (let left = mask; left !== 0; left &= left - 1) {
      const bit = left & -left
      if (this.#untilNs[31 - Math.clz32(bit)]! <= laterNs) mask &= ~bit
    }
    return mask
  }

  /** Returns when the first of the paused priorities in `mask` may continue, or NEVER if none is paused. */
  firstExpiry(mask: number): Nanos {
    let first = NEVER
    for (let held = this.#mask & mask; held !== 0; held &= held - 1) {
      first = Math.min(first, this.#untilNs[31 - Math.clz32(held & -held)]!)
    }
    return first
  }

  /** Returns when the last of the paused priorities in `mask` may continue, or NEVER if none is paused. */
  lastExpiry(mask: number): Nanos {
    let last = -1
    for (let held = this.#mask & mask; held !== 0; held &= held - 1) {
      last = Math.max(last, this.#untilNs[31 - Math.clz32(held & -held)]!)
    }
    return last < 0 ? NEVER : last
  }

  /** Returns since when `priority` has been paused without a gap, or NEVER if it is not paused at `now`. */
  sinceNs(now: Nanos, priority: number): Nanos {
    return this.#untilNs[priority]! > now ? this.#sinceNs[priority]! : NEVER
  }

  /** Returns the time for which `priority` has been paused, up to `now`. */
  totalNs(now: Nanos, priority: number): Nanos {
    const counts = ((this.#mask >>> priority) & 1) === 1
    const untilNs = Math.min(now, this.#untilNs[priority]!)
    return this.#endedNs[priority]! + (counts ? untilNs - this.#countedNs[priority]! : 0)
  }

  /** Returns the time for which at least one priority has been paused, up to `now`. */
  anyTotalNs(now: Nanos): Nanos {
    let untilNs = -1
    for (let p = 0; p < PRIORITIES; p++) {
      if ((this.#mask >>> p) & 1) untilNs = Math.max(untilNs, this.#untilNs[p]!)
    }
    return this.#endedNs[ANY]! + (this.#mask === 0 ? 0 : Math.min(now, untilNs) - this.#countedNs[ANY]!)
  }

  #expire(now: Nanos): void {
    let lastNs = -1
    for (let left = this.#mask; left !== 0; left &= left - 1) {
      const priority = 31 - Math.clz32(left & -left)
      const untilNs = this.#untilNs[priority]!
      if (untilNs > now) continue
      this.#end(priority, untilNs)
      lastNs = Math.max(lastNs, untilNs)
    }
    if (lastNs >= 0 && this.#mask === 0) this.#count(ANY, lastNs)
  }

  #end(priority: number, atNs: Nanos): void {
    this.#mask &= ~(1 << priority)
    this.#count(priority, atNs)
  }

  #count(column: number, untilNs: Nanos): void {
    this.#endedNs[column]! += untilNs - this.#countedNs[column]!
  }
}
