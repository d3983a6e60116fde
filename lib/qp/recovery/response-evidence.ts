const NO_SEQ = Number.NEGATIVE_INFINITY

/**
 * What responses that have come show of responses that have not. The requester does not know when a response left.
 *
 * | response | taken for lost when |
 * |---|---|
 * | requested once | one at least `tolerance` packets further on has come (RFC 6675, section 5, by distance as in Mathis and Mahdavi's FACK), or the last one of all |
 * | requested again | a response has come that was requested again later: they come in the order of those requests, ahead of all others |
 */
export class ResponseEvidence {
  /** The latest transmission that a response has answered, of those that requested responses again. */
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

  /** Responses were requested again too early. */
  onTwice(toleranceMax: number): void {
    this.#tolerance = Math.min(toleranceMax, 2 * this.#tolerance)
  }

  /** The first PSN that has not been looked at, from `sndUna` on. */
  from(sndUna: number): number {
    return Math.max(this.#seenSeq, sndUna)
  }

  /** The first PSN that is not shown to be lost, of responses requested once. All before it has been looked at. */
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
