import { type Nanos, NEVER } from '../../time/nanos.js'
import { onReorderingTimeout } from './on-acknowledge.js'
import { probeTail } from './probe-tail.js'
import type { Requester } from './requester.js'

/** Carries out what is due: the end of a wait for the receiver, then one of the timers, or what selective repeat waits for. */
export function onTimeout(requester: Requester, now: Nanos): void {
  if (!requester.context.requests) return
  const { timers, tail } = requester
  const { sendSeq, sndUna } = requester.outbound
  timers.takeRnr(now, sendSeq > sndUna)
  if (timers.takeAck(now)) requester.onAckTimeout(now)
  else if (timers.takeRetransmit(now)) requester.onRetransmitTimeout(now)
  else {
    const { doubts } = requester
    if (doubts !== null && now >= doubts.deadlineNs) onReorderingTimeout(requester, doubts, now)
    if (tail?.takeDue(now)) probeTail(requester, now)
  }
  requester.outbound.check()
}

/** When `onTimeout` next has something to do, or NEVER. */
export function nextTimeout({ context, timers, tail, doubts }: Requester): Nanos {
  if (!context.requests) return NEVER
  if (tail === null) return timers.next()
  const first = Math.min(timers.next(), tail.next())
  return doubts === null ? first : Math.min(first, doubts.deadlineNs)
}
