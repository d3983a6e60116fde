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
 * Around it is, over IPv6, the hop-by-hop option of RFC 9486 (`ioam-ipv6.ts`); over IPv4, for which no RFC has an
 * encapsulation, four bytes behind the UDP header in the layout of RFC 9452, section 3 (`ioam-udp.ts`).
 */
import { type HopRecords, MAX_HOPS } from './hop-records.js'
import type { HopSnapshot } from './hop-snapshot.js'
import { readU48of64, secondsToU48, writeU64 } from './u64.js'
import { WireError } from './wire-error.js'

/** Bytes of the option without its nodes. */
export const BYTES = 8
export const NODE_BYTES = 32

export const NAMESPACE = 0x5745
/** 24 bits, the first one the highest. */
export const TRACE_TYPE = 0xf6_2000

const LENGTHS = 2
const TYPE = 4
const FLAG_OVERFLOW = 0x0400
const REMAINING = 0x007f
const NODE_WORDS = NODE_BYTES / 4
const SECOND_NS = 1e9
const TWO_48 = 0x1_0000_0000_0000

/** Bytes of an option with room for so many nodes, 1 to 15. */
export function bytes(nodes: number): number {
  return BYTES + nodes * NODE_BYTES
}

/** Checks an option that ends at `end`, as its encapsulation says: name space, trace type, lengths. */
export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_IOAM
  const lengths = view.getUint16(at + LENGTHS)
  const known =
    view.getUint16(at) === NAMESPACE &&
    lengths >>> 11 === NODE_WORDS &&
    view.getUint32(at + TYPE) >>> 8 === TRACE_TYPE
  const room = end - at - BYTES
  const remaining = 4 * (lengths & REMAINING)
  if (!known || room % NODE_BYTES !== 0 || room > MAX_HOPS * NODE_BYTES) return WireError.BAD_IOAM
  return remaining > room || remaining % NODE_BYTES !== 0 ? WireError.BAD_IOAM : WireError.OK
}

/** Nodes that have filled in their data. */
export function nodeCount(view: DataView, at: number, end: number): number {
  return (end - at - BYTES - 4 * (view.getUint16(at + LENGTHS) & REMAINING)) / NODE_BYTES
}

export function isOverflown(view: DataView, at: number): boolean {
  return (view.getUint16(at + LENGTHS) & FLAG_OVERFLOW) !== 0
}

/** The encapsulating node's part: an option without data. @param nodes 1 to 15; returns the bytes written */
export function write(view: DataView, at: number, nodes: number): number {
  view.setUint16(at, NAMESPACE)
  view.setUint16(at + LENGTHS, (NODE_WORDS << 11) | (nodes * NODE_WORDS))
  view.setUint32(at + TYPE, (TRACE_TYPE << 8) >>> 0)
  const total = bytes(nodes)
  for (let i = at + BYTES; i < at + total; i += 4) view.setUint32(i, 0)
  return total
}

/** A transit node's part: fills in its data in place, or sets the overflow flag when there is no room. `check` has passed. */
export function push(view: DataView, at: number, hop: HopSnapshot): void {
  const lengths = view.getUint16(at + LENGTHS)
  const remaining = lengths & REMAINING
  if (remaining < NODE_WORDS) {
    view.setUint16(at + LENGTHS, lengths | FLAG_OVERFLOW)
    return
  }
  view.setUint16(at + LENGTHS, lengths - NODE_WORDS)
  const to = at + BYTES + 4 * (remaining - NODE_WORDS)
  const seconds = Math.floor(hop.startNs / SECOND_NS)
  view.setUint32(to, ((hop.ttl << 24) | hop.switchId) >>> 0)
  view.setUint16(to + 4, hop.ingressPort)
  view.setUint16(to + 6, hop.egressPort)
  view.setUint32(to + 8, seconds >>> 0)
  view.setUint32(to + 12, hop.startNs - seconds * SECOND_NS)
  view.setUint32(to + 16, Math.min(Math.round(hop.rateBps / 1000), 0xffff_ffff))
  view.setUint32(to + 20, Math.min(hop.qlenBytes, 0xffff_ffff))
  writeU64(view, to + 24, hop.txBytes)
}

/** The decapsulating node's part: decodes the nodes' data, the first node in row 0. `check` has passed. */
export function read(view: DataView, at: number, end: number, into: HopRecords): void {
  const count = nodeCount(view, at, end)
  into.overflow = isOverflown(view, at)
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
  const room = (end - at - BYTES) / NODE_BYTES
  return `IOAM trace nodes ${nodeCount(view, at, end)}/${room}${isOverflown(view, at) ? ' overflow' : ''}`
}
