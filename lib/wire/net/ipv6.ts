/** IPv6 header (RFC 8200), big-endian. */

import { WireError } from '../bytes/wire-error.js'
import { formatIpv6 } from './address.js'

export const BYTES = 40
/** Next header: hop-by-hop options. */
export const HOP_BY_HOP = 0

const VERSION_CLASS_LABEL = 0
const PAYLOAD_LENGTH = 4
const NEXT_HEADER = 6
const HOP_LIMIT = 7
const SOURCE = 8
const DESTINATION = 24

/** `end` bounds the header, `wireEnd` the whole packet. */
export function check(view: DataView, at: number, end: number, wireEnd: number = end): WireError {
  if (end - at < BYTES) return WireError.SHORT_IPV6
  if (version(view, at) !== 6) return WireError.BAD_IPV6_HEADER
  return at + BYTES + payloadLength(view, at) > wireEnd ? WireError.BAD_IPV6_LENGTH : WireError.OK
}

export function version(view: DataView, at: number): number {
  return view.getUint8(at + VERSION_CLASS_LABEL) >>> 4
}

export function trafficClass(view: DataView, at: number): number {
  return (view.getUint16(at + VERSION_CLASS_LABEL) >>> 4) & 0xff
}

export function dscp(view: DataView, at: number): number {
  return trafficClass(view, at) >>> 2
}

/** As in ipv4.ts: 0 not ECT, 1 and 2 ECT, 3 CE. */
export function ecn(view: DataView, at: number): number {
  return trafficClass(view, at) & 3
}

export function flowLabel(view: DataView, at: number): number {
  return view.getUint32(at + VERSION_CLASS_LABEL) & 0xfffff
}

/** Bytes after this header. */
export function payloadLength(view: DataView, at: number): number {
  return view.getUint16(at + PAYLOAD_LENGTH)
}

export function nextHeader(view: DataView, at: number): number {
  return view.getUint8(at + NEXT_HEADER)
}

export function hopLimit(view: DataView, at: number): number {
  return view.getUint8(at + HOP_LIMIT)
}

/** One of the four 32-bit words of the source address. */
export function sourceWord(view: DataView, at: number, index: number): number {
  return view.getUint32(at + SOURCE + 4 * index)
}

/** One of the four 32-bit words of the destination address. */
export function destinationWord(view: DataView, at: number, index: number): number {
  return view.getUint32(at + DESTINATION + 4 * index)
}

export function setTrafficClass(view: DataView, at: number, value: number): void {
  view.setUint16(at + VERSION_CLASS_LABEL, (view.getUint16(at) & 0xf00f) | (value << 4))
}

export function setPayloadLength(view: DataView, at: number, value: number): void {
  view.setUint16(at + PAYLOAD_LENGTH, value)
}

export function setNextHeader(view: DataView, at: number, value: number): void {
  view.setUint8(at + NEXT_HEADER, value)
}

export function setHopLimit(view: DataView, at: number, value: number): void {
  view.setUint8(at + HOP_LIMIT, value)
}

/** @param from 16 bytes */
export function setSource(view: DataView, at: number, from: Uint8Array): void {
  for (let i = 0; i < 16; i++) view.setUint8(at + SOURCE + i, from[i]!)
}

/** @param to 16 bytes */
export function setDestination(view: DataView, at: number, to: Uint8Array): void {
  for (let i = 0; i < 16; i++) view.setUint8(at + DESTINATION + i, to[i]!)
}

export interface Ipv6Header {
  /** DSCP and ECN. */
  trafficClass: number
  /** 20 bits. */
  flowLabel: number
  payloadLength: number
  nextHeader: number
  hopLimit: number
  /** 16 bytes. */
  source: Uint8Array
  /** 16 bytes. */
  destination: Uint8Array
}

export function write(view: DataView, at: number, header: Ipv6Header): void {
  const { trafficClass, flowLabel } = header
  view.setUint32(at + VERSION_CLASS_LABEL, ((6 << 28) | (trafficClass << 20) | (flowLabel & 0xfffff)) >>> 0)
  view.setUint16(at + PAYLOAD_LENGTH, header.payloadLength)
  view.setUint8(at + NEXT_HEADER, header.nextHeader)
  view.setUint8(at + HOP_LIMIT, header.hopLimit)
  setSource(view, at, header.source)
  setDestination(view, at, header.destination)
}

/**
 * Decrements the hop limit. Returns false when it is 0 or 1. Then the packet has expired and is unchanged.
 */
export function decrementHopLimit(view: DataView, at: number): boolean {
  const hops = hopLimit(view, at)
  if (hops < 2) return false
  setHopLimit(view, at, hops - 1)
  return true
}

export function setEcn(view: DataView, at: number, codepoint: number): void {
  view.setUint8(at + 1, (view.getUint8(at + 1) & 0xcf) | (codepoint << 4))
}

/** Sets the DSCP, 0 to 63. */
export function setDscp(view: DataView, at: number, codepoint: number): void {
  setTrafficClass(view, at, (codepoint << 2) | ecn(view, at))
}

/** Marks Congestion Experienced. */
export function markCe(view: DataView, at: number): void {
  setEcn(view, at, 3)
}

const ECN_NAMES = ['', ' ect1', ' ect0', ' ce']

export function print(view: DataView, at: number): string {
  const bytes = new Uint8Array(view.buffer, view.byteOffset + at, BYTES)
  const mark = ECN_NAMES[ecn(view, at)]
  return `IP6 ${formatIpv6(bytes, SOURCE)} > ${formatIpv6(bytes, DESTINATION)} hlim ${hopLimit(view, at)}${mark}`
}
