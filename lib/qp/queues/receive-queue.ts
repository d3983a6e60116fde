import { WeirError } from '../../errors.js'
import type { MemoryRegion } from '../memory/memory.js'
import { joined } from '../memory/memory-list.js'
import { type Completion, type CompletionQueue, ReceiveOpcode } from './completion-queue.js'
import type { ReceiveWork } from './work.js'
import { WorkStatus } from './work-status.js'

/** A posted receive: where the next SEND goes. */
export class ReceiveSlot {
  id = 0
  region: MemoryRegion | null = null
  offset = 0
  length = 0

  take(id: number, region: MemoryRegion, offset: number, length: number): void {
    this.id = id
    this.region = region
    this.offset = offset
    this.length = length
  }
}

/** Where the receives of a queue pair come from that has none of its own. */
export interface ReceiveSource {
  /** Moves the oldest receive into the slot; false if there is none, or its completion would have no place. */
  take(into: ReceiveSlot): boolean
}

/** The receive queue: a ring of preallocated slots. The head is the one that the running SEND fills. */
export class ReceiveQueue {
  readonly depth: number
  #head = 0
  #tail = 0
  readonly #qpn: number
  readonly #cq: CompletionQueue
  readonly #slots: ReceiveSlot[] = []
  readonly #source: ReceiveSource | null

  /** @param source a shared receive queue: one is taken from there as a message begins, and none is posted here */
  constructor(qpn: number, depth: number, cq: CompletionQueue, source: ReceiveSource | null = null) {
    this.#qpn = qpn
    this.depth = source === null ? depth : 1
    this.#cq = cq
    this.#source = source
    if (source !== null) this.#slots.push(new ReceiveSlot())
  }

  /** Receives that have not completed, the running one included. */
  get count(): number {
    return this.#tail - this.#head
  }

  /** There is a receive for a message that begins: the head, which is taken now if the receives are shared. */
  isReady(): boolean {
    if (this.#tail > this.#head) return true
    return this.#source !== null && this.#fetch(this.#source)
  }

  #fetch(source: ReceiveSource): boolean {
    if (!this.#cq.reserve()) return false
    if (source.take(this.#slots[0]!)) this.#tail++
    else this.#cq.release()
    return this.#tail > this.#head
  }

  /** The oldest receive; there must be one. */
  get head(): ReceiveSlot {
    return this.#slots[this.#head % this.depth]!
  }

  /** Takes a checked receive; false when the queue or its completion queue is full. */
  post(work: ReceiveWork): boolean {
    if (this.#source !== null)
      throw new WeirError(
        'WEIR_BAD_STATE',
        `queue pair ${this.#qpn}: its receives are shared; post them to the shared receive queue`,
      )
    if (this.count === this.depth || !this.#cq.reserve()) return false
    const at = this.#tail++ % this.depth
    if (this.#slots.length === at) this.#slots.push(new ReceiveSlot())
    const slot = this.#slots[at]!
    slot.take(work.id, work.region, work.offset, work.length)
    return true
  }

  /** Completes the head with the message that it took. The completion may be added to at once. */
  completeHead(
    opcode: ReceiveOpcode,
    byteLength: number,
    hasImmediate: boolean,
    immediate: number,
    invalidatedKey: number,
  ): Completion {
    return this.#complete(WorkStatus.SUCCESS, opcode, byteLength, hasImmediate, immediate, invalidatedKey)
  }

  /** Ends the head with an error. */
  failHead(status: WorkStatus): void {
    this.#complete(status, ReceiveOpcode.RECV, 0, false, 0, 0)
  }

  /** Ends everything with WR_FLUSH_ERR, oldest first. */
  flush(): void {
    while (this.count > 0) this.failHead(WorkStatus.WR_FLUSH_ERR)
  }

  /** Forgets everything, without completions: the way to RESET (IBA 10.3.1). */
  clear(): void {
    for (; this.count > 0; this.#head++) {
      this.head.region = null
      this.#cq.release()
    }
  }

  #complete(
    status: WorkStatus,
    opcode: ReceiveOpcode,
    byteLength: number,
    hasImmediate: boolean,
    immediate: number,
    invalidatedKey: number,
  ): Completion {
    const slot = this.head
    this.#head++
    slot.region = null
    const completion = this.#cq.push()
    completion.id = slot.id
    completion.status = status
    completion.opcode = opcode
    completion.byteLength = byteLength
    completion.qpn = this.#qpn
    completion.isReceive = true
    completion.hasImmediate = hasImmediate
    completion.immediate = immediate
    completion.invalidatedKey = invalidatedKey
    completion.sourceQpn = 0
    completion.solicited = false
    return completion
  }
}

/**
 * The work with its pieces as one region. Throws WEIR_BAD_ARGUMENT for a receive that is not inside its region, or is too short.
 * @param headBytes that come before the payload of each message
 */
export function checkedReceive(qpn: number, posted: ReceiveWork, headBytes = 0): ReceiveWork {
  // The text takes time that work of one piece need not have.
  const work = posted.more === undefined ? posted : joined(nameOf(qpn), posted)
  const { region, offset, length } = work
  const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(length)
  if (!whole || !region.holds(offset, length))
    throw bad(qpn, `offset ${offset} length ${length} is outside its region of ${region.length} bytes`)
  if (length < headBytes)
    throw bad(
      qpn,
      `${headBytes} bytes come before the payload, so length is ${headBytes} at least, not ${length}`,
    )
  return work
}

function nameOf(qpn: number): string {
  return `queue pair ${qpn}, receive work`
}

function bad(qpn: number, text: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `${nameOf(qpn)}: ${text}`)
}
