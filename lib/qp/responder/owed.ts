import * as aeth from '../../wire/ib/aeth.js'

/**
 * The ACK or NAK that this end owes the peer: at most one at a time, as each says all that the one before did. It leaves only
 * after the responses of READs and atomics before it, because the peer would otherwise take those for lost.
 */
export class Owed {
  /** It has not left. */
  pending = false
  /** PSN, MSN and syndrome of the last one; unwrapped numbers. */
  seq = 0
  msn = 0
  syndrome = 0
  /** That one says that a request has been refused: it stays, and is repeated when the peer asks. */
  refused = false
  /** A NAK has reported the gap: silence until it closes (IBA 9.7.5.2, one NAK a gap). */
  gapTold = false
  /** An ACK of all before it leaves before that NAK. */
  ackLeads = false
  /** Request packets that have come since the last ACK. */
  packets = 0

  /** Some of what has come in order is not acknowledged yet. */
  get hasNews(): boolean {
    return this.packets > 0 || (this.pending && !this.isNak)
  }

  get isNak(): boolean {
    return !aeth.isAck(this.syndrome)
  }

  owe(seq: number, msn: number, syndrome: number): void {
    this.pending = true
    this.seq = seq
    this.msn = msn
    this.syndrome = syndrome
    this.ackLeads = false
  }

  /** The NAK that is owed follows an ACK. */
  lead(): void {
    this.ackLeads = true
    this.packets = 0
  }

  /** An ACK has left, or another packet has carried what it says. */
  acknowledged(): void {
    this.pending = false
    this.packets = 0
  }
}
