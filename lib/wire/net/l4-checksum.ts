/**
 * The checksum of TCP (RFC 9293, section 3.1), UDP (RFC 768) and ICMPv6 (RFC 4443, section 2.3). It covers
 * the packet and a pseudo-header of addresses, length and protocol (IPv6: RFC 8200, section 8.1).
 */
import * as ipv4 from './ipv4.js'
import * as ipv6 from './ipv6.js'

const PROTOCOL_TCP = 6
const PROTOCOL_UDP = 17
export const PROTOCOL_ICMPV6 = 58

const TCP_CHECKSUM = 16
const UDP_CHECKSUM = 6
const ICMPV6_CHECKSUM = 2

/**
 * Adds the 16-bit words from `at` to `end` to `sum` in ones' complement. An odd byte is padded with 0. The
 * result is not folded.
 */
export function sumWords(view: DataView, at: number, end: number, sum: number): number {
  let total = sum
  let i = at
  for (; i + 1 < end; i += 2) total += view.getUint16(i)
  if (i < end) total += view.getUint8(i) << 8
  return total
}

/** Returns the complement of a sum, folded to 16 bits. */
export function foldChecksum(sum: number): number {
  let folded = sum
  while (folded > 0xffff) folded = (folded & 0xffff) + Math.floor(folded / 0x1_0000)
  return ~folded & 0xffff
}

/**
 * Computes and writes the checksum of the TCP, UDP or ICMPv6 packet in the IP packet at `l3`. Returns false
 * if there is none: another protocol, a fragment, IPv6 extension headers, or lengths that exceed `end`.
 */
export function writeL4Checksum(view: DataView, l3: number, end: number): boolean {
  const isV4 = ipv4.version(view, l3) === 4
  if (isV4 && ipv4.isFragment(view, l3)) return false
  const protocol = isV4 ? ipv4.protocol(view, l3) : ipv6.nextHeader(view, l3)
  const field = checksumField(protocol, isV4)
  const l4 = l3 + (isV4 ? ipv4.headerBytes(view, l3) : ipv6.BYTES)
  const l4End = isV4 ? l3 + ipv4.totalLength(view, l3) : l4 + ipv6.payloadLength(view, l3)
  if (field < 0 || l4End > end || l4 + field + 2 > l4End) return false
  const addresses = isV4 ? l3 + 12 : l3 + 8
  const pseudo = sumWords(view, addresses, addresses + (isV4 ? 8 : 32), protocol + (l4End - l4))
  view.setUint16(l4 + field, 0)
  const checksum = foldChecksum(sumWords(view, l4, l4End, pseudo))
  // In UDP a checksum of 0 means that there is none (RFC 768).
  view.setUint16(l4 + field, checksum === 0 && protocol === PROTOCOL_UDP ? 0xffff : checksum)
  return true
}

function checksumField(protocol: number, isV4: boolean): number {
  if (protocol === PROTOCOL_TCP) return TCP_CHECKSUM
  if (protocol === PROTOCOL_UDP) return UDP_CHECKSUM
  return protocol === PROTOCOL_ICMPV6 && !isV4 ? ICMPV6_CHECKSUM : -1
}
