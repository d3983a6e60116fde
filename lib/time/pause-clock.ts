import { type Nanos, NEVER } from './nanos.js'

/** Priorities of a link, 0 to 7 (IEEE 802.1Q). */
const PRIORITIES = 8
/** Column of the sums that stands for the whole port. */
const ANY = PRIORITIES

/**
 * Until when a peer has paused each of the eight priorities of one transmitter (priority-based flow control, IEEE
 * 802.1Q, clause 36). It knows nothing of frames or queues and has no timer: the caller says what time it is.
 *
 * A pause holds from its arrival up to, not including, its end. A new one replaces the old, be it shorter or longer;
 * a time of 0 ends it.
 */
export class PauseClock {
  /** Bit p: priority p was paused when last looked at; its pause may have run out since. */
  #mask = 0
  readonly #untilNs = new Float64Array(PRIORITIES).fill(-1)
  readonly #sinceNs = new Float64Array(PRIORITIES)
  /** Total time of pauses that have ended, by priority, and of times in which any priority was paused. */
  readonly #endedNs = new Float64Array(ANY + 1)
  /** Start of the part of the current pause that is not in `#endedNs` yet. */
  readonly #countedNs = new Float64Array(ANY + 1)

  /** True if any priority may be paused: `pausedMask` knows exactly. */
  get any(): boolean {
    return this.#mask !== 0
  }

  /** The peer pauses `priority` for `forNs` from `now` on; 0 resumes it. */
  pause(now: Nanos, priority: number, forNs: Nanos): void {
    this.#expire(now)
    const bit = 1 << priority
    if (forNs > 0) {
      if ((this.#mask & bit) === 0) {
        // A pause that takes over at the very end of another leaves no gap.
        if (this.#untilNs[priority]! < now) this.#sinceNs[priority] = now
        this.#countedNs[priority] = now
        if (this.#mask === 0) this.#countedNs[ANY] = now
        this.#mask |= bit
      }
      this.#untilNs[priority] = now + forNs
    } else if ((this.#mask & bit) !== 0) {
      this.#end(priority, now)
      if (this.#mask === 0) this.#count(ANY, now)
      // Whatever comes next is another pause, even at this instant.
      this.#untilNs[priority] = -1
    }
  }

  /** Bit p: priority p must not begin a frame at `now`. Forgets the pauses that have run out by then. */
  pausedMask(now: Nanos): number {
    if (this.#mask !== 0) this.#expire(now)
    return this.#mask
  }

  /** The same for a time to come, as far as is known now. */
  pausedMaskAt(laterNs: Nanos): number {
    let mask = this.#mask
    for (let left = mask; left !== 0; left &= left - 1) {
      const bit = left & -left
      if (this.#untilNs[31 - Math.clz32(bit)]! <= laterNs) mask &= ~bit
    }
    return mask
  }

  /** When the first of the priorities in `mask` that are paused may go on, or NEVER if none is. */
  firstExpiry(mask: number): Nanos {
    let first = NEVER
    for (let held = this.#mask & mask; held !== 0; held &= held - 1) {
      first = Math.min(first, this.#untilNs[31 - Math.clz32(held & -held)]!)
    }
    return first
  }

  /** Since when `priority` has been paused without a gap, or NEVER if it is not at `now`. */
  sinceNs(now: Nanos, priority: number): Nanos {
    return this.#untilNs[priority]! > now ? this.#sinceNs[priority]! : NEVER
  }

  /** Time for which `priority` has been paused, up to `now`. */
  totalNs(now: Nanos, priority: number): Nanos {
    const counts = ((this.#mask >>> priority) & 1) === 1
    const untilNs = Math.min(now, this.#untilNs[priority]!)
    return this.#endedNs[priority]! + (counts ? untilNs - this.#countedNs[priority]! : 0)
  }

  /** Time for which at least one priority has been paused, up to `now`. */
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
