/** A table of hosts by their addresses, IPv4 and IPv6, for lookups that allocate nothing. */
import { WeirError } from '../../../lib/errors.js'
import type { HostAddress } from '../../../lib/wire/net/address.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import { mix32 } from './mix32.js'

/** Addresses that a table may have, of each family. */
const ADDRESSES_MAX = 65_536
const SLOTS_AT_FIRST = 64
const V6_SOURCE = 8
const V6_DESTINATION = 24

/** The value of an address that the table does not have. */
export const NONE = -1

/** Small numbers, 0 or more, by address. */
export class AddressTable {
  readonly #v4: AddressMap
  readonly #v6: AddressMap
  readonly #key = new DataView(new ArrayBuffer(16))

  /** @param name of the table in messages */
  constructor(name: string) {
    this.#v4 = new AddressMap(name, 1)
    this.#v6 = new AddressMap(name, 4)
  }

  get size(): number {
    return this.#v4.size + this.#v6.size
  }

  /** Adds or replaces an entry. Throws WEIR_FULL. */
  set(address: HostAddress, value: number): void {
    this.#writeKey(address)
    if (address.family === 4) this.#v4.set(this.#key, value)
    else this.#v6.set(this.#key, value)
  }

  /** Returns the value of an address, or NONE. */
  get(address: HostAddress): number {
    if (address.family === 4) return this.#v4.get1(address.ipv4)
    this.#writeKey(address)
    return this.#v6.get4(this.#key, 0)
  }

  /** Returns the value of an IPv4 address, or NONE. */
  ofIpv4(address: number): number {
    return this.#v4.get1(address)
  }

  /** Returns the value of the destination of the IP packet at `l3`, or NONE. */
  destination(view: DataView, l3: number): number {
    if (ipv4.version(view, l3) === 4) return this.#v4.get1(ipv4.destination(view, l3))
    return this.#v6.get4(view, l3 + V6_DESTINATION)
  }

  /** The same for its source. */
  source(view: DataView, l3: number): number {
    if (ipv4.version(view, l3) === 4) return this.#v4.get1(ipv4.source(view, l3))
    return this.#v6.get4(view, l3 + V6_SOURCE)
  }

  #writeKey(address: HostAddress): void {
    if (address.family === 4) this.#key.setUint32(0, address.ipv4)
    else for (let i = 0; i < 16; i++) this.#key.setUint8(i, address.gid[i]!)
  }
}

/**
 * Open addressing with linear probing, at most half full. It maps addresses of one or four words to
 * numbers.
 */
class AddressMap {
  readonly #name: string
  readonly #words: number
  #keys: Uint32Array
  #values = new Int32Array(SLOTS_AT_FIRST).fill(NONE)
  #size = 0

  constructor(name: string, words: number) {
    this.#name = name
    this.#words = words
    this.#keys = new Uint32Array(SLOTS_AT_FIRST * words)
  }

  get size(): number {
    return this.#size
  }

  /** Returns the value of a key of one word, or -1. */
  get1(word: number): number {
    const mask = this.#values.length - 1
    for (let next = mix32(word) & mask; ; ) {
      const slot = next
      next = (slot + 1) & mask
      const value = this.#values[slot]!
      if (value === NONE || this.#keys[slot] === word) return value
    }
  }

  /** Returns the value of the key of four words at `at`, or -1. */
  get4(view: DataView, at: number): number {
    const a = view.getUint32(at)
    const b = view.getUint32(at + 4)
    const c = view.getUint32(at + 8)
    const d = view.getUint32(at + 12)
    const keys = this.#keys
    const mask = this.#values.length - 1
    for (let slot = mixFour(a, b, c, d) & mask; ; slot = (slot + 1) & mask) {
      const value = this.#values[slot]!
      if (value === NONE) return value
      const k = slot * 4
      if (keys[k] === a && keys[k + 1] === b && keys[k + 2] === c && keys[k + 3] === d) return value
    }
  }

  /** Adds or replaces an entry. `key` has the words in network order. */
  set(key: DataView, value: number): void {
    const slot = this.#slotOf(key)
    if (this.#values[slot] === NONE) {
      if (this.#size >= ADDRESSES_MAX) {
        throw new WeirError('WEIR_FULL', `${this.#name}: it holds ${ADDRESSES_MAX} hosts; use fewer hosts`)
      }
      this.#size++
      for (let w = 0; w < this.#words; w++) this.#keys[slot * this.#words + w] = key.getUint32(4 * w)
    }
    this.#values[slot] = value
    if (this.#size * 2 > this.#values.length) this.#grow()
  }

  #slotOf(key: DataView): number {
    const mask = this.#values.length - 1
    let slot =
      this.#words === 1
        ? mix32(key.getUint32(0))
        : mixFour(key.getUint32(0), key.getUint32(4), key.getUint32(8), key.getUint32(12))
    for (slot &= mask; ; slot = (slot + 1) & mask) {
      if (this.#values[slot] === NONE || this.#holds(slot, key)) return slot
    }
  }

  #holds(slot: number, key: DataView): boolean {
    for (let w = 0; w < this.#words; w++) {
      if (this.#keys[slot * this.#words + w] !== key.getUint32(4 * w)) return false
    }
    return true
  }

  #grow(): void {
    const keys = this.#keys
    const values = this.#values
    this.#keys = new Uint32Array(keys.length * 2)
    this.#values = new Int32Array(values.length * 2).fill(NONE)
    const key = new DataView(new ArrayBuffer(16))
    for (let old = 0; old < values.length; old++) {
      if (values[old] === NONE) continue
      for (let w = 0; w < this.#words; w++) key.setUint32(4 * w, keys[old * this.#words + w]!)
      const slot = this.#slotOf(key)
      for (let w = 0; w < this.#words; w++) this.#keys[slot * this.#words + w] = key.getUint32(4 * w)
      this.#values[slot] = values[old]!
    }
  }
}

function mixFour(a: number, b: number, c: number, d: number): number {
  return mix32(mix32(mix32(mix32(a) ^ b) ^ c) ^ d)
}
