/**
 * Global Route Header (IBA 8.3): the 40 bytes before the payload of a datagram in the receiver's memory. RoCEv2 sends none: the IP header
 * stands for it (annex A17.4.5). An IPv6 header is one, byte by byte. An IPv4 header takes the last 20 bytes, behind 20 zeros, as Linux
 * writes it.
 */
import type { Frame } from '../../frame/frame.js'
import { HostAddress } from '../net/address.js'
import * as ipv4 from '../net/ipv4.js'

export const BYTES = 40

const IPV4_AT = BYTES - ipv4.BYTES
const SOURCE_GID_AT = 8

/** Writes the 40 bytes for a received packet. */
export function write(into: Uint8Array, at: number, { bytes, view, l3 }: Frame): void {
  if (ipv4.version(view, l3) !== 4) {
    for (let i = 0; i < BYTES; i++) into[at + i] = bytes[l3 + i]!
    return
  }
  into.fill(0, at, at + IPV4_AT)
  for (let i = 0; i < ipv4.BYTES; i++) into[at + IPV4_AT + i] = bytes[l3 + i]!
}

/** The address that the datagram came from. Its version tells the two layouts apart: an IPv4 header has zeros before it. */
export function source(bytes: Uint8Array, at = 0): HostAddress {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getUint8(at) >>> 4 === 6) return HostAddress.fromGid(bytes, at + SOURCE_GID_AT)
  return HostAddress.fromIpv4(ipv4.source(view, at + IPV4_AT))
}
