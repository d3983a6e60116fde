import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { EXTENDED_HEADER_BYTES } from '../../lib/wire/ib/opcode.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import * as udp from '../../lib/wire/net/udp.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'

export interface FrameSpec {
  /** IPv4 as u32, IPv6 as 16 bytes. */
  from: number | Uint8Array
  to: number | Uint8Array
  sourcePort?: number
  /** 4791 unless there is an INT shim. */
  destinationPort?: number
  /** Without FCS; the payload is not materialised. Default: headers and ICRC. */
  wireBytes?: number
  tos?: number
  ttl?: number
  psn?: number
  /** 1 unless given. */
  destQpn?: number
  /** SEND_ONLY unless given. */
  opcode?: number
  /** INT shim with these slots and flags. */
  int?: { format: number; slots: number; flags?: number }
  /** PCP of a VLAN tag. */
  vlanPriority?: number
}

const SEND_ONLY = 0x04

/**
 * A RoCEv2 frame as a sender in virtual time makes it: real headers, a payload that is only counted, and
 * offsets.
 */
export function buildFrame(pool: FramePool, spec: FrameSpec): Frame {
  const frame = pool.take()
  if (frame === null) throw new Error('the pool of the test is empty')
  const { view } = frame
  const v4 = typeof spec.from === 'number'
  const l3 = writeEthernet(view, spec, v4 ? ethernet.TYPE_IPV4 : ethernet.TYPE_IPV6)
  const l4 = l3 + (v4 ? ipv4.BYTES : ipv6.BYTES)
  const shim = l4 + udp.BYTES
  const shimBytes = spec.int === undefined ? 0 : intShim.bytes(spec.int.format, spec.int.slots)
  const bthAt = shim + shimBytes
  const opcode = spec.opcode ?? SEND_ONLY
  const headerBytes = bthAt + bth.BYTES + EXTENDED_HEADER_BYTES[opcode]!
  const wireBytes = Math.max(spec.wireBytes ?? 0, headerBytes + 4)
  writeIp(view, l3, spec, wireBytes - l3)
  const port = spec.destinationPort ?? (spec.int === undefined ? udp.PORT_ROCE : udp.PORT_INT)
  udp.write(view, l4, spec.sourcePort ?? 0xc000, port, wireBytes - l4)
  if (spec.int !== undefined) intShim.write(view, shim, spec.int.format, spec.int.slots, spec.int.flags ?? 0)
  bth.write(
    view,
    bthAt,
    new bth.Bth({ opcode, migrated: false, destQpn: spec.destQpn ?? 1, psn: spec.psn ?? 0 }),
  )
  frame.length = headerBytes
  frame.wireLength = wireBytes
  if (parseFrame(frame) !== WireError.OK) throw new Error('the test built a malformed frame')
  return frame
}

function writeEthernet(view: DataView, spec: FrameSpec, type: number): number {
  if (spec.vlanPriority === undefined) {
    ethernet.write(view, 0, 0x020000000001, 0x020000000002, type)
    return ethernet.BYTES
  }
  ethernet.writeTagged(view, 0, 0x020000000001, 0x020000000002, spec.vlanPriority, false, 1, type)
  return ethernet.TAGGED_BYTES
}

function writeIp(view: DataView, l3: number, spec: FrameSpec, bytes: number): void {
  const { from, to, tos = 0x02, ttl = 64 } = spec
  if (typeof from === 'number' && typeof to === 'number') {
    ipv4.write(view, l3, {
      tos,
      totalLength: bytes,
      identification: 0,
      dontFragment: true,
      ttl,
      protocol: ipv4.PROTOCOL_UDP,
      source: from,
      destination: to,
    })
  } else {
    ipv6.write(view, l3, {
      trafficClass: tos,
      flowLabel: 0,
      payloadLength: bytes - ipv6.BYTES,
      nextHeader: ipv4.PROTOCOL_UDP,
      hopLimit: ttl,
      source: from as Uint8Array,
      destination: to as Uint8Array,
    })
  }
}
