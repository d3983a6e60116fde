/**
 * The pre-allocated trace option of IOAM (RFC 9197, section 4.4): the sender makes room for so many nodes, and each
 * node fills in its data in front of those that came before it; no length changes on the way. Big-endian.
 *
 * | byte | field                                                                                |
 * |------|--------------------------------------------------------------------------------------|
 * | 0–1  | name space id: 0x5745, one of the operator's own                                       |
 * | 2–3  | node length (5 bits, words), flags (4): O overflow, L, A, reserved; remaining length (7, words) |
 * | 4–6  | trace type, bits 0, 1, 2, 3, 5, 6, 10                                                  |
 * | 7    | reserved                                                                              |
 * | 8…   | room for nodes; what is filled is at its end, the last node first                        |
 *
 * A node's data is 32 bytes (section 4.4.2): hop limit u8, node id u24; ingress and egress interface u16; time stamp
 * seconds and nanoseconds u32, in the truncated PTP format (section 5.1); name-space specific: rate in kbit/s u32; queue
 * depth u32, in buffers of one byte; name-space specific, wide: bytes that the port had sent u64.
 *
 * Weir writes that. A node fills in what any trace type of this name space asks for, and a receiver skips options of other name spaces
 * and trace types by their lengths.
 *
 * Around it is, over IPv6, the hop-by-hop option of RFC 9486 (`ioam-ipv6.ts`); over IPv4, for which no RFC has an
 * encapsulation, four bytes behind the UDP header in the layout of RFC 9452, section 3 (`ioam-udp.ts`).
 */

import { readU48of64, secondsToU48, writeU64 } from '../bytes/u64.js'
import { WireError } from '../bytes/wire-error.js'
import { type HopRecords, MAX_HOPS } from './hop-records.js'
import type { HopSnapshot } from './hop-snapshot.js'

/** Bytes of the option without its nodes. */
export const BYTES = 8
const NODE_BYTES = 32

const NAMESPACE = 0x5745
/** 24 bits, the first one is the highest. */
const TRACE_TYPE = 0xf6_2000

const LENGTHS = 2
const TYPE = 4
/** Bit 0 of a trace type. */
const FIRST_BIT = 0x80_0000
const SNAPSHOT_BIT = 22
/** A snapshot without data: length 0, no schema (RFC 9197, section 4.4.2). */
const NO_SNAPSHOT = 0x00ff_ffff
const FLAG_OVERFLOW = 0x0400
const REMAINING = 0x007f
const NODE_WORDS = NODE_BYTES / 4
/** Written in place of a longer transit delay. The highest bit says that the delay does not fit. */
const DELAY_MAX = 0x8000_0000
const SECOND_NS = 1e9
const TWO_48 = 0x1_0000_0000_0000

/** Bytes of an option with room for this many nodes, 1 to 15. */
export function bytes(nodes: number): number {
  return BYTES + nodes * NODE_BYTES
}

/**
 * Checks an option that its encapsulation ends at `end`: the node length is what the trace type requests, and
 * the used part has the data of whole nodes. Any name space, trace type and flags are accepted.
 */
export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_IOAM
  if (nodeBytes(view, at) !== 4 * fieldWords(traceType(view, at))) return WireError.BAD_IOAM
  let node = firstNode(view, at)
  if (node > end) return WireError.BAD_IOAM
  if (node < end && nodeBytes(view, at) === 0 && !hasSnapshot(view, at)) return WireError.BAD_IOAM
  while (node < end) node = nextNode(view, at, node, end)
  return node === end ? WireError.OK : WireError.BAD_IOAM
}

/** Nodes that have written their data. `check` must have accepted the option. */
function nodeCount(view: DataView, at: number, end: number): number {
  let count = 0
  for (let node = firstNode(view, at); node < end; node = nextNode(view, at, node, end)) count++
  return count
}

/** Returns true if the nodes' data have this codec's format. */
function isOurs(view: DataView, at: number): boolean {
  return view.getUint16(at) === NAMESPACE && traceType(view, at) === TRACE_TYPE
}

function traceType(view: DataView, at: number): number {
  return view.getUint32(at + TYPE) >>> 8
}

/**
 * Words of the fields that a trace type requests. Bits 8 to 10 are wide. Bits 12 to 21 are not defined yet,
 * and have one word each.
 */
function fieldWords(type: number): number {
  let words = 0
  for (let bit = 0; bit < SNAPSHOT_BIT; bit++) {
    if ((type & (FIRST_BIT >>> bit)) !== 0) words += isWide(bit) ? 2 : 1
  }
  return words
}

function isWide(bit: number): boolean {
  return bit >= 8 && bit <= 10
}

/** Bytes that each node writes, without its opaque snapshot. */
function nodeBytes(view: DataView, at: number): number {
  return 4 * (view.getUint16(at + LENGTHS) >>> 11)
}

/**
 * Returns true if each node's data ends with an opaque snapshot of its state, which contains its own length.
 */
function hasSnapshot(view: DataView, at: number): boolean {
  return (traceType(view, at) & (FIRST_BIT >>> SNAPSHOT_BIT)) !== 0
}

/** Returns where the data of the last writing node begins. */
function firstNode(view: DataView, at: number): number {
  return at + BYTES + 4 * (view.getUint16(at + LENGTHS) & REMAINING)
}

/** Returns where the data of the node before begins. It is beyond `end` if that of this one is not whole. */
function nextNode(view: DataView, at: number, node: number, end: number): number {
  const snapshot = node + nodeBytes(view, at)
  if (!hasSnapshot(view, at)) return snapshot
  return snapshot + 4 > end ? end + 1 : snapshot + 4 + 4 * view.getUint8(snapshot)
}

function isOverflown(view: DataView, at: number): boolean {
  return (view.getUint16(at + LENGTHS) & FLAG_OVERFLOW) !== 0
}

/**
 * The encapsulating node's part: writes an empty option. Returns the bytes written.
 *
 * @param nodes 1 to 15
 */
export function write(view: DataView, at: number, nodes: number): number {
  view.setUint16(at, NAMESPACE)
  view.setUint16(at + LENGTHS, (NODE_WORDS << 11) | (nodes * NODE_WORDS))
  view.setUint32(at + TYPE, (TRACE_TYPE << 8) >>> 0)
  const total = bytes(nodes)
  for (let i = at + BYTES; i < at + total; i += 4) view.setUint32(i, 0)
  return total
}

/**
 * A transit node's part: writes its data in place, or sets the overflow flag when there is no room. Values
 * that it does not know are all ones. It leaves options of another name space unchanged (RFC 9197, section
 * 4.3). `check` must have accepted the option.
 */
export function push(view: DataView, at: number, hop: HopSnapshot): void {
  if (view.getUint16(at) !== NAMESPACE) return
  const lengths = view.getUint16(at + LENGTHS)
  const remaining = lengths & REMAINING
  const words = (lengths >>> 11) + (hasSnapshot(view, at) ? 1 : 0)
  if (words === 0) return
  if (remaining < words) {
    view.setUint16(at + LENGTHS, lengths | FLAG_OVERFLOW)
    return
  }
  view.setUint16(at + LENGTHS, lengths - words)
  let to = at + BYTES + 4 * (remaining - words)
  const type = traceType(view, at)
  for (let bit = 0; bit < SNAPSHOT_BIT; bit++) {
    if ((type & (FIRST_BIT >>> bit)) === 0) continue
    writeField(view, to, bit, hop)
    to += isWide(bit) ? 8 : 4
  }
  if (hasSnapshot(view, at)) view.setUint32(to, NO_SNAPSHOT)
}

function writeField(view: DataView, to: number, bit: number, hop: HopSnapshot): void {
  view.setUint32(to, 0xffff_ffff)
  if (isWide(bit)) view.setUint32(to + 4, 0xffff_ffff)
  if (bit === 0) view.setUint32(to, ((hop.ttl << 24) | hop.switchId) >>> 0)
  else if (bit === 1) {
    view.setUint16(to, hop.ingressPort)
    view.setUint16(to + 2, hop.egressPort)
  } else if (bit === 2) view.setUint32(to, Math.floor(hop.startNs / SECOND_NS) >>> 0)
  else if (bit === 3) view.setUint32(to, hop.startNs % SECOND_NS)
  else if (bit === 4) view.setUint32(to, Math.min(Math.max(0, hop.startNs - hop.arrivalNs), DELAY_MAX))
  else if (bit === 5) view.setUint32(to, Math.min(Math.round(hop.rateBps / 1000), 0xffff_ffff))
  else if (bit === 6) view.setUint32(to, Math.min(hop.qlenBytes, 0xffff_ffff))
  else if (bit === 8) {
    view.setUint32(to, (hop.ttl << 24) >>> 0)
    view.setUint32(to + 4, hop.switchId)
  } else if (bit === 9) {
    view.setUint32(to, hop.ingressPort)
    view.setUint32(to + 4, hop.egressPort)
  } else if (bit === 10) writeU64(view, to, hop.txBytes)
}

/**
 * The decapsulating node's part: decodes the nodes' data, the first node in row 0. `check` must have accepted
 * the option. Other name spaces and trace types do not say how many bytes a link has sent, so their nodes
 * have no rows. Then the path is longer than its records, as after an overflow.
 */
export function read(view: DataView, at: number, end: number, into: HopRecords): void {
  const nodes = nodeCount(view, at, end)
  const count = isOurs(view, at) ? Math.min(nodes, MAX_HOPS) : 0
  into.overflow = isOverflown(view, at) || count < nodes
  into.pathId = 0
  for (let row = 0; row < count; row++) {
    const from = end - (row + 1) * NODE_BYTES
    const node = view.getUint16(from + 2)
    into.switchId[row] = node
    into.pathId ^= node
    into.port[row] = view.getUint16(from + 6)
    into.tsNs[row] = secondsToU48(view.getUint32(from + 8), view.getUint32(from + 12))
    into.rateBps[row] = view.getUint32(from + 16) * 1000
    into.qlenBytes[row] = view.getUint32(from + 20)
    into.txBytes[row] = readU48of64(view, from + 24)
    into.tsModulusNs[row] = TWO_48
    into.txModulusBytes[row] = TWO_48
  }
  into.count = count
}

export function print(view: DataView, at: number, end: number): string {
  const nodes = nodeCount(view, at, end)
  const remaining = 4 * (view.getUint16(at + LENGTHS) & REMAINING)
  const room = nodes + Math.floor(remaining / Math.max(4, nodeBytes(view, at)))
  return `IOAM trace nodes ${nodes}/${room}${isOverflown(view, at) ? ' overflow' : ''}`
}
