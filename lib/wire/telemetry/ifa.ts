/**
 * Inband Flow Analyzer 2.0 (draft-kumar-ippm-ifa): an IFA header between IP and UDP, as an upper layer of its own with
 * IP protocol 253, or the one that the network has chosen; behind the UDP header a metadata header and a stack that every hop makes longer by its metadata.
 * IP's length counts all of it. UDP's length and checksum stay those of the packet without IFA, so that whoever strips
 * it has nothing to mend. Big-endian.
 *
 * | byte | IFA header                                                                       |
 * |------|----------------------------------------------------------------------------------|
 * | 0    | version (4 bits) = 2, GNS (4) = 15: each hop says its own (local) name space            |
 * | 1    | next header: 17                                                                   |
 * | 2    | flags: reserved (3), MF, TS, I, TA, C; all 0 here                                  |
 * | 3    | greatest length of the stack, in 4-byte words                                      |
 *
 * | byte | metadata header                                                                  |
 * |------|----------------------------------------------------------------------------------|
 * | 0    | request vector: 0 in a local name space                                            |
 * | 1    | action vector                                                                     |
 * | 2    | hop limit: begins at 255, one less at every hop                                    |
 * | 3    | current length of the stack, in 4-byte words                                       |
 *
 * A hop's metadata is 36 bytes, the last hop first: LNS (4 bits), device id (20), TTL (8); port speed (4; 15 = see the
 * rate), congestion (2: the packet's ECN field as it leaves), queue id (6), seconds of arrival (20); egress and ingress port u16; nanoseconds of arrival u32;
 * residence time ns u32; and what the local name space 1 adds: rate in kbit/s u32, queue bytes u32, bytes sent u64.
 *
 * Weir writes that. It reads the records of local name space 1, and skips stacks of global name spaces, and what lies below a record of
 * another local one, by the length of the stack. Fragments (MF), tail stamps (TS) and checksums (C) have headers of their own, or lie
 * elsewhere: such packets are refused.
 */

import { readU48of64, secondsToU48, writeU64 } from '../bytes/u64.js'
import { WireError } from '../bytes/wire-error.js'
import { type HopRecords, MAX_HOPS } from './hop-records.js'
import type { HopSnapshot } from './hop-snapshot.js'

/** Bytes of the header before UDP. */
export const BYTES = 4
/** Bytes of the metadata header after UDP. */
export const METADATA_BYTES = 4
/** Bytes that a hop inserts. */
export const HOP_BYTES = 36

const VERSION = 2
/** Each hop names its own name space. */
const GNS_LOCAL = 15
const VERSION_GNS = 0x2f
const NEXT_HEADER = 1
const FLAGS = 2
/** MF, TS and C: there are more headers, or the metadata is after the payload. */
const FLAGS_ELSEWHERE = 0x19
const MAX_LENGTH = 3
const HOP_LIMIT = 2
const CURRENT_LENGTH = 3

const NEXT_UDP = 17
const HOP_LIMIT_FIRST = 255
const HOP_WORDS = HOP_BYTES / 4
const LNS = 1
const SPEED_IN_RATE = 15
const SECOND_NS = 1e9
const TWO_48 = 0x1_0000_0000_0000

/** Checks the header before UDP: version 2, and no flag that moves metadata elsewhere. */
export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_IFA
  const known = view.getUint8(at) >>> 4 === VERSION && (view.getUint8(at + FLAGS) & FLAGS_ELSEWHERE) === 0
  return known ? WireError.OK : WireError.BAD_IFA
}

/** The protocol that follows the header before UDP. */
export function nextHeader(view: DataView, at: number): number {
  return view.getUint8(at + NEXT_HEADER)
}

/** Checks that the metadata header at `at` and its stack end before `end`. */
export function checkMetadata(view: DataView, at: number, end: number): WireError {
  if (end - at < METADATA_BYTES) return WireError.SHORT_IFA
  return at + metadataBytes(view, at) > end ? WireError.SHORT_IFA : WireError.OK
}

/** Bytes of metadata header and stack. */
export function metadataBytes(view: DataView, at: number): number {
  return METADATA_BYTES + 4 * view.getUint8(at + CURRENT_LENGTH)
}

/**
 * Number of records at the top of the stack that this codec can read.
 *
 * @param header offset of the header before UDP
 */
export function hopCount(view: DataView, header: number, at: number): number {
  if (!isLocal(view, header)) return 0
  const end = at + metadataBytes(view, at)
  let count = 0
  let hop = at + METADATA_BYTES
  while (hop + HOP_BYTES <= end && view.getUint8(hop) >>> 4 === LNS) {
    count++
    hop += HOP_BYTES
  }
  return count
}

/** Returns true if every hop names its own name space. */
function isLocal(view: DataView, header: number): boolean {
  return (view.getUint8(header) & 0x0f) === GNS_LOCAL
}

/**
 * Writes the initiator's header before UDP.
 *
 * @param hops records that may be added, 1 to 16
 */
export function write(view: DataView, at: number, hops: number): void {
  view.setUint32(at, ((VERSION_GNS << 24) | (NEXT_UDP << 16) | (hops * HOP_WORDS)) >>> 0)
}

/** Writes the initiator's metadata header, with an empty stack. */
export function writeMetadata(view: DataView, at: number): void {
  view.setUint32(at, HOP_LIMIT_FIRST << 8)
}

/**
 * Returns true if there is room for one more record of Weir's.
 *
 * @param header offset of the header before UDP
 */
export function hasRoom(view: DataView, header: number, metadata: number): boolean {
  const words = view.getUint8(metadata + CURRENT_LENGTH) + HOP_WORDS
  const limit = view.getUint8(metadata + HOP_LIMIT)
  return isLocal(view, header) && limit > 0 && words <= view.getUint8(header + MAX_LENGTH)
}

/** Counts a hop that inserts nothing. */
export function countHop(view: DataView, metadata: number): void {
  const limit = view.getUint8(metadata + HOP_LIMIT)
  if (limit > 0) view.setUint8(metadata + HOP_LIMIT, limit - 1)
}

/**
 * A transit hop's part, after HOP_BYTES were freed behind the metadata header: writes its metadata there and
 * counts the hop.
 */
export function push(view: DataView, metadata: number, hop: HopSnapshot): void {
  countHop(view, metadata)
  view.setUint8(metadata + CURRENT_LENGTH, view.getUint8(metadata + CURRENT_LENGTH) + HOP_WORDS)
  const to = metadata + METADATA_BYTES
  // Arrival plus residence equals the departure, also where the residence is clamped.
  const residenceNs = Math.max(0, Math.min(hop.startNs - hop.arrivalNs, 0xffff_ffff))
  const arrivalNs = hop.startNs - residenceNs
  const seconds = Math.floor(arrivalNs / SECOND_NS)
  view.setUint32(to, ((LNS << 28) | (hop.switchId << 8) | hop.ttl) >>> 0)
  view.setUint32(
    to + 4,
    ((SPEED_IN_RATE << 28) | (hop.ecn << 26) | (hop.priority << 20) | (seconds & 0xf_ffff)) >>> 0,
  )
  view.setUint16(to + 8, hop.egressPort)
  view.setUint16(to + 10, hop.ingressPort)
  view.setUint32(to + 12, arrivalNs - seconds * SECOND_NS)
  view.setUint32(to + 16, residenceNs)
  view.setUint32(to + 20, Math.min(Math.round(hop.rateBps / 1000), 0xffff_ffff))
  view.setUint32(to + 24, Math.min(hop.qlenBytes, 0xffff_ffff))
  writeU64(view, to + 28, hop.txBytes)
}

/**
 * The terminating node's part: decodes the stack, the first hop in row 0, after `checkMetadata` has accepted
 * it. Hops whose records cannot be read count as an overflow.
 */
export function read(view: DataView, header: number, metadata: number, into: HopRecords): void {
  const hops = hopCount(view, header, metadata)
  const count = Math.min(hops, MAX_HOPS)
  const isAll = hops === count && METADATA_BYTES + hops * HOP_BYTES === metadataBytes(view, metadata)
  into.overflow = !isAll || HOP_LIMIT_FIRST - view.getUint8(metadata + HOP_LIMIT) > count
  into.pathId = 0
  for (let row = 0; row < count; row++) {
    const from = metadata + METADATA_BYTES + (hops - 1 - row) * HOP_BYTES
    const device = (view.getUint32(from) >>> 8) & 0xffff
    into.switchId[row] = device
    into.pathId ^= device
    into.port[row] = view.getUint16(from + 8)
    const seconds = view.getUint32(from + 4) & 0xf_ffff
    into.tsNs[row] = secondsToU48(seconds, view.getUint32(from + 12) + view.getUint32(from + 16))
    into.rateBps[row] = view.getUint32(from + 20) * 1000
    into.qlenBytes[row] = view.getUint32(from + 24)
    into.txBytes[row] = readU48of64(view, from + 28)
    into.tsModulusNs[row] = TWO_48
    into.txModulusBytes[row] = TWO_48
  }
  into.count = count
}

export function print(view: DataView, header: number, metadata: number): string {
  const passed = HOP_LIMIT_FIRST - view.getUint8(metadata + HOP_LIMIT)
  return `IFA hops ${hopCount(view, header, metadata)} passed ${passed}`
}
