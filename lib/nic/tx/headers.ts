/** The headers before the BTH: prepared once per peer, then copied and completed for each packet. */
import type { Frame } from '../../frame/frame.js'
import { PreparedHeaders } from '../../frame/prepared-headers.js'
import type { HostAddress } from '../../wire/net/address.js'
import * as ethernet from '../../wire/net/ethernet.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as ipv6 from '../../wire/net/ipv6.js'
import type { MacAddress } from '../../wire/net/mac.js'
import * as udp from '../../wire/net/udp.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'

/** TTL or hop limit of every packet that a Weir host sends. */
export const HOP_LIMIT = 64

interface Endpoints {
  from: HostAddress
  to: HostAddress
  fromMac: MacAddress
  toMac: MacAddress
}

/**
 * Ethernet, IP and UDP headers to a peer, with lengths and UDP destination left 0 and the IPv4 checksum to match.
 *
 * @param dscp 0 to 63; @param marks packets are ECN-capable: switches mark them instead of dropping them
 */
export function prepareHeaders(ends: Endpoints, sourcePort: number, dscp = 0, marks = true): PreparedHeaders {
  const trafficClass = (dscp << 2) | (marks ? ipv4.ECN_ECT0 : 0)
  const v4 = ends.from.family === 4
  const l4 = ethernet.BYTES + (v4 ? ipv4.BYTES : ipv6.BYTES)
  const view = new DataView(new ArrayBuffer((l4 + udp.BYTES + 3) & ~3))
  const type = v4 ? ethernet.TYPE_IPV4 : ethernet.TYPE_IPV6
  ethernet.write(view, 0, ends.toMac, ends.fromMac, type)
  if (v4) {
    const { from, to } = ends
    const id = 0 // both ends compute the ICRC with 0: an ordinary socket could neither choose nor see another
    ipv4.write(view, 14, {
      tos: trafficClass,
      totalLength: 0,
      identification: id,
      dontFragment: true,
      ttl: HOP_LIMIT,
      protocol: ipv4.PROTOCOL_UDP,
      source: from.ipv4,
      destination: to.ipv4,
    })
  } else {
    ipv6.write(view, 14, {
      trafficClass,
      flowLabel: 0,
      payloadLength: 0,
      nextHeader: ipv4.PROTOCOL_UDP,
      hopLimit: HOP_LIMIT,
      source: ends.from.gid,
      destination: ends.to.gid,
    })
  }
  udp.write(view, l4, sourcePort, 0, 0)
  return PreparedHeaders.of(view, l4 + udp.BYTES)
}

/** The same headers with another UDP source port. */
export function withSourcePort({ words, length }: PreparedHeaders, sourcePort: number): PreparedHeaders {
  const copy = words.slice()
  // The UDP header begins with the second half of a word.
  const at = (length - udp.BYTES) >> 2
  copy[at] = (copy[at]! & ~0xffff) | sourcePort
  return new PreparedHeaders(copy, length)
}

/** Puts prepared headers into the frame and sets its offsets; returns the first byte behind them. */
export function beginFrame(frame: Frame, headers: PreparedHeaders): number {
  const { length } = headers
  headers.copyInto(frame)
  frame.l3 = ethernet.BYTES
  frame.l4 = length - udp.BYTES
  return length
}

/** Completes the headers once the frame's `wireLength` is final. */
export function completeHeaders(frame: Frame, destinationPort: number): void {
  const view = frame.view
  const total = frame.wireLength - frame.l3
  if (ipv4.version(view, frame.l3) === 4) {
    ipv4.setTotalLength(view, frame.l3, total)
    // The checksum was made for length 0: add the length (RFC 1624).
    let sum = (~ipv4.checksum(view, frame.l3) & 0xffff) + total
    sum = (sum & 0xffff) + (sum >>> 16)
    ipv4.setChecksum(view, frame.l3, ~sum & 0xffff)
  } else {
    ipv6.setPayloadLength(view, frame.l3, total - ipv6.BYTES)
  }
  udp.setDestinationPort(view, frame.l4, destinationPort)
  udp.setLength(view, frame.l4, frame.wireLength - frame.l4 - telemetry.foreignBytes(frame))
}
