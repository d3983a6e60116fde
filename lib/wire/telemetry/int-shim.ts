/**
 * The INT shim: telemetry in band, between UDP and BTH, in packets to port 4792. The sender fixes its size;
 * a hop appends its record in place, so no length, offset or segment size changes on the path. Big-endian.
 *
 * | byte | field                                              |
 * |------|----------------------------------------------------|
 * | 0    | version (high 4 bits) = 1, format (low 4)           |
 * | 1    | flags, FLAG_*                                      |
 * | 2    | hop count: every hop passed, also beyond the slots |
 * | 3    | slots                                              |
 * | 4–5  | path id: XOR of the switch ids                     |
 * | 6–7  | N, concurrent flows at the receiver; 0 = unknown   |
 * | 8…   | slots                                              |
 *
 * A wide slot is 24 bytes: switch id u16, port u16, rate in kbit/s u32, stamp ns u48, txBytes u48, queue
 * bytes u32. A compact slot is 8 bytes: speed code 4 bits, stamp 24, txBytes 20, queue 16 (int-units.ts);
 * it names no switch and no port.
 */

import { WireError } from '../bytes/wire-error.js'
import {
  AT_PORT,
  AT_QLEN,
  AT_RATE,
  AT_SWITCH,
  AT_TS,
  AT_TS_MODULUS,
  AT_TX_BYTES,
  AT_TX_MODULUS,
  HOST_ID,
  type HopRecords,
  MAX_HOPS,
} from './hop-records.js'
import type { HopSnapshot } from './hop-snapshot.js'
import {
  QLEN_MAX,
  QLEN_UNIT_BYTES,
  RATE_BPS,
  rateCode,
  TS_STEPS,
  TS_UNIT_NS,
  TX_STEPS,
  TX_UNIT_BYTES,
} from './int-units.js'

/** The fixed part. */
export const BYTES = 8
const VERSION = 1
export const FORMAT_WIDE = 0
export const FORMAT_COMPACT = 1
export const WIDE_SLOT_BYTES = 24
export const COMPACT_SLOT_BYTES = 8

/** An echo. Hops do not stamp it, and the ICRC covers it. */
export const FLAG_ECHO = 0x80
/** FNCC: stamp the egress of the port that the packet came in by. */
export const FLAG_REVERSE = 0x40
/** The switch may send a direct response. */
export const FLAG_SUBSCRIBED = 0x20
/** More hops than slots. */
export const FLAG_OVERFLOW = 0x10
/** Anonymised: only ratios are meaningful. */
export const FLAG_RATIO_ONLY = 0x08
/**
 * The echo stands for several packets. Each queue is a mean over the time of all of them, of the minima of
 * two consecutive packets.
 */
export const FLAG_ACCUMULATED = 0x04
/** The echo contains only the hop with the most inflight bytes. */
export const FLAG_BUSIEST_ONLY = 0x02
/** The last record of the echo is the receiving host's own. */
export const FLAG_HOST = 0x01

const VERSION_FORMAT = 0
const FLAGS = 1
const HOP_COUNT = 2
const SLOTS = 3
/** Path id and N, one word. */
export const PATH_ID = 4
const FLOWS = 6

/** The first word of an empty compact shim that no hop stamps. */
export const EMPTY_ECHO = (((VERSION << 4) | FORMAT_COMPACT) << 24) | (FLAG_ECHO << 16)

const TWO_32 = 0x1_0000_0000
const TWO_48 = 0x1_0000_0000_0000

/** Bytes of a shim with `slotCount` slots. */
export function bytes(shimFormat: number, slotCount: number): number {
  return BYTES + slotCount * (shimFormat === FORMAT_COMPACT ? COMPACT_SLOT_BYTES : WIDE_SLOT_BYTES)
}

/**
 * Checks version, format, slots (at most 16) and that all slots are before `end`. The overflow flag must be
 * set exactly when the hop count exceeds the slots.
 */
export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_SHIM
  return checkHead(view.getUint32(at), at, end)
}

/** @param head the first four bytes: version and format, flags, hop count, slots */
function checkHead(head: number, at: number, end: number): WireError {
  const first = head >>> 24
  if (first !== ((VERSION << 4) | FORMAT_WIDE) && first !== ((VERSION << 4) | FORMAT_COMPACT)) {
    return WireError.BAD_SHIM
  }
  const slotCount = head & 0xff
  if (slotCount > MAX_HOPS) return WireError.BAD_SHIM
  const overflow = (head & (FLAG_OVERFLOW << 16)) !== 0
  if (hopsOf(head) > slotCount !== overflow) return WireError.BAD_SHIM
  return at + bytes(first & 0x0f, slotCount) > end ? WireError.SHORT_SHIM : WireError.OK
}

function hopsOf(head: number): number {
  return (head >>> 8) & 0xff
}

export function version(view: DataView, at: number): number {
  return view.getUint8(at + VERSION_FORMAT) >>> 4
}

/** FORMAT_WIDE or FORMAT_COMPACT. */
export function format(view: DataView, at: number): number {
  return view.getUint8(at + VERSION_FORMAT) & 0x0f
}

export function flags(view: DataView, at: number): number {
  return view.getUint8(at + FLAGS)
}

export function isEcho(view: DataView, at: number): boolean {
  return (view.getUint8(at + FLAGS) & FLAG_ECHO) !== 0
}

export function isReverse(view: DataView, at: number): boolean {
  return (view.getUint8(at + FLAGS) & FLAG_REVERSE) !== 0
}

/** Hops passed, 0 to 255. It saturates at 255. */
export function hopCount(view: DataView, at: number): number {
  return view.getUint8(at + HOP_COUNT)
}

export function slots(view: DataView, at: number): number {
  return view.getUint8(at + SLOTS)
}

/** XOR of the ids of the switches passed, including those that found no slot. */
export function pathId(view: DataView, at: number): number {
  return view.getUint16(at + PATH_ID)
}

/** N: concurrent flows that the receiver sees, 0 = unknown (FNCC). */
export function flows(view: DataView, at: number): number {
  return view.getUint16(at + FLOWS)
}

/** Bytes of the shim at `at`, slots included. */
export function totalBytes(view: DataView, at: number): number {
  return bytes(format(view, at), slots(view, at))
}

export function setFlags(view: DataView, at: number, value: number): void {
  view.setUint8(at + FLAGS, value)
}

/** Sets hop count and slots. Bytes after those slots do not belong to the shim any more. */
export function setHops(view: DataView, at: number, count: number, slotCount: number): void {
  view.setUint8(at + HOP_COUNT, count)
  view.setUint8(at + SLOTS, slotCount)
}

/** Counts above 65,535 are written as 65,535. */
export function setFlows(view: DataView, at: number, value: number): void {
  view.setUint16(at + FLOWS, Math.min(value, 0xffff))
}

/**
 * Writes an empty shim with zeroed slots. Returns its bytes.
 *
 * @param slotCount 0 to 16
 */
export function write(
  view: DataView,
  at: number,
  shimFormat: number,
  slotCount: number,
  flagBits: number,
): number {
  const total = bytes(shimFormat, slotCount)
  view.setUint8(at + VERSION_FORMAT, (VERSION << 4) | shimFormat)
  view.setUint8(at + FLAGS, flagBits)
  view.setUint16(at + HOP_COUNT, slotCount)
  view.setUint32(at + PATH_ID, 0)
  // Slots have 8 bytes, or 24.
  for (let i = at + BYTES; i < at + total; i += 8) view.setFloat64(i, 0)
  return total
}

/**
 * Copies the shim of a received packet into an answer, with the echo flag and without the empty slots.
 * Returns the bytes written. `check` must have accepted `from`.
 */
export function writeEcho(view: DataView, at: number, from: DataView, fromAt: number): number {
  const head = from.getUint32(fromAt)
  const filled = Math.min(hopsOf(head), head & 0xff)
  const total = bytes((head >>> 24) & 0x0f, filled)
  for (let i = 0; i < total; i += 4) view.setInt32(at + i, from.getInt32(fromAt + i, true), true)
  view.setUint8(at + FLAGS, (head >>> 16) | FLAG_ECHO)
  view.setUint8(at + SLOTS, filled)
  return total
}

/** The record that is written by functions that have none. */
const row: HopRecord = { switchId: 0, egressPort: 0, rateBps: 0, startNs: 0, txBytes: 0, qlenBytes: 0 }

/** Writes decoded records as an echo of wide slots, at most 16. Returns the bytes written. */
export function writeEchoOf(view: DataView, at: number, hops: HopRecords): number {
  const { count } = hops
  const marks = (hops.overflow ? FLAG_OVERFLOW : 0) | (hops.ratioOnly ? FLAG_RATIO_ONLY : 0)
  view.setUint8(at + VERSION_FORMAT, (VERSION << 4) | FORMAT_WIDE)
  view.setUint8(at + FLAGS, FLAG_ECHO | marks)
  view.setUint8(at + HOP_COUNT, hops.overflow ? count + 1 : count)
  view.setUint8(at + SLOTS, count)
  view.setUint16(at + PATH_ID, hops.pathId)
  setFlows(view, at, hops.flows)
  for (let i = 0; i < count; i++) {
    row.switchId = hops.switchId[i]!
    row.egressPort = hops.port[i]!
    row.rateBps = hops.rateBps[i]!
    row.startNs = hops.tsNs[i]!
    row.txBytes = hops.txBytes[i]!
    row.qlenBytes = hops.qlenBytes[i]!
    writeWide(view, at + BYTES + i * WIDE_SLOT_BYTES, row)
  }
  return bytes(FORMAT_WIDE, count)
}

/**
 * Appends the receiving host's own record, HOST_ID, to an echo, regardless of the sender's slots. There must
 * be room, and fewer than MAX_HOPS records. Returns the echo's bytes.
 */
export function appendHost(
  view: DataView,
  at: number,
  rateBps: number,
  tsNs: number,
  txBytes: number,
  qlenBytes: number,
): number {
  const filled = slots(view, at)
  const end = at + totalBytes(view, at)
  row.switchId = HOST_ID
  row.egressPort = 0
  row.rateBps = rateBps
  row.startNs = tsNs
  row.txBytes = txBytes
  row.qlenBytes = qlenBytes
  if (format(view, at) === FORMAT_COMPACT) writeCompact(view, end, row)
  else writeWide(view, end, row)
  view.setUint8(at + SLOTS, filled + 1)
  if (hopCount(view, at) < 0xff) view.setUint8(at + HOP_COUNT, hopCount(view, at) + 1)
  view.setUint16(at + PATH_ID, pathId(view, at) ^ HOST_ID)
  setFlags(view, at, flags(view, at) | FLAG_HOST)
  return totalBytes(view, at)
}

/** The part of a snapshot that a record contains. */
type HopRecord = Pick<
  HopSnapshot,
  'switchId' | 'egressPort' | 'rateBps' | 'startNs' | 'txBytes' | 'qlenBytes'
>

/**
 * A hop's part: appends its record in place, counts the hop and adds its id to the path id. When the slots
 * are full, it counts the hop and sets the overflow flag, and writes no record.
 *
 * @param end first byte after the frame's header bytes
 * @returns true if the hop was counted; false for an echo or a malformed shim, which stays unchanged
 */
export function stamp(view: DataView, at: number, end: number, record: HopRecord): boolean {
  if (end - at < BYTES) return false
  const head = view.getUint32(at)
  if (checkHead(head, at, end) !== WireError.OK || (head & (FLAG_ECHO << 16)) !== 0) return false
  const hop = hopsOf(head)
  view.setUint16(at + PATH_ID, pathId(view, at) ^ record.switchId)
  if (hop < 0xff) view.setUint8(at + HOP_COUNT, hop + 1)
  if (hop >= (head & 0xff)) {
    view.setUint8(at + FLAGS, flags(view, at) | FLAG_OVERFLOW)
  } else if (((head >>> 24) & 0x0f) === FORMAT_COMPACT) {
    writeCompact(view, at + BYTES + hop * COMPACT_SLOT_BYTES, record)
  } else {
    writeWide(view, at + BYTES + hop * WIDE_SLOT_BYTES, record)
  }
  return true
}

/** Decodes the shim into `into`. `into.count` is 0 when the shim is malformed. */
export function read(view: DataView, at: number, end: number, into: HopRecords): WireError {
  into.count = 0
  if (end - at < BYTES) return WireError.SHORT_SHIM
  const head = view.getUint32(at)
  const error = checkHead(head, at, end)
  if (error !== WireError.OK) return error
  const flagBits = (head >>> 16) & 0xff
  const passed = hopsOf(head)
  const count = Math.min(passed, head & 0xff)
  into.passed = passed
  into.pathId = pathId(view, at)
  into.flows = flows(view, at)
  into.overflow = (flagBits & FLAG_OVERFLOW) !== 0
  into.ratioOnly = (flagBits & FLAG_RATIO_ONLY) !== 0
  into.accumulated = (flagBits & FLAG_ACCUMULATED) !== 0
  into.busiestOnly = (flagBits & FLAG_BUSIEST_ONLY) !== 0
  into.endsAtHost = (flagBits & FLAG_HOST) !== 0
  if (((head >>> 24) & 0x0f) === FORMAT_COMPACT) {
    for (let i = 0; i < count; i++) readCompact(view, at + BYTES + i * COMPACT_SLOT_BYTES, into, i)
  } else {
    for (let i = 0; i < count; i++) readWide(view, at + BYTES + i * WIDE_SLOT_BYTES, into, i)
  }
  into.count = count
  return WireError.OK
}

export function print(view: DataView, at: number): string {
  const bits = flags(view, at)
  const marks =
    (bits & FLAG_ECHO ? ' echo' : '') +
    (bits & FLAG_REVERSE ? ' reverse' : '') +
    (bits & FLAG_SUBSCRIBED ? ' subscribed' : '') +
    (bits & FLAG_OVERFLOW ? ' overflow' : '') +
    (bits & FLAG_RATIO_ONLY ? ' ratio-only' : '') +
    (bits & FLAG_ACCUMULATED ? ' accumulated' : '') +
    (bits & FLAG_BUSIEST_ONLY ? ' busiest-only' : '') +
    (bits & FLAG_HOST ? ' host' : '')
  const kind = format(view, at) === FORMAT_COMPACT ? 'compact' : 'wide'
  const path = pathId(view, at).toString(16)
  const count = flows(view, at) === 0 ? '' : ` flows ${flows(view, at)}`
  return `INT ${kind} hops ${hopCount(view, at)}/${slots(view, at)} path 0x${path}${count}${marks}`
}

function writeWide(view: DataView, at: number, record: HopRecord): void {
  const { startNs, txBytes } = record
  view.setUint16(at, record.switchId)
  view.setUint16(at + 2, record.egressPort)
  view.setUint32(at + 4, Math.min(Math.round(record.rateBps / 1000), 0xffff_ffff))
  view.setUint16(at + 8, Math.floor(startNs / TWO_32))
  view.setUint32(at + 10, startNs >>> 0)
  view.setUint16(at + 14, Math.floor(txBytes / TWO_32))
  view.setUint32(at + 16, txBytes >>> 0)
  view.setUint32(at + 20, Math.min(record.qlenBytes, 0xffff_ffff))
}

function readWide(view: DataView, at: number, into: HopRecords, row: number): void {
  const { columns, ids } = into
  ids[AT_SWITCH + row] = view.getUint16(at)
  ids[AT_PORT + row] = view.getUint16(at + 2)
  columns[AT_RATE + row] = view.getUint32(at + 4) * 1000
  columns[AT_TS + row] = view.getUint16(at + 8) * TWO_32 + view.getUint32(at + 10)
  columns[AT_TX_BYTES + row] = view.getUint16(at + 14) * TWO_32 + view.getUint32(at + 16)
  columns[AT_QLEN + row] = view.getUint32(at + 20)
  columns[AT_TS_MODULUS + row] = TWO_48
  columns[AT_TX_MODULUS + row] = TWO_48
}

/** High word: code 4, stamp 24, upper 4 of txBytes; low word: lower 16 of txBytes, queue 16. All rounded down. */
function writeCompact(view: DataView, at: number, record: HopRecord): void {
  const code = rateCode(record.rateBps)
  // The steps are powers of two, and bits are quicker to cut off than a remainder is to find.
  const ts = Math.floor(record.startNs / TS_UNIT_NS[code]!) & (TS_STEPS - 1)
  const tx = Math.floor(record.txBytes / TX_UNIT_BYTES[code]!) & (TX_STEPS - 1)
  const qlen = Math.min(Math.floor(record.qlenBytes / QLEN_UNIT_BYTES[code]!), QLEN_MAX)
  view.setUint32(at, ((code << 28) | (ts << 4) | (tx >>> 16)) >>> 0)
  view.setUint32(at + 4, (((tx & 0xffff) << 16) | qlen) >>> 0)
}

function readCompact(view: DataView, at: number, into: HopRecords, row: number): void {
  const high = view.getUint32(at)
  const low = view.getUint32(at + 4)
  const code = high >>> 28
  const { columns, ids } = into
  ids[AT_SWITCH + row] = 0
  ids[AT_PORT + row] = 0
  columns[AT_RATE + row] = RATE_BPS[code]!
  columns[AT_TS + row] = ((high >>> 4) & 0xff_ffff) * TS_UNIT_NS[code]!
  columns[AT_TX_BYTES + row] = (((high & 0x0f) << 16) | (low >>> 16)) * TX_UNIT_BYTES[code]!
  columns[AT_QLEN + row] = (low & 0xffff) * QLEN_UNIT_BYTES[code]!
  columns[AT_TS_MODULUS + row] = TS_STEPS * TS_UNIT_NS[code]!
  columns[AT_TX_MODULUS + row] = TX_STEPS * TX_UNIT_BYTES[code]!
}
