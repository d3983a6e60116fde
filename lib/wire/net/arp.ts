/** ARP (RFC 826) for IPv4 over Ethernet: 28 bytes, all fields big-endian. */
import { formatIpv4 } from './address.js'
import { formatMac, type MacAddress, readMac, writeMac } from './mac.js'

export const BYTES = 28

export const REQUEST = 1
export const REPLY = 2

const HARDWARE_PROTOCOL = 0
const LENGTHS = 4
const OPERATION = 6
const SENDER_MAC = 8
const SENDER_ADDRESS = 14
const TARGET_MAC = 18
const TARGET_ADDRESS = 24

/** Hardware type 1 (Ethernet), protocol type IPv4. */
const ETHERNET_IPV4 = 0x0001_0800
/** 6 bytes of MAC address, 4 of IPv4 address. */
const ADDRESS_LENGTHS = 0x0604

/** Returns true for a whole packet of this kind. */
export function check(view: DataView, at: number, end: number): boolean {
  if (end - at < BYTES) return false
  return (
    view.getUint32(at + HARDWARE_PROTOCOL) === ETHERNET_IPV4 &&
    view.getUint16(at + LENGTHS) === ADDRESS_LENGTHS
  )
}

export function operation(view: DataView, at: number): number {
  return view.getUint16(at + OPERATION)
}

export function senderMac(view: DataView, at: number): MacAddress {
  return readMac(view, at + SENDER_MAC)
}

export function senderAddress(view: DataView, at: number): number {
  return view.getUint32(at + SENDER_ADDRESS)
}

export function targetAddress(view: DataView, at: number): number {
  return view.getUint32(at + TARGET_ADDRESS)
}

export function write(
  view: DataView,
  at: number,
  op: number,
  fromMac: MacAddress,
  from: number,
  toMac: MacAddress,
  to: number,
): void {
  view.setUint32(at + HARDWARE_PROTOCOL, ETHERNET_IPV4)
  view.setUint16(at + LENGTHS, ADDRESS_LENGTHS)
  view.setUint16(at + OPERATION, op)
  writeMac(view, at + SENDER_MAC, fromMac)
  view.setUint32(at + SENDER_ADDRESS, from)
  writeMac(view, at + TARGET_MAC, toMac)
  view.setUint32(at + TARGET_ADDRESS, to)
}

/**
 * Prints as tcpdump does: `ARP who-has 10.0.0.2 tell 10.0.0.1`, `ARP reply 10.0.0.1 is-at 02:00:00:00:00:01`.
 */
export function print(view: DataView, at: number): string {
  const op = operation(view, at)
  const from = formatIpv4(senderAddress(view, at))
  if (op === REQUEST) return `ARP who-has ${formatIpv4(targetAddress(view, at))} tell ${from}`
  return op === REPLY ? `ARP reply ${from} is-at ${formatMac(senderMac(view, at))}` : `ARP operation ${op}`
}
