/**
 * The middle of a READ, several responses at once: what `onResponse` does with each of them by itself, where none of them can fail.
 * The response before them has just been taken, and they differ from it in payload and PSN only.
 */
import type { Frame } from '../../frame/frame.js'
import type { ReceivedRun } from '../../frame/received-run.js'
import type { Nanos } from '../../time/nanos.js'
import * as bth from '../../wire/ib/bth.js'
import { Access } from '../memory/memory.js'
import { readRun } from '../memory/payload.js'
import { unwrapPsn } from '../queues/psn.js'
import { WorkOpcode } from '../queues/work.js'
import { tellAcked } from './on-acknowledge.js'
import type { Requester } from './requester.js'

/**
 * Returns how many responses behind `frame` could be taken at once, 0 to `most`. They would come in their turn, belong to the READ
 * under way without ending it, and find all the memory that they need.
 *
 * @param frame the response before them
 */
export function roomForResponses(requester: Requester, frame: Frame, most: number): number {
  const { outbound, context, doubts } = requester
  const { sendQueue } = context
  if (!context.requests || sendQueue.isEmpty) return 0
  if (doubts !== null && (doubts.kept.count > 0 || doubts.active)) return 0
  const { sndUna, sendSeq } = outbound
  const slot = sendQueue.at(sendQueue.head)
  if (unwrapPsn(bth.psn(frame.view, frame.bth), sndUna) !== sndUna - 1 || sndUna <= slot.firstSeq) return 0
  if (slot.opcode !== WorkOpcode.RDMA_READ || sendSeq <= slot.lastSeq) return 0
  const { region } = slot
  if (region === null || region.backing === null || !region.allows(Access.LOCAL_WRITE)) return 0
  return Math.min(most, slot.lastSeq - sndUna)
}

/** Takes the first `packets` of a run: at most as many as roomForResponses has found, and right. */
export function acceptResponses(
  requester: Requester,
  now: Nanos,
  frame: Frame,
  run: ReceivedRun,
  packets: number,
): void {
  const { outbound, context, doubts } = requester
  const { pathMtu } = context.settings
  const slot = context.sendQueue.at(context.sendQueue.head)
  const offset = slot.offset + (outbound.sndUna - slot.firstSeq) * pathMtu
  readRun(frame, run, packets, slot.region!, offset)
  context.counters.readResponsePackets += packets
  context.counters.readResponseBytes += packets * pathMtu
  const lastSeq = outbound.sndUna + packets - 1
  requester.onHeard()
  doubts?.answered(now, lastSeq)
  requester.acceptResponses(now, slot, packets)
  tellAcked(requester, now, lastSeq)
  outbound.check()
}
