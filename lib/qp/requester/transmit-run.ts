import type { Frame } from '../../frame/frame.js'
import type { FrameRun } from '../../frame/frame-run.js'
import type { Nanos } from '../../time/nanos.js'
import * as bth from '../../wire/ib/bth.js'
import type { Requester } from './requester.js'
import { wantsAck } from './transmit-request.js'

/**
 * Packets that may follow the one sent last, and differ from it in PSN and AckReq alone: middle packets of the same message, new
 * ones, all of a full path MTU. 0 where anything else is next or has to be decided first.
 */
export function middlesNext(requester: Requester): number {
  const { outbound, context, doubts, tail, timers } = requester
  const { sendQueue, settings } = context
  const { sendSeq, sndNxt, sndUna, sendIndex } = outbound
  if (sendSeq !== sndNxt || sendIndex >= sendQueue.tail || !context.requests) return 0
  if (doubts?.hasLost || tail?.pending || requester.isAlone || timers.waitsForReceiver) return 0
  const slot = sendQueue.at(sendIndex)
  // The first packet of a message has one more header, and the last one another opcode and length.
  if (slot.awaitsResponse || sendSeq < slot.firstSeq + 2) return 0
  // The pieces of a list do not lie one behind the other.
  if (slot.region!.backing === null) return 0
  return Math.max(0, Math.min(slot.lastSeq - sendSeq, settings.maxPacketsInFlight - (sendSeq - sndUna)))
}

/**
 * Begins a run behind the packet sent last, and writes PSN and AckReq of each of its packets: at most `middlesNext`. What the requester
 * keeps afterwards is the same as if `transmitRequest` had written each.
 */
export function transmitRun(
  requester: Requester,
  now: Nanos,
  head: Frame,
  run: FrameRun,
  packets: number,
): void {
  const { outbound, context, tail, timers } = requester
  const slot = context.sendQueue.at(outbound.sendIndex)
  const { pathMtu } = context.settings
  const firstSeq = outbound.sendSeq
  run.begin(head, packets, slot.region!.backing!, slot.offset + (firstSeq - slot.firstSeq) * pathMtu)
  const { view } = run
  let askedSeq = -1
  for (let i = 0; i < packets; i++) {
    const asks = wantsAck(requester, slot)
    bth.setSequence(view, run.bthAt(i), outbound.sendSeq, asks)
    if (asks) askedSeq = outbound.sendSeq
    outbound.unaskedPackets = asks ? 0 : outbound.unaskedPackets + 1
    outbound.sendSeq++
  }
  outbound.log.recordRun(firstSeq, packets, now, context.transmissions, outbound.sndUna)
  context.transmissions += packets
  context.counters.requestPackets += packets
  context.counters.requestBytes += packets * pathMtu
  outbound.inFlightBytes += packets * pathMtu
  outbound.sndNxt = outbound.sendSeq
  if (askedSeq >= 0) tail?.onSent(now, askedSeq, true, timers.timeoutNs)
}
