/**
 * INT-MD of P4.org's In-band Network Telemetry, version 2.1, over UDP: shim header, INT-MD metadata header, and a stack
 * that every hop makes longer by its metadata. Big-endian.
 *
 * | byte   | field                                                                                       |
 * |--------|---------------------------------------------------------------------------------------------|
 * | 0      | shim: type (4 bits) = 1 INT-MD, NPT (2) = 1, reserved (2)                                     |
 * | 1      | length of what follows the shim, in 4-byte words                                             |
 * | 2–3    | NPT 1: UDP destination port of the packet without INT: 4791                                  |
 * | 4–7    | version (4 bits) = 2, D (discard this copy), E (hop count exceeded), M (MTU exceeded), reserved (12), hop ML (5), remaining hop count (8) |
 * | 8–9    | instruction bitmap: node id, level 1 interface ids, queue id and occupancy, egress time stamp |
 * | 10–11  | domain-specific id: "WE"                                                                      |
 * | 12–13  | DS instruction: bit 0 bytes sent by the egress port, bit 1 rate of its link                   |
 * | 14–15  | DS flags: FLAG_* of int-shim.ts in the low byte                                               |
 * | 16…    | the stack, last hop first                                                                    |
 *
 * A hop's metadata is 32 bytes, in the order of the bits: node id u32, ingress and egress interface u16, queue id u8,
 * occupancy in bytes u24, egress time ns u64; domain-specific: bytes sent u64, rate in kbit/s u32.
 *
 * Weir writes that, and reads every header of version 2: hops insert what other instruction bitmaps ask for, and a sink skips the stacks
 * of other domains by their lengths.
 *
 * Specification: "INT over TCP/UDP" for the shim, "INT-MD Metadata Header Format" for the rest.
 */

import { readU48of64, writeU64 } from '../bytes/u64.js'
import { WireError } from '../bytes/wire-error.js'
import * as udp from '../net/udp.js'
import { type HopRecords, MAX_HOPS } from './hop-records.js'
import type { HopSnapshot } from './hop-snapshot.js'

/** Shim and metadata header. */
export const BYTES = 16
/** Bytes that a hop inserts. */
export const HOP_BYTES = 32
/** The first byte of the shim: type 1, NPT 1. It distinguishes INT-MD from the other encapsulations on the INT port. */
const TYPE_NPT = 0x14

const INSTRUCTIONS = 0xd400
/** "WE", an id that the operator chooses. */
const DOMAIN = 0x5745
const DS_INSTRUCTIONS = 0xc000

const LENGTH = 1
const PORT = 2
const FIRST_WORD = 4
const REMAINING_HOPS = 7
const INSTRUCTION_BITMAP = 8
const DOMAIN_ID = 10
const DS_INSTRUCTION = 12
const DS_FLAGS = 14

const VERSION = 2
/** The packet is a copy. The sink discards it after taking its telemetry. */
const BIT_D = 0x0800_0000
const BIT_E = 0x0400_0000
const BIT_M = 0x0200_0000
const HEADER_WORDS = 3
const HOP_WORDS = HOP_BYTES / 4
const SHIM_BYTES = 4
const OCCUPANCY_MAX = 0xff_ffff
const TWO_48 = 0x1_0000_0000_0000

/** Words that each instruction requests, the highest bit first. Reserved ones request one. */
const INSTRUCTION_WORDS = Uint8Array.of(1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1)
/** Bits whose metadata is not baseline and follows that of the domain. */
const CHECKSUM_COMPLEMENT = 0x0001

/**
 * Checks shim and header, and that the stack ends before `end`. Any instructions, domain and reserved bits
 * are accepted. A hop must insert at least as much as the instructions request. A copy that the sink must
 * discard (D) is rejected.
 */
export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_INT_MD
  const first = view.getUint32(at + FIRST_WORD)
  if (
    !isType(view.getUint8(at)) ||
    view.getUint16(at + PORT) !== udp.PORT_ROCE ||
    first >>> 28 !== VERSION ||
    (first & BIT_D) !== 0 ||
    view.getUint8(at + LENGTH) < HEADER_WORDS
  ) {
    return WireError.BAD_INT_MD
  }
  if (!isStackWhole(view, at)) return WireError.BAD_INT_MD
  return at + totalBytes(view, at) > end ? WireError.SHORT_INT_MD : WireError.OK
}

/** Returns true for the first byte of a shim of type 1, NPT 1. Its last two bits are reserved. */
export function isType(first: number): boolean {
  return (first & 0xfc) === TYPE_NPT
}

/**
 * Checks the length of the stack: every hop has inserted the same number of words, at least those that the
 * instructions request. In another domain the source may insert more ("source-only" metadata).
 */
function isStackWhole(view: DataView, at: number): boolean {
  const stackWords = view.getUint8(at + LENGTH) - HEADER_WORDS
  const words = hopWords(view, at)
  if (words < instructionWords(view.getUint16(at + INSTRUCTION_BITMAP))) return false
  if (isOurs(view, at)) return words === HOP_WORDS && stackWords % words === 0
  return stackWords === 0 || (words > 0 && stackWords >= words)
}

/** Words that the instructions request, without those of a domain. */
function instructionWords(instructions: number): number {
  let words = 0
  for (let bit = 0; bit < 16; bit++) {
    if ((instructions & (0x8000 >>> bit)) !== 0) words += INSTRUCTION_WORDS[bit]!
  }
  return words
}

/** Words that every hop inserts. */
function hopWords(view: DataView, at: number): number {
  return (view.getUint32(at + FIRST_WORD) >>> 8) & 0x1f
}

/** Returns true if the stack has what this codec writes, which is all that a congestion controller needs. */
function isOurs(view: DataView, at: number): boolean {
  return (
    view.getUint16(at + INSTRUCTION_BITMAP) === INSTRUCTIONS &&
    view.getUint16(at + DOMAIN_ID) === DOMAIN &&
    view.getUint16(at + DS_INSTRUCTION) === DS_INSTRUCTIONS
  )
}

/** Bytes of shim, header and stack. */
export function totalBytes(view: DataView, at: number): number {
  return SHIM_BYTES + 4 * view.getUint8(at + LENGTH)
}

/** Hops that have inserted their metadata. */
export function hopCount(view: DataView, at: number): number {
  const words = hopWords(view, at)
  return words === 0 ? 0 : Math.floor((view.getUint8(at + LENGTH) - HEADER_WORDS) / words)
}

/** Bytes that the next hop inserts. 0 if it has nothing to insert, or no room. */
export function hopBytes(view: DataView, at: number): number {
  const words = hopWords(view, at)
  const fits = view.getUint8(at + LENGTH) + words <= 0xff
  return remainingHops(view, at) > 0 && fits ? 4 * words : 0
}

/** Records that may still be added, 0 to 255. */
function remainingHops(view: DataView, at: number): number {
  return view.getUint8(at + REMAINING_HOPS)
}

/**
 * Returns true if hops found no room: the hop count was used up (E), or the packet was as long as the MTU
 * (M).
 */
function isOverflown(view: DataView, at: number): boolean {
  return (view.getUint32(at + FIRST_WORD) & (BIT_E | BIT_M)) !== 0
}

/** FLAG_* of int-shim.ts; 0 in another domain. */
export function flags(view: DataView, at: number): number {
  return view.getUint16(at + DOMAIN_ID) === DOMAIN ? view.getUint16(at + DS_FLAGS) & 0xff : 0
}

/** Without effect in another domain. */
export function setFlags(view: DataView, at: number, value: number): void {
  if (view.getUint16(at + DOMAIN_ID) === DOMAIN) view.setUint16(at + DS_FLAGS, value)
}

/**
 * The source's part: writes shim and header with an empty stack. Returns the bytes written.
 *
 * @param hops 1 to 16
 */
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

/** Marks why a hop inserts nothing: E if the hop count is used up, otherwise M. */
export function refuse(view: DataView, at: number): void {
  if (hopWords(view, at) === 0 && remainingHops(view, at) > 0) return
  const bit = remainingHops(view, at) === 0 ? BIT_E : BIT_M
  view.setUint32(at + FIRST_WORD, view.getUint32(at + FIRST_WORD) | bit)
}

/**
 * A hop's part, after `hopBytes` were freed behind the header: writes the metadata that the instructions
 * request, in the order of their bits, and counts the hop. Values that this hop does not know, and metadata
 * of a foreign domain, are all ones.
 */
export function push(view: DataView, at: number, hop: HopSnapshot): void {
  const words = hopWords(view, at)
  const instructions = view.getUint16(at + INSTRUCTION_BITMAP)
  view.setUint8(at + LENGTH, view.getUint8(at + LENGTH) + words)
  view.setUint8(at + REMAINING_HOPS, remainingHops(view, at) - 1)
  const end = at + BYTES + 4 * words
  for (let i = at + BYTES; i < end; i += 4) view.setUint32(i, 0xffff_ffff)
  let to = at + BYTES
  for (let bit = 0; bit < 15; bit++) {
    if ((instructions & (0x8000 >>> bit)) === 0) continue
    writeInstruction(view, to, bit, hop)
    to += 4 * INSTRUCTION_WORDS[bit]!
  }
  if (view.getUint16(at + DOMAIN_ID) !== DOMAIN) return
  const asked = view.getUint16(at + DS_INSTRUCTION)
  const limit = end - ((instructions & CHECKSUM_COMPLEMENT) === 0 ? 0 : 4)
  if ((asked & 0x8000) !== 0 && to + 8 <= limit) {
    writeU64(view, to, hop.txBytes)
    to += 8
  }
  if ((asked & 0x4000) !== 0 && to + 4 <= limit) {
    view.setUint32(to, Math.min(Math.round(hop.rateBps / 1000), 0xffff_ffff))
  }
}

/** Writes the metadata of one instruction. Utilization and buffers are not known here and remain all ones. */
function writeInstruction(view: DataView, to: number, bit: number, hop: HopSnapshot): void {
  if (bit === 0) view.setUint32(to, hop.switchId)
  else if (bit === 1) {
    view.setUint16(to, hop.ingressPort)
    view.setUint16(to + 2, hop.egressPort)
  } else if (bit === 2) view.setUint32(to, Math.min(Math.max(0, hop.startNs - hop.arrivalNs), 0xffff_fffe))
  else if (bit === 3) {
    view.setUint32(to, ((hop.priority << 24) | Math.min(hop.qlenBytes, OCCUPANCY_MAX)) >>> 0)
  } else if (bit === 4) writeU64(view, to, hop.arrivalNs)
  else if (bit === 5) writeU64(view, to, hop.startNs)
  else if (bit === 6) {
    view.setUint32(to, hop.ingressPort)
    view.setUint32(to + 4, hop.egressPort)
  }
}

/**
 * The sink's part: decodes the stack, the first hop in row 0, after `check` has accepted it. Other
 * instructions and domains do not say how many bytes a link has sent, so their hops have no rows. Then the
 * path is longer than its records, as after an overflow.
 */
export function read(view: DataView, at: number, into: HopRecords): void {
  const hops = hopCount(view, at)
  const ours = isOurs(view, at)
  const count = ours ? Math.min(hops, MAX_HOPS) : 0
  into.overflow = isOverflown(view, at) || count < hops
  into.pathId = ours ? 0 : foreignPath(view, at, hops)
  for (let row = 0; row < count; row++) {
    const from = at + BYTES + (hops - 1 - row) * HOP_BYTES
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

/** XOR of the node ids, which come first, if they were requested. */
function foreignPath(view: DataView, at: number, hops: number): number {
  if ((view.getUint16(at + INSTRUCTION_BITMAP) & 0x8000) === 0) return 0
  let path = 0
  for (let i = 0; i < hops; i++) path ^= view.getUint16(at + BYTES + 4 * i * hopWords(view, at) + 2)
  return path
}

export function print(view: DataView, at: number): string {
  const first = view.getUint32(at + FIRST_WORD)
  const marks = (first & BIT_E ? ' hops-exceeded' : '') + (first & BIT_M ? ' mtu-exceeded' : '')
  return `INT-MD hops ${hopCount(view, at)} remaining ${remainingHops(view, at)}${marks}`
}
