import { formatIpv4, formatIpv6, HostAddress } from '../../wire/net/address.js'

/**
 * Converts addresses between the text of the socket API and the bytes of headers. It remembers both
 * directions, so that no packet creates a string. The cache is bounded: a full one is emptied, because peers
 * are few.
 */
const CACHE_ENTRIES_MAX = 4096
/** Slots of the direct-mapped cache of IPv6 destinations. */
const SLOTS6 = 256

export class AddressCache {
  readonly #addresses = new Map<string, HostAddress>()
  readonly #text4 = new Map<number, string>()
  readonly #words6 = new Uint32Array(SLOTS6 * 4)
  readonly #text6: string[] = new Array(SLOTS6).fill('::')

  /** An IPv4 address as an unsigned 32-bit number. */
  ipv4Of(text: string): number {
    return this.#parsed(text).ipv4
  }

  /** An IPv6 address, with or without a zone, as 16 bytes. Do not write to them. */
  gidOf(text: string): Uint8Array {
    return this.#parsed(text).gid
  }

  text4(address: number): string {
    const known = this.#text4.get(address)
    if (known !== undefined) return known
    const text = formatIpv4(address)
    if (this.#text4.size >= CACHE_ENTRIES_MAX) this.#text4.clear()
    this.#text4.set(address, text)
    return text
  }

  /** The text of the IPv6 address at offset `at`. */
  text6(view: DataView, at: number): string {
    const a = view.getUint32(at)
    const b = view.getUint32(at + 4)
    const c = view.getUint32(at + 8)
    const d = view.getUint32(at + 12)
    const slot = Math.imul(a ^ b ^ c ^ d, 0x9e3779b1) >>> 24
    const words = this.#words6
    const w = slot * 4
    if (words[w] !== a || words[w + 1] !== b || words[w + 2] !== c || words[w + 3] !== d) {
      words[w] = a
      words[w + 1] = b
      words[w + 2] = c
      words[w + 3] = d
      this.#text6[slot] = formatIpv6(new Uint8Array(view.buffer, view.byteOffset, view.byteLength), at)
    }
    return this.#text6[slot]!
  }

  #parsed(text: string): HostAddress {
    const known = this.#addresses.get(text)
    if (known !== undefined) return known
    const zone = text.indexOf('%')
    const address = HostAddress.parse(zone < 0 ? text : text.slice(0, zone))
    if (this.#addresses.size >= CACHE_ENTRIES_MAX) this.#addresses.clear()
    this.#addresses.set(text, address)
    return address
  }
}
