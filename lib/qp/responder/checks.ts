/**
 * The checks of a request packet, in their order (IBA 9.7.4.1). Each returns the next check, what is done with a packet that is
 * not the one expected, or why the request is refused.
 */
import type { Frame } from '../../frame/frame.js'
import * as atomicEth from '../../wire/ib/atomic-eth.js'
import * as bth from '../../wire/ib/bth.js'
import {
  hasAtomicEth,
  hasImmediate,
  hasReth,
  isFirst,
  isLast,
  isRcSend,
  isRcWrite,
} from '../../wire/ib/opcode.js'
import * as reth from '../../wire/ib/reth.js'
import { Access } from '../memory/memory.js'
import { unwrapPsn } from '../queues/psn.js'
import { MESSAGE_BYTES_MAX } from '../queues/send-queue.js'
import { WorkStatus } from '../queues/work-status.js'
import { type Inbound, Message } from './inbound.js'
import { RequestState } from './states.js'

const WORD_BYTES = 8

/** PSN: expected, before that, or beyond it. */
export function checkPsn(inbound: Inbound, frame: Frame): RequestState {
  const { expectedSeq } = inbound
  const seq = unwrapPsn(bth.psn(frame.view, frame.bth), expectedSeq)
  inbound.seq = seq
  if (seq === expectedSeq) return RequestState.CHECK_SEQUENCE
  if (seq < expectedSeq) return RequestState.DUPLICATE
  return inbound.isSelective ? RequestState.KEEP : RequestState.NAK_SEQUENCE
}

/** Sequence of opcodes: a message goes on until its last packet. */
export function checkSequence(inbound: Inbound, opcode: number): RequestState {
  const { message } = inbound
  if (isFirst(opcode) !== (message === Message.NONE)) return RequestState.INVALID
  if (message === Message.SEND && !isRcSend(opcode)) return RequestState.INVALID
  if (message === Message.WRITE && !isRcWrite(opcode)) return RequestState.INVALID
  return RequestState.CHECK_LENGTH
}

/** Payload: a full path MTU but in the last packet, which is empty in an empty message only; none in READs and atomics. */
export function checkLength(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  const mtu = inbound.context.settings.pathMtu
  const length = frame.payloadLength
  if (isRcSend(opcode) || isRcWrite(opcode)) {
    const fits = isLast(opcode) ? length <= mtu && (length > 0 || isFirst(opcode)) : length === mtu
    if (!fits) return RequestState.INVALID
  } else if (length !== 0) return RequestState.INVALID
  if (isRcSend(opcode)) return isFirst(opcode) ? RequestState.CHECK_RESOURCES : RequestState.CHECK_MEMORY
  return isFirst(opcode) ? RequestState.CHECK_RIGHTS : RequestState.CHECK_MESSAGE
}

/** The queue pair's rights (IBA 10.6.3), the longest message (9.7.1), and the address of an atomic: a multiple of 8 (9.4.5). */
export function checkRights(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  if ((inbound.context.settings.access & rightOf(opcode)) === 0) return RequestState.INVALID
  const at = frame.bth + bth.BYTES
  const sound = hasAtomicEth(opcode)
    ? atomicEth.address(frame.view, at) % WORD_BYTES === 0
    : reth.length(frame.view, at) <= MESSAGE_BYTES_MAX
  return sound ? RequestState.CHECK_KEY : RequestState.INVALID
}

/** R_Key, protection domain, rights and bounds of the memory that the request names, all of it. */
export function checkKey(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  const { memory, domain } = inbound.context.settings
  const { view } = frame
  const at = frame.bth + bth.BYTES
  const isAtomic = hasAtomicEth(opcode)
  const length = isAtomic ? WORD_BYTES : reth.length(view, at)
  inbound.region = null
  inbound.offset = 0
  // Neither key nor address of a message without bytes counts (IBA 9.4.3, 9.4.4).
  if (length > 0) {
    const right = rightOf(opcode)
    const region = memory.findIn(domain, isAtomic ? atomicEth.rkey(view, at) : reth.rkey(view, at))
    if (region === null || !region.allows(right)) return RequestState.NO_ACCESS
    const address = isAtomic ? atomicEth.address(view, at) : reth.address(view, at)
    const offset = address - region.address
    if (!region.holds(offset, length)) return RequestState.NO_ACCESS
    if (right !== Access.REMOTE_READ && !region.admits(offset, length)) return RequestState.NO_ACCESS
    inbound.region = region
    inbound.offset = offset
  }
  if (!isRcWrite(opcode)) return RequestState.CHECK_RESOURCES
  inbound.message = Message.WRITE
  inbound.receivedBytes = length
  inbound.remainingBytes = length
  return RequestState.CHECK_MESSAGE
}

/** No packet of a WRITE brings more bytes than are to come, and the last one brings them all. */
export function checkMessage(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  const { remainingBytes } = inbound
  const fits = isLast(opcode) ? frame.payloadLength === remainingBytes : frame.payloadLength < remainingBytes
  if (!fits) return RequestState.INVALID
  return hasImmediate(opcode) ? RequestState.CHECK_RESOURCES : RequestState.CHECK_MEMORY
}

/** A receive for a SEND and for immediate data (IBA 9.7.5.2.8); responder resources for a READ or atomic. */
export function checkResources(inbound: Inbound, opcode: number): RequestState {
  const { receiveQueue } = inbound.context
  if (isRcSend(opcode)) {
    if (!receiveQueue.isReady()) return RequestState.NAK_NOT_READY
    inbound.message = Message.SEND
    inbound.receivedBytes = 0
    return RequestState.CHECK_MEMORY
  }
  if (isRcWrite(opcode)) {
    if (receiveQueue.isReady()) return RequestState.CHECK_MEMORY
    // Nothing of this packet has been written. A WRITE that begins with it begins anew when it comes again.
    if (hasReth(opcode)) inbound.abandonMessage()
    return RequestState.NAK_NOT_READY
  }
  // If none is free, the peer has more READs and atomics outstanding than was agreed.
  return inbound.table.take() ? RequestState.EXECUTE : RequestState.INVALID
}

/** The receive of a SEND has room and may be written. The memory of a WRITE may still be written, which may change as it goes on. */
export function checkMemory(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  if (isRcSend(opcode)) return checkReceive(inbound, frame)
  const { region } = inbound
  if (region === null) return RequestState.EXECUTE
  const may = region.allows(Access.REMOTE_WRITE) && region.admits(inbound.offset, frame.payloadLength)
  return may ? RequestState.EXECUTE : RequestState.NO_ACCESS
}

function checkReceive(inbound: Inbound, frame: Frame): RequestState {
  const { receiveQueue } = inbound.context
  const receive = receiveQueue.head
  if (inbound.receivedBytes + frame.payloadLength > receive.length) {
    receiveQueue.failHead(WorkStatus.LOC_LEN_ERR)
    return RequestState.TOO_LONG
  }
  if (!receive.region!.allows(Access.LOCAL_WRITE)) {
    receiveQueue.failHead(WorkStatus.LOC_PROT_ERR)
    return RequestState.RECEIVE_NOT_WRITABLE
  }
  return RequestState.EXECUTE
}

/** What the peer must be allowed: of the queue pair, and of the memory. */
function rightOf(opcode: number): number {
  if (isRcWrite(opcode)) return Access.REMOTE_WRITE
  return hasAtomicEth(opcode) ? Access.REMOTE_ATOMIC : Access.REMOTE_READ
}
