/** Destinations of BGP routes: IPv4 prefixes (RFC 4271, section 4.3). */
import { formatIpv4 } from '../net/address.js'

/** An IPv4 prefix as a whole number: address x 64 + length. Prefixes in a map need no objects. */
export type PrefixKey = number

const LENGTHS = 64

export function prefixKey(address: number, length: number): PrefixKey {
  return masked(address, length) * LENGTHS + length
}

export function prefixAddress(key: PrefixKey): number {
  return Math.floor(key / LENGTHS)
}

export function prefixLength(key: PrefixKey): number {
  return key % LENGTHS
}

/** Prints `10.0.0.1/32`. */
export function formatPrefix(key: PrefixKey): string {
  return `${formatIpv4(prefixAddress(key))}/${prefixLength(key)}`
}

/** Bytes of a prefix in a message. */
export function prefixBytes(key: PrefixKey): number {
  return 1 + ((prefixLength(key) + 7) >> 3)
}

/** Reads the prefixes from `at` to `end`; null where one is malformed. Bits behind the length do not count. */
export function readPrefixes(view: DataView, at: number, end: number): PrefixKey[] | null {
  const keys: PrefixKey[] = []
  for (let next = at; next < end; ) {
    const length = view.getUint8(next)
    const bytes = (length + 7) >> 3
    if (length > 32 || next + 1 + bytes > end) return null
    let address = 0
    for (let i = 0; i < bytes; i++) address += view.getUint8(next + 1 + i) * 2 ** (24 - 8 * i)
    keys.push(prefixKey(address, length))
    next += 1 + bytes
  }
  return keys
}

/** Writes a prefix. Returns its end. */
export function writePrefix(view: DataView, at: number, key: PrefixKey): number {
  const bytes = prefixBytes(key)
  const address = prefixAddress(key)
  view.setUint8(at, prefixLength(key))
  for (let i = 1; i < bytes; i++) view.setUint8(at + i, (address >>> (32 - 8 * i)) & 0xff)
  return at + bytes
}

function masked(address: number, length: number): number {
  return length === 0 ? 0 : (address & (0xffff_ffff << (32 - length))) >>> 0
}
