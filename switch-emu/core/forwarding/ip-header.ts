/**
 * The fields that a switch reads and changes in an IP header of either version. The frame's `l3` has been
 * found. If the frame is not IP (a switch's own answer to ARP), `ecn` and `dscp` are 0.
 */
import type { Frame } from '../../../lib/frame/frame.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../../lib/wire/net/ipv6.js'

/** Returns the ECN codepoint: ipv4.ECN_NOT_ECT, ECN_ECT0, ECN_ECT1 or ECN_CE. */
export function ecn(frame: Frame): number {
  const { view, l3 } = frame
  if (l3 < 0) return 0
  return ipv4.version(view, l3) === 4 ? ipv4.ecn(view, l3) : ipv6.ecn(view, l3)
}

export function dscp(frame: Frame): number {
  const { view, l3 } = frame
  if (l3 < 0) return 0
  return ipv4.version(view, l3) === 4 ? ipv4.dscp(view, l3) : ipv6.dscp(view, l3)
}

/** Sets the DSCP, 0 to 63, and updates the checksum. */
export function setDscp(frame: Frame, codepoint: number): void {
  const { view, l3 } = frame
  if (l3 < 0) return
  if (ipv4.version(view, l3) === 4) ipv4.setDscp(view, l3, codepoint)
  else ipv6.setDscp(view, l3, codepoint)
}

/** Sets the ECN codepoint, and updates the checksum. */
export function setEcn(frame: Frame, codepoint: number): void {
  const { view, l3 } = frame
  if (ipv4.version(view, l3) === 4) ipv4.setEcn(view, l3, codepoint)
  else ipv6.setEcn(view, l3, codepoint)
}

/** Marks Congestion Experienced, and updates the checksum. */
export function markCe(frame: Frame): void {
  const { view, l3 } = frame
  if (ipv4.version(view, l3) === 4) ipv4.markCe(view, l3)
  else ipv6.markCe(view, l3)
}

/** Returns the TTL or hop limit. */
export function ttl(frame: Frame): number {
  const { view, l3 } = frame
  if (l3 < 0) return 0
  return ipv4.version(view, l3) === 4 ? ipv4.ttl(view, l3) : ipv6.hopLimit(view, l3)
}

/** Decrements TTL or hop limit. Returns false if it has expired, and the packet must not be forwarded. */
export function countHop(frame: Frame): boolean {
  const { view, l3 } = frame
  return ipv4.version(view, l3) === 4 ? ipv4.decrementTtl(view, l3) : ipv6.decrementHopLimit(view, l3)
}
