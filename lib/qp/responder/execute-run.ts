/**
 * The middle of a message, several packets at once: what the table of states does with each of them by itself, where none of them can
 * fail. The packet before them has just passed the table, and they differ from it in payload and PSN only.
 */
import type { Frame } from '../../frame/frame.js'
import type { ReceivedRun } from '../../frame/received-run.js'
import * as bth from '../../wire/ib/bth.js'
import { Opcode } from '../../wire/ib/opcode.js'
import { Access } from '../memory/memory.js'
import { readRun } from '../memory/payload.js'
import { unwrapPsn } from '../queues/psn.js'
import { acknowledgeRun } from './answers.js'
import { type Inbound, Message } from './inbound.js'

/**
 * Returns how many packets behind `frame` could be carried out at once, 0 to `most`. They would come in their turn, belong to the
 * message under way without ending it, and find all the memory that they need.
 *
 * @param frame the packet before them
 */
export function roomForRun(inbound: Inbound, frame: Frame, opcode: number, most: number): number {
  if (inbound.kept !== null && inbound.kept.count > 0) return 0
  const seq = unwrapPsn(bth.psn(frame.view, frame.bth), inbound.expectedSeq)
  if (seq !== inbound.expectedSeq - 1) return 0
  if (opcode === Opcode.RC_RDMA_WRITE_MIDDLE) return roomOfWrite(inbound, most)
  return opcode === Opcode.RC_SEND_MIDDLE ? roomOfSend(inbound, most) : 0
}

/** The last packet of a WRITE brings at least one byte. */
function roomOfWrite({ context, region, offset, remainingBytes }: Inbound, most: number): number {
  const { pathMtu } = context.settings
  const packets = Math.min(most, Math.floor((remainingBytes - 1) / pathMtu))
  if (packets <= 0 || region === null || region.backing === null) return 0
  return region.allows(Access.REMOTE_WRITE) && region.admits(offset, packets * pathMtu) ? packets : 0
}

function roomOfSend({ context, receivedBytes }: Inbound, most: number): number {
  const { length, region } = context.receiveQueue.head
  if (region === null || region.backing === null || !region.allows(Access.LOCAL_WRITE)) return 0
  return Math.min(most, Math.floor((length - receivedBytes) / context.settings.pathMtu))
}

/**
 * Carries out the first `packets` of a run: at most as many as roomForRun has found, and right.
 *
 * @param asksForAck one of them asks for an acknowledgement
 */
export function executeRun(
  inbound: Inbound,
  frame: Frame,
  run: ReceivedRun,
  packets: number,
  asksForAck: boolean,
): void {
  const { context } = inbound
  const { pathMtu } = context.settings
  const bytes = packets * pathMtu
  if (inbound.message === Message.WRITE) {
    readRun(frame, run, packets, inbound.region!, inbound.offset)
    inbound.offset += bytes
    inbound.remainingBytes -= bytes
  } else {
    const { region, offset } = context.receiveQueue.head
    readRun(frame, run, packets, region!, offset + inbound.receivedBytes)
    inbound.receivedBytes += bytes
  }
  inbound.expectedSeq += packets
  context.counters.receivedPackets += packets
  context.counters.receivedBytes += bytes
  acknowledgeRun(inbound, packets, asksForAck)
  inbound.check()
}
