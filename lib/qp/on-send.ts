import type { Frame } from '../frame/frame.js'
import type { Nanos } from '../time/nanos.js'
import * as aeth from '../wire/aeth.js'
import * as bth from '../wire/bth.js'
import * as ieth from '../wire/ieth.js'
import * as immdt from '../wire/immdt.js'
import { hasIeth, hasImmediate, isFirst, isLast } from '../wire/opcode.js'
import { ReceiveOpcode } from './completion-queue.js'
import { Access, REMOTE_ACCESS } from './memory.js'
import { readPayload } from './payload.js'
import { Message, type Responder } from './responder.js'
import { WorkStatus } from './work-status.js'

/** A packet of a SEND, in order: into the receive at the head of the queue (IBA 9.4.1, 9.7.4.1). */
export function onSend(responder: Responder, now: Nanos, frame: Frame, opcode: number): void {
  const queue = responder.context.receiveQueue
  if (isFirst(opcode)) {
    if (queue.count === 0) {
      responder.notReady()
      return
    }
    responder.message = Message.SEND
    responder.receivedBytes = 0
  }
  const receive = queue.head
  const region = receive.region!
  if (responder.receivedBytes + frame.payloadLength > receive.length) {
    // IBA 9.7.4.1: the message is longer than its receive.
    queue.failHead(WorkStatus.LOC_LEN_ERR)
    responder.refuse(now, aeth.NAK_INVALID_REQUEST, WorkStatus.LOC_LEN_ERR)
    return
  }
  if (!region.allows(Access.LOCAL_WRITE)) {
    queue.failHead(WorkStatus.LOC_PROT_ERR)
    responder.refuse(now, aeth.NAK_REMOTE_OPERATIONAL_ERROR, WorkStatus.LOC_PROT_ERR)
    return
  }
  readPayload(frame, region, receive.offset + responder.receivedBytes)
  responder.receivedBytes += frame.payloadLength
  if (isLast(opcode) && !complete(responder, now, frame, opcode)) return
  responder.acceptPacket(frame, opcode)
}

/** The message is whole. False if the key that it takes back is not one to be taken back. */
function complete(responder: Responder, now: Nanos, frame: Frame, opcode: number): boolean {
  const { receiveQueue, settings } = responder.context
  const at = frame.bth + bth.BYTES
  let invalidatedKey = 0
  if (hasIeth(opcode)) {
    invalidatedKey = ieth.rkey(frame.view, at)
    const region = settings.memory.findIn(settings.domain, invalidatedKey)
    if (region === null || (region.access & REMOTE_ACCESS) === 0) {
      // IBA 9.9.3, class J: the peer named a key that it may not invalidate.
      receiveQueue.failHead(WorkStatus.REM_INV_REQ_ERR)
      responder.refuse(now, aeth.NAK_REMOTE_ACCESS_ERROR, WorkStatus.REM_INV_REQ_ERR)
      return false
    }
    settings.memory.deregister(region)
  }
  const immediate = hasImmediate(opcode)
  const value = immediate ? immdt.immediate(frame.view, at) : 0
  receiveQueue.completeHead(ReceiveOpcode.RECV, responder.receivedBytes, immediate, value, invalidatedKey)
  return true
}
