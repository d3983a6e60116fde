/** Whether something was retransmitted although nothing had a reason to be. */
import type { Fail } from './fail.js'

/** Why a sender may retransmit: what has happened to packets, counted over the whole run. */
export interface Reasons {
  /** Frames lost, damaged, copied, overtaken or forged on links, or dropped by switches and hosts. */
  faults: number
  drops: number
  /** Times that a host or a queue stood still: interruptions, pauses of PFC, pools without a frame. */
  stops: number
  /** Changes of paths: later packets overtake earlier ones. */
  reroutes: number
  /** Receivers that were not ready (IBA 9.7.5.2.8). */
  rnrNaks: number
  /** Tail probes and retransmission timeouts: an answer was later than those before it let expect. */
  timers: number
}

/** @param retransmittedBytes of all connections */
export function checkRetransmissions(retransmittedBytes: number, reasons: Reasons, fail: Fail): void {
  if (Object.values(reasons).some(count => count > 0) || retransmittedBytes === 0) return
  fail(`${retransmittedBytes} bytes were retransmitted, and nothing was lost, overtaken or late`)
}
