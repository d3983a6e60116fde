/** What this end owes the peer for a request (IBA 9.7.5). */
import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as aeth from '../../wire/ib/aeth.js'
import * as bth from '../../wire/ib/bth.js'
import { isLast } from '../../wire/ib/opcode.js'
import { unwrapPsn } from '../queues/psn.js'
import type { WorkStatus } from '../queues/work-status.js'
import type { Inbound } from './inbound.js'
import { RequestState, refusalOf } from './states.js'

/** An ACK, if the peer asks for one or as many packets have come as make it due. */
export function acknowledge(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  const packets = ++inbound.owed.packets
  const every = inbound.context.settings.ackEveryPackets
  // With `every` 0 the end of a message is acknowledged because its last packet asks for that.
  const due = every > 0 && (isLast(opcode) || packets >= every)
  if (due || bth.ackRequest(frame.view, frame.bth)) oweAck(inbound)
  return RequestState.DONE
}

/** The same for packets in the middle of a message: one ACK for all of them. */
export function acknowledgeRun(inbound: Inbound, packets: number, asksForAck: boolean): void {
  inbound.owed.packets += packets
  const every = inbound.context.settings.ackEveryPackets
  if (asksForAck || (every > 0 && inbound.owed.packets >= every)) oweAck(inbound)
}

/** An ACK for a request that came before. A NAK that is owed already says what the ACK would say. */
export function acknowledgeAgain(inbound: Inbound): RequestState {
  if (!inbound.owed.pending) oweAck(inbound)
  return RequestState.DONE
}

/** The responses of a READ or atomic, for the first time or again. */
export function respond(inbound: Inbound): RequestState {
  inbound.table.choosePending()
  return RequestState.DONE
}

/** A SACK, when as many packets have come as make an ACK due. */
export function sackInTime(inbound: Inbound): RequestState {
  const every = inbound.context.settings.ackEveryPackets
  return every > 0 && inbound.owed.packets >= every ? RequestState.SACK : RequestState.DONE
}

/** An ACK, which leaves as a SACK while requests are kept; not if a NAK is owed, which says as much. */
export function sack(inbound: Inbound): RequestState {
  if (!inbound.owed.pending || !inbound.owed.isNak) oweAck(inbound)
  return RequestState.DONE
}

/**
 * Beyond the expected PSN: one NAK a gap, then silence (IBA 9.7.4.1, 9.7.5.2). An ACK may precede it, as a responder may acknowledge any
 * request.
 */
export function nakSequence(inbound: Inbound): RequestState {
  const { owed } = inbound
  const { counters, settings } = inbound.context
  counters.outOfSequence++
  if (owed.gapTold) return RequestState.DONE
  owed.gapTold = true
  counters.naksSent++
  const leads = settings.acksBeforeNak && owed.hasNews
  owed.owe(inbound.expectedSeq, inbound.msn, aeth.NAK_PSN_SEQUENCE_ERROR)
  if (leads) owed.lead()
  return RequestState.DONE
}

/** No receive is posted: the peer has to retransmit (IBA 9.7.5.2.8). What it has sent beyond is ignored. */
export function nakNotReady(inbound: Inbound): RequestState {
  const { counters, settings } = inbound.context
  counters.rnrNaksSent++
  inbound.owed.gapTold = true
  inbound.owed.owe(inbound.expectedSeq, inbound.msn, aeth.rnrNakSyndrome(settings.minRnrTimer))
  return RequestState.DONE
}

/** The request cannot be carried out, as `state` says: NAK, then error (IBA 9.9.3.1, class C). */
export function refuse(inbound: Inbound, now: Nanos, state: RequestState): RequestState {
  const { syndrome, status } = refusalOf(state)
  refuseAt(inbound, now, inbound.expectedSeq, syndrome, status)
  return RequestState.DONE
}

/** The same for the request or response at `seq`. */
export function refuseAt(
  inbound: Inbound,
  now: Nanos,
  seq: number,
  syndrome: number,
  status: WorkStatus,
): void {
  const { context, owed } = inbound
  context.counters.naksSent++
  if (syndrome === aeth.NAK_REMOTE_ACCESS_ERROR) context.counters.refusedAccess++
  owed.owe(seq, inbound.msn, syndrome)
  owed.refused = true
  inbound.table.cancelFrom(seq)
  context.fail(now, status)
}

/**
 * A request packet has come after one was refused. If it asks for an acknowledgement, or is the refused one
 * or an earlier one, the peer has not received the NAK, which is then repeated. No request is carried out any more.
 */
export function refuseAgain(inbound: Inbound, frame: Frame): void {
  const { owed } = inbound
  const seq = unwrapPsn(bth.psn(frame.view, frame.bth), inbound.expectedSeq)
  if (seq > owed.seq && !bth.ackRequest(frame.view, frame.bth)) return
  if (!owed.pending) inbound.context.counters.naksSent++
  owed.pending = true
}

/** Owes an ACK of everything that came in order. */
function oweAck(inbound: Inbound): void {
  inbound.owed.owe(inbound.expectedSeq - 1, inbound.msn, aeth.ACK_UNLIMITED)
  inbound.owed.packets = 0
}
