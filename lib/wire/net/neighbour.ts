/**
 * Neighbour solicitation and advertisement of IPv6 (RFC 4861, sections 4.3 and 4.4): ICMPv6 messages of 24
 * bytes and options, all fields big-endian.
 */
import { type MacAddress, writeMac } from './mac.js'

const TYPE_SOLICITATION = 135
const TYPE_ADVERTISEMENT = 136
/** Without options. */
export const BYTES = 24
/** With one option: a link-layer address. */
export const WITH_ADDRESS_BYTES = 32
/** The required hop limit: a packet with another one has crossed a router. */
export const HOP_LIMIT = 255

/** Flags: the message answers a solicitation, and replaces what the receiver knew. */
export const SOLICITED_OVERRIDE = 0x6000_0000

const TYPE_CODE = 0
const CHECKSUM = 2
const FLAGS = 4
const TARGET = 8
const OPTION = 24
/** Target link-layer address, in units of 8 bytes. */
const OPTION_TARGET_MAC = 0x0201

/** Returns true for a whole solicitation. Does not check the checksum. */
export function isSolicitation(view: DataView, at: number, end: number): boolean {
  return end - at >= BYTES && view.getUint16(at + TYPE_CODE) === TYPE_SOLICITATION << 8
}

/** Offset of the 16 bytes of the requested address. */
export function targetOffset(at: number): number {
  return at + TARGET
}

/** Writes an advertisement for the target address, which is already present. The checksum is 0. */
export function writeAdvertisement(view: DataView, at: number, flags: number, mac: MacAddress): void {
  view.setUint16(at + TYPE_CODE, TYPE_ADVERTISEMENT << 8)
  view.setUint16(at + CHECKSUM, 0)
  view.setUint32(at + FLAGS, flags)
  view.setUint16(at + OPTION, OPTION_TARGET_MAC)
  writeMac(view, at + OPTION + 2, mac)
}
