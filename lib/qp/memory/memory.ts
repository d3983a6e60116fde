import type { InspectOptions, inspect } from 'node:util'
import { DOUBLE_0 } from '../../double.js'
import { WeirError } from '../../errors.js'
import { Backing } from '../../frame/backing.js'
import { IntMap } from '../../int-map.js'
import { INSPECT, shown } from '../../shown.js'
import type { WriteGate } from './write-gate.js'

/** Rights on a memory region or a queue pair: the verbs' access flags (IBA 10.6.3). */
export const Access = {
  LOCAL_WRITE: 1,
  REMOTE_READ: 2,
  REMOTE_WRITE: 4,
  REMOTE_ATOMIC: 8,
} as const

/** All rights of a peer. A peer cannot invalidate a region in which it has none of them. */
export const REMOTE_ACCESS = Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC

/**
 * Number of a protection domain of an adapter (IBA 10.2.3): regions and queue pairs of one domain may use each other. A domain
 * is only a number, so there is nothing to give back.
 */
export type DomainId = number

/** The domain of regions and connections whose application names none. */
export const DEFAULT_DOMAIN: DomainId = 0

/** 1 TiB: far above what one buffer may hold, far below where addresses stop being exact. */
export const REGION_LENGTH_MAX = 2 ** 40

const ADDRESS_FIRST = 0x10000
const ADDRESS_END = 2 ** 52
const PAGE = 4096

/**
 * A registered piece of memory. Made by MemoryTable.
 *
 * Its addresses are those that a peer names; they are drawn by the table and say nothing about where the
 * bytes are. Two regions may share addresses: the key distinguishes them (IBA 10.6.3).
 */
export class MemoryRegion {
  /** L_Key and R_Key alike: 32 bits, never 0. */
  readonly key: number = DOUBLE_0
  /** Virtual address of byte 0: a multiple of 4,096, below 2^53. */
  readonly address: number = DOUBLE_0
  /** Bytes. */
  readonly length: number
  /** The storage, or null: then lengths and bounds are real, contents are not (virtual time). */
  readonly bytes: Uint8Array | null
  /** The same storage as a Buffer. */
  readonly buffer: Buffer | null
  /** The same storage, as packets use it. */
  readonly backing: Backing | null
  /** Queue pairs of other protection domains can do nothing with it. */
  readonly domain: DomainId
  /** Where its bytes are, if it is the scatter/gather list of one work request; else null. A list is never valid by itself. */
  readonly pieces: readonly MemoryPiece[] | null
  /** Rights, a sum of `Access`. */
  access: number
  /** Where peers may write for now; null: everywhere, as `access` says. */
  writeGate: WriteGate | null = null
  /** False once deregistered or invalidated: nothing is read or written from then on. */
  valid = true

  constructor(
    key: number,
    address: number,
    length: number,
    bytes: Uint8Array | null,
    access: number,
    domain: DomainId = DEFAULT_DOMAIN,
    pieces: readonly MemoryPiece[] | null = null,
  ) {
    this.key = key
    this.domain = domain
    this.address = address
    this.length = length
    this.bytes = bytes
    this.buffer = bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, length)
    this.backing = this.buffer === null ? null : new Backing(this.buffer)
    this.access = access
    this.pieces = pieces
    if (pieces !== null) this.valid = false
  }

  /** True if `length` bytes from `offset` on lie inside; whole numbers, any size, no overflow. */
  holds(offset: number, length: number): boolean {
    return offset >= 0 && length >= 0 && length <= this.length && offset <= this.length - length
  }

  /** True if the region may be used now with all of the rights `access`, and its memory is there. */
  allows(access: number): boolean {
    if (this.pieces !== null) return this.#piecesAllow(access)
    const isThere = this.backing === null || this.backing.isThere
    return this.valid && isThere && (this.access & access) === access
  }

  #piecesAllow(access: number): boolean {
    return this.pieces!.every(({ region }) => region.allows(access))
  }

  /** What console.log and JSON.stringify show. */
  toJSON(): object {
    const { key, address, length, access, domain, valid } = this
    return { key, address, length, access, domain, valid }
  }

  [INSPECT](_depth: number, options: InspectOptions, inspectOf: typeof inspect): string {
    return shown(this, options, inspectOf)
  }

  /** True if a peer with the right to write may write there now: nothing of it is closed. */
  admits(offset: number, length: number): boolean {
    return this.writeGate === null || this.writeGate.admits(offset, length)
  }
}

/** A piece of registered memory. */
export interface MemoryPiece {
  region: MemoryRegion
  /** Offset of the first byte within `region`. */
  offset: number
  /** Bytes. */
  length: number
}

/** The regions of one adapter, found by key. */
export class MemoryTable {
  readonly limit: number
  readonly #random: () => number
  readonly #regions = new IntMap<MemoryRegion>()
  #nextAddress = ADDRESS_FIRST
  #lastDomain: DomainId = DEFAULT_DOMAIN

  /**
   * @param limit regions at a time, 1 to 2^20
   * @param random source of 32-bit whole numbers, for keys that a peer cannot guess
   */
  constructor(limit: number, random: () => number) {
    if (!Number.isInteger(limit) || limit < 1 || limit > 1 << 20) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `memory table: limit is 1 to ${1 << 20}, not ${limit}`)
    }
    this.limit = limit
    this.#random = random
  }

  /** Regions registered now. */
  get size(): number {
    return this.#regions.size
  }

  /** A protection domain that nothing belongs to yet. */
  newDomain(): DomainId {
    return ++this.#lastDomain
  }

  /**
   * Registers `length` bytes from the start of `bytes`, or a region without storage when it is null. Where the port
   * can, packets are sent straight from there: whoever changes memory that is being sent sends packets with a wrong
   * ICRC, which the receiver drops. Whoever transfers its ArrayBuffer, or makes it shorter than the region, ends the region as
   * by `deregister`. Throws WEIR_FULL when the table is full, WEIR_BAD_ARGUMENT for a length outside 0 to `bytes.length`.
   */
  register(
    bytes: Uint8Array | null,
    length: number,
    access: number,
    domain: DomainId = DEFAULT_DOMAIN,
  ): MemoryRegion {
    const most = bytes === null ? REGION_LENGTH_MAX : bytes.byteLength
    if (!Number.isSafeInteger(length) || length < 0 || length > most) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `memory region: length is 0 to ${most} bytes, not ${length}`)
    }
    if (!Number.isInteger(access) || access < 0 || access > (Access.LOCAL_WRITE | REMOTE_ACCESS)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `memory region: access is a sum of Access flags, not ${access}`,
      )
    }
    if (this.#regions.size >= this.limit) {
      throw new WeirError(
        'WEIR_FULL',
        `memory table: all ${this.limit} regions are registered; deregister one first`,
      )
    }
    const region = new MemoryRegion(this.#drawKey(), this.#drawAddress(length), length, bytes, access, domain)
    this.#regions.set(region.key, region)
    return region
  }

  /** Ends a region; harmless if it has ended already. */
  deregister(region: MemoryRegion): void {
    region.valid = false
    this.#regions.deleteIf(region.key, region)
  }

  /** The region of a key, of any domain, or null: for the host's own use. */
  find(key: number): MemoryRegion | null {
    return this.#regions.get(key)
  }

  /** The region of a key that a peer has named to a queue pair of `domain`, or null: also if it is of another domain (IBA 9.7.4.1, R_Key). */
  findIn(domain: DomainId, key: number): MemoryRegion | null {
    const region = this.#regions.get(key)
    return region !== null && region.domain === domain ? region : null
  }

  #drawKey(): number {
    let key = this.#random() >>> 0
    // If the key is taken, the next free one is used: a poor random source cannot make this loop for ever.
    while (key === 0 || this.#regions.get(key) !== null) key = (key + 1) >>> 0
    return key
  }

  #drawAddress(length: number): number {
    // A page is left free between regions, so that an access beyond the end never falls into the next one.
    const span = Math.ceil(length / PAGE) * PAGE + PAGE
    if (this.#nextAddress + span > ADDRESS_END) this.#nextAddress = ADDRESS_FIRST
    const address = this.#nextAddress
    this.#nextAddress += span
    return address
  }
}

/**
 * Throws WEIR_BAD_ARGUMENT for a region of another protection domain than its queue pair's. One that was deregistered passes: its work
 * completes with an error, whoever owned it.
 */
export function checkDomain(qpn: number, region: MemoryRegion, domain: DomainId): void {
  if (region.domain === domain || !region.allows(0)) return
  throw new WeirError(
    'WEIR_BAD_ARGUMENT',
    `queue pair ${qpn}: the region is of protection domain ${region.domain}, the queue pair of ${domain}: register the memory in the connection's domain`,
  )
}
