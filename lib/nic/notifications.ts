/** Answers that may wait to be sent; beyond it the packet goes unanswered. */
const ENTRIES_MAX = 256

/**
 * Telemetry responses that wait to be sent: a ring of pairs of a flow's QPN and what is answered. That is the
 * sequence of a probe, or, below zero, -1 - the PSN of a READ response.
 */
export class Notifications {
  readonly #entries = new Int32Array(2 * ENTRIES_MAX)
  #head = 0
  #count = 0

  get count(): number {
    return this.#count
  }

  push(qpn: number, what: number): void {
    if (this.#count === ENTRIES_MAX) return
    const at = (this.#head + this.#count++) % ENTRIES_MAX
    this.#entries[2 * at] = qpn
    this.#entries[2 * at + 1] = what
  }

  /** QPN of the oldest; the ring must not be empty. */
  get qpn(): number {
    return this.#entries[2 * this.#head]!
  }

  /** What the oldest answers. */
  get what(): number {
    return this.#entries[2 * this.#head + 1]!
  }

  /** Takes the oldest out. */
  shift(): void {
    this.#head = (this.#head + 1) % ENTRIES_MAX
    this.#count--
  }

  /** Puts the oldest behind all others: it cannot be sent now. */
  rotate(): void {
    const { qpn, what } = this
    this.shift()
    this.push(qpn, what)
  }
}
