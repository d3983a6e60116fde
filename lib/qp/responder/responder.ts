import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as bth from '../../wire/ib/bth.js'
import type { QpContext } from '../context/context.js'
import { ReorderBuffer } from '../queues/reorder-buffer.js'
import {
  acknowledge,
  acknowledgeAgain,
  nakNotReady,
  nakSequence,
  refuse,
  refuseAgain,
  respond,
  sack,
  sackInTime,
} from './answers.js'
import {
  checkKey,
  checkLength,
  checkMemory,
  checkMessage,
  checkPsn,
  checkResources,
  checkRights,
  checkSequence,
} from './checks.js'
import { duplicate } from './duplicate.js'
import { advance, complete, execute } from './execute.js'
import { Inbound } from './inbound.js'
import { keep } from './keep.js'
import { RequestState } from './states.js'

/**
 * The responder's table of states: handles a request packet in `state`, and returns the next one. Most packets of a message pass
 *
 *     CHECK_PSN  CHECK_SEQUENCE  CHECK_LENGTH  CHECK_MESSAGE (WRITE)  CHECK_MEMORY  EXECUTE  ADVANCE  ACKNOWLEDGE
 *
 * the first one what its memory or its receive has to be checked for, and the last one COMPLETE.
 */
function next(inbound: Inbound, state: RequestState, now: Nanos, frame: Frame, opcode: number): RequestState {
  switch (state) {
    // The checks: IBA 9.7.4.1, in its order.
    case RequestState.CHECK_PSN:
      return checkPsn(inbound, frame)
    case RequestState.CHECK_SEQUENCE:
      return checkSequence(inbound, opcode)
    case RequestState.CHECK_LENGTH:
      return checkLength(inbound, frame, opcode)
    case RequestState.CHECK_RIGHTS: // IBA 10.6.3
      return checkRights(inbound, frame, opcode)
    case RequestState.CHECK_KEY: // IBA 10.6.3, 9.4.3 to 9.4.5
      return checkKey(inbound, frame, opcode)
    case RequestState.CHECK_MESSAGE:
      return checkMessage(inbound, frame, opcode)
    case RequestState.CHECK_RESOURCES: // IBA 9.7.5.2.8 for receives
      return checkResources(inbound, opcode)
    case RequestState.CHECK_MEMORY:
      return checkMemory(inbound, frame, opcode)

    case RequestState.EXECUTE: // IBA 9.4.1, 9.4.3 to 9.4.5
      return execute(inbound, now, frame, opcode)
    case RequestState.COMPLETE:
      return complete(inbound, frame, opcode)
    case RequestState.ADVANCE:
      return advance(inbound, frame, opcode)

    case RequestState.DUPLICATE: // IBA 9.7.4.1, 9.7.5.1
      return duplicate(inbound, now, frame, opcode)
    case RequestState.KEEP:
      return keep(inbound, frame)

    // The answers: IBA 9.7.5.
    case RequestState.ACKNOWLEDGE: // IBA 9.7.5.1
      return acknowledge(inbound, frame, opcode)
    case RequestState.ACKNOWLEDGE_AGAIN:
      return acknowledgeAgain(inbound)
    case RequestState.RESPOND:
      return respond(inbound)
    case RequestState.SACK_IN_TIME:
      return sackInTime(inbound)
    case RequestState.SACK:
      return sack(inbound)
    case RequestState.NAK_SEQUENCE: // IBA 9.7.5.2
      return nakSequence(inbound)
    case RequestState.NAK_NOT_READY: // IBA 9.7.5.2.8
      return nakNotReady(inbound)
    default: // IBA 9.9.3
      return refuse(inbound, now, state)
  }
}

/** The responder (IBA 9.7.3 to 9.7.5): carries out the peer's requests, in the order of their PSNs. */
export class Responder {
  readonly context: QpContext
  /** The stream of requests of this connection. */
  inbound: Inbound

  constructor(context: QpContext) {
    this.context = context
    this.inbound = new Inbound(context, 0, 0, null)
  }

  /** Begins with that PSN. */
  start(receivePsn: number): void {
    const { responderResources, selectiveRepeat } = this.context.settings
    const { reorderPool, reorderPackets, maxPacketsInFlight } = this.context.settings
    const kept = selectiveRepeat ? new ReorderBuffer(reorderPool, reorderPackets, maxPacketsInFlight) : null
    this.inbound.kept?.clear()
    this.inbound = new Inbound(this.context, receivePsn, responderResources, kept)
  }

  /** A request packet of the peer. */
  onRequest(now: Nanos, frame: Frame, opcode: number): void {
    const { inbound } = this
    const { expectedSeq, kept } = inbound
    this.#run(RequestState.CHECK_PSN, now, frame, opcode)
    if (kept !== null && kept.count > 0 && inbound.seq === expectedSeq) this.#runKept(kept, now, expectedSeq)
    inbound.check()
  }

  #run(first: RequestState, now: Nanos, frame: Frame, opcode: number): void {
    const { inbound } = this
    let state = first
    while (state !== RequestState.DONE) state = next(inbound, state, now, frame, opcode)
  }

  /** The request expected has come, with PSN `from`: those kept behind it follow, as far as they go. */
  #runKept(kept: ReorderBuffer, now: Nanos, from: number): void {
    const { context, inbound } = this
    kept.dropBefore(inbound.expectedSeq)
    for (;;) {
      const seq = inbound.expectedSeq
      const frame = kept.take(seq)
      if (frame === null) break
      this.#run(RequestState.CHECK_SEQUENCE, now, frame, bth.opcode(frame.view, frame.bth))
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
    if (context.responds && inbound.expectedSeq > from) sack(inbound)
  }

  /** A request packet has come while the queue pair is in error. */
  onRequestInError(frame: Frame): void {
    if (this.inbound.owed.refused) refuseAgain(this.inbound, frame)
  }

  /**
   * The queue pair is in error. What still leaves is the NAK that says why, or the ACK of what has been carried out,
   * and the responses that go before it.
   */
  stop(): void {
    const { inbound } = this
    const { owed } = inbound
    owed.pending &&= owed.refused || !owed.isNak
    inbound.table.cancelFrom(owed.pending ? owed.seq : Number.NEGATIVE_INFINITY)
    inbound.abandonMessage()
    inbound.kept?.clear()
  }
}
