import type { Frame } from '../frame/frame.js'
import * as bth from './bth.js'
import * as ethernet from './ethernet.js'
import * as intShim from './int-shim.js'
import * as ipv4 from './ipv4.js'
import * as ipv6 from './ipv6.js'
import { EXTENDED_HEADER_BYTES, isKnown } from './opcode.js'
import * as udp from './udp.js'
import { WireError } from './wire-error.js'

export { WIRE_ERROR_NAMES, WireError } from './wire-error.js'

/** Bytes of the ICRC at the end of every RoCEv2 packet. */
export const ICRC_BYTES = 4

/**
 * Finds the headers of a received frame and fills in its offsets: l3, l4, shim, bth, payload, payloadLength.
 * Every length is checked: against `frame.length` for bytes that are read here, against `frame.wireLength`
 * for those that may not be materialised. Reads no byte outside of the frame and throws for no input.
 *
 * Traffic that is not RoCEv2 is no error: it has `bth` -1, and `l3` -1 if it is not even IP. Of a faulty
 * frame the offsets found before the fault stay, so that a switch can still forward by `l3`.
 *
 * Checksums are not looked at: ipv4.verifyChecksum and icrc.verify do that.
 */
export function parseFrame(frame: Frame): WireError {
  frame.l3 = -1
  frame.l4 = -1
  frame.shim = -1
  frame.bth = -1
  frame.payload = -1
  frame.payloadLength = 0
  const view = frame.view
  const error = ethernet.check(view, 0, frame.length)
  if (error !== WireError.OK) return error
  const l3 = ethernet.headerBytes(view, 0)
  const type = ethernet.etherType(view, 0)
  if (type === ethernet.TYPE_IPV4) return parseIpv4(frame, l3)
  if (type === ethernet.TYPE_IPV6) return parseIpv6(frame, l3)
  return WireError.OK
}

function parseIpv4(frame: Frame, l3: number): WireError {
  const view = frame.view
  const error = ipv4.check(view, l3, frame.length, frame.wireLength)
  if (error !== WireError.OK) return error
  frame.l3 = l3
  if (ipv4.protocol(view, l3) !== ipv4.PROTOCOL_UDP || ipv4.isFragment(view, l3)) return WireError.OK
  return parseUdp(frame, l3 + ipv4.headerBytes(view, l3), l3 + ipv4.totalLength(view, l3))
}

function parseIpv6(frame: Frame, l3: number): WireError {
  const view = frame.view
  const error = ipv6.check(view, l3, frame.length, frame.wireLength)
  if (error !== WireError.OK) return error
  frame.l3 = l3
  if (ipv6.nextHeader(view, l3) !== ipv4.PROTOCOL_UDP) return WireError.OK
  return parseUdp(frame, l3 + ipv6.BYTES, l3 + ipv6.BYTES + ipv6.payloadLength(view, l3))
}

/** @param wireEnd first byte behind the IP packet, materialised or not */
function parseUdp(frame: Frame, l4: number, wireEnd: number): WireError {
  const view = frame.view
  const error = udp.check(view, l4, Math.min(frame.length, wireEnd), wireEnd)
  if (error !== WireError.OK) return error
  frame.l4 = l4
  const port = udp.destinationPort(view, l4)
  if (port !== udp.PORT_ROCE && port !== udp.PORT_INT) return WireError.OK
  // The ICRC is found at the end of the datagram and of the packet: both must be the same.
  if (l4 + udp.length(view, l4) !== wireEnd) return WireError.BAD_UDP_LENGTH
  if (port === udp.PORT_ROCE) return parseBth(frame, l4 + udp.BYTES, wireEnd)
  const shim = l4 + udp.BYTES
  const shimError = intShim.check(view, shim, Math.min(frame.length, wireEnd))
  if (shimError !== WireError.OK) return shimError
  frame.shim = shim
  return parseBth(frame, shim + intShim.totalBytes(view, shim), wireEnd)
}

function parseBth(frame: Frame, at: number, wireEnd: number): WireError {
  const view = frame.view
  const error = bth.check(view, at, Math.min(frame.length, wireEnd - ICRC_BYTES))
  if (error !== WireError.OK) return error
  frame.bth = at
  const opcode = bth.opcode(view, at)
  if (!isKnown(opcode)) return WireError.UNKNOWN_OPCODE
  const payload = at + bth.BYTES + EXTENDED_HEADER_BYTES[opcode]!
  if (payload > frame.length || payload > wireEnd - ICRC_BYTES) return WireError.SHORT_EXTENDED_HEADER
  const payloadLength = wireEnd - ICRC_BYTES - payload - bth.padCount(view, at)
  if (payloadLength < 0) return WireError.BAD_PAD
  frame.payload = payload
  frame.payloadLength = payloadLength
  return WireError.OK
}
