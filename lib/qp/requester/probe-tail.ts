import type { Nanos } from '../../time/nanos.js'
import type { SelectiveRepeat } from '../recovery/selective-repeat.js'
import type { Requester } from './requester.js'

/**
 * The probe timeout has passed: the last packet is retransmitted, or the first, unless another one is retransmitted anyway. Before a
 * round trip has been measured the peer is only asked a question.
 */
export function probeTail(requester: Requester, now: Nanos): void {
  if (!requester.selective!.hasLost && asks(requester, now)) return
  const selective = requester.selective!
  if (!selective.hasLost) {
    // The scoreboard does not know what came in order without a loss: it may be the first part of a READ.
    selective.acknowledged(now, requester.outbound.sndUna - 1)
    const last = lastUnanswered(requester, selective)
    if (last < 0) return
    const seq = requester.tail!.asksForFirst ? firstUnanswered(requester, selective, last) : last
    const queue = requester.context.sendQueue
    selective.probe(queue.at(queue.find(seq)), seq, seq < last)
    requester.context.counters.tailProbes++
  }
  requester.tail!.pending = true
}

/** True if a question leaves in place of a packet. */
function asks(requester: Requester, now: Nanos): boolean {
  const { trips, sndNxt } = requester.outbound
  if (trips.measured || !requester.context.observer.onUnanswered(now)) return false
  trips.onQuestion(now, sndNxt)
  requester.tail!.onQuestion(now, requester.timers.timeoutNs)
  return true
}

/** The first packet sent that is not known to have arrived; `last` where that is known. */
function firstUnanswered(requester: Requester, selective: SelectiveRepeat, last: number): number {
  const { sndUna, sendSeq } = requester.outbound
  return sndUna < sendSeq && !selective.isSacked(sndUna) ? sndUna : last
}

/**
 * What a probe repeats: the last packet sent that is not known to have arrived or been answered; -1 if there is none.
 * If a READ is being answered, it is the last response: that shows whether those before it are lost.
 */
function lastUnanswered(requester: Requester, selective: SelectiveRepeat): number {
  const { sndUna, sendSeq } = requester.outbound
  const queue = requester.context.sendQueue
  for (let seq = Math.min(sendSeq, sndUna + selective.kept.span) - 1; seq >= sndUna; ) {
    const slot = queue.at(queue.find(seq))
    const from = Math.max(slot.firstSeq, sndUna)
    if (!slot.awaitsResponse) {
      for (; seq >= from; seq--) if (!selective.isSacked(seq)) return seq
    } else if (slot.firstSeq <= selective.executedSeq) {
      for (; seq >= from; seq--) if (!selective.kept.has(seq)) return seq
    } else if (!selective.isSacked(from)) return from
    seq = slot.firstSeq - 1
  }
  return -1
}
