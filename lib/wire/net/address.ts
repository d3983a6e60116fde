import { isIPv4, isIPv6 } from 'node:net'
import { WeirError } from '../../errors.js'

export { formatMac, type MacAddress, parseMac } from './mac.js'

/**
 * A host's IPv4 or IPv6 address as RoCEv2 uses it: a 16-byte GID, in which IPv4 is the mapped form
 * ::ffff:a.b.c.d (IBA annex A17). It is for the control path. Packet handlers compare raw words instead.
 */
export class HostAddress {
  readonly family: 4 | 6
  /** 16 bytes. Do not write to them. */
  readonly gid: Uint8Array
  /** The IPv4 address as an unsigned 32-bit number. 0 for IPv6. */
  readonly ipv4: number
  #text: string | null = null

  private constructor(family: 4 | 6, gid: Uint8Array, ipv4: number) {
    this.family = family
    this.gid = gid
    this.ipv4 = ipv4
  }

  /** Parses an IPv4 or IPv6 address. A mapped one counts as IPv4. Throws WEIR_BAD_ARGUMENT. */
  static parse(text: string): HostAddress {
    if (typeof text !== 'string')
      throw new WeirError('WEIR_BAD_ARGUMENT', `an address is a string, as 10.0.0.1, not ${typeof text}`)
    if (isIPv4(text)) return HostAddress.fromIpv4(parseIpv4(text))
    if (isIPv6(text) && !text.includes('%')) return HostAddress.fromGid(parseIpv6(text), 0)
    const hint = text.includes('%') ? '; leave out the zone after "%"' : ''
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `"${text}" is no address: an IPv4 or IPv6 address is expected, as in 10.0.0.1 or fd00::1${hint}`,
    )
  }

  /** @param address unsigned 32-bit number, first byte highest */
  static fromIpv4(address: number): HostAddress {
    const gid = new Uint8Array(16)
    gid[10] = 0xff
    gid[11] = 0xff
    for (let i = 0; i < 4; i++) gid[12 + i] = (address >>> (24 - 8 * i)) & 0xff
    return new HostAddress(4, gid, address >>> 0)
  }

  /** Copies 16 bytes from `bytes` at `at`. Throws WEIR_BAD_ARGUMENT when there are fewer. */
  static fromGid(bytes: Uint8Array, at = 0): HostAddress {
    if (at < 0 || at + 16 > bytes.length) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `a GID has 16 bytes; only ${bytes.length - at} are there`)
    }
    const gid = Uint8Array.prototype.slice.call(bytes, at, at + 16)
    if (!isMapped(gid)) return new HostAddress(6, gid, 0)
    return HostAddress.fromIpv4(((gid[12]! << 24) | (gid[13]! << 16) | (gid[14]! << 8) | gid[15]!) >>> 0)
  }

  equals(other: HostAddress): boolean {
    if (this.family !== other.family || this.ipv4 !== other.ipv4) return false
    for (let i = 0; i < 16; i++) if (this.gid[i] !== other.gid[i]) return false
    return true
  }

  /** Returns a dotted quad, or the canonical text of RFC 5952. */
  toString(): string {
    this.#text ??= this.family === 4 ? formatIpv4(this.ipv4) : formatIpv6(this.gid, 0)
    return this.#text
  }
}

/** Prints an unsigned 32-bit number as a dotted quad. */
export function formatIpv4(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 0xff}.${(address >>> 8) & 0xff}.${address & 0xff}`
}

/** Prints 16 bytes according to RFC 5952: the first longest run of zero groups becomes "::". */
export function formatIpv6(bytes: Uint8Array, at: number): string {
  const groups: number[] = []
  for (let i = 0; i < 8; i++) groups.push((bytes[at + 2 * i]! << 8) | bytes[at + 2 * i + 1]!)
  let runStart = -1
  let runLength = 1
  for (let i = 0; i < 8; i++) {
    let length = 0
    while (i + length < 8 && groups[i + length] === 0) length++
    if (length > runLength) {
      runStart = i
      runLength = length
    }
  }
  const hex = (from: number, to: number) =>
    groups
      .slice(from, to)
      .map(g => g.toString(16))
      .join(':')
  return runStart < 0 ? hex(0, 8) : `${hex(0, runStart)}::${hex(runStart + runLength, 8)}`
}

function parseIpv4(text: string): number {
  return text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

/** `text` has passed isIPv6 and has no zone. */
function parseIpv6(text: string): Uint8Array {
  const gid = new Uint8Array(16)
  const [head = '', tail] = text.split('::')
  const first = groupBytes(head)
  gid.set(first, 0)
  if (tail !== undefined) {
    const last = groupBytes(tail)
    gid.set(last, 16 - last.length)
  }
  return gid
}

function groupBytes(text: string): number[] {
  const bytes: number[] = []
  for (const group of text.split(':')) {
    if (group === '') continue
    if (group.includes('.')) bytes.push(...group.split('.').map(Number))
    else bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff)
  }
  return bytes
}

function isMapped(gid: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (gid[i] !== 0) return false
  return gid[10] === 0xff && gid[11] === 0xff
}

const BROADCAST = 0xffff_ffff

/** Throws WEIR_UNSUPPORTED for multicast and broadcast addresses, WEIR_BAD_ARGUMENT for 0.0.0.0 and ::, which name no host. */
export function checkOneHost(what: string, { family, ipv4, gid }: HostAddress): void {
  const isGroup = family === 4 ? ipv4 >>> 28 === 0xe || ipv4 === BROADCAST : gid[0] === 0xff
  const name = family === 4 ? formatIpv4(ipv4) : formatIpv6(gid, 0)
  if (isGroup)
    throw new WeirError(
      'WEIR_UNSUPPORTED',
      `${what}: ${name} is a multicast or broadcast address; packets go to one host each`,
    )
  const isUnspecified = family === 4 ? ipv4 === 0 : gid.every(byte => byte === 0)
  if (isUnspecified)
    throw new WeirError('WEIR_BAD_ARGUMENT', `${what}: ${name} names no host; give an address that one has`)
}
