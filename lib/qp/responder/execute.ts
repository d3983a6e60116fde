import type { Frame } from '../../frame/frame.js'
import type { Nanos } from '../../time/nanos.js'
import { isLast, isRcSend, isRcWrite, Opcode } from '../../wire/ib/opcode.js'
import { executeAtomic } from './execute-atomic.js'
import { executeRead } from './execute-read.js'
import { completeSend, executeSend } from './execute-send.js'
import { completeWrite, executeWrite } from './execute-write.js'
import { type Inbound, Message } from './inbound.js'
import { RequestState } from './states.js'

/** Carries out a packet that has passed all checks. */
export function execute(inbound: Inbound, now: Nanos, frame: Frame, opcode: number): RequestState {
  if (isRcWrite(opcode)) return executeWrite(inbound, frame, opcode)
  if (isRcSend(opcode)) return executeSend(inbound, frame, opcode)
  if (opcode === Opcode.RC_RDMA_READ_REQUEST) return executeRead(inbound, now, frame)
  return executeAtomic(inbound, frame, opcode)
}

/** The last packet of a SEND or WRITE has been carried out. */
export function complete(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  return isRcWrite(opcode) ? completeWrite(inbound, frame, opcode) : completeSend(inbound, frame, opcode)
}

/** The packet has been carried out: the next one is expected. */
export function advance(inbound: Inbound, frame: Frame, opcode: number): RequestState {
  const { context, owed } = inbound
  context.took = true
  context.counters.receivedPackets++
  owed.gapTold = false
  // A NAK for this packet that has not left yet is not needed any more.
  if (owed.isNak) owed.pending = false
  if (!isRcSend(opcode) && !isRcWrite(opcode)) {
    inbound.expectedSeq = inbound.table.newest.lastSeq + 1
    owed.packets = 0
    return RequestState.RESPOND
  }
  inbound.expectedSeq++
  context.counters.receivedBytes += frame.payloadLength
  if (isLast(opcode)) {
    inbound.message = Message.NONE
    inbound.msn++
  }
  return RequestState.ACKNOWLEDGE
}
