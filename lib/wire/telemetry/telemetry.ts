/**
 * In-band telemetry of a frame, whatever its encapsulation: what the sender's NIC writes, and what a receiver reads. The
 * hops' part is in `telemetry-hop.ts`. These two and `parse.ts` are the places that distinguish encapsulations: `frame.shim`
 * says where the telemetry is, `frame.intFormat` what it is.
 *
 * | format       | where                                   | `frame.shim`    | a hop         |
 * |--------------|-----------------------------------------|-----------------|---------------|
 * | wide, compact| behind UDP to port 4792                 | shim            | fills a slot  |
 * | p4-int-md    | behind UDP to port 4792                 | shim            | inserts 32 B  |
 * | ifa          | before UDP and behind it, IP protocol 253 | metadata header | inserts 36 B  |
 * | ioam         | IPv4: behind UDP to port 4792; IPv6: hop-by-hop option | trace option | fills a node |
 *
 * An echo is always a native shim: of wide slots, or the copy of a compact one. The wide slot holds all that the others do.
 */
import type { Frame } from '../../frame/frame.js'
import { WireError } from '../bytes/wire-error.js'
import * as ipv4 from '../net/ipv4.js'
import * as ipv6 from '../net/ipv6.js'
import * as udp from '../net/udp.js'
import { HopRecords } from './hop-records.js'
import * as ifa from './ifa.js'
import * as intMd from './int-md.js'
import * as intShim from './int-shim.js'
import * as ioamIpv6 from './ioam-ipv6.js'
import * as ioamTrace from './ioam-trace.js'
import * as ioamUdp from './ioam-udp.js'

/** Encapsulations by number, as in `ConnectParameters.int_format`; the names are those of scenarios and of `--int`. */
export const FORMAT_NAMES = ['wide', 'compact', 'p4-int-md', 'ifa', 'ioam'] as const
export type IntFormat = (typeof FORMAT_NAMES)[number]

/**
 * `frame.intFormat` of a received native shim, wide or compact. The shim's first byte distinguishes the two.
 */
export const NATIVE = intShim.FORMAT_WIDE
export const INT_MD = 2
export const IFA = 3
export const IOAM = 4

/** The number of an encapsulation. */
export function formatOf(name: IntFormat): number {
  return FORMAT_NAMES.indexOf(name)
}

/** Bytes of the longest echo. */
export const ECHO_BYTES_MAX = intShim.bytes(intShim.FORMAT_WIDE, 16)

/** Decoded records of a packet that are written again as an echo. */
const scratch = new HopRecords()

/**
 * Bytes of telemetry in an IPv4 packet when it leaves its sender.
 *
 * @param hops 1 to 15
 */
export function senderBytes(format: number, hops: number): number {
  switch (format) {
    case INT_MD:
      return intMd.BYTES
    case IFA:
      return ifa.BYTES + ifa.METADATA_BYTES
    case IOAM:
      return ioamUdp.BYTES + ioamTrace.bytes(hops)
    default:
      return intShim.bytes(format, hops)
  }
}

/** Bytes that each hop adds. */
export function hopBytes(format: number): number {
  return format === INT_MD ? intMd.HOP_BYTES : format === IFA ? ifa.HOP_BYTES : 0
}

/**
 * Bytes of telemetry in a packet, over IPv4 or IPv6, when all its hops have written theirs.
 *
 * @param hops 1 to 15
 */
export function fullBytes(format: number, hops: number): number {
  const sent = senderBytes(format, hops)
  const atSender = format === IOAM ? Math.max(sent, ioamIpv6.bytes(hops)) : sent
  return atSender + hops * hopBytes(format)
}

/**
 * The sender's part: writes empty telemetry into a frame that has only Ethernet, IP and UDP headers.
 * Telemetry before UDP moves the UDP header. Returns the offset of the BTH.
 *
 * @param format number of the encapsulation
 * @param hops records that it may collect, 1 to 15
 * @param flagBits FLAG_* of int-shim.ts; ifa and ioam have no place for them
 */
export function begin(frame: Frame, format: number, hops: number, flagBits: number): number {
  frame.intFormat = format
  frame.shim = frame.payload
  switch (format) {
    case INT_MD:
      return frame.shim + intMd.write(frame.view, frame.shim, hops, flagBits)
    case IFA:
      return beginIfa(frame, hops)
    case IOAM:
      return isIpv6(frame) ? beginIoamIpv6(frame, hops) : beginIoamUdp(frame, hops)
    default:
      frame.intFormat = NATIVE
      return frame.shim + intShim.write(frame.view, frame.shim, format, hops, flagBits)
  }
}

function beginIfa(frame: Frame, hops: number): number {
  const { view, l4 } = frame
  moveUdp(frame, ifa.BYTES)
  ifa.write(view, l4, hops)
  ifa.writeMetadata(view, frame.shim)
  if (isIpv6(frame)) ipv6.setNextHeader(view, frame.l3, frame.ifaProtocol)
  else ipv4.replaceProtocol(view, frame.l3, frame.ifaProtocol)
  return frame.shim + ifa.METADATA_BYTES
}

function beginIoamUdp(frame: Frame, hops: number): number {
  const at = frame.payload
  frame.shim = at + ioamUdp.BYTES
  return at + ioamUdp.write(frame.view, at, hops)
}

function beginIoamIpv6(frame: Frame, hops: number): number {
  const { view, l3, l4 } = frame
  moveUdp(frame, ioamIpv6.bytes(hops))
  ioamIpv6.write(view, l4, hops, ipv4.PROTOCOL_UDP)
  ipv6.setNextHeader(view, l3, ipv6.HOP_BY_HOP)
  frame.shim = l4 + ioamIpv6.BYTES
  return frame.l4 + udp.BYTES
}

/** Moves the UDP header towards the end; nothing follows it yet. Sets `shim` to the offset after it. */
function moveUdp(frame: Frame, bytes: number): void {
  const { view, l4 } = frame
  view.setUint32(l4 + bytes + 4, view.getUint32(l4 + 4))
  view.setUint32(l4 + bytes, view.getUint32(l4))
  frame.l4 = l4 + bytes
  frame.shim = frame.l4 + udp.BYTES
}

/** Returns the UDP destination port of a frame, which depends on its telemetry. */
export function destinationPort(frame: Frame): number {
  return frame.shim >= 0 && isInUdp(frame) ? udp.PORT_INT : udp.PORT_ROCE
}

/** Bytes after the UDP header that UDP's length does not include, which are IFA's. */
export function foreignBytes(frame: Frame): number {
  return frame.shim >= 0 && frame.intFormat === IFA ? frame.bth - frame.shim : 0
}

/** Returns true if the telemetry is included in UDP's length and checksum. */
export function isInUdp(frame: Frame): boolean {
  return frame.shim > frame.l4 && frame.intFormat !== IFA
}

/** Returns true if another packet has collected the telemetry, and this one returns it. */
export function isEcho(frame: Frame): boolean {
  return (
    frame.shim >= 0 && frame.intFormat <= intShim.FORMAT_COMPACT && intShim.isEcho(frame.view, frame.shim)
  )
}

/** Returns false if the frame has no telemetry, or a native shim in which no hop is counted. */
export function hasRecords(frame: Frame): boolean {
  if (frame.shim < 0) return false
  return frame.intFormat > intShim.FORMAT_COMPACT || intShim.hopCount(frame.view, frame.shim) > 0
}

/** FLAG_* of int-shim.ts. 0 where an encapsulation has no such flags. The frame must have been parsed. */
export function flags(frame: Frame): number {
  if (frame.shim < 0 || frame.intFormat >= IFA) return 0
  const { view, shim } = frame
  return frame.intFormat === INT_MD ? intMd.flags(view, shim) : intShim.flags(view, shim)
}

/** First byte behind an IOAM trace option. */
function ioamEnd(frame: Frame): number {
  const { view, shim } = frame
  if (shim < frame.l4) return ioamIpv6.traceEnd(view, shim)
  return shim - ioamUdp.BYTES + ioamUdp.totalBytes(view, shim - ioamUdp.BYTES)
}

/**
 * The receiver's part: decodes the records of a frame that `parseFrame` has accepted, the first hop in row 0.
 * `into` is empty after malformed telemetry.
 */
export function read(frame: Frame, into: HopRecords): WireError {
  const { view, shim } = frame
  if (frame.intFormat <= intShim.FORMAT_COMPACT) return intShim.read(view, shim, frame.bth, into)
  into.flows = 0
  into.accumulated = false
  into.busiestOnly = false
  into.endsAtHost = false
  into.ratioOnly = (flags(frame) & intShim.FLAG_RATIO_ONLY) !== 0
  if (frame.intFormat === INT_MD) intMd.read(view, shim, into)
  else if (frame.intFormat === IFA) ifa.read(view, frame.l4 - ifa.BYTES, shim, into)
  else ioamTrace.read(view, shim, ioamEnd(frame), into)
  into.passed = into.overflow ? into.count + 1 : into.count
  return WireError.OK
}

/** Writes the echo of a frame's telemetry, which `parseFrame` has accepted. Returns its bytes. */
export function writeEcho(view: DataView, at: number, from: Frame): number {
  if (from.intFormat <= intShim.FORMAT_COMPACT) return intShim.writeEcho(view, at, from.view, from.shim)
  read(from, scratch)
  return intShim.writeEchoOf(view, at, scratch)
}

export function print(frame: Frame): string {
  const { view, shim } = frame
  if (frame.intFormat === INT_MD) return intMd.print(view, shim)
  if (frame.intFormat === IFA) return ifa.print(view, frame.l4 - ifa.BYTES, shim)
  if (frame.intFormat === IOAM) return ioamTrace.print(view, shim, ioamEnd(frame))
  return intShim.print(view, shim)
}

function isIpv6(frame: Frame): boolean {
  return ipv6.version(frame.view, frame.l3) === 6
}
