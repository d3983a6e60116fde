/** Header of a BGP message (RFC 4271, section 4.1), and the messages that are little more than that. */
import { type BgpFault, HEADER_FAULT, OPEN_FAULT } from './fault.js'

export const HEADER_BYTES = 19
export const MESSAGE_BYTES_MAX = 4096

export const BgpType = { OPEN: 1, UPDATE: 2, NOTIFICATION: 3, KEEPALIVE: 4, ROUTE_REFRESH: 5 } as const
export type BgpType = (typeof BgpType)[keyof typeof BgpType]

const MARKER_BYTES = 16
const LENGTH = 16
const TYPE = 18

const NOT_SYNCHRONISED = 1
const BAD_LENGTH = 2
const BAD_TYPE = 3

/** By type: the shortest message (RFC 4271, section 4), and whether it is the only length. */
const LENGTHS: Readonly<Record<number, { least: number; exact: boolean }>> = {
  [BgpType.OPEN]: { least: 29, exact: false },
  [BgpType.UPDATE]: { least: 23, exact: false },
  [BgpType.NOTIFICATION]: { least: 21, exact: false },
  [BgpType.KEEPALIVE]: { least: HEADER_BYTES, exact: true },
  // Longer ones carry filters (RFC 5291), which nobody has agreed to.
  [BgpType.ROUTE_REFRESH]: { least: 23, exact: true },
}

export function length(view: DataView, at: number): number {
  return view.getUint16(at + LENGTH)
}

export function type(view: DataView, at: number): number {
  return view.getUint8(at + TYPE)
}

/** Returns what is wrong with a whole header (RFC 4271, section 6.1), or null. */
export function check(view: DataView, at: number): BgpFault | null {
  for (let i = 0; i < MARKER_BYTES; i += 4) {
    if (view.getUint32(at + i) !== 0xffff_ffff) return fault(NOT_SYNCHRONISED)
  }
  const bytes = length(view, at)
  const wrongLength = () => fault(BAD_LENGTH, [bytes >>> 8, bytes & 0xff])
  if (bytes < HEADER_BYTES || bytes > MESSAGE_BYTES_MAX) return wrongLength()
  const rule = LENGTHS[type(view, at)]
  if (rule === undefined) return fault(BAD_TYPE, [type(view, at)])
  return bytes < rule.least || (rule.exact && bytes !== rule.least) ? wrongLength() : null
}

/** @param bytes of the whole message */
export function writeHeader(view: DataView, at: number, kind: BgpType, bytes: number): void {
  for (let i = 0; i < MARKER_BYTES; i += 4) view.setUint32(at + i, 0xffff_ffff)
  view.setUint16(at + LENGTH, bytes)
  view.setUint8(at + TYPE, kind)
}

export function writeKeepalive(view: DataView, at: number): number {
  writeHeader(view, at, BgpType.KEEPALIVE, HEADER_BYTES)
  return at + HEADER_BYTES
}

/** Asks for all IPv4 unicast routes once more (RFC 2918). */
export function writeRouteRefresh(view: DataView, at: number): number {
  writeHeader(view, at, BgpType.ROUTE_REFRESH, HEADER_BYTES + 4)
  view.setUint16(at + HEADER_BYTES, AFI_IPV4)
  view.setUint8(at + HEADER_BYTES + 2, 0)
  view.setUint8(at + HEADER_BYTES + 3, SAFI_UNICAST)
  return at + HEADER_BYTES + 4
}

/** Returns true for a request for IPv4 unicast routes. Others are ignored (RFC 2918, section 4). */
export function refreshesIpv4(view: DataView, at: number): boolean {
  return (
    view.getUint16(at + HEADER_BYTES) === AFI_IPV4 && view.getUint8(at + HEADER_BYTES + 3) === SAFI_UNICAST
  )
}

export const AFI_IPV4 = 1
export const SAFI_UNICAST = 1

/** Writes a NOTIFICATION (RFC 4271, section 4.5). Returns its end. */
export function writeNotification(view: DataView, at: number, { code, subcode, data }: BgpFault): number {
  const room = MESSAGE_BYTES_MAX - HEADER_BYTES - 2
  const bytes = HEADER_BYTES + 2 + Math.min(data.length, room)
  writeHeader(view, at, BgpType.NOTIFICATION, bytes)
  view.setUint8(at + HEADER_BYTES, code)
  view.setUint8(at + HEADER_BYTES + 1, subcode)
  for (let i = 0; i < bytes - HEADER_BYTES - 2; i++) view.setUint8(at + HEADER_BYTES + 2 + i, data[i]!)
  return at + bytes
}

/** Reads a NOTIFICATION whose header is right. */
export function readNotification(view: DataView, at: number): BgpFault {
  const data = at + HEADER_BYTES + 2
  return {
    code: view.getUint8(at + HEADER_BYTES),
    subcode: view.getUint8(at + HEADER_BYTES + 1),
    data: new Uint8Array(view.buffer.slice(view.byteOffset + data, view.byteOffset + at + length(view, at))),
  }
}

function fault(subcode: number, data: readonly number[] = []): BgpFault {
  return { code: HEADER_FAULT, subcode, data: Uint8Array.from(data) }
}

/** The OPEN that names another version, as the answer to it: the largest version that is spoken here. */
export const UNSUPPORTED_VERSION: BgpFault = { code: OPEN_FAULT, subcode: 1, data: Uint8Array.of(0, 4) }
