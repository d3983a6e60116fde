import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import { ReorderBuffer } from '../queues/reorder-buffer.js'
import type { Inbound } from './inbound.js'
import { RequestState } from './states.js'

/**
 * A request beyond the one expected, with selective repeat: kept until its turn, and reported by a SACK. The SACK
 * leaves at once when the request opens a gap or lies in one. When the request only follows the one before, SACKs leave
 * as often as ACKs would. If the request cannot be kept and nothing is kept yet, a NAK says what is missing, as in
 * go-back-N.
 *
 * The peer may have as much in flight as this end takes in at once, and all of it may be lost but the last packet. A packet further
 * ahead is not the peer's.
 */
export function keep(inbound: Inbound, frame: Frame): RequestState {
  const { counters, settings } = inbound.context
  const { seq, owed } = inbound
  const { reorderPool, reorderPackets, maxPacketsInFlight } = settings
  inbound.kept ??= new ReorderBuffer(reorderPool, reorderPackets, maxPacketsInFlight)
  const { kept } = inbound
  const inSpan = seq - inbound.expectedSeq < kept.span
  if (inSpan && kept.has(seq)) {
    counters.duplicates++
    return RequestState.SACK
  }
  const follows = kept.count > 0 && seq === kept.latestSeq + 1
  const newest = kept.count > 0 ? kept.highestSeq : inbound.expectedSeq - 1
  const inWindow = inSpan && seq - newest <= settings.grantedPackets
  if (inWindow && kept.put(seq, frame)) {
    counters.outOfSequence++
    inbound.context.took = true
    owed.packets++
    return !follows || bth.ackRequest(frame.view, frame.bth) ? RequestState.SACK : RequestState.SACK_IN_TIME
  }
  if (inWindow) counters.droppedReorder++
  else counters.droppedBeyondWindow++
  if (kept.count === 0) return RequestState.NAK_SEQUENCE
  owed.packets++
  return RequestState.SACK_IN_TIME
}
