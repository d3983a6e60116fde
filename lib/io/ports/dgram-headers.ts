/**
 * Writes the Ethernet, IP and UDP headers of a datagram that arrived by an ordinary socket, as its sender
 * assumed them for the ICRC: no IP options, TOS 0 unless the socket reports it, ID 0, don't fragment, UDP
 * checksum 0. The ICRC does not cover TOS, TTL and the checksums, so their actual values do not matter.
 * Addresses and ports are the actual ones.
 *
 * Constant bytes are in a template, so that a packet needs one copy and a few stores.
 */
import type { Frame } from '../../frame/frame.js'
import * as ethernet from '../../wire/net/ethernet.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as ipv6 from '../../wire/net/ipv6.js'
import * as udp from '../../wire/net/udp.js'

const L3 = ethernet.BYTES
const L4_V4 = L3 + ipv4.BYTES
const L4_V6 = L3 + ipv6.BYTES
export const HEADER_BYTES_V4 = L4_V4 + udp.BYTES
export const HEADER_BYTES_V6 = L4_V6 + udp.BYTES

/** Locally administered addresses, because the kernel does not report the actual ones. */
const MAC_HERE = 0x0200_0000_0001
const MAC_THERE = 0x0200_0000_0002
const TTL = 64
const TOS = 0

/** Writes headers of IPv4 datagrams to one local address. */
export class HeaderWriter4 {
  readonly #template = new Uint8Array(HEADER_BYTES_V4)

  /** @param local this end's address */
  constructor(local: number) {
    const view = new DataView(this.#template.buffer)
    ethernet.write(view, 0, MAC_HERE, MAC_THERE, ethernet.TYPE_IPV4)
    ipv4.write(view, L3, {
      tos: TOS,
      totalLength: ipv4.BYTES + udp.BYTES,
      identification: 0,
      dontFragment: true,
      ttl: TTL,
      protocol: ipv4.PROTOCOL_UDP,
      source: 0,
      destination: local,
    })
  }

  /** The datagram has `length` bytes at HEADER_BYTES_V4. */
  write(
    frame: Frame,
    remote: number,
    remotePort: number,
    localPort: number,
    length: number,
    tos = TOS,
  ): void {
    const view = frame.view
    frame.bytes.set(this.#template, 0)
    ipv4.setTos(view, L3, tos)
    ipv4.setTotalLength(view, L3, ipv4.BYTES + udp.BYTES + length)
    ipv4.setSource(view, L3, remote)
    ipv4.updateChecksum(view, L3)
    udp.write(view, L4_V4, remotePort, localPort, udp.BYTES + length)
    frame.length = HEADER_BYTES_V4 + length
    frame.wireLength = frame.length
  }
}

/** Writes headers of IPv6 datagrams to one local address. */
export class HeaderWriter6 {
  readonly #template = new Uint8Array(HEADER_BYTES_V6)

  /** @param local this end's address, 16 bytes */
  constructor(local: Uint8Array) {
    const view = new DataView(this.#template.buffer)
    ethernet.write(view, 0, MAC_HERE, MAC_THERE, ethernet.TYPE_IPV6)
    ipv6.write(view, L3, {
      trafficClass: TOS,
      flowLabel: 0,
      payloadLength: udp.BYTES,
      nextHeader: ipv4.PROTOCOL_UDP,
      hopLimit: TTL,
      source: local,
      destination: local,
    })
  }

  /** The datagram has `length` bytes at HEADER_BYTES_V6. */
  write(
    frame: Frame,
    remote: Uint8Array,
    remotePort: number,
    localPort: number,
    length: number,
    tos = TOS,
  ): void {
    const view = frame.view
    frame.bytes.set(this.#template, 0)
    ipv6.setTrafficClass(view, L3, tos)
    ipv6.setPayloadLength(view, L3, udp.BYTES + length)
    ipv6.setSource(view, L3, remote)
    udp.write(view, L4_V6, remotePort, localPort, udp.BYTES + length)
    frame.length = HEADER_BYTES_V6 + length
    frame.wireLength = frame.length
  }
}
