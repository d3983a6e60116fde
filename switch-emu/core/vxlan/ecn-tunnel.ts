/**
 * The ECN field at both ends of a tunnel: RFC 6040, and RFC 9601, which says that it holds for VXLAN too. Codepoints are those of
 * lib/wire/net/ipv4.ts: Not-ECT 0, ECT(1) 1, ECT(0) 2, CE 3.
 */
import { ECN_CE, ECN_ECT0, ECN_ECT1, ECN_NOT_ECT } from '../../../lib/wire/net/ipv4.js'

/** How the ingress sets the outer ECN field (RFC 6040, section 4.1, figure 3). */
export type EcnMode =
  /** As the inner one. */
  | 'normal'
  /** Not-ECT, for an egress that does not know these rules: the tunnel carries no mark. */
  | 'compatibility'

/** The combination is dropped. */
export const ECN_DROP = -1

/** By inner (row) and outer codepoint: what the packet has behind the egress (RFC 6040, section 4.2, figure 4). */
const EGRESS = Int8Array.of(
  // outer Not-ECT, ECT(1), ECT(0), CE
  ...[ECN_NOT_ECT, ECN_NOT_ECT, ECN_NOT_ECT, ECN_DROP],
  ...[ECN_ECT1, ECN_ECT1, ECN_ECT1, ECN_CE],
  ...[ECN_ECT0, ECN_ECT1, ECN_ECT0, ECN_CE],
  ...[ECN_CE, ECN_CE, ECN_CE, ECN_CE],
)

/** Combinations that figure 4 marks (!!!): no rule of a tunnel's ingress makes them, so somebody has changed a header. */
const DANGEROUS = Uint8Array.of(...[0, 1, 1, 1], ...[0, 0, 0, 0], ...[0, 0, 0, 0], ...[0, 1, 0, 0])

/** Returns the outer codepoint that the ingress writes. */
export function outerEcn(inner: number, mode: EcnMode): number {
  return mode === 'normal' ? inner : ECN_NOT_ECT
}

/** Returns the codepoint of a packet that leaves the tunnel, or ECN_DROP. */
export function ecnAtEgress(inner: number, outer: number): number {
  return EGRESS[inner * 4 + outer]!
}

export function isDangerous(inner: number, outer: number): boolean {
  return DANGEROUS[inner * 4 + outer] === 1
}
