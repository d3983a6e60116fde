import type { Frame } from '../../frame/frame.js'
import * as bth from '../../wire/ib/bth.js'
import type { ReorderBuffer } from '../queues/reorder-buffer.js'
import type { Inbound } from './inbound.js'

/** What the responder owes for a request that came out of order. */
export const Early = {
  /** A SACK, when as many packets have come as make an ACK due. */
  SACK_IN_TIME: 0,
  /** A SACK at once. */
  SACK: 1,
  /** A SACK at once, for a packet that came before. */
  SACK_AGAIN: 2,
  /** A NAK. */
  NAK: 3,
} as const
export type Early = (typeof Early)[keyof typeof Early]

/**
 * A request beyond the one expected, with selective repeat: kept until its turn, and reported by a SACK. The SACK
 * leaves at once when the request opens a gap or lies in one. When the request only follows the one before, SACKs leave
 * as often as ACKs would. If the request cannot be kept and nothing is kept yet, a NAK says what is missing, as in
 * go-back-N.
 *
 * The peer may have as much in flight as this end takes in at once, and all of it may be lost but the last packet. A packet further
 * ahead is not the peer's.
 */
export function keepOutOfOrder(inbound: Inbound, kept: ReorderBuffer, frame: Frame, seq: number): Early {
  const { counters, settings } = inbound.context
  const inSpan = seq - inbound.expectedSeq < kept.span
  if (inSpan && kept.has(seq)) {
    counters.duplicates++
    return Early.SACK_AGAIN
  }
  const follows = kept.count > 0 && seq === kept.latestSeq + 1
  const newest = kept.count > 0 ? kept.highestSeq : inbound.expectedSeq - 1
  const inWindow = inSpan && seq - newest <= settings.grantedPackets
  if (inWindow && kept.put(seq, frame)) {
    counters.outOfSequence++
    inbound.context.took = true
    return !follows || bth.ackRequest(frame.view, frame.bth) ? Early.SACK : Early.SACK_IN_TIME
  }
  if (inWindow) counters.droppedReorder++
  else counters.droppedBeyondWindow++
  return kept.count === 0 ? Early.NAK : Early.SACK_IN_TIME
}
