/**
 * INT-MD of P4.org's In-band Network Telemetry, version 2.1, over UDP: shim header, INT-MD metadata header, and a stack
 * that every hop makes longer by its metadata. Big-endian.
 *
 * | byte   | field                                                                                       |
 * |--------|---------------------------------------------------------------------------------------------|
 * | 0      | shim: type (4 bits) = 1 INT-MD, NPT (2) = 1, reserved (2)                                     |
 * | 1      | length of what follows the shim, in 4-byte words                                             |
 * | 2–3    | NPT 1: UDP destination port of the packet without INT: 4791                                  |
 * | 4–7    | version (4 bits) = 2, D, E (hop count exceeded), M (MTU exceeded), reserved (12), hop ML (5), remaining hop count (8) |
 * | 8–9    | instruction bitmap: node id, level 1 interface ids, queue id and occupancy, egress time stamp |
 * | 10–11  | domain-specific id: "WE"                                                                      |
 * | 12–13  | DS instruction: bit 0 bytes sent by the egress port, bit 1 rate of its link                   |
 * | 14–15  | DS flags: FLAG_* of int-shim.ts in the low byte                                               |
 * | 16…    | the stack, last hop first                                                                    |
 *
 * A hop's metadata is 32 bytes, in the order of the bits: node id u32, ingress and egress interface u16, queue id u8,
 * occupancy in bytes u24, egress time ns u64; domain-specific: bytes sent u64, rate in kbit/s u32.
 *
 * Specification: "INT over TCP/UDP" for the shim, "INT-MD Metadata Header Format" for the rest.
 */
import { type HopRecords, MAX_HOPS } from './hop-records.js'
import type { HopSnapshot } from './hop-snapshot.js'
import { readU48of64, writeU64 } from './u64.js'
import * as udp from './udp.js'
import { WireError } from './wire-error.js'

/** Shim and metadata header. */
export const BYTES = 16
/** What a hop inserts. */
export const HOP_BYTES = 32
/** The first byte of the shim: type 1, NPT 1. It tells INT-MD from the other encapsulations on the INT port. */
export const TYPE_NPT = 0x14

export const INSTRUCTIONS = 0xd400
/** "WE": an id of the operator's own choice. */
export const DOMAIN = 0x5745
export const DS_INSTRUCTIONS = 0xc000

const LENGTH = 1
const PORT = 2
const FIRST_WORD = 4
const REMAINING_HOPS = 7
const INSTRUCTION_BITMAP = 8
const DOMAIN_ID = 10
const DS_INSTRUCTION = 12
const DS_FLAGS = 14

const VERSION = 2
const BIT_E = 0x0400_0000
const BIT_M = 0x0200_0000
const HEADER_WORDS = 3
const HOP_WORDS = HOP_BYTES / 4
const SHIM_BYTES = 4
const OCCUPANCY_MAX = 0xff_ffff
const TWO_48 = 0x1_0000_0000_0000

/**
 * Checks shim and header, that the stack ends before `end`, and that it asks for what this codec reads: other
 * instructions and domains are refused.
 */
export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_INT_MD
  const first = view.getUint32(at + FIRST_WORD)
  if (
    view.getUint8(at) !== TYPE_NPT ||
    view.getUint16(at + PORT) !== udp.PORT_ROCE ||
    first >>> 28 !== VERSION ||
    ((first >>> 8) & 0x1f) !== HOP_WORDS ||
    view.getUint16(at + INSTRUCTION_BITMAP) !== INSTRUCTIONS ||
    view.getUint16(at + DOMAIN_ID) !== DOMAIN ||
    view.getUint16(at + DS_INSTRUCTION) !== DS_INSTRUCTIONS
  ) {
    return WireError.BAD_INT_MD
  }
  const stackWords = view.getUint8(at + LENGTH) - HEADER_WORDS
  if (stackWords < 0 || stackWords % HOP_WORDS !== 0 || stackWords > MAX_HOPS * HOP_WORDS) {
    return WireError.BAD_INT_MD
  }
  return at + totalBytes(view, at) > end ? WireError.SHORT_INT_MD : WireError.OK
}

/** Bytes of shim, header and stack. */
export function totalBytes(view: DataView, at: number): number {
  return SHIM_BYTES + 4 * view.getUint8(at + LENGTH)
}

/** Records in the stack. */
export function hopCount(view: DataView, at: number): number {
  return Math.floor((view.getUint8(at + LENGTH) - HEADER_WORDS) / HOP_WORDS)
}

/** Records that may still be added, 0 to 255. */
export function remainingHops(view: DataView, at: number): number {
  return view.getUint8(at + REMAINING_HOPS)
}

/** Hops found no place: the hop count ran out (E), or the packet was as long as the MTU (M). */
export function isOverflown(view: DataView, at: number): boolean {
  return (view.getUint32(at + FIRST_WORD) & (BIT_E | BIT_M)) !== 0
}

/** FLAG_* of int-shim.ts. */
export function flags(view: DataView, at: number): number {
  return view.getUint16(at + DS_FLAGS) & 0xff
}

export function setFlags(view: DataView, at: number, value: number): void {
  view.setUint16(at + DS_FLAGS, value)
}

/** The source's part: shim and header with an empty stack. @param hops 1 to 16; returns the bytes written */
export function write(view: DataView, at: number, hops: number, flagBits: number): number {
  view.setUint16(at, (TYPE_NPT << 8) | HEADER_WORDS)
  view.setUint16(at + PORT, udp.PORT_ROCE)
  view.setUint32(at + FIRST_WORD, (VERSION << 28) | (HOP_WORDS << 8) | hops)
  view.setUint16(at + INSTRUCTION_BITMAP, INSTRUCTIONS)
  view.setUint16(at + DOMAIN_ID, DOMAIN)
  view.setUint16(at + DS_INSTRUCTION, DS_INSTRUCTIONS)
  view.setUint16(at + DS_FLAGS, flagBits)
  return BYTES
}

/** A hop that inserts nothing says why: E if the hop count has run out, otherwise M. */
export function refuse(view: DataView, at: number): void {
  const bit = remainingHops(view, at) === 0 ? BIT_E : BIT_M
  view.setUint32(at + FIRST_WORD, view.getUint32(at + FIRST_WORD) | bit)
}

/** A hop's part, once HOP_BYTES are free behind the header: writes its metadata there and counts itself. */
export function push(view: DataView, at: number, hop: HopSnapshot): void {
  view.setUint8(at + LENGTH, view.getUint8(at + LENGTH) + HOP_WORDS)
  view.setUint8(at + REMAINING_HOPS, remainingHops(view, at) - 1)
  const to = at + BYTES
  view.setUint32(to, hop.switchId)
  view.setUint16(to + 4, hop.ingressPort)
  view.setUint16(to + 6, hop.egressPort)
  view.setUint32(to + 8, ((hop.priority << 24) | Math.min(hop.qlenBytes, OCCUPANCY_MAX)) >>> 0)
  writeU64(view, to + 12, hop.startNs)
  writeU64(view, to + 20, hop.txBytes)
  view.setUint32(to + 28, Math.min(Math.round(hop.rateBps / 1000), 0xffff_ffff))
}

/** The sink's part: decodes the stack, the first hop in row 0. `check` has passed. */
export function read(view: DataView, at: number, into: HopRecords): void {
  const count = hopCount(view, at)
  into.overflow = isOverflown(view, at)
  into.pathId = 0
  for (let row = 0; row < count; row++) {
    const from = at + BYTES + (count - 1 - row) * HOP_BYTES
    into.switchId[row] = view.getUint16(from + 2)
    into.pathId ^= view.getUint16(from + 2)
    into.port[row] = view.getUint16(from + 6)
    into.qlenBytes[row] = view.getUint32(from + 8) & OCCUPANCY_MAX
    into.tsNs[row] = readU48of64(view, from + 12)
    into.txBytes[row] = readU48of64(view, from + 20)
    into.rateBps[row] = view.getUint32(from + 28) * 1000
    into.tsModulusNs[row] = TWO_48
    into.txModulusBytes[row] = TWO_48
  }
  into.count = count
}

export function print(view: DataView, at: number): string {
  const first = view.getUint32(at + FIRST_WORD)
  const marks = (first & BIT_E ? ' hops-exceeded' : '') + (first & BIT_M ? ' mtu-exceeded' : '')
  return `INT-MD hops ${hopCount(view, at)} remaining ${remainingHops(view, at)}${marks}`
}
