import { assert, WeirError } from '../../errors.js'
import type { MemoryRegion } from '../memory/memory.js'
import { joined } from '../memory/memory-list.js'
import type { CompletionQueue } from '../queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../queues/work.js'
import { WorkStatus } from '../queues/work-status.js'

const U24_MAX = 0xffffff
const U32_MAX = 0xffffffff

/** A posted datagram. */
export class DatagramSlot {
  id = 0
  opcode: WorkOpcode = WorkOpcode.SEND
  region: MemoryRegion | null = null
  offset = 0
  length = 0
  immediate = 0
  signaled = true
  solicited = false
  /** Number of the address handle, and the queue pair there. */
  address = 0
  remoteQpn = 0
  remoteQkey = 0
}

/** The send queue of a datagram queue pair: a ring of slots that are made once. Each is one packet. */
export class DatagramSendQueue {
  readonly #qpn: number
  readonly #depth: number
  readonly #cq: CompletionQueue
  readonly #slots: DatagramSlot[] = []
  #head = 0
  #tail = 0

  constructor(qpn: number, depth: number, cq: CompletionQueue) {
    this.#qpn = qpn
    this.#depth = depth
    this.#cq = cq
  }

  get count(): number {
    return this.#tail - this.#head
  }

  /** The oldest; there must be one. */
  get head(): DatagramSlot {
    assert(this.count > 0, 'datagram send queue: it is empty')
    return this.#slots[this.#head % this.#depth]!
  }

  /** Takes checked work; false when the queue or its completion queue is full. */
  post(work: SendWork): boolean {
    if (this.count === this.#depth || !this.#cq.reserve()) return false
    const at = this.#tail++ % this.#depth
    if (this.#slots.length === at) this.#slots.push(new DatagramSlot())
    const slot = this.#slots[at]!
    slot.id = work.id
    slot.opcode = work.opcode
    slot.region = work.region
    slot.offset = work.offset
    slot.length = work.length
    slot.immediate = work.immediate ?? 0
    slot.signaled = work.signaled ?? true
    slot.solicited = work.solicited ?? false
    slot.address = work.to!.address
    slot.remoteQpn = work.to!.qpn
    slot.remoteQkey = work.to!.qkey
    return true
  }

  /** Ends the oldest. Unsignaled work leaves a completion only when it fails. */
  complete(status: WorkStatus): void {
    const slot = this.head
    this.#head++
    slot.region = null
    this.#cq.endSent(this.#qpn, slot, status, slot.length)
  }

  /** Ends everything with WR_FLUSH_ERR, oldest first. */
  flush(): void {
    while (this.count > 0) this.complete(WorkStatus.WR_FLUSH_ERR)
  }
}

/**
 * The work with its pieces as one region. Throws WEIR_BAD_ARGUMENT, saying which field, for a datagram that makes no sense, or is longer
 * than a packet (IBA 9.8.3).
 */
export function checkedDatagram(qpn: number, posted: SendWork, pathMtu: number): SendWork {
  const what = `queue pair ${qpn}, datagram`
  const bad = (text: string) => new WeirError('WEIR_BAD_ARGUMENT', `${what}: ${text}`)
  const { opcode, to, immediate } = posted
  if (opcode !== WorkOpcode.SEND && opcode !== WorkOpcode.SEND_WITH_IMM)
    throw bad(`opcode is SEND or SEND_WITH_IMM, not ${opcode}`)
  const work = joined(what, posted)
  const { region, offset, length } = work
  const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(length)
  if (!whole || !region.holds(offset, length))
    throw bad(`offset ${offset} length ${length} is outside its region of ${region.length} bytes`)
  if (length > pathMtu) throw bad(`a datagram is one packet, of ${pathMtu} bytes at most, not ${length}`)
  if (typeof to !== 'object' || to === null || !isWhole(to.address, U32_MAX))
    throw bad('to.address is an address handle')
  if (!isWhole(to.qpn, U24_MAX)) throw bad(`to.qpn is a whole number of 24 bits, not ${to.qpn}`)
  if (!isWhole(to.qkey, U32_MAX)) throw bad(`to.qkey is a whole number of 32 bits, not ${to.qkey}`)
  if (opcode === WorkOpcode.SEND_WITH_IMM && !isWhole(immediate, U32_MAX))
    throw bad(`immediate is a whole number of 32 bits, not ${immediate}`)
  return work
}

function isWhole(value: number | undefined, most: number): boolean {
  return value !== undefined && Number.isInteger(value) && value >= 0 && value <= most
}
