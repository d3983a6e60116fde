/**
 * Puts a frame into VXLAN and takes it out again (RFC 7348, section 5), within its slot. The outer headers are Ethernet, IPv4 or IPv6,
 * and UDP without a checksum, which RFC 6935 and 6936 allow over IPv6 too.
 *
 *     before   Ethernet │ IP …                          frame.l3, l4, shim, bth are the inner headers
 *     after    Ethernet │ IP │ UDP │ VXLAN │ Ethernet │ IP …     l3 and l4 are the outer ones, there is no shim and no BTH
 */
import type { Frame } from '../../../lib/frame/frame.js'
import type { HostAddress } from '../../../lib/wire/net/address.js'
import * as ethernet from '../../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../../lib/wire/net/ipv6.js'
import type { MacAddress } from '../../../lib/wire/net/mac.js'
import * as udp from '../../../lib/wire/net/udp.js'
import * as vxlan from '../../../lib/wire/net/vxlan.js'
import { parseFrame, WireError } from '../../../lib/wire/parse.js'

const TAG_BYTES = ethernet.TAGGED_BYTES - ethernet.BYTES
/** The MAC addresses, before the VLAN tag. */
const MACS_BYTES = 12
const TTL = 64

/** An end of a tunnel. */
export interface TunnelEnd {
  address: HostAddress
  mac: MacAddress
}

/** The headers that packets from one end to another get, but for what depends on the packet. */
export class OuterHeaders {
  readonly bytes: number
  readonly #template: Uint8Array
  readonly #isV4: boolean

  constructor(from: TunnelEnd, to: TunnelEnd, vni: number) {
    const isV4 = from.address.family === 4
    const ip = isV4 ? ipv4.BYTES : ipv6.BYTES
    this.bytes = ethernet.BYTES + ip + udp.BYTES + vxlan.BYTES
    this.#isV4 = isV4
    this.#template = new Uint8Array(this.bytes)
    const view = new DataView(this.#template.buffer)
    ethernet.write(view, 0, to.mac, from.mac, isV4 ? ethernet.TYPE_IPV4 : ethernet.TYPE_IPV6)
    writeIp(view, from.address, to.address)
    udp.write(view, ethernet.BYTES + ip, 0, udp.PORT_VXLAN, 0)
    vxlan.write(view, ethernet.BYTES + ip + udp.BYTES, vni)
  }

  /**
   * Puts the frame behind them. Its slot must have room. A VLAN tag is left out (RFC 7348, section 6.1).
   *
   * @param tos of the outer header: DSCP and ECN
   */
  write(frame: Frame, sourcePort: number, tos: number): void {
    frame.bringIn()
    if (ethernet.hasVlan(frame.view, 0)) removeTag(frame)
    const { bytes, view } = frame
    const l4 = this.bytes - vxlan.BYTES - udp.BYTES
    bytes.copyWithin(this.bytes, 0, frame.length)
    bytes.set(this.#template, 0)
    frame.length += this.bytes
    frame.wireLength += this.bytes
    forgetHeaders(frame)
    frame.l3 = ethernet.BYTES
    frame.l4 = l4
    udp.setSourcePort(view, l4, sourcePort)
    udp.setLength(view, l4, frame.wireLength - l4)
    if (this.#isV4) {
      ipv4.setTos(view, ethernet.BYTES, tos)
      ipv4.setTotalLength(view, ethernet.BYTES, frame.wireLength - ethernet.BYTES)
      ipv4.updateChecksum(view, ethernet.BYTES)
    } else {
      ipv6.setTrafficClass(view, ethernet.BYTES, tos)
      ipv6.setPayloadLength(view, ethernet.BYTES, frame.wireLength - ethernet.BYTES - ipv6.BYTES)
    }
  }
}

/** Bytes by which a frame gets longer that has these headers written before it. */
export function growthBytes(frame: Frame, headers: OuterHeaders): number {
  return headers.bytes - (ethernet.hasVlan(frame.view, 0) ? TAG_BYTES : 0)
}

/**
 * Takes the inner frame out, and finds its headers. Returns what is wrong: it is malformed itself, or has a VLAN tag, which RFC 7348
 * (section 6.1) lets an end discard. The frame's VXLAN header must have been checked. Bytes behind the UDP datagram are padding.
 */
export function takeOut(frame: Frame): WireError {
  const at = frame.l4 + udp.BYTES + vxlan.BYTES
  const end = frame.l4 + udp.length(frame.view, frame.l4)
  frame.bringIn()
  frame.bytes.copyWithin(0, at, frame.length)
  frame.length = Math.min(frame.length, end) - at
  frame.wireLength = end - at
  const error = parseFrame(frame)
  const { view, l3 } = frame
  if (frame.length >= ethernet.BYTES && ethernet.hasVlan(view, 0)) return WireError.BAD_VXLAN
  // What is above IP is the receiver's affair, as in other frames that a switch forwards.
  if (l3 < 0) return error
  return ipv4.version(view, l3) === 4 && !ipv4.verifyChecksum(view, l3)
    ? WireError.BAD_IPV4_HEADER
    : WireError.OK
}

function removeTag(frame: Frame): void {
  frame.bytes.copyWithin(MACS_BYTES, MACS_BYTES + TAG_BYTES, frame.length)
  frame.length -= TAG_BYTES
  frame.wireLength -= TAG_BYTES
}

function forgetHeaders(frame: Frame): void {
  frame.shim = -1
  frame.intFormat = 0
  frame.bth = -1
  frame.payload = -1
  frame.payloadLength = 0
  frame.flowHash = -1
  frame.destination = 0
}

function writeIp(view: DataView, from: HostAddress, to: HostAddress): void {
  if (from.family === 4) {
    ipv4.write(view, ethernet.BYTES, {
      tos: 0,
      totalLength: 0,
      identification: 0,
      // An end must not fragment (RFC 7348, section 4.3).
      dontFragment: true,
      ttl: TTL,
      protocol: ipv4.PROTOCOL_UDP,
      source: from.ipv4,
      destination: to.ipv4,
    })
    return
  }
  ipv6.write(view, ethernet.BYTES, {
    trafficClass: 0,
    flowLabel: 0,
    payloadLength: 0,
    nextHeader: ipv4.PROTOCOL_UDP,
    hopLimit: TTL,
    source: from.gid,
    destination: to.gid,
  })
}
