/** Whether something was retransmitted although nothing had a reason to be. */
import type { Fail } from './fail.js'

/** Why a sender may retransmit: what has happened to packets anywhere in the network, counted over the whole run. */
export interface Disturbances {
  /** Frames lost, damaged, copied, overtaken or forged on links, or dropped by switches and hosts. */
  faults: number
  drops: number
  /** Times that a host or a queue stood still: interruptions, pauses of PFC, pools without a frame. */
  stops: number
  /** Changes of paths: later packets overtake earlier ones. */
  reroutes: number
}

/** What one end has retransmitted, and what explains it in an undisturbed network. */
export interface Retransmissions {
  packets: number
  /** Each of them is one packet (RFC 8985, section 7.3). */
  tailProbes: number
  /** Each of them is one packet until the peer is heard (`lib/qp/silence.ts`); all that is outstanding where the end goes back N. */
  timeouts: number
  /** Receivers that were not ready: the packet and all behind it leave again (IBA 9.7.5.2.8). */
  rnrNaks: number
  goesBackN: boolean
}

/** True if nothing in the network has given a sender a reason to retransmit. */
export function isUndisturbed(disturbances: Disturbances): boolean {
  return Object.values(disturbances).every(count => count === 0)
}

/** The network was undisturbed: each packet that an end has retransmitted is a tail probe, or follows a timeout or an RNR NAK of that end. */
export function checkRetransmissions(name: string, end: Retransmissions, fail: Fail): void {
  const { packets, tailProbes, timeouts, rnrNaks, goesBackN } = end
  if (rnrNaks > 0 || (goesBackN && timeouts > 0) || packets <= tailProbes + timeouts) return
  fail(
    `${name}: ${packets} packets were retransmitted, with ${tailProbes} tail probes and ${timeouts} timeouts; nothing was lost, overtaken or late`,
  )
}
