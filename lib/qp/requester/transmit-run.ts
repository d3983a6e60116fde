import type { FrameRun } from '../../frame/frame-run.js'
import type { Nanos } from '../../time/nanos.js'
import * as bth from '../../wire/ib/bth.js'
import { GATHER_FROM_BYTES } from '../memory/payload.js'
import type { SendSlot } from '../queues/send-queue.js'
import type { Requester } from './requester.js'
import { wantsAck } from './transmit-request.js'

/**
 * Packets that may follow the one sent last, and differ from it in PSN and AckReq alone: middle packets of the same message, new
 * ones, all of a full path MTU. 0 where anything else is next or has to be decided first.
 */
export function middlesNext(requester: Requester): number {
  const { outbound, context, selective, tail, timers } = requester
  const { sendQueue, settings } = context
  const { sendSeq, sndNxt, sndUna, sendIndex } = outbound
  if (sendSeq !== sndNxt || sendIndex >= sendQueue.tail || !context.requests) return 0
  if (selective?.hasLost || tail?.pending || requester.isAlone || timers.waitsForReceiver) return 0
  const slot = sendQueue.at(sendIndex)
  // The first packet of a message has one more header, and the last one another opcode and length.
  if (slot.awaitsResponse || sendSeq < slot.firstSeq + 2) return 0
  return Math.max(0, Math.min(slot.lastSeq - sendSeq, settings.maxPacketsInFlight - (sendSeq - sndUna)))
}

/**
 * Writes the frames of a run: PSN, AckReq and payload. Their headers are those of the packet sent last. At most `middlesNext` frames.
 * What the requester keeps afterwards is the same as if `transmitRequest` had written each.
 */
export function transmitRun(requester: Requester, now: Nanos, run: FrameRun, packets: number): void {
  const { outbound, context, tail, timers } = requester
  const slot = context.sendQueue.at(outbound.sendIndex)
  const { pathMtu } = context.settings
  const firstSeq = outbound.sendSeq
  const firstOffset = slot.offset + (firstSeq - slot.firstSeq) * pathMtu
  let askedSeq = -1
  for (let i = 0; i < packets; i++) {
    const frame = run.at(i)
    const asks = wantsAck(requester, slot)
    bth.setSequence(frame.view, frame.bth, outbound.sendSeq, asks)
    if (asks) askedSeq = outbound.sendSeq
    outbound.unaskedPackets = asks ? 0 : outbound.unaskedPackets + 1
    outbound.sendSeq++
  }
  placePayloads(requester, slot, run, packets, firstOffset)
  outbound.log.recordRun(firstSeq, packets, now, context.transmissions, outbound.sndUna)
  context.transmissions += packets
  context.counters.requestPackets += packets
  context.counters.requestBytes += packets * pathMtu
  outbound.inFlightBytes += packets * pathMtu
  outbound.sndNxt = outbound.sendSeq
  if (askedSeq >= 0) tail?.onSent(now, askedSeq, true, timers.timeoutNs)
}

/** The payloads lie one behind the other. */
function placePayloads(
  requester: Requester,
  slot: SendSlot,
  run: FrameRun,
  packets: number,
  offset: number,
): void {
  const { pathMtu, gathers } = requester.context.settings
  const backing = slot.region!.backing!
  const gather = gathers && pathMtu >= GATHER_FROM_BYTES
  for (let i = 0; i < packets; i++) {
    const frame = run.at(i)
    const at = offset + i * pathMtu
    if (gather) {
      frame.outside = backing
      frame.outsideBase = at - frame.payload
    } else frame.bytes.set(backing.view(at, pathMtu), frame.payload)
  }
}
