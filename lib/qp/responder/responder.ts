import { assert } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as aeth from '../../wire/ib/aeth.js'
import * as bth from '../../wire/ib/bth.js'
import { isFirst, isLast, isRcSend, isRcWrite, Opcode } from '../../wire/ib/opcode.js'
import type { QpContext } from '../context/context.js'
import { unwrapPsn } from '../queues/psn.js'
import { ReorderBuffer } from '../queues/reorder-buffer.js'
import type { WorkStatus } from '../queues/work-status.js'
import { Inbound, Message } from './inbound.js'
import { onAtomic } from './on-atomic.js'
import { Again, onDuplicate } from './on-duplicate.js'
import { Early, keepOutOfOrder } from './on-out-of-order.js'
import { onRead } from './on-read.js'
import { onSend } from './on-send.js'
import { onWrite } from './on-write.js'
import { refusalOf, Verdict } from './verdict.js'

/**
 * The responder (IBA 9.7.3 to 9.7.5): the place of a request in the peer's stream decides who handles it, and the handler's verdict
 * decides what this end owes the peer.
 *
 * | request | handled by | then |
 * |---|---|---|
 * | expected, fits what came before | onSend, onWrite, onRead, onAtomic | by their verdict: an ACK, responses, an RNR NAK, a NAK and the error state |
 * | expected, does not fit | nobody | a NAK and the error state |
 * | came before | onDuplicate | an ACK or the responses again |
 * | beyond, selective repeat | keepOutOfOrder | a SACK; a NAK when nothing could be kept |
 * | beyond, go-back-N | nobody | one NAK a gap |
 *
 * At most one ACK or NAK is owed at a time, as each says all that the one before did. It leaves only after the
 * responses of READs and atomics before it, because the peer would otherwise take those for lost.
 */
export class Responder {
  readonly context: QpContext
  inbound: Inbound
  /** An ACK or NAK is owed: its PSN, MSN and syndrome. */
  ackPending = false
  ackSeq = 0
  ackMsn = 0
  ackSyndrome = 0
  /**
   * A request has been refused. The NAK that says so is kept in the three fields above, and repeated when asked
   * for.
   */
  refused = false
  /** Requests that came out of order; null: go-back-N. */
  kept: ReorderBuffer | null = null
  /** A NAK has reported the gap: silence until it closes (IBA 9.7.5.2, one NAK a gap). */
  #gapTold = false
  #packetsSinceAck = 0
  /** Duplicates of the connections before. */
  readonly #duplicatesBefore: number

  constructor(context: QpContext) {
    this.context = context
    this.inbound = new Inbound(context, 0, 0)
    this.#duplicatesBefore = context.counters.duplicates
  }

  /** Begins with that PSN. */
  start(receivePsn: number): void {
    this.inbound = new Inbound(this.context, receivePsn, this.context.settings.responderResources)
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
    const { expectedSeq } = this.inbound
    const seq = unwrapPsn(bth.psn(frame.view, frame.bth), expectedSeq)
    if (seq === expectedSeq) {
      this.#inOrder(now, frame, opcode)
      if (this.kept !== null && this.kept.count > 0) this.#runKept(this.kept, now, seq)
    } else if (seq < expectedSeq) {
      this.#again(now, frame, opcode, seq)
    } else if (this.kept !== null) {
      this.#early(this.kept, frame, seq)
    } else {
      this.#oweGapNak()
    }
  }

  /** What holds between two requests, whatever the peer sends. Throws WEIR_INTERNAL where it does not. */
  check(): void {
    const { inbound, kept } = this
    inbound.check()
    assert(
      !this.ackPending || this.ackSeq <= inbound.expectedSeq,
      'responder: it owes an answer to what has not come',
    )
    if (kept !== null && kept.count > 0) kept.check(inbound.expectedSeq)
  }

  /** The request that comes next. */
  #inOrder(now: Nanos, frame: Frame, opcode: number): void {
    const verdict = this.#fits(frame, opcode) ? this.#execute(now, frame, opcode) : Verdict.INVALID
    switch (verdict) {
      case Verdict.TAKEN:
        this.#taken(frame, opcode)
        break
      case Verdict.ANSWERED:
        this.#answered()
        break
      case Verdict.NOT_READY:
        this.#oweRnrNak()
        break
      default: {
        const { syndrome, status } = refusalOf(verdict)
        this.refuseAt(now, this.inbound.expectedSeq, syndrome, status)
      }
    }
  }

  /** True if this packet may follow the one before, and has the size that it must have (IBA 9.7.4.1). */
  #fits(frame: Frame, opcode: number): boolean {
    const mtu = this.context.settings.pathMtu
    const length = frame.payloadLength
    const { message } = this.inbound
    if (isFirst(opcode) !== (message === Message.NONE)) return false
    if (message === Message.SEND && !isRcSend(opcode)) return false
    if (message === Message.WRITE && !isRcWrite(opcode)) return false
    if (!isRcSend(opcode) && !isRcWrite(opcode)) return length === 0
    if (!isLast(opcode)) return length === mtu
    return length <= mtu && (length > 0 || isFirst(opcode))
  }

  #execute(now: Nanos, frame: Frame, opcode: number): Verdict {
    if (isRcSend(opcode)) return onSend(this.inbound, frame, opcode)
    if (isRcWrite(opcode)) return onWrite(this.inbound, frame, opcode)
    if (opcode === Opcode.RC_RDMA_READ_REQUEST) return onRead(this.inbound, now, frame)
    return onAtomic(this.inbound, frame, opcode)
  }

  /** One packet of a SEND or WRITE has been carried out. */
  #taken(frame: Frame, opcode: number): void {
    this.context.counters.receivedBytes += frame.payloadLength
    this.#advance(1)
    const last = isLast(opcode)
    if (last) {
      this.inbound.message = Message.NONE
      this.inbound.msn++
    }
    this.#packetsSinceAck++
    const every = this.context.settings.ackEveryPackets
    // With `every` 0 the end of a message is acknowledged because its last packet asks for that.
    const due = every > 0 && (last || this.#packetsSinceAck >= every)
    if (due || bth.ackRequest(frame.view, frame.bth)) this.#oweAck()
  }

  /** A READ or atomic has been taken. */
  #answered(): void {
    this.#advance(this.inbound.responsePackets)
    this.#packetsSinceAck = 0
    this.inbound.table.choosePending()
  }

  #advance(packets: number): void {
    this.context.took = true
    this.context.counters.receivedPackets++
    // A NAK for this packet that has not left yet is not needed any more.
    if (!aeth.isAck(this.ackSyndrome)) this.ackPending = false
    this.inbound.expectedSeq += packets
    this.#gapTold = false
  }

  /** A request that has come before. */
  #again(now: Nanos, frame: Frame, opcode: number, seq: number): void {
    const owed = onDuplicate(this.inbound, now, frame, opcode, seq, this.kept !== null)
    // A NAK that is owed already says what the ACK would say.
    if (owed === Again.ACK && !this.ackPending) this.#oweAck()
    if (owed === Again.RESPONSES) this.inbound.table.choosePending()
  }

  /** A request beyond the one expected. */
  #early(kept: ReorderBuffer, frame: Frame, seq: number): void {
    const owed = keepOutOfOrder(this.inbound, kept, frame, seq)
    if (owed === Early.NAK) this.#oweGapNak()
    else if (owed === Early.SACK_AGAIN) this.#oweSack()
    else this.#kept(owed === Early.SACK)
  }

  /** @param atOnce a SACK is owed, however few packets came since the last */
  #kept(atOnce: boolean): void {
    this.#packetsSinceAck++
    const every = this.context.settings.ackEveryPackets
    if (atOnce || (every > 0 && this.#packetsSinceAck >= every)) this.#oweSack()
  }

  /** The request expected has come, with PSN `from`: those kept behind it follow, as far as they go. */
  #runKept(kept: ReorderBuffer, now: Nanos, from: number): void {
    const { context, inbound } = this
    kept.dropBefore(inbound.expectedSeq)
    for (;;) {
      const seq = inbound.expectedSeq
      const frame = kept.take(seq)
      if (frame === null) break
      this.#inOrder(now, frame, bth.opcode(frame.view, frame.bth))
      if (inbound.expectedSeq === seq && context.responds) {
        // No receive is posted for it: the peer knows, and will retransmit it. What has arrived is kept
        // nevertheless.
        kept.restore(seq, frame)
        return
      }
      kept.give(frame)
      // PSNs of a READ's responses are no requests.
      kept.dropBefore(inbound.expectedSeq)
    }
    if (context.responds && inbound.expectedSeq > from) this.#oweSack()
  }

  /** Another packet has carried the ACK that was owed, if any. */
  acknowledged(): void {
    this.ackPending = false
    this.#packetsSinceAck = 0
  }

  /** Owes an ACK of everything that came in order. */
  #oweAck(): void {
    this.#owe(this.inbound.expectedSeq - 1, aeth.ACK_UNLIMITED)
    this.#packetsSinceAck = 0
  }

  /** Owes an ACK, which leaves as a SACK while requests are kept; not if a NAK is owed, which says as much. */
  #oweSack(): void {
    if (!this.ackPending || aeth.isAck(this.ackSyndrome)) this.#oweAck()
  }

  /** Beyond the expected PSN: one NAK a gap, then silence (IBA 9.7.4.1, 9.7.5.2). */
  #oweGapNak(): void {
    this.context.counters.outOfSequence++
    if (this.#gapTold) return
    this.#gapTold = true
    this.context.counters.naksSent++
    this.#owe(this.inbound.expectedSeq, aeth.NAK_PSN_SEQUENCE_ERROR)
  }

  /** No receive is posted: the peer has to retransmit (IBA 9.7.5.2.8). What it has sent beyond is ignored. */
  #oweRnrNak(): void {
    this.context.counters.rnrNaksSent++
    this.#gapTold = true
    this.#owe(this.inbound.expectedSeq, aeth.rnrNakSyndrome(this.context.settings.minRnrTimer))
  }

  #owe(seq: number, syndrome: number): void {
    this.ackPending = true
    this.ackSeq = seq
    this.ackMsn = this.inbound.msn
    this.ackSyndrome = syndrome
  }

  /** The request at `seq` cannot be carried out: NAK, then error (IBA 9.9.3.1, class C). */
  refuseAt(now: Nanos, seq: number, syndrome: number, status: WorkStatus): void {
    this.context.counters.naksSent++
    if (syndrome === aeth.NAK_REMOTE_ACCESS_ERROR) this.context.counters.refusedAccess++
    this.#owe(seq, syndrome)
    this.refused = true
    this.inbound.table.cancelFrom(seq)
    this.context.fail(now, status)
  }

  /**
   * A request packet has come after one was refused. If it asks for an acknowledgement, or is the refused one
   * or an earlier one, the peer has not received the NAK, which is then repeated. No request is carried out any more.
   */
  refuseAgain(frame: Frame): void {
    const seq = unwrapPsn(bth.psn(frame.view, frame.bth), this.inbound.expectedSeq)
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
    this.inbound.table.cancelFrom(this.ackPending ? this.ackSeq : Number.NEGATIVE_INFINITY)
    this.inbound.abandonMessage()
    this.kept?.clear()
  }
}
