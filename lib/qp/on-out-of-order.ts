import type { Frame } from '../frame/frame.js'
import type { Nanos } from '../time/nanos.js'
import * as bth from '../wire/bth.js'
import type { ReorderBuffer } from './reorder-buffer.js'
import type { Responder } from './responder.js'

/**
 * A request beyond the one expected, with selective repeat: kept until its turn, and reported by a SACK. At once when
 * it opens a gap or lies in one; when it only follows the one before, as often as an ACK would be sent. If this one
 * cannot be kept and nothing is kept yet, a NAK says what is missing, as in go-back-N.
 *
 * The peer may have as much on its way as this end takes in at once, and all of it may be lost but the last packet. Whatever claims to
 * be further ahead is not the peer's.
 */
export function keepOutOfOrder(responder: Responder, kept: ReorderBuffer, frame: Frame, seq: number): void {
  const { counters, settings } = responder.context
  const inSpan = seq - responder.expectedSeq < kept.span
  if (inSpan && kept.has(seq)) {
    counters.duplicates++
    responder.oweSack()
    return
  }
  const follows = kept.count > 0 && seq === kept.latestSeq + 1
  const newest = kept.count > 0 ? kept.highestSeq : responder.expectedSeq - 1
  const inWindow = inSpan && seq - newest <= settings.grantedPackets
  if (inWindow && kept.put(seq, frame)) {
    counters.outOfSequence++
    responder.context.took = true
    responder.acceptKept(!follows || bth.ackRequest(frame.view, frame.bth))
    return
  }
  if (inWindow) counters.droppedReorder++
  else counters.droppedBeyondWindow++
  if (kept.count === 0) responder.onGap()
  else responder.acceptKept(false)
}

/** The request expected has come, with PSN `from`: those kept behind it follow, as far as they go. */
export function runKept(responder: Responder, kept: ReorderBuffer, now: Nanos, from: number): void {
  const { context } = responder
  kept.drop(from, responder.expectedSeq)
  for (;;) {
    const seq = responder.expectedSeq
    const frame = kept.take(seq)
    if (frame === null) break
    responder.inOrder(now, frame, bth.opcode(frame.view, frame.bth))
    if (responder.expectedSeq === seq && context.responds) {
      // No receive is posted for it: the peer has been told, and will send it again. What has arrived is kept
      // nevertheless.
      kept.restore(seq, frame)
      return
    }
    kept.give(frame)
    // PSNs of a READ's responses are no requests.
    kept.drop(seq + 1, responder.expectedSeq)
  }
  if (context.responds && responder.expectedSeq > from) responder.oweSack()
}
