/**
 * Most packets are middle ones of a message that come in their turn. Where none of the checks can fail, such a packet is carried out in
 * one step: what the table of states does with it, of which it passes eight.
 */
import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import { Opcode } from '../../wire/ib/opcode.js'
import { Access } from '../memory/memory.js'
import { readPayload } from '../memory/payload.js'
import { wrapPsn } from '../queues/psn.js'
import { acknowledge } from './answers.js'
import { type Inbound, Message } from './inbound.js'

/** False if the packet is another one, or has to be looked at: then nothing has happened. */
export function executeMiddle(inbound: Inbound, frame: Frame, opcode: number): boolean {
  const { context, expectedSeq, kept, owed } = inbound
  const { payloadLength } = frame
  if (bth.psn(frame.view, frame.bth) !== wrapPsn(expectedSeq)) return false
  if (payloadLength !== context.settings.pathMtu || (kept !== null && kept.count > 0)) return false
  if (opcode === Opcode.RC_RDMA_WRITE_MIDDLE) {
    if (!takesWrite(inbound, payloadLength)) return false
    readPayload(frame, inbound.region!, inbound.offset)
    inbound.offset += payloadLength
    inbound.remainingBytes -= payloadLength
  } else if (opcode === Opcode.RC_SEND_MIDDLE) {
    if (!takesSend(inbound, payloadLength)) return false
    const { region, offset } = context.receiveQueue.head
    readPayload(frame, region!, offset + inbound.receivedBytes)
    inbound.receivedBytes += payloadLength
  } else return false
  inbound.seq = expectedSeq
  inbound.expectedSeq = expectedSeq + 1
  context.took = true
  context.counters.receivedPackets++
  context.counters.receivedBytes += payloadLength
  owed.gapTold = false
  // A NAK for this packet that has not left yet is not needed any more.
  if (owed.isNak) owed.pending = false
  acknowledge(inbound, frame, opcode)
  return true
}

/** The WRITE under way brings more bytes than this packet has, and its memory may be written. */
function takesWrite({ message, region, offset, remainingBytes }: Inbound, bytes: number): boolean {
  if (message !== Message.WRITE || region === null || remainingBytes <= bytes) return false
  return region.allows(Access.REMOTE_WRITE) && region.admits(offset, bytes)
}

/** A SEND is under way, and its receive has room and may be written. */
function takesSend({ context, message, receivedBytes }: Inbound, bytes: number): boolean {
  if (message !== Message.SEND) return false
  const { length, region } = context.receiveQueue.head
  return receivedBytes + bytes <= length && region!.allows(Access.LOCAL_WRITE)
}
