import { WeirError } from '../../errors.js'
import type { Nanos } from '../../time/nanos.js'
import type { Waiter } from '../waiter.js'
import { type Libc, loadLibc, type Pointer } from './libc.js'
import { Timespec } from './timespec.js'

/** `struct pollfd`: descriptor, requested events, events that occurred. */
const POLLFD_BYTES = 8
const POLLIN = 1
const POLLERR = 8
const PR_SET_TIMERSLACK = 29
/**
 * An armed wait wakes at this interval, because a process that exits waits for its waiting threads. When idle
 * this costs 4 system calls a second.
 */
const ARMED_MS = 250

/**
 * Waits for file descriptors by ppoll: on this thread for a short time, or on one of libuv's threads until
 * something happens. It makes the thread's timers exact. By default Linux rounds them up by 50 us.
 */
export class FdWaiter implements Waiter {
  readonly #libc: Libc = loadLibc()
  readonly #count: number
  readonly #fds: PollSet
  readonly #armedFds: PollSet
  readonly #timeout = new Timespec(this.#libc)
  readonly #armedTimeout = new Timespec(this.#libc)
  readonly #wakeFd: number
  readonly #onError: () => void
  readonly #look: () => boolean
  #callback: (() => void) | null = null
  #isArmed = false
  #closed = false
  #onIdle = () => {}

  /**
   * Throws WEIR_UNSUPPORTED where the calls cannot be made.
   *
   * @param onError called when a descriptor has an error. The error wakes every wait until it is taken.
   * Default: the next receive takes it
   * @param look as Waiter. Default: by ppoll
   */
  constructor(
    fds: readonly number[],
    onError: () => void = () => {},
    look: () => boolean = () => this.#poll(0),
  ) {
    this.#onError = onError
    this.#look = look
    this.#wakeFd = this.#libc.eventfd(0, 0)
    if (this.#wakeFd < 0) {
      throw new WeirError('WEIR_FULL', `eventfd: error ${this.#libc.errno()}; raise the limit of open files`)
    }
    this.#count = fds.length
    this.#fds = new PollSet(this.#libc, fds)
    this.#armedFds = new PollSet(this.#libc, [...fds, this.#wakeFd])
    this.#armedTimeout.set(ARMED_MS * 1e6)
    this.#libc.prctl(PR_SET_TIMERSLACK, 1)
  }

  look(): boolean {
    return this.#look()
  }

  wait(ns: Nanos): boolean {
    // A thread that spins for long may occupy the very core that its peer waits for.
    if (ns <= 0) this.#libc.schedYield()
    return this.#poll(ns)
  }

  arm(callback: () => void): void {
    this.#callback = callback
    if (!this.#isArmed && !this.#closed) this.#waitElsewhere()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#callback = null
    if (this.#isArmed) {
      const idle = new Promise<void>(resolve => {
        this.#onIdle = resolve
      })
      this.#libc.eventfdWrite(this.#wakeFd, 1)
      await idle
    }
    this.#libc.close(this.#wakeFd)
  }

  #poll(ns: Nanos): boolean {
    if (this.#closed) return false
    this.#timeout.set(ns)
    if (this.#libc.ppoll(this.#fds.pointer, this.#count, this.#timeout.pointer, 0) <= 0) return false
    if (this.#fds.hasError) this.#onError()
    return true
  }

  #waitElsewhere(): void {
    this.#isArmed = true
    const { pointer } = this.#armedFds
    this.#libc.ppollAsync(pointer, this.#count + 1, this.#armedTimeout.pointer, this.#onWaited)
  }

  readonly #onWaited = (ready: number): void => {
    this.#isArmed = false
    if (this.#closed) {
      this.#onIdle()
    } else if (ready === 0) {
      if (this.#callback !== null) this.#waitElsewhere()
    } else {
      if (this.#armedFds.hasError) this.#onError()
      const callback = this.#callback
      this.#callback = null
      callback?.()
    }
  }
}

/** Descriptors that are watched until they have something to read, in memory that the kernel reads. */
class PollSet {
  readonly pointer: Pointer
  readonly #view: DataView

  constructor(libc: Libc, fds: readonly number[]) {
    const bytes = new Uint8Array(new SharedArrayBuffer(fds.length * POLLFD_BYTES))
    this.#view = new DataView(bytes.buffer)
    for (const [i, fd] of fds.entries()) {
      this.#view.setInt32(i * POLLFD_BYTES, fd, true)
      this.#view.setInt16(i * POLLFD_BYTES + 4, POLLIN, true)
    }
    this.pointer = libc.address(bytes)
  }

  /** True if the last wait found an error. */
  get hasError(): boolean {
    for (let at = 6; at < this.#view.byteLength; at += POLLFD_BYTES) {
      if ((this.#view.getInt16(at, true) & POLLERR) !== 0) return true
    }
    return false
  }
}
