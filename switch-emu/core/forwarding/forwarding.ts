import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import type { HostAddress } from '../../../lib/wire/net/address.js'
import * as ipv4 from '../../../lib/wire/net/ipv4.js'
import { BUCKETS, bucketOf, flowHash, spreadBuckets } from './ecmp.js'
import { mix32 } from './mix32.js'

/** Host routes that a table may have, for each family. */
const ROUTES_MAX = 65_536
/** Ports are stored as bytes. */
export const PORTS_MAX = 256

const SLOTS_AT_FIRST = 64
const NO_GROUP = -1
const SEVERAL_PORTS = -1

/**
 * The forwarding table of a switch: an exact-match table of hosts (IPv4 and IPv6). Each host has a group of
 * egress ports on shortest paths. A group has one port per bucket of the flow hash. Lookups allocate nothing.
 */
export class ForwardingTable {
  readonly #v4 = new AddressMap(1)
  readonly #v6 = new AddressMap(4)
  readonly #key = new DataView(new ArrayBuffer(16))
  #groupBuckets = new Uint8Array(8 * BUCKETS)
  /** The only port of a group, or SEVERAL_PORTS. */
  readonly #groupPort: number[] = []
  readonly #groupByContent = new Map<string, number>()

  /**
   * Routes `address` to all of `ports`. The flow hash distributes flows evenly; the seed decides which flow
   * takes which port.
   */
  set(address: HostAddress, ports: readonly number[], seed = 0): void {
    if (ports.length < 1 || ports.some(p => !Number.isInteger(p) || p < 0 || p >= PORTS_MAX)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `route to ${address}: ports are 1 or more numbers from 0 to ${PORTS_MAX - 1}, not [${ports.join(', ')}]`,
      )
    }
    this.setBuckets(address, spreadBuckets(ports, seed))
  }

  /** Routes `address` to the port of each flow's bucket. */
  setBuckets(address: HostAddress, ports: Uint8Array): void {
    if (ports.length !== BUCKETS) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `route to ${address}: ${BUCKETS} buckets, not ${ports.length}`)
    }
    const group = this.#groupOf(ports)
    this.#writeKey(address)
    if (address.family === 4) this.#v4.set(this.#key, group)
    else this.#v6.set(this.#key, group)
  }

  /** Returns the port of each bucket for `address`, or null if there is no route. */
  buckets(address: HostAddress): Uint8Array | null {
    this.#writeKey(address)
    const group = address.family === 4 ? this.#v4.get1(this.#key.getUint32(0)) : this.#v6.get4(this.#key, 0)
    return group === NO_GROUP ? null : this.#groupBuckets.slice(group * BUCKETS, (group + 1) * BUCKETS)
  }

  /** Number of hosts with a route. */
  get size(): number {
    return this.#v4.size + this.#v6.size
  }

  /**
   * Returns the egress port of a frame whose IP header has been found, or -1 if there is no route to its
   * destination.
   */
  egressPort(frame: Frame): number {
    const { view, l3 } = frame
    const group =
      ipv4.version(view, l3) === 4 ? this.#v4.get1(ipv4.destination(view, l3)) : this.#v6.get4(view, l3 + 24)
    if (group === NO_GROUP) return -1
    const only = this.#groupPort[group]!
    if (only !== SEVERAL_PORTS) return only
    if (frame.flowHash < 0) frame.flowHash = flowHash(view, frame.length, l3, frame.l4)
    return this.#groupBuckets[group * BUCKETS + bucketOf(frame.flowHash)]!
  }

  #writeKey(address: HostAddress): void {
    if (address.family === 4) this.#key.setUint32(0, address.ipv4)
    else for (let i = 0; i < 16; i++) this.#key.setUint8(i, address.gid[i]!)
  }

  /** Returns the group with exactly these ports. Hosts with the same ports share one. */
  #groupOf(ports: Uint8Array): number {
    const content = Buffer.from(ports).toString('latin1')
    const known = this.#groupByContent.get(content)
    if (known !== undefined) return known
    const group = this.#groupPort.length
    if ((group + 1) * BUCKETS > this.#groupBuckets.length) {
      const grown = new Uint8Array(this.#groupBuckets.length * 2)
      grown.set(this.#groupBuckets)
      this.#groupBuckets = grown
    }
    this.#groupBuckets.set(ports, group * BUCKETS)
    this.#groupPort.push(ports.every(p => p === ports[0]) ? ports[0]! : SEVERAL_PORTS)
    this.#groupByContent.set(content, group)
    return group
  }
}

/**
 * Open addressing with linear probing, at most half full. It maps addresses of one or four words to group
 * numbers.
 */
class AddressMap {
  readonly #words: number
  #keys: Uint32Array
  #groups = new Int32Array(SLOTS_AT_FIRST).fill(NO_GROUP)
  #size = 0

  constructor(words: number) {
    this.#words = words
    this.#keys = new Uint32Array(SLOTS_AT_FIRST * words)
  }

  get size(): number {
    return this.#size
  }

  /** Returns the group of a key of one word, or -1. */
  get1(word: number): number {
    const mask = this.#groups.length - 1
    for (let slot = mix32(word) & mask; ; slot = (slot + 1) & mask) {
      const group = this.#groups[slot]!
      if (group === NO_GROUP || this.#keys[slot] === word) return group
    }
  }

  /** Returns the group of the key of four words at `at`, or -1. */
  get4(view: DataView, at: number): number {
    const a = view.getUint32(at)
    const b = view.getUint32(at + 4)
    const c = view.getUint32(at + 8)
    const d = view.getUint32(at + 12)
    const keys = this.#keys
    const mask = this.#groups.length - 1
    for (let slot = mixFour(a, b, c, d) & mask; ; slot = (slot + 1) & mask) {
      const group = this.#groups[slot]!
      if (group === NO_GROUP) return group
      const k = slot * 4
      if (keys[k] === a && keys[k + 1] === b && keys[k + 2] === c && keys[k + 3] === d) return group
    }
  }

  /** Adds or replaces an entry. `key` has the words in network order. */
  set(key: DataView, group: number): void {
    const slot = this.#slotOf(key)
    if (this.#groups[slot] === NO_GROUP) {
      if (this.#size >= ROUTES_MAX) {
        throw new WeirError('WEIR_FULL', `forwarding table: it holds ${ROUTES_MAX} hosts; use fewer hosts`)
      }
      this.#size++
      for (let w = 0; w < this.#words; w++) this.#keys[slot * this.#words + w] = key.getUint32(4 * w)
    }
    this.#groups[slot] = group
    if (this.#size * 2 > this.#groups.length) this.#grow()
  }

  #slotOf(key: DataView): number {
    const mask = this.#groups.length - 1
    let slot =
      this.#words === 1
        ? mix32(key.getUint32(0))
        : mixFour(key.getUint32(0), key.getUint32(4), key.getUint32(8), key.getUint32(12))
    for (slot &= mask; ; slot = (slot + 1) & mask) {
      if (this.#groups[slot] === NO_GROUP || this.#holds(slot, key)) return slot
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
    const groups = this.#groups
    this.#keys = new Uint32Array(keys.length * 2)
    this.#groups = new Int32Array(groups.length * 2).fill(NO_GROUP)
    const key = new DataView(new ArrayBuffer(16))
    for (let old = 0; old < groups.length; old++) {
      if (groups[old] === NO_GROUP) continue
      for (let w = 0; w < this.#words; w++) key.setUint32(4 * w, keys[old * this.#words + w]!)
      const slot = this.#slotOf(key)
      for (let w = 0; w < this.#words; w++) this.#keys[slot * this.#words + w] = key.getUint32(4 * w)
      this.#groups[slot] = groups[old]!
    }
  }
}

function mixFour(a: number, b: number, c: number, d: number): number {
  return mix32(mix32(mix32(mix32(a) ^ b) ^ c) ^ d)
}
