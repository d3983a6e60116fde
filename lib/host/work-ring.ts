/** Work requests from an application's thread to its NIC's: records of 128 bytes, of which the second half is for further pieces of memory. */
import type { MemoryPiece, MemoryRegion } from '../qp/memory/memory.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from '../qp/queues/work.js'
import { SharedRing } from './shared-ring.js'

const WORK_BYTES = 128
const F64_WORDS = WORK_BYTES / 8
const U32_WORDS = WORK_BYTES / 4

/** Fields of a record at indices of 64-bit numbers. */
const F64 = { ID: 0, OFFSET: 1, LENGTH: 2, REMOTE_ADDRESS: 3, MORE: 8 } as const
/**
 * Fields at indices of 32-bit numbers. IMMEDIATE is also the key to invalidate: no work has both. A datagram has its address handle, QPN
 * and Q_Key where others have RKEY and the operand of an atomic. Of further pieces there are MORE, with offset and length each in
 * F64.MORE, and their keys in MORE_LKEYS.
 */
const U32 = {
  OPCODE: 8,
  LKEY: 9,
  RKEY: 10,
  IMMEDIATE: 11,
  COMPARE_OR_ADD: 12,
  SWAP: 14,
  MORE_LKEYS: 28,
  MORE: 31,
} as const
/** Flags in the word of the opcode. */
const UNSIGNALED = 1 << 8
const FENCE = 1 << 9
const SOLICITED = 1 << 10
const IS_DATAGRAM = 1 << 11
const MORE_MAX = 3

/** Returns the region of a key, never null. A region that has been deregistered is invalid. */
export type RegionOfKey = (key: number) => MemoryRegion

/** One direction of one connection's work: sends or receives. The producer has checked its posts. */
export class WorkRing {
  readonly ring: SharedRing
  readonly #f64: Float64Array
  readonly #u32: Uint32Array

  /** Throws WEIR_BAD_ARGUMENT unless depth is a power of two. */
  static make(depth: number): WorkRing {
    return new WorkRing(SharedRing.make(depth, WORK_BYTES).memory)
  }

  constructor(memory: SharedArrayBuffer) {
    this.ring = new SharedRing(memory, WORK_BYTES)
    this.#f64 = new Float64Array(memory, this.ring.recordsAt)
    this.#u32 = new Uint32Array(memory, this.ring.recordsAt)
  }

  /** Producer. False when the ring is full. */
  pushSend(work: SendWork): boolean {
    if (this.ring.isFull) return false
    this.#put(work)
    const at = this.ring.producing * U32_WORDS
    const { opcode } = work
    const signaled = work.signaled ?? true
    const flags = (signaled ? 0 : UNSIGNALED) | (work.fence ? FENCE : 0) | (work.solicited ? SOLICITED : 0)
    this.#u32[at + U32.OPCODE] = opcode | flags | (work.to === undefined ? 0 : IS_DATAGRAM)
    const isRemote = opcode >= WorkOpcode.RDMA_WRITE
    this.#f64[this.ring.producing * F64_WORDS + F64.REMOTE_ADDRESS] = isRemote ? work.remoteAddress! : 0
    this.#u32[at + U32.RKEY] = isRemote ? work.rkey! : 0
    this.#u32[at + U32.IMMEDIATE] = immediateOf(work)
    if (work.to !== undefined) {
      this.#u32[at + U32.RKEY] = work.to.address
      this.#u32[at + U32.COMPARE_OR_ADD] = work.to.qpn
      this.#u32[at + U32.COMPARE_OR_ADD + 1] = work.to.qkey
    } else if (opcode >= WorkOpcode.COMPARE_AND_SWAP) {
      this.#putU64(at + U32.COMPARE_OR_ADD, work.compareOrAdd!)
      this.#putU64(at + U32.SWAP, opcode === WorkOpcode.COMPARE_AND_SWAP ? work.swap! : 0n)
    }
    this.ring.publish()
    return true
  }

  /** Producer. False when the ring is full. */
  pushReceive(work: ReceiveWork): boolean {
    if (this.ring.isFull) return false
    this.#put(work)
    this.ring.publish()
    return true
  }

  /** Consumer: reads the oldest send without taking it. There must be one. */
  peekSend(into: SendWork, regionOf: RegionOfKey): void {
    this.#get(into, this.ring.consuming, regionOf)
    const at = this.ring.consuming * U32_WORDS
    const word = this.#u32[at + U32.OPCODE]!
    into.opcode = (word & 0xff) as WorkOpcode
    into.signaled = (word & UNSIGNALED) === 0
    into.fence = (word & FENCE) !== 0
    into.solicited = (word & SOLICITED) !== 0
    into.remoteAddress = this.#f64[this.ring.consuming * F64_WORDS + F64.REMOTE_ADDRESS]!
    into.rkey = this.#u32[at + U32.RKEY]!
    into.immediate = this.#u32[at + U32.IMMEDIATE]!
    into.invalidateKey = into.immediate
    if ((word & IS_DATAGRAM) !== 0) {
      const { COMPARE_OR_ADD } = U32
      const [qpn, qkey] = [this.#u32[at + COMPARE_OR_ADD]!, this.#u32[at + COMPARE_OR_ADD + 1]!]
      into.to = { address: into.rkey, qpn, qkey }
    }
    if (into.opcode >= WorkOpcode.COMPARE_AND_SWAP) {
      into.compareOrAdd = this.#getU64(at + U32.COMPARE_OR_ADD)
      into.swap = this.#getU64(at + U32.SWAP)
    }
  }

  /** Consumer: the same for a receive. @param after so many others */
  peekReceive(into: ReceiveWork, regionOf: RegionOfKey, after = 0): void {
    this.#get(into, this.ring.consumingAfter(after), regionOf)
  }

  /** Consumer: `id` and opcode of the oldest record. For a receive the opcode is 0. */
  peekId(): number {
    return this.#f64[this.ring.consuming * F64_WORDS + F64.ID]!
  }

  peekOpcode(): number {
    return this.#u32[this.ring.consuming * U32_WORDS + U32.OPCODE]! & 0xff
  }

  #put(work: ReceiveWork | SendWork): void {
    const at = this.ring.producing * F64_WORDS
    this.#f64[at + F64.ID] = work.id
    this.#f64[at + F64.OFFSET] = work.offset
    this.#f64[at + F64.LENGTH] = work.length
    this.#u32[2 * at + U32.LKEY] = work.region.key
    this.#u32[2 * at + U32.OPCODE] = 0
    const more = work.more?.length ?? 0
    this.#u32[2 * at + U32.MORE] = more
    for (let i = 0; i < more; i++) {
      const piece = work.more![i]!
      this.#f64[at + F64.MORE + 2 * i] = piece.offset
      this.#f64[at + F64.MORE + 2 * i + 1] = piece.length
      this.#u32[2 * at + U32.MORE_LKEYS + i] = piece.region.key
    }
  }

  #get(into: ReceiveWork | SendWork, place: number, regionOf: RegionOfKey): void {
    const at = place * F64_WORDS
    into.id = this.#f64[at + F64.ID]!
    into.offset = this.#f64[at + F64.OFFSET]!
    into.length = this.#f64[at + F64.LENGTH]!
    into.region = regionOf(this.#u32[2 * at + U32.LKEY]!)
    const more = this.#u32[2 * at + U32.MORE]!
    into.more = more === 0 ? undefined : this.#getMore(at, Math.min(more, MORE_MAX), regionOf)
  }

  #getMore(at: number, count: number, regionOf: RegionOfKey): MemoryPiece[] {
    return Array.from({ length: count }, (_, i) => ({
      region: regionOf(this.#u32[2 * at + U32.MORE_LKEYS + i]!),
      offset: this.#f64[at + F64.MORE + 2 * i]!,
      length: this.#f64[at + F64.MORE + 2 * i + 1]!,
    }))
  }

  #putU64(at: number, value: bigint): void {
    const word = BigInt.asUintN(64, value)
    this.#u32[at] = Number(word & 0xffffffffn)
    this.#u32[at + 1] = Number(word >> 32n)
  }

  #getU64(at: number): bigint {
    return (BigInt(this.#u32[at + 1]!) << 32n) | BigInt(this.#u32[at]!)
  }
}

/** Fields that the opcode has no use for are left alone: nobody has checked them. */
function immediateOf({ opcode, immediate, invalidateKey }: SendWork): number {
  if (opcode === WorkOpcode.SEND_WITH_INV) return invalidateKey!
  return opcode === WorkOpcode.SEND_WITH_IMM || opcode === WorkOpcode.RDMA_WRITE_WITH_IMM ? immediate! : 0
}
