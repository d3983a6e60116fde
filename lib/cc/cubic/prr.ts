/**
 * Proportional rate reduction: in recovery packets leave in proportion to those that arrive, so that at its end as much is
 * in flight as the new window allows, and never a burst (RFC 9937, section 6). The names are the RFC's.
 */
export class Prr {
  readonly #mtu: number
  #ssthresh = 0
  #recoverFs = 1
  #delivered = 0
  #out = 0

  constructor(mtuBytes: number) {
    this.#mtu = mtuBytes
  }

  /**
   * Recovery begins.
   * @param recoverFs bytes in flight before it: what was lost and what was acknowledged just now included
   */
  enter(ssthresh: number, recoverFs: number): void {
    this.#ssthresh = ssthresh
    this.#recoverFs = Math.max(1, recoverFs)
    this.#delivered = 0
    this.#out = 0
  }

  onSent(bytes: number): void {
    this.#out += bytes
  }

  /**
   * Bytes that may be sent after an acknowledgement.
   * @param safe it moved the oldest unacknowledged packet, and reported no further loss
   */
  onAck(deliveredBytes: number, inFlightBytes: number, safe: boolean): number {
    this.#delivered += deliveredBytes
    let sndcnt: number
    if (inFlightBytes > this.#ssthresh) {
      sndcnt = Math.ceil((this.#delivered * this.#ssthresh) / this.#recoverFs) - this.#out
    } else {
      sndcnt = Math.max(this.#delivered - this.#out, deliveredBytes)
      if (safe) sndcnt += this.#mtu
      sndcnt = Math.min(this.#ssthresh - inFlightBytes, sndcnt)
    }
    sndcnt = Math.max(0, sndcnt)
    // The first retransmission leaves at once.
    return this.#out === 0 && sndcnt === 0 ? this.#mtu : sndcnt
  }
}
