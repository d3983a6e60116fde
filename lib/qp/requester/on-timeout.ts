import { type Nanos, NEVER } from '../../time/nanos.js'
import { onReorderingTimeout } from './on-acknowledge.js'
import { probeTail } from './probe-tail.js'
import type { Requester } from './requester.js'

/** Carries out what is due: the end of a wait for the receiver, then one of the timers, or what selective repeat waits for. */
export function onTimeout(requester: Requester, now: Nanos): void {
  if (!requester.context.requests) return
  const { timers, tail, selective } = requester
  const { sendSeq, sndUna } = requester.outbound
  timers.takeRnr(now, sendSeq > sndUna)
  if (timers.takeAck(now)) requester.onAckTimeout(now)
  else if (timers.takeRetransmit(now)) requester.onRetransmitTimeout(now)
  else {
    if (selective !== null && now >= selective.deadlineNs) onReorderingTimeout(requester, selective, now)
    if (tail?.takeDue(now)) probeTail(requester, now)
  }
  requester.outbound.check()
}

/** When `onTimeout` next has something to do, or NEVER. */
export function nextTimeout({ context, timers, tail, selective }: Requester): Nanos {
  if (!context.requests) return NEVER
  if (tail === null || selective === null) return timers.next()
  return Math.min(timers.next(), tail.next(), selective.deadlineNs)
}
