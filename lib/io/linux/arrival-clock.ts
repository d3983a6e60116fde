import { UNKNOWN_ARRIVAL } from '../../frame/frame.js'
import { MILLISECOND, type Nanos, SECOND } from '../../time/nanos.js'
import { monotonicNs } from '../clock.js'
import { WallClock } from './wall-clock.js'

type StampClock = Pick<WallClock, 'read' | 'seconds' | 'nanoseconds'>

/** Arrivals after which both clocks are read again. */
const READ_EVERY = 256
/** Arrivals come in order, except where two queues are read in turn. Who goes back further shows that the time of day was set. */
const BACK_MOST_NS: Nanos = 100 * MILLISECOND
/** An arrival that is older shows the same. */
const AGE_MOST_NS: Nanos = 10 * SECOND

/**
 * The kernel stamps packets with the time of day when they arrive. This tells the times of the loop's clock, so that a host that wakes late
 * does not take its own delay for the network's.
 */
export class ArrivalClock {
  readonly #wall: StampClock
  readonly #loopNs: () => Nanos
  /** The second of the last reading, and the loop's time at its beginning. */
  #seconds = 0
  #secondNs: Nanos = 0
  #readNs: Nanos = 0
  #left = 0
  #lastNs: Nanos = Number.NEGATIVE_INFINITY

  /**
   * @param wall the clock of the stamps
   * @param loopNs the loop's clock
   */
  constructor(wall: StampClock = new WallClock(), loopNs: () => Nanos = monotonicNs) {
    this.#wall = wall
    this.#loopNs = loopNs
  }

  /**
   * Returns when a packet arrived, or UNKNOWN_ARRIVAL: the time of day has been set, or the kernel gave no stamp.
   *
   * @param seconds of the stamp; 0 = there is none
   * @param nanoseconds of the stamp, below a second
   */
  arrivedNs(seconds: number, nanoseconds: number): Nanos {
    if (seconds === 0) return UNKNOWN_ARRIVAL
    if (--this.#left < 0) this.#read()
    let at = this.#at(seconds, nanoseconds)
    if (at < this.#lastNs - BACK_MOST_NS) {
      this.#read()
      at = this.#at(seconds, nanoseconds)
    }
    this.#lastNs = at
    return at >= this.#readNs - AGE_MOST_NS && at >= 0 ? at : UNKNOWN_ARRIVAL
  }

  #at(seconds: number, nanoseconds: number): Nanos {
    return this.#secondNs + (seconds - this.#seconds) * SECOND + nanoseconds
  }

  #read(): void {
    this.#wall.read()
    this.#readNs = this.#loopNs()
    this.#seconds = this.#wall.seconds
    this.#secondNs = this.#readNs - this.#wall.nanoseconds
    this.#left = READ_EVERY
  }
}
