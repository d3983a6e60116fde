import type { Frame } from '../frame/frame.js'
import type { Nanos } from '../time/nanos.js'
import * as aeth from '../wire/aeth.js'
import * as bth from '../wire/bth.js'
import { isFirst, isLast, isRcSend, isRcWrite, Opcode } from '../wire/opcode.js'
import type { QpContext } from './context.js'
import type { MemoryRegion } from './memory.js'
import { onAtomic } from './on-atomic.js'
import { onDuplicate } from './on-duplicate.js'
import { keepOutOfOrder, runKept } from './on-out-of-order.js'
import { onRead } from './on-read.js'
import { onSend } from './on-send.js'
import { onWrite } from './on-write.js'
import { unwrapPsn } from './psn.js'
import { ReorderBuffer } from './reorder-buffer.js'
import { ResponseTable } from './response-table.js'
import { WorkStatus } from './work-status.js'

/** The message that has begun and not ended. */
export const Message = { NONE: 0, SEND: 1, WRITE: 2 } as const
export type Message = (typeof Message)[keyof typeof Message]

/**
 * The responder's place in the peer's stream of PSNs, and the answer that it owes (IBA 9.7.3 to 9.7.5).
 *
 * At most one ACK or NAK is owed at a time, as each says all that the one before did. It leaves only after the
 * responses of READs and atomics before it, since it would take them for lost otherwise.
 */
export class Responder {
  readonly context: QpContext
  /** The PSN that comes next. */
  expectedSeq = 0
  /** Messages completed; READs and atomics count at their request. */
  msn = 0
  message: Message = Message.NONE
  /** Bytes in the receive of a SEND under way. For a WRITE under way: bytes still to come, and where they go. */
  receivedBytes = 0
  remainingBytes = 0
  writeRegion: MemoryRegion | null = null
  writeOffset = 0
  table = new ResponseTable(0)
  /** An ACK or NAK is owed: its PSN, MSN and syndrome. */
  ackPending = false
  ackSeq = 0
  ackMsn = 0
  ackSyndrome = 0
  /**
   * A request has been refused. The NAK that says so is kept in the three fields above, and sent again when asked
   * for.
   */
  refused = false
  /** Requests that came out of order; null: go-back-N. */
  kept: ReorderBuffer | null = null
  /** A NAK has told of the gap: silence until it closes (IBA 9.7.5.2, one NAK a gap). */
  #gapTold = false
  #packetsSinceAck = 0
  /** Duplicates of the connections before. */
  readonly #duplicatesBefore: number

  constructor(context: QpContext) {
    this.context = context
    this.#duplicatesBefore = context.counters.duplicates
  }

  /** Begins with that PSN. */
  start(receivePsn: number): void {
    this.expectedSeq = receivePsn
    this.msn = 0
    this.message = Message.NONE
    this.writeRegion = null
    this.table = new ResponseTable(this.context.settings.responderResources)
    this.ackPending = false
    this.refused = false
    this.#gapTold = false
    this.#packetsSinceAck = 0
    const { selectiveRepeat, reorderPool, reorderPackets, maxPacketsInFlight } = this.context.settings
    this.kept?.clear()
    this.kept = selectiveRepeat ? new ReorderBuffer(reorderPool, reorderPackets, maxPacketsInFlight) : null
  }

  /** Packets of this connection that have arrived twice. */
  get duplicates(): number {
    return this.context.counters.duplicates - this.#duplicatesBefore
  }

  /** A request packet of the peer. */
  onRequest(now: Nanos, frame: Frame, opcode: number): void {
    const seq = unwrapPsn(bth.psn(frame.view, frame.bth), this.expectedSeq)
    if (seq === this.expectedSeq) {
      this.inOrder(now, frame, opcode)
      if (this.kept !== null && this.kept.count > 0) runKept(this, this.kept, now, seq)
    } else if (seq < this.expectedSeq) {
      onDuplicate(this, now, frame, opcode, seq)
    } else if (this.kept !== null) keepOutOfOrder(this, this.kept, frame, seq)
    else this.onGap()
  }

  /** The request that comes next. */
  inOrder(now: Nanos, frame: Frame, opcode: number): void {
    if (this.#fits(frame, opcode)) this.#execute(now, frame, opcode)
    else this.refuse(now, aeth.NAK_INVALID_REQUEST, WorkStatus.REM_INV_REQ_ERR)
  }

  /** True if this packet may follow the one before, and has the size that it must have (IBA 9.7.4.1). */
  #fits(frame: Frame, opcode: number): boolean {
    const mtu = this.context.settings.pathMtu
    const length = frame.payloadLength
    if (isFirst(opcode) !== (this.message === Message.NONE)) return false
    if (this.message === Message.SEND && !isRcSend(opcode)) return false
    if (this.message === Message.WRITE && !isRcWrite(opcode)) return false
    if (!isRcSend(opcode) && !isRcWrite(opcode)) return length === 0
    if (!isLast(opcode)) return length === mtu
    return length <= mtu && (length > 0 || isFirst(opcode))
  }

  #execute(now: Nanos, frame: Frame, opcode: number): void {
    if (isRcSend(opcode)) onSend(this, now, frame, opcode)
    else if (isRcWrite(opcode)) onWrite(this, now, frame, opcode)
    else if (opcode === Opcode.RC_RDMA_READ_REQUEST) onRead(this, now, frame)
    else onAtomic(this, now, frame, opcode)
  }

  /** One packet of a SEND or WRITE has been carried out. */
  acceptPacket(frame: Frame, opcode: number): void {
    this.context.took = true
    this.context.counters.receivedPackets++
    this.context.counters.receivedBytes += frame.payloadLength
    this.#advance(1)
    const last = isLast(opcode)
    if (last) {
      this.message = Message.NONE
      this.msn++
    }
    this.#packetsSinceAck++
    const every = this.context.settings.ackEveryPackets
    // With `every` 0 the end of a message is acknowledged because its last packet asks for that.
    const due = every > 0 && (last || this.#packetsSinceAck >= every)
    if (due || bth.ackRequest(frame.view, frame.bth)) this.oweAck()
  }

  /** A READ or atomic has been taken; its response acknowledges it. */
  acceptResponding(responsePackets: number): void {
    this.context.took = true
    this.context.counters.receivedPackets++
    this.#advance(responsePackets)
    this.#packetsSinceAck = 0
    this.table.settle()
  }

  #advance(packets: number): void {
    // A NAK for this packet that has not left yet is not needed any more.
    if (!aeth.isAck(this.ackSyndrome)) this.ackPending = false
    this.expectedSeq += packets
    this.#gapTold = false
  }

  /** Owes an ACK of everything that came in order. */
  oweAck(): void {
    this.#owe(this.expectedSeq - 1, aeth.ACK_UNLIMITED)
    this.#packetsSinceAck = 0
  }

  /** Another packet has carried the ACK that was owed, if any. */
  acknowledged(): void {
    this.ackPending = false
    this.#packetsSinceAck = 0
  }

  #owe(seq: number, syndrome: number): void {
    this.ackPending = true
    this.ackSeq = seq
    this.ackMsn = this.msn
    this.ackSyndrome = syndrome
  }

  /** A request has been kept. @param asks a SACK is owed at once, however few packets came since the last */
  acceptKept(asks: boolean): void {
    this.#packetsSinceAck++
    const every = this.context.settings.ackEveryPackets
    if (asks || (every > 0 && this.#packetsSinceAck >= every)) this.oweSack()
  }

  /** Owes an ACK, which leaves as a SACK while requests are kept; not if a NAK is owed, which says as much. */
  oweSack(): void {
    if (!this.ackPending || aeth.isAck(this.ackSyndrome)) this.oweAck()
  }

  /** Beyond the expected PSN: one NAK a gap, then silence (IBA 9.7.4.1, 9.7.5.2). */
  onGap(): void {
    this.context.counters.outOfSequence++
    if (this.#gapTold) return
    this.#gapTold = true
    this.context.counters.naksSent++
    this.#owe(this.expectedSeq, aeth.NAK_PSN_SEQUENCE_ERROR)
  }

  /** No receive is posted: the peer has to come again (IBA 9.7.5.2.8). What it has sent beyond is ignored. */
  notReady(): void {
    this.context.counters.rnrNaksSent++
    this.#gapTold = true
    this.#owe(this.expectedSeq, aeth.rnrNakSyndrome(this.context.settings.minRnrTimer))
  }

  /** The request at `expectedSeq` cannot be carried out: NAK, then error (IBA 9.9.3.1, class C). */
  refuse(now: Nanos, syndrome: number, status: WorkStatus): void {
    this.refuseAt(now, this.expectedSeq, syndrome, status)
  }

  refuseAt(now: Nanos, seq: number, syndrome: number, status: WorkStatus): void {
    this.context.counters.naksSent++
    if (syndrome === aeth.NAK_REMOTE_ACCESS_ERROR) this.context.counters.refusedAccess++
    this.#owe(seq, syndrome)
    this.refused = true
    this.table.cancelFrom(seq)
    this.context.fail(now, status)
  }

  /**
   * A request packet has come after one was refused. If it asks for an acknowledgement, or is the refused one again
   * or an earlier one, the peer has not heard the NAK, which is then repeated. Nothing is carried out any more.
   */
  refuseAgain(frame: Frame): void {
    const seq = unwrapPsn(bth.psn(frame.view, frame.bth), this.expectedSeq)
    if (seq > this.ackSeq && !bth.ackRequest(frame.view, frame.bth)) return
    if (!this.ackPending) this.context.counters.naksSent++
    this.ackPending = true
  }

  /**
   * The queue pair is in error. What still leaves is the NAK that says why, or the ACK of what has been carried out,
   * and the responses that go before it.
   */
  stop(): void {
    this.ackPending &&= this.refused || aeth.isAck(this.ackSyndrome)
    this.table.cancelFrom(this.ackPending ? this.ackSeq : Number.NEGATIVE_INFINITY)
    this.message = Message.NONE
    this.writeRegion = null
    this.kept?.clear()
  }
}
