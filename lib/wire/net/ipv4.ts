/** IPv4 header (RFC 791, ECN: RFC 3168), big-endian. */

import { WireError } from '../bytes/wire-error.js'
import { formatIpv4 } from './address.js'

/** Without options. */
export const BYTES = 20
export const PROTOCOL_ICMP = 1
export const PROTOCOL_TCP = 6
export const PROTOCOL_UDP = 17

/** ECN codepoints: the low two bits of TOS. */
export const ECN_NOT_ECT = 0
export const ECN_ECT1 = 1
export const ECN_ECT0 = 2
export const ECN_CE = 3

const VERSION_IHL = 0
const TOS = 1
const TOTAL_LENGTH = 2
const IDENTIFICATION = 4
const FRAGMENT = 6
const TTL = 8
const PROTOCOL = 9
const CHECKSUM = 10
const SOURCE = 12
const DESTINATION = 16

const DONT_FRAGMENT = 0x4000

/** Checks version, header length and total length; `end` bounds the header, `wireEnd` the whole packet. */
export function check(view: DataView, at: number, end: number, wireEnd: number = end): WireError {
  if (end - at < BYTES) return WireError.SHORT_IPV4
  const first = view.getUint8(at + VERSION_IHL)
  const header = (first & 0x0f) * 4
  if (first >>> 4 !== 4 || header < BYTES) return WireError.BAD_IPV4_HEADER
  if (end - at < header) return WireError.SHORT_IPV4
  const total = view.getUint16(at + TOTAL_LENGTH)
  return total < header || at + total > wireEnd ? WireError.BAD_IPV4_LENGTH : WireError.OK
}

export function version(view: DataView, at: number): number {
  return view.getUint8(at + VERSION_IHL) >>> 4
}

/** Bytes of the header with options, 20 to 60. */
export function headerBytes(view: DataView, at: number): number {
  return (view.getUint8(at + VERSION_IHL) & 0x0f) * 4
}

export function tos(view: DataView, at: number): number {
  return view.getUint8(at + TOS)
}

export function dscp(view: DataView, at: number): number {
  return view.getUint8(at + TOS) >>> 2
}

export function ecn(view: DataView, at: number): number {
  return view.getUint8(at + TOS) & 3
}

/** Bytes of header and payload. */
export function totalLength(view: DataView, at: number): number {
  return view.getUint16(at + TOTAL_LENGTH)
}

export function identification(view: DataView, at: number): number {
  return view.getUint16(at + IDENTIFICATION)
}

export function dontFragment(view: DataView, at: number): boolean {
  return (view.getUint16(at + FRAGMENT) & DONT_FRAGMENT) !== 0
}

/** In units of 8 bytes. */
export function fragmentOffset(view: DataView, at: number): number {
  return view.getUint16(at + FRAGMENT) & 0x1fff
}

/** Returns true for any fragment of a datagram. */
export function isFragment(view: DataView, at: number): boolean {
  return (view.getUint16(at + FRAGMENT) & 0x3fff) !== 0
}

export function ttl(view: DataView, at: number): number {
  return view.getUint8(at + TTL)
}

export function protocol(view: DataView, at: number): number {
  return view.getUint8(at + PROTOCOL)
}

export function checksum(view: DataView, at: number): number {
  return view.getUint16(at + CHECKSUM)
}

export function source(view: DataView, at: number): number {
  return view.getUint32(at + SOURCE)
}

export function destination(view: DataView, at: number): number {
  return view.getUint32(at + DESTINATION)
}

/** The plain setters do not change the checksum. Call `updateChecksum` after them. */
export function setTos(view: DataView, at: number, value: number): void {
  view.setUint8(at + TOS, value)
}

export function setTotalLength(view: DataView, at: number, value: number): void {
  view.setUint16(at + TOTAL_LENGTH, value)
}

export function setIdentification(view: DataView, at: number, value: number): void {
  view.setUint16(at + IDENTIFICATION, value)
}

export function setTtl(view: DataView, at: number, value: number): void {
  view.setUint8(at + TTL, value)
}

export function setProtocol(view: DataView, at: number, value: number): void {
  view.setUint8(at + PROTOCOL, value)
}

export function setChecksum(view: DataView, at: number, value: number): void {
  view.setUint16(at + CHECKSUM, value)
}

export function setSource(view: DataView, at: number, value: number): void {
  view.setUint32(at + SOURCE, value)
}

export function setDestination(view: DataView, at: number, value: number): void {
  view.setUint32(at + DESTINATION, value)
}

/** A header without options. */
export interface Ipv4Header {
  /** DSCP and ECN. */
  tos: number
  totalLength: number
  identification: number
  dontFragment: boolean
  ttl: number
  protocol: number
  source: number
  destination: number
}

/** Writes the header, with its checksum. */
export function write(view: DataView, at: number, header: Ipv4Header): void {
  view.setUint16(at + VERSION_IHL, 0x4500 | header.tos)
  view.setUint16(at + TOTAL_LENGTH, header.totalLength)
  view.setUint16(at + IDENTIFICATION, header.identification)
  view.setUint16(at + FRAGMENT, header.dontFragment ? DONT_FRAGMENT : 0)
  view.setUint16(at + TTL, (header.ttl << 8) | header.protocol)
  view.setUint32(at + SOURCE, header.source)
  view.setUint32(at + DESTINATION, header.destination)
  updateChecksum(view, at)
}

/** Returns the correct value of the checksum field (RFC 1071). */
export function computeChecksum(view: DataView, at: number): number {
  const end = at + headerBytes(view, at)
  let sum = -view.getUint16(at + CHECKSUM)
  for (let i = at; i < end; i += 2) sum += view.getUint16(i)
  sum = (sum & 0xffff) + (sum >>> 16)
  sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}

export function updateChecksum(view: DataView, at: number): void {
  view.setUint16(at + CHECKSUM, computeChecksum(view, at))
}

export function verifyChecksum(view: DataView, at: number): boolean {
  return computeChecksum(view, at) === view.getUint16(at + CHECKSUM)
}

/**
 * Decrements the TTL and updates the checksum in place (RFC 1624). Returns false when the TTL is 0 or 1. Then
 * the packet has expired, is unchanged, and must not be forwarded.
 */
export function decrementTtl(view: DataView, at: number): boolean {
  const old = view.getUint16(at + TTL)
  if (old < 0x0200) return false
  replaceWord(view, at, at + TTL, old, old - 0x0100)
  return true
}

/**
 * Makes the packet longer and updates the checksum in place.
 *
 * @param bytes so many that the total length stays below 65,536
 */
export function addLength(view: DataView, at: number, bytes: number): void {
  const old = view.getUint16(at + TOTAL_LENGTH)
  replaceWord(view, at, at + TOTAL_LENGTH, old, old + bytes)
}

/** Sets the protocol and updates the checksum in place. */
export function replaceProtocol(view: DataView, at: number, protocolNumber: number): void {
  const old = view.getUint16(at + TTL)
  replaceWord(view, at, at + TTL, old, (old & 0xff00) | protocolNumber)
}

/** Sets the ECN codepoint and updates the checksum in place. */
export function setEcn(view: DataView, at: number, codepoint: number): void {
  const old = view.getUint16(at + VERSION_IHL)
  replaceWord(view, at, at + VERSION_IHL, old, (old & 0xfffc) | codepoint)
}

/** Sets the DSCP, 0 to 63, and updates the checksum in place. */
export function setDscp(view: DataView, at: number, codepoint: number): void {
  const old = view.getUint16(at + VERSION_IHL)
  replaceWord(view, at, at + VERSION_IHL, old, (old & 0xff03) | (codepoint << 2))
}

/** Marks Congestion Experienced. */
export function markCe(view: DataView, at: number): void {
  setEcn(view, at, ECN_CE)
}

/** RFC 1624, equation 3: HC' = ~(~HC + ~m + m'). */
function replaceWord(view: DataView, at: number, wordAt: number, old: number, value: number): void {
  view.setUint16(wordAt, value)
  let sum = (~view.getUint16(at + CHECKSUM) & 0xffff) + (~old & 0xffff) + value
  sum = (sum & 0xffff) + (sum >>> 16)
  sum = (sum & 0xffff) + (sum >>> 16)
  view.setUint16(at + CHECKSUM, ~sum & 0xffff)
}

const ECN_NAMES = ['', ' ect1', ' ect0', ' ce']

export function print(view: DataView, at: number): string {
  const mark = ECN_NAMES[ecn(view, at)]
  const fragment = isFragment(view, at) ? ` frag ${fragmentOffset(view, at) * 8}` : ''
  return `IP ${formatIpv4(source(view, at))} > ${formatIpv4(destination(view, at))} ttl ${ttl(view, at)}${mark}${fragment}`
}
