import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import * as immdt from '../../wire/ib/immdt.js'
import { hasImmediate, hasReth, isLast } from '../../wire/ib/opcode.js'
import * as reth from '../../wire/ib/reth.js'
import { readPayload } from '../memory/payload.js'
import { ReceiveOpcode } from '../queues/completion-queue.js'
import type { Inbound } from './inbound.js'
import { RequestState } from './states.js'

/** A packet of an RDMA WRITE (IBA 9.4.3): into the range that its first packet has named. */
export function executeWrite(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  const { region } = inbound
  if (region !== null) readPayload(frame, region, inbound.offset)
  inbound.offset += frame.payloadLength
  inbound.remainingBytes -= frame.payloadLength
  return isLast(opcode) ? RequestState.COMPLETE : RequestState.ADVANCE
}

/** The WRITE is whole: with immediate data it completes a receive. */
export function completeWrite(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  inbound.region = null
  if (hasImmediate(opcode)) {
    const at = frame.bth + bth.BYTES + (hasReth(opcode) ? reth.BYTES : 0)
    const immediate = immdt.immediate(frame.view, at)
    const queue = inbound.context.receiveQueue
    const { receivedBytes } = inbound
    const done = queue.completeHead(ReceiveOpcode.RECV_RDMA_WITH_IMM, receivedBytes, true, immediate, 0)
    done.solicited = bth.solicited(frame.view, frame.bth)
  }
  return RequestState.ADVANCE
}
