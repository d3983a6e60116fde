/**
 * Packets of this end that the peer has received with a CE mark. Answers say their number modulo 2^6 (`marks` of lib/wire/ib/bth.ts), so
 * each packet counts once, however many of them an answer stands for, and whether or not earlier answers have arrived. Peers that do not
 * count only say that some packet was marked: BECN.
 */
import * as bth from '../../wire/ib/bth.js'

export class MarkCount {
  /** What the last answer said, and the number that has been taken from answers before it. */
  #heard = 0
  #taken = 0
  /** The peer counts: it has said another number than 0. */
  #counts = false

  /** An answer has come. @param count what it says */
  hear(count: number): void {
    this.#heard = count
    this.#counts ||= count > 0
  }

  /**
   * Payload bytes of packets with a mark that are news of the last answer.
   *
   * @param echoed it says that some packet was marked; @param isNewest nothing overtook it: it acknowledges more than those before it did
   * @param ackedBytes that it acknowledges, and @param payloadBytes of a packet
   */
  take(echoed: boolean, isNewest: boolean, ackedBytes: number, payloadBytes: number): number {
    if (!this.#counts) return echoed ? ackedBytes : 0
    const more = (this.#heard - this.#taken) & (bth.MARKS_MODULUS - 1)
    // An answer that was overtaken says less.
    if (!isNewest && more >= bth.MARKS_MODULUS / 2) return 0
    this.#taken = this.#heard
    const wrapped = more === 0 && echoed && ackedBytes >= bth.MARKS_MODULUS * payloadBytes
    return (wrapped ? bth.MARKS_MODULUS : more) * payloadBytes
  }
}
