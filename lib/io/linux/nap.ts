import type { Nanos } from '../../time/nanos.js'
import { loadLibc } from './libc.js'
import { Timespec } from './timespec.js'

/**
 * Sleeps for a time that nothing interrupts, as exactly as the calling thread's timers are (see FdWaiter).
 */
export class Nap {
  readonly #libc = loadLibc()
  readonly #timeout = new Timespec(this.#libc)

  sleep(ns: Nanos): void {
    this.#timeout.set(ns)
    this.#libc.ppoll(0, 0, this.#timeout.pointer, 0)
  }
}
