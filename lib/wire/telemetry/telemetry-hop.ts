/**
 * A hop's part of in-band telemetry. It writes in place or inserts, depending on the frame's encapsulation.
 */
import type { Frame } from '../../frame/frame.js'
import * as ipv4 from '../net/ipv4.js'
import * as ipv6 from '../net/ipv6.js'
import * as udp from '../net/udp.js'
import { MAX_HOPS } from './hop-records.js'
import type { HopSnapshot } from './hop-snapshot.js'
import * as ifa from './ifa.js'
import * as intMd from './int-md.js'
import * as intShim from './int-shim.js'
import * as ioamTrace from './ioam-trace.js'
import * as telemetry from './telemetry.js'

/**
 * Returns true if the hop must report the port that the frame came in by (FNCC). Only the native shim has
 * this flag.
 */
export function isReverse({ view, shim, intFormat, length }: Frame): boolean {
  const isNative = intFormat <= intShim.FORMAT_COMPACT && shim + intShim.BYTES <= length
  return isNative && intShim.isReverse(view, shim)
}

/**
 * Returns the bytes by which this hop makes the frame longer. It is 0 where the hop writes in place. It is
 * also 0 where the record does not fit into the sender's limit, the MTU, or the frame's slot.
 *
 * @param mtuBytes of the IP packets that the egress port may send
 */
export function growthBytes(frame: Frame, mtuBytes: number): number {
  if (frame.shim < 0) return 0
  const bytes = wantedBytes(frame)
  const fits =
    frame.length + bytes <= frame.view.byteLength && frame.wireLength - frame.l3 + bytes <= mtuBytes
  return fits ? bytes : 0
}

function wantedBytes({ view, shim, l4, intFormat }: Frame): number {
  if (intFormat === telemetry.INT_MD) {
    return intMd.hopCount(view, shim) < MAX_HOPS ? intMd.hopBytes(view, shim) : 0
  }
  if (intFormat === telemetry.IFA) {
    const header = l4 - ifa.BYTES
    const free = ifa.hasRoom(view, header, shim) && ifa.hopCount(view, header, shim) < MAX_HOPS
    return free ? ifa.HOP_BYTES : 0
  }
  return 0
}

/**
 * Writes this hop's record and updates the lengths of IP and UDP. The caller updates a UDP checksum, if there
 * is one.
 *
 * @param growth the result of `growthBytes`
 */
export function stamp(frame: Frame, hop: HopSnapshot, growth: number): void {
  const { view, shim } = frame
  if (frame.intFormat === telemetry.INT_MD) {
    if (growth === 0) {
      intMd.refuse(view, shim)
      return
    }
    insert(frame, shim + intMd.BYTES, growth)
    udp.setLength(view, frame.l4, udp.length(view, frame.l4) + growth)
    intMd.push(view, shim, hop)
  } else if (frame.intFormat === telemetry.IFA) {
    if (growth === 0) {
      ifa.countHop(view, shim)
      return
    }
    insert(frame, shim + ifa.METADATA_BYTES, growth)
    ifa.push(view, shim, hop)
  } else if (frame.intFormat === telemetry.IOAM) {
    ioamTrace.push(view, shim, hop)
  } else {
    intShim.stamp(view, shim, frame.length, hop)
  }
}

/** Marks that the records contain only ratios. IFA, IOAM and echoes have no such mark. */
export function markRatioOnly(frame: Frame): void {
  if (telemetry.isEcho(frame)) return
  const flags = telemetry.flags(frame) | intShim.FLAG_RATIO_ONLY
  if (frame.intFormat === telemetry.NATIVE) intShim.setFlags(frame.view, frame.shim, flags)
  else if (frame.intFormat === telemetry.INT_MD) intMd.setFlags(frame.view, frame.shim, flags)
}

/** Makes room at `at`, after the headers of IP and UDP. Moves what follows, and updates IP's length. */
function insert(frame: Frame, at: number, bytes: number): void {
  const { view, l3 } = frame
  frame.bytes.copyWithin(at + bytes, at, frame.length)
  frame.length += bytes
  frame.wireLength += bytes
  if (frame.bth >= 0) frame.bth += bytes
  if (frame.payload >= 0) frame.payload += bytes
  if (ipv4.version(view, l3) === 4) ipv4.addLength(view, l3, bytes)
  else ipv6.setPayloadLength(view, l3, ipv6.payloadLength(view, l3) + bytes)
}
