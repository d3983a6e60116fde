/** Most ranges that wait at a time: requests for more are ignored, and the requester asks again. */
const RANGES_MAX = 256
/** Room for the first ranges. */
const RANGES_FIRST = 8
/** The ring before anything is asked for. Nobody writes to it. */
const NONE = new Float64Array(0)

/**
 * Responses that a peer with selective repeat has asked for again: ranges of PSNs, in the order in which it has asked for
 * them. It takes one for lost when another has come that it asked for later (recovery/response-evidence.ts), so each range
 * waits for those before it. What it asks for once more waits at its new place alone: the peer has given the earlier request up,
 * and what it needs next must not wait for what it needs last.
 */
export class AskedAgain {
  /** First and last PSN of each, in a ring that grows with what waits. */
  #firstSeqs = NONE
  #lastSeqs = NONE
  #head = 0
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** The PSN to be answered next; there must be one. */
  get firstSeq(): number {
    return this.#firstSeqs[this.#head]!
  }

  /** The last PSN of that range. */
  get lastSeq(): number {
    return this.#lastSeqs[this.#head]!
  }

  /** A range is asked for. False if too many wait: those stay as they are. */
  add(firstSeq: number, lastSeq: number): boolean {
    if (this.#count === RANGES_MAX) return false
    if (this.#count === this.#firstSeqs.length) this.#grow()
    this.#remove(firstSeq, lastSeq)
    this.#append(firstSeq, lastSeq)
    return true
  }

  /** The first PSN has been answered. */
  answered(): void {
    if (this.firstSeq === this.lastSeq) this.shift()
    else this.#firstSeqs[this.#head]!++
  }

  /** Removes the first range. */
  shift(): void {
    this.#head = (this.#head + 1) % this.#firstSeqs.length
    this.#count--
  }

  /** Nothing from `seq` on is to be answered. */
  cancelFrom(seq: number): void {
    this.#remove(seq, Number.POSITIVE_INFINITY)
  }

  /** Takes these PSNs out of all ranges; they stay in one that goes on at both sides of them. */
  #remove(firstSeq: number, lastSeq: number): void {
    const count = this.#count
    this.#count = 0
    for (let i = 0; i < count; i++) {
      const at = (this.#head + i) % this.#firstSeqs.length
      let first = this.#firstSeqs[at]!
      let last = this.#lastSeqs[at]!
      if (firstSeq <= first) first = Math.max(first, Math.min(last, lastSeq) + 1)
      else if (lastSeq >= last) last = Math.min(last, firstSeq - 1)
      if (first <= last) this.#append(first, last)
    }
  }

  #append(firstSeq: number, lastSeq: number): void {
    const at = (this.#head + this.#count++) % this.#firstSeqs.length
    this.#firstSeqs[at] = firstSeq
    this.#lastSeqs[at] = lastSeq
  }

  #grow(): void {
    const capacity = Math.max(RANGES_FIRST, 2 * this.#firstSeqs.length)
    const firstSeqs = new Float64Array(capacity)
    const lastSeqs = new Float64Array(capacity)
    for (let i = 0; i < this.#count; i++) {
      const from = (this.#head + i) % this.#firstSeqs.length
      firstSeqs[i] = this.#firstSeqs[from]!
      lastSeqs[i] = this.#lastSeqs[from]!
    }
    this.#firstSeqs = firstSeqs
    this.#lastSeqs = lastSeqs
    this.#head = 0
  }
}
