import { MICROSECOND, type Nanos } from '../../lib/time/nanos.js'

/** The part of its time on the way by which a frame may come late. */
const LATE_SHARE = 1 / 100
/** Shorter sleeps cost more than they gather, and longer ones hold up control messages. */
const GATHER_LEAST_NS: Nanos = 30 * MICROSECOND
const GATHER_MOST_NS: Nanos = 500 * MICROSECOND
/** The part of the way to a longer time that a frame goes. */
const RISE = 1 / 64

/**
 * How long the process of the switches lets frames gather before its next round, as a NIC moderates its
 * interrupts. To wake for each frame of a slow link takes more CPU time than the frame does, and the hosts are
 * processes of the same machine. The emulated times are exact however late the process wakes: a frame merely
 * reaches its host late, by a hundredth of the time that frames are under way.
 *
 * The time under way is that of the fastest frames: a faster one counts at once, slower ones by and by.
 */
export class Gathering {
  #underWayNs: Nanos = 0

  /** A frame will reach its host so long after it left the other one. */
  onFrame(underWayNs: Nanos): void {
    const more = underWayNs - this.#underWayNs
    this.#underWayNs += more < 0 ? more : more * RISE
  }

  get ns(): Nanos {
    return Math.min(GATHER_MOST_NS, Math.max(GATHER_LEAST_NS, this.#underWayNs * LATE_SHARE))
  }
}
