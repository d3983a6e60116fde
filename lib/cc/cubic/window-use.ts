/**
 * How much of its window a flow uses: the most that was in flight in this round trip and the last one. A window of which
 * less than half is used must not grow, for nothing has shown that the path carries more (RFC 9438, section 5.8; RFC 7661,
 * section 4.1).
 */
export class WindowUse {
  /** Bytes in flight now. */
  #out = 0
  #peak = 0
  #peakBefore = 0
  /** The round ends when the packet before this one is acknowledged. */
  #roundEnd = 0

  get inFlightBytes(): number {
    return this.#out
  }

  /** The most that was in flight lately. */
  get peakBytes(): number {
    return Math.max(this.#peak, this.#peakBefore)
  }

  isUsed(windowBytes: number): boolean {
    return 2 * this.peakBytes >= windowBytes
  }

  onSent(bytes: number): void {
    this.#out += bytes
    this.#peak = Math.max(this.#peak, this.#out)
  }

  /** So much is in flight, as the scoreboard counts it. */
  set(inFlightBytes: number): void {
    this.#out = inFlightBytes
  }

  /** An acknowledgement of the packet `seq`. True if with it all that was in flight when the round began is acknowledged. */
  onAck(seq: number, sndNxt: number, inFlightBytes: number): boolean {
    const before = this.#out
    this.#out = inFlightBytes
    if (seq < this.#roundEnd - 1 || sndNxt === this.#roundEnd) return false
    this.#roundEnd = sndNxt
    this.#peakBefore = this.#peak
    // What is acknowledged just now was in flight as the round began.
    this.#peak = before
    return true
  }
}
