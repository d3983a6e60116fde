import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import * as bth from '../../wire/ib/bth.js'
import type { QpContext } from '../context/context.js'
import type { ReorderBuffer } from '../queues/reorder-buffer.js'
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
import { executeMiddle } from './execute-middle.js'
import { Inbound } from './inbound.js'
import { keep } from './keep.js'
import { RequestState } from './states.js'

/** As constants of this module: V8 would load a member of an imported object at each comparison. */
const {
  CHECK_PSN,
  CHECK_SEQUENCE,
  CHECK_LENGTH,
  CHECK_RIGHTS,
  CHECK_KEY,
  CHECK_MESSAGE,
  CHECK_RESOURCES,
  CHECK_MEMORY,
  EXECUTE,
  COMPLETE,
  ADVANCE,
  DUPLICATE,
  KEEP,
  ACKNOWLEDGE,
  ACKNOWLEDGE_AGAIN,
  RESPOND,
  SACK_IN_TIME,
  SACK,
  NAK_SEQUENCE,
  NAK_NOT_READY,
  DONE,
} = RequestState

/**
 * The responder's table of states, for a packet that is the one expected: each handler returns the next state. Most packets of a
 * message pass
 *
 *     CHECK_PSN  CHECK_SEQUENCE  CHECK_LENGTH  CHECK_MESSAGE (WRITE)  CHECK_MEMORY  EXECUTE  ADVANCE  ACKNOWLEDGE
 *
 * which `executeMiddle` does in one step where nothing is unusual. The first one also passes what its memory or its receive has to be
 * checked for, and the last one COMPLETE.
 */
function run(inbound: Inbound, first: RequestState, now: Nanos, frame: Frame, opcode: number): void {
  for (let state = first; state !== DONE; ) {
    switch (state) {
      // The checks: IBA 9.7.4.1, in its order.
      case CHECK_PSN:
        state = checkPsn(inbound, frame)
        break
      case CHECK_SEQUENCE:
        state = checkSequence(inbound, opcode)
        break
      case CHECK_LENGTH:
        state = checkLength(inbound, frame, opcode)
        break
      case CHECK_RIGHTS: // IBA 10.6.3
        state = checkRights(inbound, frame, opcode)
        break
      case CHECK_KEY: // IBA 10.6.3, 9.4.3 to 9.4.5
        state = checkKey(inbound, frame, opcode)
        break
      case CHECK_MESSAGE:
        state = checkMessage(inbound, frame, opcode)
        break
      case CHECK_RESOURCES: // IBA 9.7.5.2.8 for receives
        state = checkResources(inbound, opcode)
        break
      case CHECK_MEMORY:
        state = checkMemory(inbound, frame, opcode)
        break

      case EXECUTE: // IBA 9.4.1, 9.4.3 to 9.4.5
        state = execute(inbound, now, frame, opcode)
        break
      case COMPLETE:
        state = complete(inbound, frame, opcode)
        break
      case ADVANCE:
        state = advance(inbound, frame, opcode)
        break
      case ACKNOWLEDGE: // IBA 9.7.5.1
        state = acknowledge(inbound, frame, opcode)
        break
      default:
        state = aside(inbound, state, now, frame, opcode)
    }
  }
}

/** The rest of the table: packets that are not the one expected, and what else this end may owe. */
function aside(
  inbound: Inbound,
  state: RequestState,
  now: Nanos,
  frame: Frame,
  opcode: number,
): RequestState {
  switch (state) {
    case DUPLICATE: // IBA 9.7.4.1, 9.7.5.1
      return duplicate(inbound, now, frame, opcode)
    case KEEP:
      return keep(inbound, frame)

    // The answers: IBA 9.7.5.
    case ACKNOWLEDGE_AGAIN:
      return acknowledgeAgain(inbound)
    case RESPOND:
      return respond(inbound)
    case SACK_IN_TIME:
      return sackInTime(inbound)
    case SACK:
      return sack(inbound)
    case NAK_SEQUENCE: // IBA 9.7.5.2
      return nakSequence(inbound)
    case NAK_NOT_READY: // IBA 9.7.5.2.8
      return nakNotReady(inbound)
    default: // IBA 9.9.3
      return refuse(inbound, now, state)
  }
}

/** The responder (IBA 9.7.3 to 9.7.5): carries out the peer's requests, in the order of their PSNs. */
export class Responder {
  readonly context: QpContext
  /** The stream of requests of this connection. */
  readonly inbound: Inbound

  constructor(context: QpContext) {
    this.context = context
    this.inbound = new Inbound(context)
  }

  /** Begins with that PSN. */
  start(receivePsn: number): void {
    const { responderResources, selectiveRepeat } = this.context.settings
    this.inbound.begin(receivePsn, responderResources, selectiveRepeat)
  }

  /** A request packet of the peer. */
  onRequest(now: Nanos, frame: Frame, opcode: number): void {
    const { inbound } = this
    if (executeMiddle(inbound, frame, opcode)) {
      inbound.check()
      return
    }
    const { expectedSeq, kept } = inbound
    run(inbound, CHECK_PSN, now, frame, opcode)
    if (kept !== null && kept.count > 0 && inbound.expectedSeq > expectedSeq) this.#runKept(kept, now)
    inbound.check()
  }

  /**
   * The request expected has come: those kept behind it follow, as far as they go. Each stays in the buffer until it has been carried out,
   * so that it is given back with the others if a defect shows.
   */
  #runKept(kept: ReorderBuffer, now: Nanos): void {
    const { context, inbound } = this
    kept.dropBefore(inbound.expectedSeq)
    for (;;) {
      const seq = inbound.expectedSeq
      const frame = kept.at(seq)
      if (frame === null) break
      run(inbound, CHECK_SEQUENCE, now, frame, bth.opcode(frame.view, frame.bth))
      // No receive is posted for it, which the peer learns, and will retransmit it; or the queue pair is in error.
      if (inbound.expectedSeq === seq) return
      // PSNs of a READ's responses are no requests.
      kept.dropBefore(inbound.expectedSeq)
    }
    if (context.responds) sack(inbound)
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
