/**
 * Fields that the messages of the connection manager share: wide fields, and the two communication ids at the
 * beginning.
 */

/** Attribute ids of the messages (IBA 12.6, table of CM attributes). */
export const Attribute = {
  REQ: 0x10,
  MRA: 0x11,
  REJ: 0x12,
  REP: 0x13,
  RTU: 0x14,
  DREQ: 0x15,
  DREP: 0x16,
  SIDR_REQ: 0x17,
  SIDR_REP: 0x18,
} as const
export type Attribute = (typeof Attribute)[keyof typeof Attribute]

/**
 * The message that a REJ or MRA is about: its 2-bit field "message rejected" or "message MRAed" (IBA 12.6.6,
 * 12.6.7).
 */
export const MessageKind = { REQ: 0, REP: 1, OTHER: 2 } as const
export type MessageKind = (typeof MessageKind)[keyof typeof MessageKind]

/** The two communication ids at the beginning of all messages but the REQ. */
export interface CommIds {
  /** Id that the sender of the message chose. */
  localCommId: number
  /** Id that its receiver chose. */
  remoteCommId: number
}

export const MESSAGE_KIND_NAMES = ['REQ', 'REP', 'other', 'reserved'] as const

/** Communication id of the message's sender: 32 bits, M+24 in every message. */
export function localCommId(view: DataView, at: number): number {
  return view.getUint32(at + 24)
}

export function setLocalCommId(view: DataView, at: number, value: number): void {
  view.setUint32(at + 24, value)
}

/** Communication id of the message's receiver: M+28 in every message but the REQ. */
export function remoteCommId(view: DataView, at: number): number {
  return view.getUint32(at + 28)
}

export function setRemoteCommId(view: DataView, at: number, value: number): void {
  view.setUint32(at + 28, value)
}

export function u24(view: DataView, at: number): number {
  return (view.getUint16(at) << 8) | view.getUint8(at + 2)
}

export function setU24(view: DataView, at: number, value: number): void {
  view.setUint16(at, value >>> 8)
  view.setUint8(at + 2, value & 0xff)
}

/** A copy of `length` bytes. */
export function bytes(view: DataView, at: number, length: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + at, length).slice()
}

/**
 * Writes `value` into a field of `length` bytes and fills the rest with zeros. A value that does not fit is a
 * defect of the caller.
 */
export function setBytes(view: DataView, at: number, length: number, value: Uint8Array): void {
  const field = new Uint8Array(view.buffer, view.byteOffset + at, length)
  field.fill(0)
  field.set(value)
}

export function hex(value: number | bigint, digits: number): string {
  return `0x${value.toString(16).padStart(digits, '0')}`
}

/** Prints ` private 4 bytes`, which counts up to the last byte that is not zero. Empty when all are zero. */
export function printPrivateData(view: DataView, at: number, length: number): string {
  let used = length
  while (used > 0 && view.getUint8(at + used - 1) === 0) used--
  return used === 0 ? '' : ` private ${used} bytes`
}
