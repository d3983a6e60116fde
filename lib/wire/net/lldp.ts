/**
 * LLDP (IEEE Std 802.1AB-2016): an Ethernet frame of type 0x88cc with a list of TLVs. Each has 7 bits of type, 9 bits of
 * length and a value (section 8.4). Chassis ID, port ID and TTL come first, in this order, once each (section 8.2).
 */
import { WireError } from '../bytes/wire-error.js'
import type { MacAddress } from './mac.js'
import { writeMac } from './mac.js'

/** The nearest bridge's group address, which no bridge forwards (table 7-1). */
export const NEAREST_BRIDGE: MacAddress = 0x0180_c200_000e

const END = 0
const CHASSIS_ID = 1
const PORT_ID = 2
const TTL = 3
const SYSTEM_NAME = 5
const ORGANISATIONAL = 127

const CHASSIS_MAC = 4
const PORT_LOCAL = 7

const HEADER = 2
const VALUE_BYTES_MAX = 511
/** A subtype, and 1 to 255 bytes (sections 8.5.2, 8.5.3). */
const ID_BYTES_MAX = 256
const NAME_BYTES_MAX = 255
/** OUI and subtype. */
const ORGANISATIONAL_HEADER = 4

/** What an LLDPDU begins with. */
interface LldpSender {
  chassis: MacAddress
  /** Name of the port, at most 255 bytes of ASCII. */
  port: string
  /** 0 withdraws what the sender has said before (section 9.2.7.2). */
  ttlSeconds: number
  /** At most 255 bytes of ASCII. */
  systemName: string
}

/** Returns OK for a whole LLDPDU from `at` on. What a receiver does not know it skips (section 9.2.7.7). */
export function check(view: DataView, at: number, end: number): WireError {
  let index = 0
  for (let tlv = at; tlv < end; index++) {
    if (end - tlv < HEADER) return index < TTL ? WireError.SHORT_LLDP : WireError.OK
    const type = typeOf(view, tlv)
    const bytes = lengthOf(view, tlv)
    if (type === END) return index < TTL ? WireError.BAD_LLDP : WireError.OK
    if (end - tlv - HEADER < bytes) return WireError.SHORT_LLDP
    // The first three have the types 1 to 3, and none after them has.
    if (index < TTL ? type !== index + 1 : type <= TTL) return WireError.BAD_LLDP
    if ((type === CHASSIS_ID || type === PORT_ID) && (bytes < 2 || bytes > ID_BYTES_MAX))
      return WireError.BAD_LLDP
    if (type === TTL && bytes < 2) return WireError.BAD_LLDP
    if (type === SYSTEM_NAME && bytes > NAME_BYTES_MAX) return WireError.BAD_LLDP
    if (type === ORGANISATIONAL && bytes < ORGANISATIONAL_HEADER) return WireError.BAD_LLDP
    tlv += HEADER + bytes
  }
  return index < TTL ? WireError.SHORT_LLDP : WireError.OK
}

/** Seconds for which the receiver keeps what the frame says. */
export function ttlSeconds(view: DataView, at: number): number {
  const port = at + HEADER + lengthOf(view, at)
  return view.getUint16(port + HEADER + lengthOf(view, port) + HEADER)
}

/** The sender's name of its port, as bytes of ASCII. */
export function portId(view: DataView, at: number): string {
  const port = at + HEADER + lengthOf(view, at)
  return textAt(view, port + HEADER + 1, lengthOf(view, port) - 1)
}

/** The sender's name, or "" where it gives none. */
export function systemName(view: DataView, at: number, end: number): string {
  const tlv = find(view, at, end, candidate => typeOf(view, candidate) === SYSTEM_NAME)
  return tlv < 0 ? '' : textAt(view, tlv + HEADER, lengthOf(view, tlv))
}

/** Where the value of an organisational TLV begins, behind OUI and subtype, or -1. */
export function findOrganisational(
  view: DataView,
  at: number,
  end: number,
  oui: number,
  subtype: number,
): number {
  const tlv = find(
    view,
    at,
    end,
    candidate =>
      typeOf(view, candidate) === ORGANISATIONAL &&
      view.getUint32(candidate + HEADER) === ((oui << 8) | subtype) >>> 0,
  )
  return tlv < 0 ? -1 : tlv + HEADER + ORGANISATIONAL_HEADER
}

/** Bytes of the value that `findOrganisational` has found. */
export function organisationalBytes(view: DataView, value: number): number {
  return lengthOf(view, value - ORGANISATIONAL_HEADER - HEADER) - ORGANISATIONAL_HEADER
}

/** Writes the mandatory TLVs and the system's name. Returns where the next TLV begins. */
export function writeSender(view: DataView, at: number, sender: LldpSender): number {
  writeHeader(view, at, CHASSIS_ID, 7)
  view.setUint8(at + HEADER, CHASSIS_MAC)
  writeMac(view, at + HEADER + 1, sender.chassis)
  const port = at + HEADER + 7
  const portBytes = writeText(view, port + HEADER + 1, sender.port)
  writeHeader(view, port, PORT_ID, 1 + portBytes)
  view.setUint8(port + HEADER, PORT_LOCAL)
  const ttl = port + HEADER + 1 + portBytes
  writeHeader(view, ttl, TTL, 2)
  view.setUint16(ttl + HEADER, sender.ttlSeconds)
  const name = ttl + HEADER + 2
  const nameBytes = writeText(view, name + HEADER, sender.systemName)
  writeHeader(view, name, SYSTEM_NAME, nameBytes)
  return name + HEADER + nameBytes
}

/** Begins an organisational TLV with that many bytes of value. Returns where the value begins. */
export function beginOrganisational(
  view: DataView,
  at: number,
  oui: number,
  subtype: number,
  bytes: number,
): number {
  writeHeader(view, at, ORGANISATIONAL, ORGANISATIONAL_HEADER + bytes)
  view.setUint32(at + HEADER, ((oui << 8) | subtype) >>> 0)
  return at + HEADER + ORGANISATIONAL_HEADER
}

/** Writes the last TLV. Returns the end of the LLDPDU. */
export function writeEnd(view: DataView, at: number): number {
  writeHeader(view, at, END, 0)
  return at + HEADER
}

export function print(view: DataView, at: number, end: number): string {
  const name = systemName(view, at, end)
  return `LLDP ${name === '' ? '?' : name} port ${portId(view, at)} ttl ${ttlSeconds(view, at)}`
}

function find(view: DataView, at: number, end: number, wanted: (tlv: number) => boolean): number {
  for (let tlv = at; end - tlv >= HEADER; tlv += HEADER + lengthOf(view, tlv)) {
    if (typeOf(view, tlv) === END) return -1
    if (wanted(tlv)) return tlv
  }
  return -1
}

function typeOf(view: DataView, tlv: number): number {
  return view.getUint16(tlv) >>> 9
}

function lengthOf(view: DataView, tlv: number): number {
  return view.getUint16(tlv) & VALUE_BYTES_MAX
}

function writeHeader(view: DataView, tlv: number, type: number, bytes: number): void {
  view.setUint16(tlv, (type << 9) | bytes)
}

/** Characters that are no printable ASCII become "?". */
function textAt(view: DataView, at: number, bytes: number): string {
  let text = ''
  for (let i = 0; i < bytes; i++) {
    const byte = view.getUint8(at + i)
    text += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '?'
  }
  return text
}

function writeText(view: DataView, at: number, text: string): number {
  const bytes = Math.min(text.length, NAME_BYTES_MAX)
  for (let i = 0; i < bytes; i++) view.setUint8(at + i, text.charCodeAt(i) & 0x7f)
  return bytes
}
