/** Base Transport Header (IBA 9.2): 12 bytes, big-endian, in every RoCEv2 packet. */

import { WireError } from '../bytes/wire-error.js'
import { Opcode, opcodeName } from './opcode.js'

export const BYTES = 12
export const DEFAULT_PARTITION_KEY = 0xffff
/**
 * MigReq of every packet that Weir sends. A queue pair is in the state Migrated from connect on, because Weir
 * has no second path (IBA 17.2.8). Hardware expects this. Linux's rxe sends 0, so received packets may have
 * either.
 */
const MIGRATED = true

const OPCODE = 0
const FLAGS = 1
const PARTITION_KEY = 2
/** FECN, BECN and six reserved bits (IBA annex A17 for RoCEv2). The ICRC masks all of them. */
export const CONGESTION = 4
/** `marks` counts modulo this. */
export const MARKS_MODULUS = 0x40
const DEST_QPN = 4
/** AckReq, seven reserved bits and the PSN: the only bytes by which the packets within a message differ. */
export const SEQUENCE = 8
export const SEQUENCE_BYTES = 4
const PSN = SEQUENCE

const SOLICITED = 0x80
const MIGRATION_REQUEST = 0x40
const FECN = 0x80
const BECN = 0x40
const ACK_REQUEST = 0x8000_0000

export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_BTH
  return version(view, at) === 0 ? WireError.OK : WireError.BAD_BTH_VERSION
}

export function opcode(view: DataView, at: number): number {
  return view.getUint8(at + OPCODE)
}

export function solicited(view: DataView, at: number): boolean {
  return (view.getUint8(at + FLAGS) & SOLICITED) !== 0
}

export function migrationRequest(view: DataView, at: number): boolean {
  return (view.getUint8(at + FLAGS) & MIGRATION_REQUEST) !== 0
}

/** Bytes of padding between payload and ICRC, 0 to 3. */
export function padCount(view: DataView, at: number): number {
  return (view.getUint8(at + FLAGS) >>> 4) & 3
}

/** Transport header version: 0. */
export function version(view: DataView, at: number): number {
  return view.getUint8(at + FLAGS) & 0x0f
}

export function partitionKey(view: DataView, at: number): number {
  return view.getUint16(at + PARTITION_KEY)
}

export function fecn(view: DataView, at: number): boolean {
  return (view.getUint8(at + CONGESTION) & FECN) !== 0
}

export function becn(view: DataView, at: number): boolean {
  return (view.getUint8(at + CONGESTION) & BECN) !== 0
}

/**
 * Number of data packets that have arrived with a CE mark, modulo 2^6, in acknowledgements and notifications between two Weir hosts. It uses
 * the six bits that the standard reserves beside FECN and BECN. Other hosts send them as 0 and do not read them.
 */
export function marks(view: DataView, at: number): number {
  return view.getUint8(at + CONGESTION) & (MARKS_MODULUS - 1)
}

/** 24 bits. */
export function destQpn(view: DataView, at: number): number {
  return view.getUint32(at + DEST_QPN) & 0xffffff
}

export function ackRequest(view: DataView, at: number): boolean {
  return (view.getUint8(at + PSN) & 0x80) !== 0
}

/** Packet sequence number, 24 bits. */
export function psn(view: DataView, at: number): number {
  return view.getUint32(at + PSN) & 0xffffff
}

/**
 * Number of duplicate packets that have arrived, modulo 2^7, in an ACK or SACK between two Weir hosts. It
 * uses seven bits that the standard reserves. Other hosts send them as 0 and do not read them (IBA 9.2.7).
 */
export function duplicates(view: DataView, at: number): number {
  return view.getUint8(at + PSN) & 0x7f
}

/**
 * Number of the window with which a data packet or probe was sent, modulo 2^7. If the peer computes windows
 * (receiver-based HPCC++), it is the number of the last RATE that the sender has taken, else 0. It uses the
 * same reserved bits, in other packets.
 */
export function windowNumber(view: DataView, at: number): number {
  return duplicates(view, at)
}

export function setOpcode(view: DataView, at: number, value: number): void {
  view.setUint8(at + OPCODE, value)
}

export function setSolicited(view: DataView, at: number, on: boolean): void {
  setBit(view, at + FLAGS, SOLICITED, on)
}

export function setMigrationRequest(view: DataView, at: number, on: boolean): void {
  setBit(view, at + FLAGS, MIGRATION_REQUEST, on)
}

export function setPadCount(view: DataView, at: number, value: number): void {
  view.setUint8(at + FLAGS, (view.getUint8(at + FLAGS) & 0xcf) | ((value & 3) << 4))
}

export function setVersion(view: DataView, at: number, value: number): void {
  view.setUint8(at + FLAGS, (view.getUint8(at + FLAGS) & 0xf0) | (value & 0x0f))
}

export function setPartitionKey(view: DataView, at: number, value: number): void {
  view.setUint16(at + PARTITION_KEY, value)
}

export function setFecn(view: DataView, at: number, on: boolean): void {
  setBit(view, at + CONGESTION, FECN, on)
}

export function setBecn(view: DataView, at: number, on: boolean): void {
  setBit(view, at + CONGESTION, BECN, on)
}

/** Modulo 2^6. */
export function setMarks(view: DataView, at: number, value: number): void {
  const flags = view.getUint8(at + CONGESTION) & (FECN | BECN)
  view.setUint8(at + CONGESTION, flags | (value & (MARKS_MODULUS - 1)))
}

export function setAckRequest(view: DataView, at: number, on: boolean): void {
  setBit(view, at + PSN, 0x80, on)
}

/** Modulo 2^7. */
export function setDuplicates(view: DataView, at: number, value: number): void {
  view.setUint8(at + PSN, (view.getUint8(at + PSN) & 0x80) | (value & 0x7f))
}

/** Modulo 2^7. */
export function setWindowNumber(view: DataView, at: number, value: number): void {
  setDuplicates(view, at, value)
}

/** Leaves the reserved byte before it as it is. */
export function setDestQpn(view: DataView, at: number, value: number): void {
  view.setUint16(at + DEST_QPN + 1, value >>> 8)
  view.setUint8(at + DEST_QPN + 3, value & 0xff)
}

export function setPsn(view: DataView, at: number, value: number): void {
  view.setUint32(at + PSN, ((view.getUint32(at + PSN) & 0xff00_0000) | (value & 0xffffff)) >>> 0)
}

/** Sets the PSN, modulo 2^24, and AckReq; the bits between them stay as they are. */
export function setSequence(view: DataView, at: number, psn: number, ackRequest: boolean): void {
  const kept = view.getInt32(at + PSN) & 0x7f00_0000
  view.setInt32(at + PSN, kept | (psn & 0xffffff) | (ackRequest ? ACK_REQUEST : 0))
}

/** The fields of a BTH. On the packet path one object is changed and passed to `write` again and again. */
export class Bth {
  opcode = 0
  solicited = false
  migrated = MIGRATED
  /** 0 to 3. */
  padCount = 0
  partitionKey = DEFAULT_PARTITION_KEY
  /** Modulo 2^24. */
  destQpn = 0
  ackRequest = false
  /** Modulo 2^24. */
  psn = 0

  /** @param given the fields that differ from the defaults above */
  constructor(given: Partial<Bth> = {}) {
    Object.assign(this, given)
  }
}

/** Writes all 12 bytes: version 0, FECN, BECN and reserved bits clear. */
export function write(view: DataView, at: number, header: Bth): void {
  view.setUint8(at + OPCODE, header.opcode)
  view.setUint8(
    at + FLAGS,
    (header.solicited ? SOLICITED : 0) | (header.migrated ? MIGRATION_REQUEST : 0) | (header.padCount << 4),
  )
  view.setUint16(at + PARTITION_KEY, header.partitionKey)
  view.setUint32(at + DEST_QPN, header.destQpn & 0xffffff)
  view.setUint32(at + PSN, (header.psn & 0xffffff) + (header.ackRequest ? ACK_REQUEST : 0))
}

export function print(view: DataView, at: number): string {
  const flags =
    (ackRequest(view, at) ? ' ack-req' : '') +
    (solicited(view, at) ? ' solicited' : '') +
    (fecn(view, at) ? ' fecn' : '') +
    (becn(view, at) ? ' becn' : '') +
    (marks(view, at) > 0 ? ` marks ${marks(view, at)}` : '') +
    (partitionKey(view, at) === DEFAULT_PARTITION_KEY ? '' : ` pkey 0x${partitionKey(view, at).toString(16)}`)
  return `${opcodeName(opcode(view, at))} qp 0x${destQpn(view, at).toString(16)} psn ${psn(view, at)}${flags}${printReserved(view, at)}`
}

const ACKNOWLEDGEMENTS: readonly number[] = [
  Opcode.RC_ACKNOWLEDGE,
  Opcode.SACK,
  Opcode.STAMPED_ACK,
  Opcode.STAMPED_SACK,
]

/** Prints what Weir hosts put into the reserved bits beside AckReq. */
function printReserved(view: DataView, at: number): string {
  const value = duplicates(view, at)
  if (value === 0) return ''
  return ACKNOWLEDGEMENTS.includes(opcode(view, at)) ? ` duplicates ${value}` : ` window #${value}`
}

function setBit(view: DataView, at: number, mask: number, on: boolean): void {
  const byte = view.getUint8(at)
  view.setUint8(at, on ? byte | mask : byte & ~mask)
}
