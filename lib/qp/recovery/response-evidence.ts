const NO_SEQ = Number.NEGATIVE_INFINITY

/**
 * What responses that have come show of responses that have not. Nobody at the requester knows when a response left. One is taken for lost when
 * one that lies at least `tolerance` packets further on has come (RFC 6675, section 5, by distance as in Mathis and
 * Mahdavi's FACK), or the very last one; and one that was asked for again, when a response has come that was asked for
 * later: they come in the order in which they are asked for again, ahead of all others.
 */
export class ResponseEvidence {
  /** The latest transmission that has been answered by a response, of those that asked for responses again. */
  answeredNumber = -1
  /** The highest PSN whose response has come. */
  #highestSeq = NO_SEQ
  /** Up to where that has been followed. */
  #seenSeq = NO_SEQ
  #tolerance: number

  constructor(tolerance: number) {
    this.#tolerance = tolerance
  }

  onResponse(seq: number): void {
    this.#highestSeq = Math.max(this.#highestSeq, seq)
  }

  /** Responses were asked for again too early. */
  onTwice(toleranceMax: number): void {
    this.#tolerance = Math.min(toleranceMax, 2 * this.#tolerance)
  }

  /** The first PSN that has not been looked at, from `sndUna` on. */
  from(sndUna: number): number {
    return Math.max(this.#seenSeq, sndUna)
  }

  /** The first PSN that is not shown to be lost, of responses asked for once: up to there all is looked at now. */
  until(sndNxt: number, bound: number): number {
    const highest = this.#highestSeq
    const spared = highest >= sndNxt - 1 ? highest : highest - this.#tolerance + 1
    this.#seenSeq = Math.max(this.#seenSeq, Math.min(spared, bound))
    return this.#seenSeq
  }

  forget(): void {
    this.answeredNumber = -1
    this.#highestSeq = NO_SEQ
    this.#seenSeq = NO_SEQ
  }
}
