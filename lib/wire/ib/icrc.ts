/**
 * The invariant CRC at the end of every RoCEv2 packet (IBA 7.8.1, annex A17): CRC-32 over eight 0xff bytes,
 * then the packet from its IP header on, little-endian. Fields that may change on the way count as ones: IPv4 TOS,
 * TTL and checksum (IPv6: traffic class, flow label, hop limit), the UDP checksum, and the BTH byte of FECN
 * and BECN. Lengths, identification, ports and pad count as they are on the wire.
 *
 * The ICRC does not cover a native INT shim, because hops write into it, but lengths include it. It covers an
 * echoed shim, which no hop changes. Hops make the other encapsulations longer, so the ICRC is that of the
 * packet without them, with the lengths, the protocol and the port that it has then. A packet from which they
 * are removed is a RoCEv2 packet with a right ICRC.
 *
 * All functions need a frame with its offsets set (`parseFrame`, or the tx pipeline).
 */
import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { FrameRun } from '../../frame/frame-run.js'
import type { ReceivedRun } from '../../frame/received-run.js'
import * as crc32 from '../bytes/crc32.js'
import * as ipv4 from '../net/ipv4.js'
import * as ipv6 from '../net/ipv6.js'
import * as udp from '../net/udp.js'
import * as intShim from '../telemetry/int-shim.js'
import * as telemetry from '../telemetry/telemetry.js'
import * as bth from './bth.js'
import { BYTES_MAX, KnownHeaders } from './known-headers.js'

export { implementation } from '../bytes/crc32.js'

export const BYTES = 4

/** Has room for an IPv4 header with every option, UDP, the largest shim, and the BTH. */
const scratch = new Uint8Array(60 + udp.BYTES + intShim.bytes(intShim.FORMAT_WIDE, 255) + bth.BYTES)
const scratchView = new DataView(scratch.buffer)

/** The state after eight 0xff bytes, which replace the LRH of InfiniBand. */
const AFTER_PREFIX = crc32.updateByTable(crc32.START, new DataView(new Uint8Array(8).fill(0xff).buffer), 0, 8)

const known = new KnownHeaders()

/** Returns the correct ICRC of the frame, an unsigned 32-bit number. The frame must be materialised. */
export function compute(frame: Frame): number {
  return computeSigned(frame) >>> 0
}

/** The same as a signed number, for which V8 allocates no object. */
function computeSigned(frame: Frame): number {
  const { view, bth: at } = frame
  const state = crc32.updateByWord(stateAtSequence(frame), view.getInt32(at + bth.SEQUENCE, true))
  return ~takeRest(state, frame, at + bth.BYTES, packetEnd(frame) - BYTES)
}

/** The state before the word with the PSN, which is the last of the BTH. */
function stateAtSequence(frame: Frame): number {
  const { view, l3, l4, bth: at } = frame
  const udpEnd = ipEnd(frame) + udp.BYTES
  if (udpEnd - l3 > BYTES_MAX || isForeign(frame)) {
    return crc32.updateByTable(AFTER_PREFIX, scratchView, 0, maskHeaders(frame) - bth.SEQUENCE_BYTES)
  }
  let state = stateAtUdpEnd(frame, udpEnd - l3)
  if (shimCounts(frame)) state = crc32.updateByTable(state, view, l4 + udp.BYTES, at)
  state = crc32.updateByWord(state, view.getInt32(at, true))
  // The byte with FECN and BECN counts as ones.
  return crc32.updateByWord(state, view.getInt32(at + bth.CONGESTION, true) | 0xff)
}

/** The state behind IP and UDP. @param bytes of these two */
function stateAtUdpEnd(frame: Frame, bytes: number): number {
  const { view, l3 } = frame
  const entry = known.entryOf(view, l3, bytes)
  if (known.isKnown(entry, view, l3, bytes)) return known.stateOf(entry)
  maskHeaders(frame)
  const state = crc32.updateByTable(AFTER_PREFIX, scratchView, 0, bytes)
  known.learn(entry, view, l3, bytes, state)
  return state
}

/** Writes the ICRC into the last four bytes of the IP packet. Does nothing if these are not materialised. */
export function write(frame: Frame): void {
  if (frame.bth < 0) {
    throw new WeirError('WEIR_BAD_STATE', 'icrc.write: the frame has no BTH; fill in its offsets first')
  }
  if (!isPresent(frame)) return
  frame.view.setInt32(packetEnd(frame) - BYTES, computeSigned(frame), true)
}

/**
 * Writes the ICRCs of a run: packets that differ from its head in PSN, AckReq and payload alone. The headers before those are
 * taken in once. The head is materialised, and its payload follows its BTH.
 */
export function writeRun(head: Frame, run: FrameRun): void {
  const before = stateAtSequence(head)
  const { view, memory, size } = run
  const { payloadLength } = head
  for (let i = 0; i < size; i++) {
    const state = crc32.updateByWord(before, view.getInt32(run.bthAt(i) + bth.SEQUENCE, true))
    view.setInt32(run.icrcAt(i), ~crc32.updateWithin(state, memory, run.payloadAt(i), payloadLength), true)
  }
}

/** Returns false if the end of the packet, and with it the ICRC, is not materialised. */
export function isPresent(frame: Frame): boolean {
  return packetEnd(frame) <= frame.length
}

/** Returns true if the ICRC is 0, as in packets whose ends have agreed that they have none. One in 2^32 packets has 0 by right. */
export function isZero(frame: Frame): boolean {
  return isPresent(frame) && readSigned(frame) === 0
}

/** The same for each of the first `packets` of a run. */
export function areZero({ view, at, packetBytes }: ReceivedRun, packets: number): boolean {
  for (let n = 1; n <= packets; n++) if (view.getInt32(at + n * packetBytes - BYTES) !== 0) return false
  return true
}

/** Returns the ICRC in the frame. */
export function read(frame: Frame): number {
  return readSigned(frame) >>> 0
}

function readSigned(frame: Frame): number {
  return frame.view.getInt32(packetEnd(frame) - BYTES, true)
}

/**
 * Returns true if the frame has the right ICRC. A frame without materialised payload has none and counts as
 * right. A frame without BTH counts as wrong.
 */
export function verify(frame: Frame): boolean {
  if (frame.bth < 0) return false
  return !isPresent(frame) || computeSigned(frame) === readSigned(frame)
}

/**
 * Verifies the ICRC with an IPv4 identification of zero, whatever the kernel wrote there. Both ends have
 * agreed on this.
 */
export function verifyWithZeroId(frame: Frame): boolean {
  if (frame.bth < 0) return false
  if (!isPresent(frame)) return true
  const masked = maskHeaders(frame)
  if (isIpv4(frame)) scratchView.setUint16(4, 0)
  const state = crc32.updateByTable(AFTER_PREFIX, scratchView, 0, masked)
  return ~takeRest(state, frame, frame.bth + bth.BYTES, packetEnd(frame) - BYTES) === readSigned(frame)
}

/**
 * Verifies the ICRC at receivers that see the identification and have peers on ordinary sockets. Those peers
 * cannot choose it: Linux counts it on connected sockets, and numbers the segments of one send. They compute
 * the ICRC with zero. Returns true if the ICRC is right for the identification on the wire, or for zero.
 */
export function verifyOrWithZeroId(frame: Frame): boolean {
  if (verify(frame)) return true
  return (
    frame.bth >= 0 &&
    isIpv4(frame) &&
    ipv4.identification(frame.view, frame.l3) !== 0 &&
    verifyWithZeroId(frame)
  )
}

/**
 * Verifies the ICRC at receivers whose socket hides the IPv4 identification: returns true if it is right for
 * some identification. A corrupted packet passes with probability 2^-16 instead of 2^-32. IPv6 is checked
 * completely.
 */
export function verifyIgnoringId(frame: Frame): boolean {
  return frame.bth >= 0 && isOfId(frame, difference(frame))
}

/** Returns 0 if the frame has the right ICRC, else the bits in which it differs. A frame without materialised payload has none. */
export function difference(frame: Frame): number {
  return isPresent(frame) ? computeSigned(frame) ^ readSigned(frame) : 0
}

/**
 * Returns true if another IPv4 identification explains that difference. CRC-32 is linear, so a change of the identification
 * changes the CRC by a value that depends only on the change and on the bytes after it. The difference, unwound over those bytes,
 * must fit in the 16 bits of the field.
 */
export function isOfId(frame: Frame, difference: number): boolean {
  if (difference === 0) return true
  return isIpv4(frame) && crc32.unwind(difference, coveredBytes(frame) - 4) >>> 16 === 0
}

/**
 * Returns true if the first `packets` of a run have the right ICRC. The frame is the packet before them, of
 * the same length; their headers are the frame's to the word with the PSN, which may be any.
 *
 * It takes one CRC over all of them. A state of a CRC is the sum of what the bytes before it contribute. The
 * same PSN and payload stand in the packet and behind the headers that the ICRC covers, so packets with the
 * right ICRC all contribute the same, which depends only on their headers and length. A single damaged packet
 * fails as surely as if it were checked alone; several ones pass with a probability of 2^-32.
 */
export function verifyRun(frame: Frame, run: ReceivedRun, packets: number): boolean {
  const { view, at, packetBytes } = run
  const psnAt = frame.bth + bth.SEQUENCE - run.headerBytes
  const covered = stateAtSequence(frame)
  const headers = crc32.updateByTable(0, view, at, at + psnAt)
  const each = crc32.shift(headers ^ covered, packetBytes - psnAt) ^ crc32.RESIDUE
  const state = crc32.updateWithin(0, run.wholes, at, packets * packetBytes)
  return state === crc32.repeated(each, packetBytes, packets)
}

/** Number of bytes from the IP header on that the ICRC covers. */
function coveredBytes(frame: Frame): number {
  const inUdp = shimCounts(frame) ? 0 : frame.bth - frame.l4 - udp.BYTES
  return packetEnd(frame) - BYTES - frame.l3 - inUdp - (frame.l4 - ipEnd(frame))
}

function shimCounts(frame: Frame): boolean {
  return telemetry.isEcho(frame)
}

function isIpv4(frame: Frame): boolean {
  return frame.view.getUint8(frame.l3) >>> 4 === 4
}

/** First byte after the IP header. UDP begins later when there are extension headers, or IFA. */
function ipEnd(frame: Frame): number {
  return frame.l3 + (isIpv4(frame) ? ipv4.headerBytes(frame.view, frame.l3) : ipv6.BYTES)
}

/** First byte after the IP packet. */
function packetEnd(frame: Frame): number {
  return isIpv4(frame)
    ? frame.l3 + ipv4.totalLength(frame.view, frame.l3)
    : frame.l3 + ipv6.BYTES + ipv6.payloadLength(frame.view, frame.l3)
}

/** Adds what follows the BTH: extended headers, payload, which may be outside the slot, and pad. */
function takeRest(state: number, frame: Frame, at: number, end: number): number {
  const { view, payload, payloadLength, outside, memory } = frame
  if (outside === null && memory !== null && crc32.goesByAddress(end - at))
    return crc32.updateWithin(state, memory, view.byteOffset + at, end - at)
  if (payload < at || payloadLength < crc32.NATIVE_FROM_BYTES) {
    frame.bringIn()
    return crc32.update(state, frame.bytes, view, at, end)
  }
  const headers = crc32.updateByTable(state, view, at, payload)
  return crc32.updateByTable(takePayload(headers, frame), view, payload + payloadLength, end)
}

function takePayload(state: number, frame: Frame): number {
  const { outside, outsideBase, payload, payloadLength } = frame
  if (outside === null) return crc32.updateByNative(state, frame.payloadBytes())
  return crc32.updateWithin(state, outside, outsideBase + payload, payloadLength)
}

/**
 * Returns true if the packet carries telemetry that the ICRC leaves out, with its lengths, protocol and port.
 */
function isForeign(frame: Frame): boolean {
  return frame.l4 !== ipEnd(frame) || (frame.shim >= 0 && frame.intFormat > intShim.FORMAT_COMPACT)
}

/** Changes the headers in the scratch to those of the packet without telemetry. */
function strip(frame: Frame, udpAt: number): void {
  const bytes = frame.l4 - ipEnd(frame) + frame.bth - frame.l4 - udp.BYTES
  if (isIpv4(frame)) {
    scratchView.setUint16(2, scratchView.getUint16(2) - bytes)
    scratchView.setUint8(9, ipv4.PROTOCOL_UDP)
  } else {
    scratchView.setUint16(4, scratchView.getUint16(4) - bytes)
    scratchView.setUint8(6, ipv4.PROTOCOL_UDP)
  }
  scratchView.setUint16(udpAt + 2, udp.PORT_ROCE)
  scratchView.setUint16(udpAt + 4, packetEnd(frame) - frame.bth + udp.BYTES)
}

/**
 * Copies the headers from IP to BTH into the scratch, with ones in fields that hops may write. Returns their
 * length in bytes.
 */
function maskHeaders(frame: Frame): number {
  const view = frame.view
  const udpAt = ipEnd(frame) - frame.l3
  for (let i = 0; i < udpAt; i += 4) scratchView.setInt32(i, view.getInt32(frame.l3 + i))
  const from = shimCounts(frame) ? frame.bth : frame.l4 + udp.BYTES
  const bthAt = udpAt + from - frame.l4
  for (let i = 0; i < from - frame.l4; i += 4) scratchView.setInt32(udpAt + i, view.getInt32(frame.l4 + i))
  for (let i = 0; i < bth.BYTES; i += 4) scratchView.setInt32(bthAt + i, view.getInt32(frame.bth + i))
  if (isForeign(frame)) strip(frame, udpAt)
  if (isIpv4(frame)) {
    scratchView.setUint8(1, 0xff)
    scratchView.setUint8(8, 0xff)
    scratchView.setUint16(10, 0xffff)
  } else {
    scratchView.setUint32(0, 0x6fff_ffff)
    scratchView.setUint8(7, 0xff)
  }
  scratchView.setUint16(udpAt + 6, 0xffff)
  scratchView.setUint8(bthAt + bth.CONGESTION, 0xff)
  return bthAt + bth.BYTES
}
