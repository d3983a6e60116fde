import { DOUBLE_0 } from '../../double.js'
import { WeirError } from '../../errors.js'
import type { MemoryRegion } from '../memory/memory.js'
import { joined } from '../memory/memory-list.js'
import type { CompletionQueue } from './completion-queue.js'
import { packetsOf } from './psn.js'
import { powerOfTwo } from './reorder-buffer.js'
import { type SendWork, WorkOpcode } from './work.js'
import { WorkStatus } from './work-status.js'

/** 2^31 bytes: the longest message (IBA 9.4). */
export const MESSAGE_BYTES_MAX = 2 ** 31

const U32_MAX = 0xffffffff

/** A posted work request with the PSNs that it takes, or a part of a READ. */
export class SendSlot {
  id = 0
  opcode: WorkOpcode = WorkOpcode.SEND
  region: MemoryRegion | null = null
  offset = 0
  length = 0
  remoteAddress = DOUBLE_0
  rkey = DOUBLE_0
  immediate = 0
  invalidateKey = 0
  compareOrAddHigh = 0
  compareOrAddLow = 0
  swapHigh = 0
  swapLow = 0
  signaled = true
  fence = false
  solicited = false
  /** Unwrapped PSN of the first packet. */
  firstSeq = 0
  /** Unwrapped PSN of the last packet; of a READ, that of its last response (IBA 9.7.1). */
  lastSeq = 0
  /** Unwrapped PSNs and bytes of the whole work request, where a READ is requested in parts. */
  workFirstSeq = 0
  workLastSeq = 0
  workLength = 0
  /** The peer answers it by data, so an ACK for something later does not acknowledge it (IBA 9.7.6). */
  awaitsResponse = false

  /** A part of a READ whose first part has been before it. */
  get continues(): boolean {
    return this.firstSeq > this.workFirstSeq
  }

  /** Another part of the same work request follows. */
  get more(): boolean {
    return this.lastSeq < this.workLastSeq
  }
}

/**
 * The send queue: a ring of slots that are made once. `head` and `tail` count slots and never wrap; the requester walks from
 * one to the other. A slot is a work request. The exception is a READ longer than the host's receive buffer:
 * it is requested in parts, each with a slot and a READ request of its own, and completes once.
 */
export class SendQueue {
  /** Work requests at a time. */
  readonly depth: number
  /** Work requests that have not completed. */
  pending = 0
  /** The oldest slot that has not completed. */
  head = 0
  /** One past the newest. */
  tail = 0
  /** PSN that the next work request begins with. */
  nextSeq = 0
  readonly #qpn: number
  readonly #cq: CompletionQueue
  #slots: SendSlot[] = []
  /** Slots of the ring less one: a power of two from `depth` on, more once READs in parts have needed them. */
  #mask: number

  constructor(qpn: number, depth: number, cq: CompletionQueue) {
    this.#qpn = qpn
    this.depth = depth
    this.#mask = powerOfTwo(depth) - 1
    this.#cq = cq
  }

  get isEmpty(): boolean {
    return this.head === this.tail
  }

  /** The slot of that number, from `head` to before `tail`. */
  at(index: number): SendSlot {
    return this.#slots[index & this.#mask]!
  }

  /** Number of the slot that the PSN belongs to: one from the head's first to before `nextSeq`. */
  find(seq: number): number {
    let low = this.head
    let high = this.tail - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (this.at(middle).firstSeq <= seq) low = middle
      else high = middle - 1
    }
    return low
  }

  /**
   * Takes a checked work request; false when the queue or its completion queue is full.
   * @param readBytesMax of one READ request, a multiple of `pathMtu`: a longer READ is requested in parts
   */
  post(work: SendWork, pathMtu: number, readBytesMax = Number.POSITIVE_INFINITY): boolean {
    if (this.pending === this.depth || !this.#cq.reserve()) return false
    this.pending++
    const parts =
      work.opcode === WorkOpcode.RDMA_READ ? Math.max(1, Math.ceil(work.length / readBytesMax)) : 1
    this.#makeRoom(parts)
    const workFirstSeq = this.nextSeq
    for (let part = 0; part < parts; part++) {
      const slot = this.#append(work)
      if (parts > 1) takePart(slot, part * readBytesMax, readBytesMax)
      const packets = slot.opcode >= WorkOpcode.COMPARE_AND_SWAP ? 1 : packetsOf(slot.length, pathMtu)
      slot.firstSeq = this.nextSeq
      this.nextSeq += packets
      slot.lastSeq = this.nextSeq - 1
    }
    for (let index = this.tail - parts; index < this.tail; index++) {
      this.at(index).workFirstSeq = workFirstSeq
      this.at(index).workLastSeq = this.nextSeq - 1
    }
    return true
  }

  #append(work: SendWork): SendSlot {
    if (this.#slots.length === (this.tail & this.#mask)) this.#slots.push(new SendSlot())
    const slot = this.at(this.tail++)
    fill(slot, work)
    return slot
  }

  /** For so many more slots; at most as many as the parts of `depth` READs of MESSAGE_BYTES_MAX. */
  #makeRoom(slots: number): void {
    const needed = this.tail - this.head + slots
    if (needed <= this.#mask + 1) return
    const capacity = powerOfTwo(needed)
    const mask = capacity - 1
    const ring = Array.from({ length: capacity }, () => new SendSlot())
    for (let index = this.head; index < this.tail; index++) ring[index & mask] = this.at(index)
    this.#slots = ring
    this.#mask = mask
  }

  /**
   * Ends the slot at the head. Its work request ends as well, unless the slot is a part that has succeeded and another one follows:
   * a part that fails ends all of the READ. Unsignaled work requests leave a completion only when they fail.
   */
  completeHead(status: WorkStatus): void {
    const slot = this.at(this.head++)
    slot.region = null
    if (slot.more) {
      if (status === WorkStatus.SUCCESS) return
      while (this.at(this.head - 1).more) this.at(this.head++).region = null
    }
    this.pending--
    this.#cq.endSent(this.#qpn, slot, status, slot.workLength)
  }

  /** Ends everything with WR_FLUSH_ERR, oldest first. */
  flush(): void {
    while (this.head < this.tail) this.completeHead(WorkStatus.WR_FLUSH_ERR)
  }

  /** Forgets everything, without completions: the way to RESET (IBA 10.3.1). */
  clear(): void {
    for (; this.head < this.tail; this.head++) this.at(this.head).region = null
    for (; this.pending > 0; this.pending--) this.#cq.release()
  }
}

function fill(slot: SendSlot, work: SendWork): void {
  slot.id = work.id
  slot.opcode = work.opcode
  slot.awaitsResponse = work.opcode >= WorkOpcode.RDMA_READ
  slot.region = work.region
  slot.offset = work.offset
  slot.length = work.length
  slot.workLength = work.length
  slot.remoteAddress = work.remoteAddress ?? 0
  slot.rkey = work.rkey ?? 0
  slot.immediate = work.immediate ?? 0
  slot.invalidateKey = work.invalidateKey ?? 0
  slot.signaled = work.signaled ?? true
  slot.fence = work.fence ?? false
  slot.solicited = work.solicited ?? false
  if (work.opcode >= WorkOpcode.COMPARE_AND_SWAP) {
    const operand = BigInt.asUintN(64, work.compareOrAdd ?? 0n)
    const swap = BigInt.asUintN(64, work.opcode === WorkOpcode.COMPARE_AND_SWAP ? work.swap! : 0n)
    slot.compareOrAddHigh = Number(operand >> 32n)
    slot.compareOrAddLow = Number(operand & 0xffffffffn)
    slot.swapHigh = Number(swap >> 32n)
    slot.swapLow = Number(swap & 0xffffffffn)
  }
}

/** Makes it the part of its READ that begins `skipped` bytes behind the start. */
function takePart(slot: SendSlot, skipped: number, bytesMax: number): void {
  slot.offset += skipped
  slot.remoteAddress += skipped
  slot.length = Math.min(bytesMax, slot.length - skipped)
  // The first part has waited.
  if (skipped > 0) slot.fence = false
}

/** Payload bytes of the packets from `from` to before `until` of a SEND or WRITE. */
export function bytesBetween(slot: SendSlot, from: number, until: number, mtu: number): number {
  const start = (from - slot.firstSeq) * mtu
  const end = Math.min((until - slot.firstSeq) * mtu, slot.length)
  return end > start ? end - start : 0
}

/** The work with its pieces as one region. Throws WEIR_BAD_ARGUMENT, saying which field, for a work request that makes no sense. */
export function checkedSend(qpn: number, posted: SendWork): SendWork {
  // The text takes time that work of one piece need not have.
  const work = posted.more === undefined ? posted : joined(`queue pair ${qpn}, send work`, posted)
  const { opcode } = work
  if (!Number.isInteger(opcode) || opcode < WorkOpcode.SEND || opcode > WorkOpcode.FETCH_AND_ADD) {
    throw bad(qpn, `opcode is one of WorkOpcode, not ${opcode}`)
  }
  if (!Number.isSafeInteger(work.length) || work.length < 0 || work.length > MESSAGE_BYTES_MAX) {
    throw bad(qpn, `length is 0 to ${MESSAGE_BYTES_MAX} bytes, not ${work.length}`)
  }
  if (!Number.isSafeInteger(work.offset) || !work.region.holds(work.offset, work.length)) {
    const where = `offset ${work.offset} length ${work.length}`
    throw bad(qpn, `${where} is outside its region of ${work.region.length} bytes`)
  }
  if (opcode >= WorkOpcode.RDMA_WRITE) checkRemote(qpn, work)
  const hasImmediate = opcode === WorkOpcode.SEND_WITH_IMM || opcode === WorkOpcode.RDMA_WRITE_WITH_IMM
  if (hasImmediate) checkU32(qpn, 'immediate', work.immediate)
  if (opcode === WorkOpcode.SEND_WITH_INV) checkU32(qpn, 'invalidateKey', work.invalidateKey)
  if (opcode >= WorkOpcode.COMPARE_AND_SWAP) checkAtomic(qpn, work)
  if (work.to !== undefined)
    throw bad(qpn, 'to is where a datagram goes; what a connection sends goes to its peer')
  return work
}

function checkRemote(qpn: number, work: SendWork): void {
  const address = work.remoteAddress
  if (address === undefined || !Number.isSafeInteger(address) || address < 0) {
    throw bad(qpn, `remoteAddress is a whole number below 2^53, not ${address}`)
  }
  checkU32(qpn, 'rkey', work.rkey)
}

function checkAtomic(qpn: number, work: SendWork): void {
  if (work.region.pieces !== null) throw bad(qpn, 'an atomic takes one piece of memory')
  if (work.length !== 8) throw bad(qpn, `length of an atomic is 8 bytes, not ${work.length}`)
  if (typeof work.compareOrAdd !== 'bigint') throw bad(qpn, 'an atomic needs compareOrAdd, a bigint')
  if (work.opcode === WorkOpcode.COMPARE_AND_SWAP && typeof work.swap !== 'bigint') {
    throw bad(qpn, 'COMPARE_AND_SWAP needs swap, a bigint')
  }
}

function checkU32(qpn: number, name: string, value: number | undefined): void {
  if (value === undefined || !Number.isInteger(value) || value < 0 || value > U32_MAX) {
    throw bad(qpn, `${name} is a whole number of 32 bits, not ${value}`)
  }
}

function bad(qpn: number, what: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `queue pair ${qpn}, send work: ${what}`)
}
