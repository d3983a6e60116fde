import type { HostAddress } from '../../../lib/wire/net/address.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../../lib/wire/net/ipv6.js'
import * as udp from '../../../lib/wire/net/udp.js'
import { mix32 } from './mix32.js'

/** Buckets of the flow hash, a power of two. */
export const BUCKETS = 1_024

/**
 * Returns the hash of a frame's flow, 31 bits, which V8 need not box. It is symmetric: a packet and its
 * answer have the same value, because the order of addresses and ports does not matter.
 *
 * Both directions of a RoCEv2 connection use the same UDP source port, which is the flow's entropy (IBA annex
 * A17), and a well-known destination port, which depends on telemetry and encapsulation. So only the source
 * port counts there, and telemetry travels on the data's path.
 *
 * @param length bytes present
 * @param l3 offset of the IP header
 * @param l4 offset of the UDP header or -1. Fragments have none: only addresses count for them, so that all
 * parts of a datagram take one path
 */
export function flowHash(view: DataView, length: number, l3: number, l4: number): number {
  const version4 = ipv4.version(view, l3) === 4
  // IFA or hop-by-hop options may precede UDP.
  const next = version4 ? ipv4.protocol(view, l3) : ipv6.nextHeader(view, l3)
  const protocol = l4 >= 0 ? ipv4.PROTOCOL_UDP : next
  const addresses = version4
    ? mix32(ipv4.source(view, l3)) + mix32(ipv4.destination(view, l3))
    : foldAddress(view, l3 + 8) + foldAddress(view, l3 + 24)
  return mix32(mix32(addresses) ^ portKey(view, length, l3, l4, protocol) ^ protocol) >>> 1
}

/** Returns the `addresses` of `udpFlowHash` for packets between two hosts, in either direction. */
export function addressPairHash(a: HostAddress, b: HostAddress): number {
  if (a.family === 4) return mix32(a.ipv4) + mix32(b.ipv4)
  return foldAddress(viewOf(a), 0) + foldAddress(viewOf(b), 0)
}

/**
 * Returns what `flowHash` is of UDP packets that nobody has written yet.
 *
 * @param addresses the result of `addressPairHash`
 */
export function udpFlowHash(addresses: number, sourcePort: number, destinationPort: number): number {
  const ports = udpPortKey(sourcePort, destinationPort)
  return mix32(mix32(addresses) ^ ports ^ ipv4.PROTOCOL_UDP) >>> 1
}

function viewOf({ gid }: HostAddress): DataView {
  return new DataView(gid.buffer, gid.byteOffset, gid.byteLength)
}

/** Returns the bucket of a flow hash, 0 to BUCKETS - 1. */
export function bucketOf(hash: number): number {
  return hash & (BUCKETS - 1)
}

/**
 * Distributes the buckets among `ports` evenly (numbers differ by at most one), in an order that the seed
 * shuffles. Two switches with different seeds choose independently.
 */
export function spreadBuckets(ports: readonly number[], seed: number): Uint8Array {
  const buckets = new Uint8Array(BUCKETS)
  for (let i = 0; i < BUCKETS; i++) buckets[i] = ports[i % ports.length]!
  for (let i = BUCKETS - 1; i > 0; i--) {
    const j = Math.floor((mix32(mix32(seed) + i) / 0x1_0000_0000) * (i + 1))
    const swapped = buckets[i]!
    buckets[i] = buckets[j]!
    buckets[j] = swapped
  }
  return buckets
}

function portKey(view: DataView, length: number, l3: number, l4: number, protocol: number): number {
  if (protocol === ipv4.PROTOCOL_UDP && l4 >= 0) {
    return udpPortKey(udp.sourcePort(view, l4), udp.destinationPort(view, l4))
  }
  if (protocol === ipv4.PROTOCOL_TCP) return tcpPortKey(view, length, l3)
  return 0
}

function udpPortKey(source: number, destination: number): number {
  if (destination === udp.PORT_ROCE || destination === udp.PORT_INT) return mix32(source)
  return mix32(source) + mix32(destination)
}

function tcpPortKey(view: DataView, length: number, l3: number): number {
  let at = l3 + ipv6.BYTES
  if (ipv4.version(view, l3) === 4) {
    if (ipv4.isFragment(view, l3)) return 0
    at = l3 + ipv4.headerBytes(view, l3)
  }
  if (at + 4 > length) return 0
  return mix32(view.getUint16(at)) + mix32(view.getUint16(at + 2))
}

/** Folds an IPv6 address to 32 bits. */
function foldAddress(view: DataView, at: number): number {
  let h = mix32(view.getUint32(at))
  h = mix32(h ^ view.getUint32(at + 4))
  h = mix32(h ^ view.getUint32(at + 8))
  return mix32(h ^ view.getUint32(at + 12))
}
