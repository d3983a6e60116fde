import { WeirError } from '../../lib/errors.js'
import { type Libc, loadLibc } from '../../lib/io/linux/libc.js'

const EFD_NONBLOCK = 0o4000
const EFD_CLOEXEC = 0o2000000

/**
 * Wakes a thread that does not run its event loop: a flag that it reads at no cost while it runs, and a file
 * descriptor on which it can sleep.
 */
export class WakeFlag {
  readonly #libc: Libc = loadLibc()
  readonly #flag: Int32Array
  readonly fd: number

  /** The argument of the other thread's `WakeFlag.from`. */
  readonly shared: SharedWakeFlag

  private constructor(shared: SharedWakeFlag) {
    this.shared = shared
    this.#flag = new Int32Array(shared.memory)
    this.fd = shared.fd
  }

  /** Throws WEIR_UNSUPPORTED without Linux or koffi, and WEIR_FULL when no file descriptor is left. */
  static make(): WakeFlag {
    const libc = loadLibc()
    const fd = libc.eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)
    if (fd < 0)
      throw new WeirError('WEIR_FULL', `eventfd: error ${libc.errno()}; raise the limit of open files`)
    return new WakeFlag({ memory: new SharedArrayBuffer(4), fd })
  }

  static from(shared: SharedWakeFlag): WakeFlag {
    return new WakeFlag(shared)
  }

  raise(): void {
    // `lower` uses the reverse order, so that the descriptor is never left readable under a lowered flag.
    this.#libc.eventfdWrite(this.fd, 1)
    Atomics.store(this.#flag, 0, 1)
  }

  get isRaised(): boolean {
    return Atomics.load(this.#flag, 0) !== 0
  }

  /** Check for requests after this call, not before. */
  lower(): void {
    Atomics.store(this.#flag, 0, 0)
    this.#libc.eventfdRead(this.fd, new Uint8Array(8))
  }

  /** One of the threads calls it, when the other has ended. */
  close(): void {
    this.#libc.close(this.fd)
  }
}

export interface SharedWakeFlag {
  memory: SharedArrayBuffer
  fd: number
}
