/** Builds whole frames with the codecs, and checks bytes given as hex. */
import { Frame } from '../../lib/frame/frame.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { EXTENDED_HEADER_BYTES } from '../../lib/wire/ib/opcode.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as ipv6 from '../../lib/wire/net/ipv6.js'
import * as udp from '../../lib/wire/net/udp.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'

export interface Shape {
  family: 4 | 6
  vlan: boolean
  /** Slots of an INT shim, or -1 for none. */
  slots: number
  format: number
  flags: number
  opcode: number
  payloadBytes: number
  seed: number
}

export const PLAIN: Shape = {
  family: 4,
  vlan: false,
  slots: -1,
  format: intShim.FORMAT_WIDE,
  flags: 0,
  opcode: 0x04,
  payloadBytes: 0,
  seed: 1,
}

/** A RoCEv2 frame whose extended headers and payload are random bytes by the seed. It has no ICRC yet. */
export function buildRoce(shape: Shape): Frame {
  const link = shape.vlan ? ethernet.TAGGED_BYTES : ethernet.BYTES
  const ip = shape.family === 4 ? ipv4.BYTES : ipv6.BYTES
  const shim = shape.slots < 0 ? 0 : intShim.bytes(shape.format, shape.slots)
  const extended = EXTENDED_HEADER_BYTES[shape.opcode]!
  const pad = (4 - (shape.payloadBytes % 4)) % 4
  const udpBytes = udp.BYTES + shim + bth.BYTES + extended + shape.payloadBytes + pad + 4
  const total = link + ip + udpBytes
  const frame = new Frame(0, Buffer.alloc(total))
  frame.length = total
  frame.wireLength = total
  const { view } = frame
  for (let i = 0; i < total; i++) frame.bytes[i] = (shape.seed * (i + 7) * 31 + (i >> 3)) & 0xff
  const type = shape.family === 4 ? ethernet.TYPE_IPV4 : ethernet.TYPE_IPV6
  if (shape.vlan) ethernet.writeTagged(view, 0, 0x0200_0000_0002, 0x0200_0000_0001, 3, false, 42, type)
  else ethernet.write(view, 0, 0x0200_0000_0002, 0x0200_0000_0001, type)
  if (shape.family === 4) {
    ipv4.write(view, link, {
      tos: 2,
      totalLength: ip + udpBytes,
      identification: shape.seed & 0xffff,
      dontFragment: true,
      ttl: 64,
      protocol: 17,
      source: 0x0a63_0001,
      destination: 0x0a63_0002,
    })
  } else {
    const from = Uint8Array.from({ length: 16 }, (_, i) => i + 1)
    const to = Uint8Array.from({ length: 16 }, (_, i) => 0xf0 - i)
    ipv6.write(view, link, {
      trafficClass: 0x81,
      flowLabel: 0xabcde,
      payloadLength: udpBytes,
      nextHeader: 17,
      hopLimit: 64,
      source: from,
      destination: to,
    })
  }
  const l4 = link + ip
  udp.write(view, l4, 0xc123, shape.slots < 0 ? udp.PORT_ROCE : udp.PORT_INT, udpBytes, 0)
  if (shape.slots >= 0) intShim.write(view, l4 + udp.BYTES, shape.format, shape.slots, shape.flags)
  const at = l4 + udp.BYTES + shim
  bth.write(
    view,
    at,
    new bth.Bth({
      opcode: shape.opcode,
      migrated: false,
      padCount: pad,
      destQpn: 0x11,
      ackRequest: true,
      psn: shape.seed & 0xffffff,
    }),
  )
  frame.bytes.fill(0, total - 4 - pad)
  return frame
}

/** The same frame in a slot that ends with its last byte, so that reading beyond throws. */
export function cut(frame: Frame, length: number, wireLength: number): Frame {
  const short = new Frame(0, Buffer.from(frame.bytes.subarray(0, length)))
  short.length = length
  short.wireLength = wireLength
  return short
}

/** A view over zeroed bytes, with the bytes as hex. */
export function blank(bytes: number): { view: DataView; hex: () => string } {
  const buffer = Buffer.alloc(bytes)
  return { view: new DataView(buffer.buffer, buffer.byteOffset, bytes), hex: () => buffer.toString('hex') }
}

/** A view over the bytes that `hex` spells; spaces are ignored. */
export function viewOf(hex: string): DataView {
  const buffer = Buffer.from(hex.replaceAll(' ', ''), 'hex')
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
}

/** CRC-32 one bit at a time, from its definition. It checks every faster implementation. */
export function slowCrc32(bytes: Iterable<number>): number {
  let c = 0xffff_ffff
  for (const byte of bytes) {
    c ^= byte
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb8_8320 : c >>> 1
  }
  return ~c >>> 0
}
