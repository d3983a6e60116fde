import { type Nanos, SECOND } from '../../time/nanos.js'
import type { Libc, Pointer } from './libc.js'

const BYTES = 16
const NANOSECONDS = 8

/** `struct timespec` in memory that the kernel reads. */
export class Timespec {
  readonly pointer: Pointer
  readonly #view: DataView

  constructor(libc: Libc) {
    const bytes = new Uint8Array(new SharedArrayBuffer(BYTES))
    this.#view = new DataView(bytes.buffer)
    this.pointer = libc.address(bytes)
  }

  /** @param ns 0 or more; negative counts as 0 */
  set(ns: Nanos): void {
    const seconds = ns > 0 ? Math.floor(ns / SECOND) : 0
    this.#view.setUint32(0, seconds, true)
    this.#view.setUint32(NANOSECONDS, ns > 0 ? ns - seconds * SECOND : 0, true)
  }

  get seconds(): number {
    return this.#view.getUint32(0, true)
  }

  /** The part below a second, 0 to 999,999,999. */
  get nanoseconds(): number {
    return this.#view.getUint32(NANOSECONDS, true)
  }
}
