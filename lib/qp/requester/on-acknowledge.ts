import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as aeth from '../../wire/ib/aeth.js'
import * as bth from '../../wire/ib/bth.js'
import * as carriedAck from '../../wire/weir/carried-ack.js'
import { WorkStatus } from '../queues/work-status.js'
import type { SelectiveRepeat } from '../recovery/selective-repeat.js'
import type { Requester } from './requester.js'

/**
 * ACKs and NAKs (IBA 9.7.5.2, 9.7.6). An ACK acknowledges up to its PSN, a NAK up to the one before; neither
 * acknowledges a READ or atomic whose response is missing: that is taken for lost.
 * @param seq unwrapped PSN of the packet
 */
export function onAcknowledge(requester: Requester, now: Nanos, frame: Frame, seq: number): void {
  const at = frame.bth + bth.BYTES
  const syndrome = aeth.syndrome(frame.view, at)
  const kind = aeth.kind(syndrome)
  if (seq >= requester.outbound.sndNxt || kind === aeth.KIND_RESERVED) {
    requester.context.counters.droppedGhost++
    return
  }
  requester.context.counters.acks++
  requester.onDuplicateCount(now, bth.duplicates(frame.view, frame.bth))
  if (kind === aeth.KIND_ACK) onAck(requester, now, seq)
  else onNak(requester, now, seq, syndrome)
}

/** The same for an ACK that a packet with payload has carried. */
export function onCarriedAcknowledge(requester: Requester, now: Nanos, frame: Frame, seq: number): void {
  const { context, outbound } = requester
  const syndrome = aeth.syndrome(frame.view, carriedAck.aethAt(frame))
  if (seq >= outbound.sndNxt || !aeth.isAck(syndrome)) {
    context.counters.droppedGhost++
    return
  }
  context.counters.acks++
  requester.onDuplicateCount(now, carriedAck.duplicates(frame))
  onAck(requester, now, seq)
}

function onAck(requester: Requester, now: Nanos, seq: number): void {
  if (seq < requester.outbound.sndUna) {
    requester.context.counters.duplicateAcks++
    requester.context.observer.onAcked(now, seq, 0)
    return
  }
  const { isClear } = requester
  const whole = requester.acknowledgeThrough(now, seq, isClear)
  const selective = whole ? requester.doubts : requester.selective
  if (selective !== null && (!whole || selective.active)) {
    selective.acknowledged(now, seq)
    concludeSelective(requester, selective, now, seq)
    return
  }
  if (!isClear && selective?.refutesRecovery()) requester.context.observer.onSpurious(now)
  tellAcked(requester, now, seq)
  if (!whole) implyNak(requester, now)
}

/** Finds out which packets the acknowledgement shows to be lost, and reports both to the observer. */
export function concludeSelective(
  requester: Requester,
  selective: SelectiveRepeat,
  now: Nanos,
  seq: number,
): void {
  if (!requester.context.requests) return
  if (selective.refutesRecovery()) requester.context.observer.onSpurious(now)
  selective.detect(now)
  requester.skipSacked(now)
  tellAcked(requester, now, seq)
  tellLost(requester, selective, now)
}

/** The reordering window has passed for packets that were sent before one that has arrived. */
export function onReorderingTimeout(requester: Requester, selective: SelectiveRepeat, now: Nanos): void {
  selective.detect(now)
  tellLost(requester, selective, now)
}

function tellLost(requester: Requester, selective: SelectiveRepeat, now: Nanos): void {
  const { lost } = selective
  if (!lost.any) return
  requester.context.observer.onRetransmit(now, lost.bytes, false, lost.newestSeq)
  lost.clear()
}

function onNak(requester: Requester, now: Nanos, seq: number, syndrome: number): void {
  if (seq < requester.outbound.sndUna) {
    requester.context.counters.duplicateAcks++
    return
  }
  requester.acknowledgeThrough(now, seq - 1)
  tellAcked(requester, now, seq - 1)
  const status = fatalStatus(syndrome)
  if (status !== WorkStatus.SUCCESS) requester.failAt(now, seq, status)
  else if (requester.outbound.sndUna !== seq) implyNak(requester, now)
  else if (aeth.isRnrNak(syndrome)) requester.onReceiverNotReady(now, aeth.value(syndrome))
  else {
    requester.context.counters.naks++
    requester.repair(now)
  }
}

/** True for a NAK that takes both queue pairs into error. */
export function refuses(frame: Frame): boolean {
  const syndrome = aeth.syndrome(frame.view, frame.bth + bth.BYTES)
  return aeth.kind(syndrome) === aeth.KIND_NAK && fatalStatus(syndrome) !== WorkStatus.SUCCESS
}

/** SUCCESS for a NAK that only requests retransmission (IBA 9.7.5.2, 9.9.2). */
function fatalStatus(syndrome: number): WorkStatus {
  if (aeth.isRnrNak(syndrome)) return WorkStatus.SUCCESS
  switch (0x60 | aeth.value(syndrome)) {
    case aeth.NAK_PSN_SEQUENCE_ERROR:
      return WorkStatus.SUCCESS
    case aeth.NAK_INVALID_REQUEST:
      return WorkStatus.REM_INV_REQ_ERR
    case aeth.NAK_REMOTE_ACCESS_ERROR:
      return WorkStatus.REM_ACCESS_ERR
    case aeth.NAK_REMOTE_OPERATIONAL_ERROR:
      return WorkStatus.REM_OP_ERR
    case aeth.NAK_INVALID_RD_REQUEST:
      return WorkStatus.REM_INV_RD_REQ_ERR
    default:
      return WorkStatus.BAD_RESP_ERR
  }
}

/** Reports to the observer the newest packet acknowledged, or else how far `sndUna` has come, at most to `seq`. */
export function tellAcked(requester: Requester, now: Nanos, seq: number): void {
  const newest = requester.outbound.acked.takeNewestSeq()
  const highest = newest >= 0 ? newest : Math.min(seq, requester.outbound.sndUna - 1)
  requester.context.observer.onAcked(now, highest, requester.outbound.acked.takeBytes())
}

/** Something later was answered, so the response at `sndUna` is lost (IBA 9.7.6, implied NAK). */
export function implyNak(requester: Requester, now: Nanos): void {
  requester.context.counters.impliedNaks++
  requester.repair(now)
}
