import { loadLibc } from './libc.js'
import { Timespec } from './timespec.js'

const CLOCK_REALTIME = 0

/** The time of day with which the kernel stamps packets. Reading it allocates nothing. */
export class WallClock {
  /** Time of the last reading, whole seconds since 1970. */
  seconds = 0
  /** The rest of the time, nanoseconds, 0 to 999,999,999. */
  nanoseconds = 0
  readonly #libc = loadLibc()
  readonly #time = new Timespec(this.#libc)

  read(): void {
    this.#libc.clockGettime(CLOCK_REALTIME, this.#time.pointer)
    this.seconds = this.#time.seconds
    this.nanoseconds = this.#time.nanoseconds
  }
}
