const MASK = 0xffffff
/** The low bits, which data packets carry. */
const LOW_MASK = 0x7f

/**
 * Numbers of the windows that one end works out for the other, 24 bits. A window that is retransmitted keeps its number. A
 * window that a later one has overtaken is ignored. Data packets say with which window they were sent.
 */
export class WindowSequence {
  /** Number of the window that this end gave last, 0 = none. */
  given = 0
  #taken = -1

  /** This end gives the peer another window. */
  next(): void {
    this.given = (this.given + 1) & MASK
  }

  /** True if a packet with that number was sent with the window that this end gave last. @param number its low 7 bits */
  isLast(number: number): boolean {
    return (number & LOW_MASK) === (this.given & LOW_MASK)
  }

  /** Number of the peer's window that is in force here, 0 = none has come. */
  get inForce(): number {
    return Math.max(0, this.#taken)
  }

  /** A window of that number came: true if it is news. */
  take(sequence: number): boolean {
    const ahead = (sequence - this.#taken) & MASK
    if (this.#taken >= 0 && (ahead === 0 || ahead > 0x7fffff)) return false
    this.#taken = sequence
    return true
  }
}
