/**
 * Alpha, DCTCP's estimate of the share of bytes that switches mark (RFC 8257, section 3.3). It begins at 1, and is worked out anew when all
 * that was sent before it was worked out last has been acknowledged:
 *
 *     M = bytes marked / bytes acknowledged since
 *     alpha = (1 - g) alpha + g M
 */
export class MarkFraction {
  readonly #g: number
  alpha = 1
  /** DCTCP.WindowEnd, as a transmission. */
  #windowEnd = 0
  #ackedBytes = 0
  #markedBytes = 0

  constructor(g: number) {
    this.#g = g
  }

  /** An acknowledgement of the transmission `seq`. */
  onAck(seq: number, sndNxt: number, ackedBytes: number, markedBytes: number): void {
    this.#ackedBytes += ackedBytes
    this.#markedBytes += markedBytes
    if (seq < this.#windowEnd || this.#ackedBytes === 0) return
    const share = Math.min(1, this.#markedBytes / this.#ackedBytes)
    this.alpha = (1 - this.#g) * this.alpha + this.#g * share
    this.#windowEnd = sndNxt
    this.#ackedBytes = 0
    this.#markedBytes = 0
  }

  /** A CNP does not say how many packets were marked: all of this round trip count. */
  onCnp(): void {
    this.#markedBytes = Number.POSITIVE_INFINITY
  }

  forget(): void {
    this.alpha = 1
    this.#ackedBytes = 0
    this.#markedBytes = 0
  }
}
