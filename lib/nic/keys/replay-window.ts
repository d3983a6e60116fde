/** Length of the window: sequence numbers that far behind the highest one are still accepted, once each. */
const REPLAY_WINDOW = 1024
const WORDS = REPLAY_WINDOW / 32

/**
 * Sequence numbers that have come: each is taken once, in any order within a window behind the highest one (the method of
 * RFC 4303, section 3.4.3; the ring of RFC 6479, so that nothing is shifted).
 */
export class ReplayWindow {
  #highest = 0
  readonly #seen = new Uint32Array(WORDS)

  /** False for a number that has come before, is too old to be known, or is 0. @param sequence whole, below 2^53 */
  add(sequence: number): boolean {
    if (sequence <= 0 || sequence <= this.#highest - REPLAY_WINDOW) return false
    if (sequence > this.#highest) this.#moveTo(sequence)
    const bit = sequence % REPLAY_WINDOW
    const mask = 1 << (bit & 31)
    const word = bit >>> 5
    if ((this.#seen[word]! & mask) !== 0) return false
    this.#seen[word] = this.#seen[word]! | mask
    return true
  }

  /** Numbers between the old highest one and the new one have not been seen yet. */
  #moveTo(sequence: number): void {
    if (sequence - this.#highest >= REPLAY_WINDOW) this.#seen.fill(0)
    else {
      for (let n = this.#highest + 1; n <= sequence; n++) {
        const bit = n % REPLAY_WINDOW
        this.#seen[bit >>> 5] = this.#seen[bit >>> 5]! & ~(1 << (bit & 31))
      }
    }
    this.#highest = sequence
  }
}
