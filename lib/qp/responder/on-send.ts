import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import * as ieth from '../../wire/ib/ieth.js'
import * as immdt from '../../wire/ib/immdt.js'
import { hasIeth, hasImmediate, isFirst, isLast } from '../../wire/ib/opcode.js'
import { Access, REMOTE_ACCESS } from '../memory/memory.js'
import { readPayload } from '../memory/payload.js'
import { ReceiveOpcode } from '../queues/completion-queue.js'
import { WorkStatus } from '../queues/work-status.js'
import { type Inbound, Message } from './inbound.js'
import { Verdict } from './verdict.js'

/** A packet of a SEND, in order: into the receive at the head of the queue (IBA 9.4.1, 9.7.4.1). */
export function onSend(inbound: Inbound, frame: Frame, opcode: number): Verdict {
  const queue = inbound.context.receiveQueue
  if (isFirst(opcode)) {
    if (queue.count === 0) return Verdict.NOT_READY
    inbound.message = Message.SEND
    inbound.receivedBytes = 0
  }
  const receive = queue.head
  const region = receive.region!
  if (inbound.receivedBytes + frame.payloadLength > receive.length) {
    // IBA 9.7.4.1: the message is longer than its receive.
    queue.failHead(WorkStatus.LOC_LEN_ERR)
    return Verdict.TOO_LONG
  }
  if (!region.allows(Access.LOCAL_WRITE)) {
    queue.failHead(WorkStatus.LOC_PROT_ERR)
    return Verdict.RECEIVE_NOT_WRITABLE
  }
  readPayload(frame, region, receive.offset + inbound.receivedBytes)
  inbound.receivedBytes += frame.payloadLength
  if (isLast(opcode) && !complete(inbound, frame, opcode)) return Verdict.KEY_NOT_INVALIDATED
  return Verdict.TAKEN
}

/** The message is whole. False if it invalidates a key that must not be invalidated. */
function complete(inbound: Inbound, frame: Frame, opcode: number): boolean {
  const { receiveQueue, settings } = inbound.context
  const at = frame.bth + bth.BYTES
  let invalidatedKey = 0
  if (hasIeth(opcode)) {
    invalidatedKey = ieth.rkey(frame.view, at)
    const region = settings.memory.findIn(settings.domain, invalidatedKey)
    if (region === null || (region.access & REMOTE_ACCESS) === 0) {
      // IBA 9.9.3, class J: the peer named a key that it may not invalidate.
      receiveQueue.failHead(WorkStatus.REM_INV_REQ_ERR)
      return false
    }
    settings.memory.deregister(region)
  }
  const immediate = hasImmediate(opcode)
  const value = immediate ? immdt.immediate(frame.view, at) : 0
  receiveQueue.completeHead(ReceiveOpcode.RECV, inbound.receivedBytes, immediate, value, invalidatedKey)
  return true
}
