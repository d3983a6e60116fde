/** After silence: whether what the requester took for lost had been in flight. */
import type { Nanos } from '../../time/nanos.js'
import { bytesBetween } from '../queues/send-queue.js'
import type { Outbound } from '../recovery/outbound.js'
import type { SelectiveRepeat } from '../recovery/selective-repeat.js'

/**
 * The packets before `until` are acknowledged after silence. True if one has not been retransmitted and was not known to have
 * arrived: they had not been lost (RFC 5682).
 */
export function namesUnrepeated(
  { sendSeq }: Outbound,
  selective: SelectiveRepeat | null,
  until: number,
): boolean {
  for (let seq = sendSeq; seq < until; seq++) if (!selective?.isTold(seq)) return true
  return false
}

/** True if the packet was retransmitted, and its answer comes sooner after the retransmission than any round trip takes (RFC 3522). */
export function isEarly({ log, trips }: Outbound, now: Nanos, seq: number): boolean {
  return log.has(seq) && log.wasRepeated(seq) && now - log.sentNs(seq) < trips.floorNs
}

/**
 * Takes back that the requester went back: what it sent before is still in flight. If some of that is lost, the usual
 * rules find it.
 */
export function goForward(outbound: Outbound, selective: SelectiveRepeat | null): void {
  const { context, sndNxt } = outbound
  const queue = context.sendQueue
  for (; outbound.sendSeq < sndNxt; outbound.sendIndex++) {
    const slot = queue.at(outbound.sendIndex)
    if (slot.awaitsResponse) {
      outbound.awaitResponse(slot)
      continue
    }
    const end = Math.min(slot.lastSeq + 1, sndNxt)
    for (; outbound.sendSeq < end; outbound.sendSeq++) {
      const seq = outbound.sendSeq
      if (selective?.isSacked(seq)) continue
      outbound.inFlightBytes += bytesBetween(slot, seq, seq + 1, context.settings.pathMtu)
    }
    if (end <= slot.lastSeq) break
  }
  selective?.judgeAnew()
}
