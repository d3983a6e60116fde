import * as aeth from '../wire/aeth.js'
import { unwrapPsn } from './psn.js'
import type { SendSlot } from './send-queue.js'
import { WorkOpcode } from './work.js'

/** The peer's end-to-end credits, as its acknowledgements tell them (IBA 9.7.7.2). */
export class Credits {
  /** The peer's MSN, unwrapped, and the SSN up to which its credits reach. */
  #msn = 0
  #limitSequence = 0
  #limited = false

  /** @param limited messages are held to credits, until the peer says that it has no limit */
  start(limited: boolean): void {
    this.#msn = 0
    this.#limitSequence = 0
    this.#limited = limited
  }

  /** The setting may have changed. */
  settle(limited: boolean): void {
    this.#limited &&= limited
  }

  /**
   * True if the packet `sendSeq` has to wait. Beyond the limit sequence number, one more message may begin: a SEND with its first
   * packet alone, a WRITE with all of it.
   */
  holdBack(slot: SendSlot, sendSeq: number): boolean {
    if (!this.#limited || !slot.takesCredit) return false
    const beyond = slot.ssn - this.#limitSequence
    if (beyond <= 0) return false
    return beyond > 1 || (sendSeq > slot.firstSeq && slot.opcode !== WorkOpcode.RDMA_WRITE_WITH_IMM)
  }

  /** True if credits hold the message back behind its next packet: that one must ask for an ACK. */
  isLast(slot: SendSlot): boolean {
    return this.#limited && slot.takesCredit && slot.ssn > this.#limitSequence
  }

  /** Reads MSN and credits of an ACK; old ones tell nothing. */
  onAck(messageSequence: number, code: number): void {
    if (!this.#limited) return
    if (code === aeth.CREDITS_UNLIMITED) {
      this.#limited = false
      return
    }
    const msn = unwrapPsn(messageSequence, this.#msn)
    if (msn > this.#msn) this.#msn = msn
    const limit = msn + aeth.CREDITS[code]!
    if (limit > this.#limitSequence) this.#limitSequence = limit
  }
}
