import type { Frame } from '../frame/frame.js'
import type { Nanos } from '../time/nanos.js'
import * as aeth from '../wire/aeth.js'
import * as bth from '../wire/bth.js'
import * as immdt from '../wire/immdt.js'
import { hasImmediate, hasReth, isLast } from '../wire/opcode.js'
import * as reth from '../wire/reth.js'
import { ReceiveOpcode } from './completion-queue.js'
import { Access } from './memory.js'
import { readPayload } from './payload.js'
import { Message, type Responder } from './responder.js'
import { MESSAGE_BYTES_MAX } from './send-queue.js'
import { WorkStatus } from './work-status.js'

/**
 * A packet of an RDMA WRITE, in order (IBA 9.4.3). Its first packet names the whole range, which is checked
 * before any byte is written; from there on, no more bytes are taken than it named.
 */
export function onWrite(responder: Responder, now: Nanos, frame: Frame, opcode: number): void {
  const refusal = hasReth(opcode) ? begin(responder, frame) : 0
  if (refusal !== 0) {
    refuse(responder, now, refusal)
    return
  }
  const last = isLast(opcode)
  if (
    last ? frame.payloadLength !== responder.remainingBytes : frame.payloadLength >= responder.remainingBytes
  ) {
    refuse(responder, now, aeth.NAK_INVALID_REQUEST)
    return
  }
  if (hasImmediate(opcode) && responder.context.receiveQueue.count === 0) {
    // Nothing of this packet has been written: if it was a first or only packet, its WRITE begins anew when it comes
    // again.
    if (hasReth(opcode)) responder.message = Message.NONE
    responder.notReady()
    return
  }
  const region = responder.writeRegion
  if (region !== null) {
    if (!region.allows(Access.REMOTE_WRITE) || !region.admits(responder.writeOffset, frame.payloadLength)) {
      refuse(responder, now, aeth.NAK_REMOTE_ACCESS_ERROR)
      return
    }
    readPayload(frame, region, responder.writeOffset)
  }
  responder.writeOffset += frame.payloadLength
  responder.remainingBytes -= frame.payloadLength
  if (last) complete(responder, frame, opcode)
  responder.acceptPacket(frame, opcode)
}

/** Checks rights, key and range of the message (IBA 9.7.4.1): 0, or the syndrome to refuse it with. */
function begin(responder: Responder, frame: Frame): number {
  const settings = responder.context.settings
  const at = frame.bth + bth.BYTES
  const length = reth.length(frame.view, at)
  if ((settings.access & Access.REMOTE_WRITE) === 0 || length > MESSAGE_BYTES_MAX) {
    return aeth.NAK_INVALID_REQUEST
  }
  responder.message = Message.WRITE
  responder.remainingBytes = length
  responder.receivedBytes = length
  responder.writeRegion = null
  responder.writeOffset = 0
  // Neither key nor address of a message without bytes counts (IBA 9.4.3).
  if (length === 0) return 0
  const region = settings.memory.findIn(settings.domain, reth.rkey(frame.view, at))
  if (region === null || !region.allows(Access.REMOTE_WRITE)) return aeth.NAK_REMOTE_ACCESS_ERROR
  const offset = reth.address(frame.view, at) - region.address
  if (!region.holds(offset, length) || !region.admits(offset, length)) return aeth.NAK_REMOTE_ACCESS_ERROR
  responder.writeRegion = region
  responder.writeOffset = offset
  return 0
}

function complete(responder: Responder, frame: Frame, opcode: number): void {
  responder.writeRegion = null
  if (!hasImmediate(opcode)) return
  const at = frame.bth + bth.BYTES + (hasReth(opcode) ? reth.BYTES : 0)
  const immediate = immdt.immediate(frame.view, at)
  const queue = responder.context.receiveQueue
  queue.completeHead(ReceiveOpcode.RECV_RDMA_WITH_IMM, responder.receivedBytes, true, immediate, 0)
}

function refuse(responder: Responder, now: Nanos, syndrome: number): void {
  const isAccess = syndrome === aeth.NAK_REMOTE_ACCESS_ERROR
  responder.refuse(now, syndrome, isAccess ? WorkStatus.LOC_ACCESS_ERR : WorkStatus.REM_INV_REQ_ERR)
}
