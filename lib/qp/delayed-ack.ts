/**
 * Acknowledgements in packets of another kind: notifications of HPCC++ carry the delayed ACK
 * (draft-miao-rtgwg-hpccplus, section 3), and packets with payload that of what they answer (`lib/wire/weir/carried-ack.ts`). AETH
 * and PSN mean the same as in an ACK.
 */
import type { Frame } from '../frame/frame.js'
import type { Nanos } from '../time/nanos.js'
import * as aeth from '../wire/ib/aeth.js'
import * as bth from '../wire/ib/bth.js'
import * as carriedAck from '../wire/weir/carried-ack.js'
import { unwrapPsn } from './queues/psn.js'
import { onAcknowledge, onCarriedAcknowledge } from './requester/on-acknowledge.js'
import type { Requester } from './requester/requester.js'
import type { Inbound } from './responder/inbound.js'

/**
 * Writes the AETH of an ACK of everything that came in order, and counts the ACK that is owed as sent. Returns its
 * PSN, or -1 when no ACK may go now, with the AETH zeroed: a NAK is owed, or a response has to go first.
 */
export function writeDelayedAck(inbound: Inbound, frame: Frame, at: number): number {
  const { context, kept, expectedSeq, msn, table, owed } = inbound
  const seq = expectedSeq - 1
  const owesNak = owed.pending && owed.isNak
  const before = table.pending
  if (seq < 0 || !context.responds || owesNak || (before !== null && before.nextSeq <= seq)) {
    aeth.write(frame.view, at, 0, 0)
    return -1
  }
  aeth.write(frame.view, at, aeth.ACK_UNLIMITED, msn)
  // While requests are kept, the ACK that is owed has to be a SACK, which says more.
  if (kept === null || kept.count === 0) owed.acknowledged()
  return seq
}

/**
 * True if an ACK is owed of something that has come, and says nothing but that all has come in order, and what came twice: a packet with
 * payload may carry it.
 */
export function mayCarryAck({ context, expectedSeq, kept, table, owed }: Inbound): boolean {
  const isBare = kept === null || kept.count === 0
  return (
    owed.pending && !owed.isNak && isBare && expectedSeq > 0 && table.pending === null && context.responds
  )
}

/** Writes that ACK into the frame, which `carriedAck.begin` has begun; it is owed no more. */
export function writeCarriedAck(inbound: Inbound, frame: Frame): void {
  const seq = writeDelayedAck(inbound, frame, carriedAck.aethAt(frame))
  carriedAck.setPsn(frame, seq, inbound.isSelective ? inbound.duplicates : 0)
}

/** An acknowledgement arrived behind the BTH of another packet. @param psn 24 bits */
export function onDelayedAck(requester: Requester, now: Nanos, frame: Frame, psn: number): void {
  if (!aeth.isAck(aeth.syndrome(frame.view, frame.bth + bth.BYTES))) return
  onAcknowledge(requester, now, frame, unwrapPsn(psn, requester.outbound.sndUna))
}

/** A packet with payload carried an ACK. */
export function onCarriedAck(requester: Requester, now: Nanos, frame: Frame): void {
  const seq = unwrapPsn(carriedAck.psn(frame), requester.outbound.sndUna)
  onCarriedAcknowledge(requester, now, frame, seq)
}
