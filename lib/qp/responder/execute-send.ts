import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import * as ieth from '../../wire/ib/ieth.js'
import * as immdt from '../../wire/ib/immdt.js'
import { hasIeth, hasImmediate, isLast } from '../../wire/ib/opcode.js'
import { REMOTE_ACCESS } from '../memory/memory.js'
import { readPayload } from '../memory/payload.js'
import { ReceiveOpcode } from '../queues/completion-queue.js'
import { WorkStatus } from '../queues/work-status.js'
import type { Inbound } from './inbound.js'
import { RequestState } from './states.js'

/** A packet of a SEND: into the receive at the head of the queue (IBA 9.4.1). */
export function executeSend(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  const receive = inbound.context.receiveQueue.head
  readPayload(frame, receive.region!, receive.offset + inbound.receivedBytes)
  inbound.receivedBytes += frame.payloadLength
  return isLast(opcode) ? RequestState.COMPLETE : RequestState.ADVANCE
}

/** The SEND is whole: completes its receive, and invalidates the key that the peer has named. */
export function completeSend(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  const { receiveQueue, settings } = inbound.context
  const at = frame.bth + bth.BYTES
  let invalidatedKey = 0
  if (hasIeth(opcode)) {
    invalidatedKey = ieth.rkey(frame.view, at)
    const region = settings.memory.findIn(settings.domain, invalidatedKey)
    if (region === null || (region.access & REMOTE_ACCESS) === 0) {
      // IBA 9.9.3, class J: the peer named a key that it may not invalidate.
      receiveQueue.failHead(WorkStatus.REM_INV_REQ_ERR)
      return RequestState.KEY_NOT_INVALIDATED
    }
    settings.memory.deregister(region)
  }
  const immediate = hasImmediate(opcode)
  const value = immediate ? immdt.immediate(frame.view, at) : 0
  const { receivedBytes } = inbound
  const done = receiveQueue.completeHead(ReceiveOpcode.RECV, receivedBytes, immediate, value, invalidatedKey)
  done.solicited = bth.solicited(frame.view, frame.bth)
  return RequestState.ADVANCE
}
