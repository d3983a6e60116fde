/** ICMP (RFC 792): header of 8 bytes, all fields big-endian. */
import { foldChecksum, sumWords } from './l4-checksum.js'

export const PROTOCOL = 1
export const BYTES = 8

export const TYPE_TIME_EXCEEDED = 11

const TYPE = 0
const CODE = 1
const CHECKSUM = 2
const REST = 4

export function type(view: DataView, at: number): number {
  return view.getUint8(at + TYPE)
}

/**
 * Returns true for messages that report an error. No error may be sent about them (RFC 1122, section 3.2.2).
 */
export function isError(view: DataView, at: number): boolean {
  const what = type(view, at)
  return what === 3 || what === 4 || what === 5 || what === TYPE_TIME_EXCEEDED || what === 12
}

/** Writes the header, with its checksum, of a message whose data, up to `end`, is already present. */
export function write(view: DataView, at: number, end: number, messageType: number, code: number): void {
  view.setUint8(at + TYPE, messageType)
  view.setUint8(at + CODE, code)
  view.setUint16(at + CHECKSUM, 0)
  view.setUint32(at + REST, 0)
  view.setUint16(at + CHECKSUM, foldChecksum(sumWords(view, at, end, 0)))
}
