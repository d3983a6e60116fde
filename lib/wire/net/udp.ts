/** UDP header (RFC 768), big-endian, and the ports that Weir uses. */
import { WireError } from '../bytes/wire-error.js'

export const BYTES = 8
/** RoCEv2 (IBA annex A17). */
export const PORT_ROCE = 4791
/** RoCEv2 after an INT shim, Weir's default. */
export const PORT_INT = 4792
/** VXLAN (RFC 7348). */
export const PORT_VXLAN = 4789

const SOURCE_PORT = 0
const DESTINATION_PORT = 2
const LENGTH = 4
const CHECKSUM = 6

/** `end` bounds the header, `wireEnd` the whole datagram. */
export function check(view: DataView, at: number, end: number, wireEnd: number = end): WireError {
  if (end - at < BYTES) return WireError.SHORT_UDP
  const bytes = length(view, at)
  return bytes < BYTES || at + bytes > wireEnd ? WireError.BAD_UDP_LENGTH : WireError.OK
}

export function sourcePort(view: DataView, at: number): number {
  return view.getUint16(at + SOURCE_PORT)
}

export function destinationPort(view: DataView, at: number): number {
  return view.getUint16(at + DESTINATION_PORT)
}

/** Bytes of header and payload. */
export function length(view: DataView, at: number): number {
  return view.getUint16(at + LENGTH)
}

/** 0: the sender computed none, as RoCEv2 senders do. */
export function checksum(view: DataView, at: number): number {
  return view.getUint16(at + CHECKSUM)
}

export function setSourcePort(view: DataView, at: number, value: number): void {
  view.setUint16(at + SOURCE_PORT, value)
}

export function setDestinationPort(view: DataView, at: number, value: number): void {
  view.setUint16(at + DESTINATION_PORT, value)
}

export function setLength(view: DataView, at: number, value: number): void {
  view.setUint16(at + LENGTH, value)
}

export function setChecksum(view: DataView, at: number, value: number): void {
  view.setUint16(at + CHECKSUM, value)
}

export function write(
  view: DataView,
  at: number,
  from: number,
  to: number,
  bytes: number,
  sum: number = 0,
): void {
  view.setUint16(at + SOURCE_PORT, from)
  view.setUint16(at + DESTINATION_PORT, to)
  view.setUint16(at + LENGTH, bytes)
  view.setUint16(at + CHECKSUM, sum)
}

export function print(view: DataView, at: number): string {
  return `UDP ${sourcePort(view, at)} > ${destinationPort(view, at)} length ${length(view, at) - BYTES}`
}
