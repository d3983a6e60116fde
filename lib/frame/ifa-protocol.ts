/** IP protocol of IFA: for experimentation and testing (RFC 3692), as the draft's implementations use it. */
export const IFA_PROTOCOL = 253

/** Hop-by-hop options, ICMP, TCP, UDP, ICMPv6: a host would take all their packets for IFA's. */
export const IFA_PROTOCOLS_TAKEN: readonly number[] = [0, 1, 6, 17, 58]

/** Why IFA cannot have this IP protocol; null if it can. */
export function ifaProtocolFault(protocol: number): string | null {
  if (
    Number.isInteger(protocol) &&
    protocol >= 0 &&
    protocol <= 255 &&
    !IFA_PROTOCOLS_TAKEN.includes(protocol)
  )
    return null
  return `IP protocol ${String(protocol)} is not IFA's; choose another, such as ${IFA_PROTOCOL}`
}
