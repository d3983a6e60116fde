import type { Frame } from '../frame/frame.js'
import { WireError } from './bytes/wire-error.js'
import * as bth from './ib/bth.js'
import * as icrc from './ib/icrc.js'
import { EXTENDED_HEADER_BYTES, isKnown } from './ib/opcode.js'
import * as ethernet from './net/ethernet.js'
import * as ipv4 from './net/ipv4.js'
import * as ipv6 from './net/ipv6.js'
import * as udp from './net/udp.js'
import * as ifa from './telemetry/ifa.js'
import * as intMd from './telemetry/int-md.js'
import * as intShim from './telemetry/int-shim.js'
import * as ioamIpv6 from './telemetry/ioam-ipv6.js'
import * as ioamTrace from './telemetry/ioam-trace.js'
import * as ioamUdp from './telemetry/ioam-udp.js'
import * as telemetry from './telemetry/telemetry.js'

export { isShort, WIRE_ERROR_NAMES, WireError } from './bytes/wire-error.js'

/**
 * Finds the headers of a received frame and sets its offsets: l3, l4, shim (and intFormat), bth, payload,
 * payloadLength. It forgets the flow hash. It checks every length: against `frame.length` for bytes that it reads, against
 * `frame.wireLength` for bytes that may not be materialised. It reads no byte outside the frame and throws
 * for no input.
 *
 * Traffic that is not RoCEv2 is no error: it has `bth` -1, and `l3` -1 if it is not IP. A faulty frame keeps
 * the offsets found before the fault, so that a switch can still forward it by `l3`.
 *
 * It does not check checksums: ipv4.verifyChecksum and icrc.verify do.
 */
export function parseFrame(frame: Frame): WireError {
  frame.flowHash = -1
  frame.destination = 0
  frame.l3 = -1
  frame.l4 = -1
  frame.shim = -1
  frame.intFormat = 0
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
  if (ipv4.isFragment(view, l3)) return WireError.OK
  const next = ipv4.protocol(view, l3)
  return parseNext(frame, next, l3 + ipv4.headerBytes(view, l3), l3 + ipv4.totalLength(view, l3))
}

function parseIpv6(frame: Frame, l3: number): WireError {
  const view = frame.view
  const error = ipv6.check(view, l3, frame.length, frame.wireLength)
  if (error !== WireError.OK) return error
  frame.l3 = l3
  const at = l3 + ipv6.BYTES
  const next = ipv6.nextHeader(view, l3)
  const wireEnd = at + ipv6.payloadLength(view, l3)
  return next === ipv6.HOP_BY_HOP ? parseHopByHop(frame, at, wireEnd) : parseNext(frame, next, at, wireEnd)
}

/** @param wireEnd first byte after the IP packet, materialised or not */
function parseNext(frame: Frame, protocol: number, at: number, wireEnd: number): WireError {
  if (protocol === ipv4.PROTOCOL_UDP) return parseUdp(frame, at, wireEnd)
  return protocol === frame.ifaProtocol ? parseIfa(frame, at, wireEnd) : WireError.OK
}

/** Skips options other than IOAM's. */
function parseHopByHop(frame: Frame, at: number, wireEnd: number): WireError {
  const view = frame.view
  const error = ioamIpv6.check(view, at, Math.min(frame.length, wireEnd))
  if (error !== WireError.OK) return error
  const l4 = at + ioamIpv6.headerBytes(view, at)
  const udpError = parseNext(frame, ioamIpv6.nextHeader(view, at), l4, wireEnd)
  const trace = ioamIpv6.findTrace(view, at)
  if (udpError !== WireError.OK || trace < 0 || frame.bth < 0 || frame.shim >= 0) return udpError
  const end = ioamIpv6.traceEnd(view, trace)
  const traceError = ioamTrace.check(view, trace, end)
  // After malformed telemetry the packet counts as having no payload.
  if (traceError !== WireError.OK) frame.payload = -1
  else setTelemetry(frame, trace, telemetry.IOAM)
  return traceError
}

/** Parses IFA, which is an upper layer before UDP. */
function parseIfa(frame: Frame, at: number, wireEnd: number): WireError {
  const view = frame.view
  const end = Math.min(frame.length, wireEnd)
  const error = ifa.check(view, at, end)
  if (error !== WireError.OK) return error
  if (ifa.nextHeader(view, at) !== ipv4.PROTOCOL_UDP) return WireError.OK
  const l4 = at + ifa.BYTES
  const udpError = udp.check(view, l4, end, wireEnd)
  if (udpError !== WireError.OK) return udpError
  frame.l4 = l4
  if (udp.destinationPort(view, l4) !== udp.PORT_ROCE) return WireError.OK
  const metadata = l4 + udp.BYTES
  const metadataError = ifa.checkMetadata(view, metadata, end)
  if (metadataError !== WireError.OK) return metadataError
  const bytes = ifa.metadataBytes(view, metadata)
  if (l4 + udp.length(view, l4) + bytes !== wireEnd) return WireError.BAD_UDP_LENGTH
  setTelemetry(frame, metadata, telemetry.IFA)
  return parseBth(frame, metadata + bytes, wireEnd)
}

/** @param wireEnd first byte after the IP packet, materialised or not */
function parseUdp(frame: Frame, l4: number, wireEnd: number): WireError {
  const view = frame.view
  const error = udp.check(view, l4, Math.min(frame.length, wireEnd), wireEnd)
  if (error !== WireError.OK) return error
  frame.l4 = l4
  const port = udp.destinationPort(view, l4)
  if (port !== udp.PORT_ROCE && port !== udp.PORT_INT) return WireError.OK
  // The ICRC is at the end both of the datagram and of the packet, so both must be the same.
  if (l4 + udp.length(view, l4) !== wireEnd) return WireError.BAD_UDP_LENGTH
  if (port === udp.PORT_ROCE) return parseBth(frame, l4 + udp.BYTES, wireEnd)
  return parseShim(frame, l4 + udp.BYTES, wireEnd)
}

/** Parses what follows UDP to the INT port. The first byte says which encapsulation it is. */
function parseShim(frame: Frame, at: number, wireEnd: number): WireError {
  const view = frame.view
  const end = Math.min(frame.length, wireEnd)
  if (at >= end) return WireError.SHORT_SHIM
  const first = view.getUint8(at)
  if (intMd.isType(first)) {
    const error = intMd.check(view, at, end)
    if (error !== WireError.OK) return error
    setTelemetry(frame, at, telemetry.INT_MD)
    return parseBth(frame, at + intMd.totalBytes(view, at), wireEnd)
  }
  if (first === ioamUdp.TYPE_PREALLOCATED_TRACE) {
    const error = ioamUdp.check(view, at, end)
    if (error !== WireError.OK) return error
    setTelemetry(frame, at + ioamUdp.BYTES, telemetry.IOAM)
    return parseBth(frame, at + ioamUdp.totalBytes(view, at), wireEnd)
  }
  const error = intShim.check(view, at, end)
  if (error !== WireError.OK) return error
  setTelemetry(frame, at, telemetry.NATIVE)
  return parseBth(frame, at + intShim.totalBytes(view, at), wireEnd)
}

function setTelemetry(frame: Frame, shim: number, format: number): void {
  frame.shim = shim
  frame.intFormat = format
}

function parseBth(frame: Frame, at: number, wireEnd: number): WireError {
  const view = frame.view
  const error = bth.check(view, at, Math.min(frame.length, wireEnd - icrc.BYTES))
  if (error !== WireError.OK) return error
  frame.bth = at
  const opcode = bth.opcode(view, at)
  if (!isKnown(opcode)) return WireError.UNKNOWN_OPCODE
  const payload = at + bth.BYTES + EXTENDED_HEADER_BYTES[opcode]!
  if (payload > frame.length || payload > wireEnd - icrc.BYTES) return WireError.SHORT_EXTENDED_HEADER
  const payloadLength = wireEnd - icrc.BYTES - payload - bth.padCount(view, at)
  if (payloadLength < 0) return WireError.BAD_PAD
  frame.payload = payload
  frame.payloadLength = payloadLength
  return WireError.OK
}
