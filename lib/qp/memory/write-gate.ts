/**
 * Closes parts of a region to the writes of peers, and opens them again: so that what a peer has written is not changed while it is
 * used. As if a memory window on that part were invalidated and bound again (IBA 10.6.7), but the key stays the same.
 */
export class WriteGate {
  readonly #partBytes: number
  readonly #closed: Uint8Array

  /** All parts are open at first. What lies behind the last is closed for ever. @param partBytes 1 and more; @param parts 1 and more */
  constructor(partBytes: number, parts: number) {
    this.#partBytes = partBytes
    this.#closed = new Uint8Array(parts)
  }

  /** From now on nobody writes there. */
  close(part: number): void {
    this.#closed[part] = 1
  }

  open(part: number): void {
    this.#closed[part] = 0
  }

  /** True if all of `length` bytes from `offset` on are open; `length` is 1 or more. */
  admits(offset: number, length: number): boolean {
    const last = Math.floor((offset + length - 1) / this.#partBytes)
    for (let part = Math.floor(offset / this.#partBytes); part <= last; part++) {
      if (this.#closed[part] !== 0) return false
    }
    return true
  }
}
