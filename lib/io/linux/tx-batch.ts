import type { Libc, Pointer } from './libc.js'

/** `struct mmsghdr` on 64-bit Linux: a msghdr of 56 bytes, the bytes sent, padding. */
const MMSGHDR_BYTES = 64
const MSGHDR_IOV = 16
const MSGHDR_IOVLEN = 24
/** `struct iovec`: address, bytes. */
const IOVEC_BYTES = 16
const MSG_DONTWAIT = 0x40
const WORD = 2 ** 32

/**
 * Messages for one `sendmmsg`, sent directly from the memory that their bytes are in. The structures are laid
 * out once, in memory that does not move.
 */
export class TxBatch {
  readonly capacity: number
  count = 0
  readonly #libc: Libc
  readonly #view: DataView
  readonly #headers: Pointer
  readonly #iovecs: number
  readonly #flags: number

  /** @param dontWait refuse a message for which the socket's buffer has no room */
  constructor(libc: Libc, capacity: number, dontWait = false) {
    this.capacity = capacity
    this.#libc = libc
    this.#flags = dontWait ? MSG_DONTWAIT : 0
    const bytes = new Uint8Array(new SharedArrayBuffer(capacity * (MMSGHDR_BYTES + IOVEC_BYTES)))
    this.#view = new DataView(bytes.buffer)
    this.#headers = libc.address(bytes)
    this.#iovecs = capacity * MMSGHDR_BYTES
    for (let i = 0; i < capacity; i++) {
      const at = i * MMSGHDR_BYTES
      this.#setPointer(at + MSGHDR_IOV, this.#headers + this.#iovecs + i * IOVEC_BYTES)
      this.#view.setUint32(at + MSGHDR_IOVLEN, 1, true)
    }
  }

  /** Adds a message. There must be room. The bytes must not move until `send` returns. */
  add(address: Pointer, bytes: number): void {
    const at = this.#iovecs + this.count * IOVEC_BYTES
    this.#setPointer(at, address)
    this.#view.setUint32(at + 8, bytes, true)
    this.count++
  }

  /**
   * Sends the messages from `first` on. It waits while the socket's buffer is full, unless `dontWait` is set.
   * Returns how many were sent before one that the kernel refused, or -1 if it refused the first.
   */
  send(fd: number, first: number): number {
    return this.#libc.sendmmsg(fd, this.#headers + first * MMSGHDR_BYTES, this.count - first, this.#flags)
  }

  #setPointer(at: number, pointer: Pointer): void {
    this.#view.setUint32(at, pointer % WORD, true)
    this.#view.setUint32(at + 4, Math.floor(pointer / WORD), true)
  }
}
