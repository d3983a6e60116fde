/**
 * Computes a connection's UDP source port, which is its entropy for ECMP, from its ports (IBA annex A17; the
 * formulas are Linux's). The active side puts the flow label into the REQ, and both sides send with the
 * resulting port.
 */

/** Returns the flow label of a connection from the ports of its two ends, 20 bits. */
export function flowLabelOfPorts(sourcePort: number, destinationPort: number): number {
  return (sourcePort * 31 + destinationPort) & 0xfffff
}

/**
 * Returns the UDP source port of a flow label, 0xc000 to 0xffff. Both halves of the label count. For label 0
 * see below.
 */
export function udpSourcePortOf(flowLabel: number): number {
  return 0xc000 | ((flowLabel & 0x3fff) ^ (flowLabel >>> 14))
}

/**
 * Returns the UDP source port for flow label 0. It depends on the QPNs of both ends, so that both compute the
 * same.
 */
export function udpSourcePortOfQpns(localQpn: number, remoteQpn: number): number {
  let mixed = BigInt(localQpn) * BigInt(remoteQpn)
  mixed ^= mixed >> 20n
  mixed ^= mixed >> 40n
  return udpSourcePortOf(Number(mixed & 0xfffffn))
}

/** Returns a flow label, never 0, that results in this UDP source port of 0xc000 to 0xffff. */
export function flowLabelFor(udpSourcePort: number): number {
  const low = udpSourcePort & 0x3fff
  // 0x4001 folds to 0. The label 0 itself would mean "no label".
  return low === 0 ? 0x4001 : low
}
