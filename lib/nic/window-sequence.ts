/**
 * Sequence numbers of the windows that one end works out for the other, 24 bits: a window that a later one has
 * overtaken is ignored.
 */
export class WindowSequence {
  #sent = 0
  #taken = -1

  /** Number of the next window that this end sends. */
  next(): number {
    this.#sent = (this.#sent + 1) & 0xffffff
    return this.#sent
  }

  /** A window of that number came: true if it is news. */
  take(sequence: number): boolean {
    const ahead = (sequence - this.#taken) & 0xffffff
    if (this.#taken >= 0 && (ahead === 0 || ahead > 0x7fffff)) return false
    this.#taken = sequence
    return true
  }
}
