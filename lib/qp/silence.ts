/** After silence: whether what it took for lost had been on its way. */
import type { Nanos } from '../time/nanos.js'
import type { Requester } from './requester.js'
import { bytesBetween } from './send-queue.js'

/**
 * The packets before `until` are acknowledged after silence. True if one has not been sent again and was not known to have
 * arrived: they had not been lost (RFC 5682).
 */
export function namesUnrepeated({ sendSeq, selective }: Requester, until: number): boolean {
  for (let seq = sendSeq; seq < until; seq++) if (!selective?.isTold(seq)) return true
  return false
}

/** True if the packet was sent again, and its answer comes sooner after that than any round trip takes (RFC 3522). */
export function isEarly({ log, trips }: Requester, now: Nanos, seq: number): boolean {
  return log.has(seq) && log.wasRepeated(seq) && now - log.sentNs(seq) < trips.floorNs
}

/**
 * Takes back that it went back: what it sent before is on its way still. If something of it is lost, that is found out as
 * ever.
 */
export function goForward(requester: Requester): void {
  const { context, selective, sndNxt } = requester
  const queue = context.sendQueue
  for (; requester.sendSeq < sndNxt; requester.sendIndex++) {
    const slot = queue.at(requester.sendIndex)
    if (slot.awaitsResponse) {
      requester.awaitResponse(slot)
      continue
    }
    const end = Math.min(slot.lastSeq + 1, sndNxt)
    for (; requester.sendSeq < end; requester.sendSeq++) {
      const seq = requester.sendSeq
      if (selective?.isSacked(seq)) continue
      requester.inFlightBytes += bytesBetween(slot, seq, seq + 1, context.settings.pathMtu)
    }
    if (end <= slot.lastSeq) break
  }
  selective?.judgeAnew()
}
