/**
 * From a connection's ports to its UDP source port, which is its entropy for ECMP (IBA annex A17; the formulas
 * are Linux's). The active side puts the flow label into the REQ, and both sides send with the port that it gives.
 */

/** Flow label of a connection by the ports of its two ends; 20 bits. */
export function flowLabelOfPorts(sourcePort: number, destinationPort: number): number {
  return (sourcePort * 31 + destinationPort) & 0xfffff
}

/** UDP source port of a flow label, 0xc000 to 0xffff; both halves of the label count. Label 0 has none: see below. */
export function udpSourcePortOf(flowLabel: number): number {
  return 0xc000 | ((flowLabel & 0x3fff) ^ (flowLabel >>> 14))
}

/** UDP source port where the flow label is 0: by the QPNs of both ends, so that both find the same. */
export function udpSourcePortOfQpns(localQpn: number, remoteQpn: number): number {
  let mixed = BigInt(localQpn) * BigInt(remoteQpn)
  mixed ^= mixed >> 20n
  mixed ^= mixed >> 40n
  return udpSourcePortOf(Number(mixed & 0xfffffn))
}

/** A flow label, never 0, that gives this UDP source port of 0xc000 to 0xffff. */
export function flowLabelFor(udpSourcePort: number): number {
  const low = udpSourcePort & 0x3fff
  // 0x4001 folds to 0: the label 0 itself would mean "no label".
  return low === 0 ? 0x4001 : low
}
