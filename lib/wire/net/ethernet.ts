/** Ethernet II header, and the VLAN tag of IEEE 802.1Q. All fields big-endian. */

import { WireError } from '../bytes/wire-error.js'
import { formatMac, type MacAddress, readMac, writeMac } from './mac.js'

export const BYTES = 14
/** With one VLAN tag. */
export const TAGGED_BYTES = 18

export const TYPE_IPV4 = 0x0800
export const TYPE_ARP = 0x0806
export const TYPE_VLAN = 0x8100
export const TYPE_IPV6 = 0x86dd
/** MAC control: PAUSE and PFC. */
export const TYPE_MAC_CONTROL = 0x8808
export const TYPE_LLDP = 0x88cc

const DESTINATION = 0
const SOURCE = 6
const TYPE = 12
const TAG = 14
const TAGGED_TYPE = 16

export function check(view: DataView, at: number, end: number): WireError {
  if (end - at < BYTES) return WireError.SHORT_ETHERNET
  if (hasVlan(view, at) && end - at < TAGGED_BYTES) return WireError.SHORT_ETHERNET
  return WireError.OK
}

export function destination(view: DataView, at: number): MacAddress {
  return readMac(view, at + DESTINATION)
}

export function source(view: DataView, at: number): MacAddress {
  return readMac(view, at + SOURCE)
}

export function hasVlan(view: DataView, at: number): boolean {
  return view.getUint16(at + TYPE) === TYPE_VLAN
}

/** Bytes up to the payload: 14, or 18 with a VLAN tag. */
export function headerBytes(view: DataView, at: number): number {
  return hasVlan(view, at) ? TAGGED_BYTES : BYTES
}

/** The EtherType of the payload: the one after the VLAN tag, if there is a tag. */
export function etherType(view: DataView, at: number): number {
  return view.getUint16(at + (hasVlan(view, at) ? TAGGED_TYPE : TYPE))
}

/** Priority code point, 0 to 7; only with a tag. */
export function vlanPriority(view: DataView, at: number): number {
  return view.getUint16(at + TAG) >>> 13
}

/** 0 to 4095; only with a tag. */
export function vlanId(view: DataView, at: number): number {
  return view.getUint16(at + TAG) & 0x0fff
}

export function setDestination(view: DataView, at: number, mac: MacAddress): void {
  writeMac(view, at + DESTINATION, mac)
}

export function setSource(view: DataView, at: number, mac: MacAddress): void {
  writeMac(view, at + SOURCE, mac)
}

export function setVlanPriority(view: DataView, at: number, priority: number): void {
  view.setUint16(at + TAG, (view.getUint16(at + TAG) & 0x1fff) | (priority << 13))
}

export function write(view: DataView, at: number, to: MacAddress, from: MacAddress, type: number): void {
  writeMac(view, at + DESTINATION, to)
  writeMac(view, at + SOURCE, from)
  view.setUint16(at + TYPE, type)
}

/** Writes the header with a VLAN tag: 18 bytes. */
export function writeTagged(
  view: DataView,
  at: number,
  to: MacAddress,
  from: MacAddress,
  priority: number,
  dropEligible: boolean,
  vlan: number,
  type: number,
): void {
  write(view, at, to, from, TYPE_VLAN)
  view.setUint16(at + TAG, (priority << 13) | (dropEligible ? 0x1000 : 0) | (vlan & 0x0fff))
  view.setUint16(at + TAGGED_TYPE, type)
}

export function print(view: DataView, at: number): string {
  const tag = hasVlan(view, at) ? ` vlan ${vlanId(view, at)} p ${vlanPriority(view, at)}` : ''
  const type = etherType(view, at).toString(16).padStart(4, '0')
  return `${formatMac(source(view, at))} > ${formatMac(destination(view, at))}${tag} type 0x${type}`
}
