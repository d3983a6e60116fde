/** Checks for retransmissions without a reason. */
import type { Fail } from './fail.js'

/**
 * Reasons to retransmit: what has happened to packets anywhere in the network, counted over the whole run.
 */
export interface Disturbances {
  /** Frames lost, damaged, copied, overtaken or forged on links, or dropped by switches and hosts. */
  faults: number
  drops: number
  /** Times in which a host or a queue stood still: interruptions, pauses of PFC, pools without a frame. */
  stops: number
  /** Changes of paths: later packets overtake earlier ones. */
  reroutes: number
}

/** The retransmissions of one end, and their reasons in an undisturbed network. */
export interface Retransmissions {
  packets: number
  tailProbes: number
  timeouts: number
  /** Receivers that were not ready: the packet and all after it leave again (IBA 9.7.5.2.8). */
  rnrNaks: number
}

/** True if nothing in the network has given a sender a reason to retransmit. */
export function isUndisturbed(disturbances: Disturbances): boolean {
  return Object.values(disturbances).every(count => count === 0)
}

/** The network was undisturbed: an end retransmits only where its own tail probe or timeout has fired, or its peer was not ready. */
export function checkRetransmissions(name: string, end: Retransmissions, fail: Fail): void {
  const { packets, tailProbes, timeouts, rnrNaks } = end
  if (packets === 0 || tailProbes + timeouts + rnrNaks > 0) return
  fail(`${name}: ${packets} packets were retransmitted, and nothing was lost, overtaken or late`)
}
