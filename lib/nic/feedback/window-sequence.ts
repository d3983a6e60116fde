const MASK = 0xffffff
/** The low bits, which data packets carry. */
const LOW_MASK = 0x7f
/** A number that is further ahead is no successor of the last one: so many windows in a row are hardly lost. */
const AHEAD_MAX = 64
const NONE = -1

/**
 * Numbers of the windows that one end works out for the other, 24 bits. A window that is retransmitted keeps its number. Data
 * packets say with which window they were sent.
 *
 * | the number that comes | |
 * |---|---|
 * | at most 64 ahead of the last one taken | is taken |
 * | any other | is ignored, the first time: a later window has overtaken it, or it is forged |
 * | any other, at most 64 ahead of the one ignored before it | is taken |
 *
 * The last row is for connections without a key, where anybody can forge a window. The peer goes on from its own number, and
 * repeats a window that is not in force. So one forged number holds up one window of the peer; a forger that answers each of
 * them holds up all.
 */
export class WindowSequence {
  /** Number of the window that this end gave last, 0 = none. */
  given = 0
  #taken = NONE
  /** The window that was ignored since one was last taken. */
  #ignored = NONE

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
    if (sequence === this.#taken) return false
    const follows = ((sequence - this.#taken) & MASK) <= AHEAD_MAX
    const confirmed = this.#ignored !== NONE && ((sequence - this.#ignored) & MASK) <= AHEAD_MAX
    if (!follows && !confirmed) {
      this.#ignored = sequence
      return false
    }
    this.#taken = sequence
    this.#ignored = NONE
    return true
  }
}
