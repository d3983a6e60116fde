import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import * as immdt from '../../wire/ib/immdt.js'
import { hasImmediate, hasReth, isLast } from '../../wire/ib/opcode.js'
import * as reth from '../../wire/ib/reth.js'
import { Access } from '../memory/memory.js'
import { readPayload } from '../memory/payload.js'
import { ReceiveOpcode } from '../queues/completion-queue.js'
import { MESSAGE_BYTES_MAX } from '../queues/send-queue.js'
import { type Inbound, Message } from './inbound.js'
import { Verdict } from './verdict.js'

/**
 * A packet of an RDMA WRITE, in order (IBA 9.4.3). Its first packet names the whole range, which is checked
 * before any byte is written; from there on, no more bytes are taken than it named.
 */
export function onWrite(inbound: Inbound, frame: Frame, opcode: number): Verdict {
  const begun = hasReth(opcode) ? begin(inbound, frame) : Verdict.TAKEN
  if (begun !== Verdict.TAKEN) return begun
  const last = isLast(opcode)
  if (last ? frame.payloadLength !== inbound.remainingBytes : frame.payloadLength >= inbound.remainingBytes) {
    return Verdict.INVALID
  }
  if (hasImmediate(opcode) && inbound.context.receiveQueue.count === 0) {
    // Nothing of this packet has been written. If it was a first or only packet, its WRITE starts again when it comes
    // again.
    if (hasReth(opcode)) inbound.message = Message.NONE
    return Verdict.NOT_READY
  }
  const region = inbound.writeRegion
  if (region !== null) {
    if (!region.allows(Access.REMOTE_WRITE) || !region.admits(inbound.writeOffset, frame.payloadLength)) {
      return Verdict.NO_ACCESS
    }
    readPayload(frame, region, inbound.writeOffset)
  }
  inbound.writeOffset += frame.payloadLength
  inbound.remainingBytes -= frame.payloadLength
  if (last) complete(inbound, frame, opcode)
  return Verdict.TAKEN
}

/** Checks rights, key and range of the message (IBA 9.7.4.1): TAKEN, or why it is refused. */
function begin(inbound: Inbound, frame: Frame): Verdict {
  const settings = inbound.context.settings
  const at = frame.bth + bth.BYTES
  const length = reth.length(frame.view, at)
  if ((settings.access & Access.REMOTE_WRITE) === 0 || length > MESSAGE_BYTES_MAX) {
    return Verdict.INVALID
  }
  inbound.message = Message.WRITE
  inbound.remainingBytes = length
  inbound.receivedBytes = length
  inbound.writeRegion = null
  inbound.writeOffset = 0
  // Neither key nor address of a message without bytes counts (IBA 9.4.3).
  if (length === 0) return Verdict.TAKEN
  const region = settings.memory.findIn(settings.domain, reth.rkey(frame.view, at))
  if (region === null || !region.allows(Access.REMOTE_WRITE)) return Verdict.NO_ACCESS
  const offset = reth.address(frame.view, at) - region.address
  if (!region.holds(offset, length) || !region.admits(offset, length)) return Verdict.NO_ACCESS
  inbound.writeRegion = region
  inbound.writeOffset = offset
  return Verdict.TAKEN
}

function complete(inbound: Inbound, frame: Frame, opcode: number): void {
  inbound.writeRegion = null
  if (!hasImmediate(opcode)) return
  const at = frame.bth + bth.BYTES + (hasReth(opcode) ? reth.BYTES : 0)
  const immediate = immdt.immediate(frame.view, at)
  const queue = inbound.context.receiveQueue
  queue.completeHead(ReceiveOpcode.RECV_RDMA_WITH_IMM, inbound.receivedBytes, true, immediate, 0)
}
