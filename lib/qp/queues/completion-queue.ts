import { assert, WeirError } from '../../errors.js'
import { WorkOpcode } from './work.js'
import { WorkStatus } from './work-status.js'

export { WorkStatus, workStatusName, workStatusText } from './work-status.js'

/** What a completion of the receive queue stands for: the verbs' IBV_WC_RECV and IBV_WC_RECV_RDMA_WITH_IMM. */
export const ReceiveOpcode = {
  RECV: 128,
  RECV_RDMA_WITH_IMM: 129,
} as const
export type ReceiveOpcode = (typeof ReceiveOpcode)[keyof typeof ReceiveOpcode]

/** How one work request ended. Make one, and hand it to `CompletionQueue.poll` again and again. */
export class Completion {
  /** The `id` of the work request. */
  id = 0
  status: WorkStatus = WorkStatus.SUCCESS
  /** A WorkOpcode for work of the send queue, a ReceiveOpcode for the receive queue. Valid whatever the status. */
  opcode: WorkOpcode | ReceiveOpcode = WorkOpcode.SEND
  /** Bytes that moved: meaningful after SUCCESS only. */
  byteLength = 0
  /** Number of the local queue pair. */
  qpn = 0
  isReceive = false
  hasImmediate = false
  immediate = 0
  /** The local key that a SEND with invalidate took back; 0 = none. */
  invalidatedKey = 0
  /** Queue pair that a datagram came from. Of connections 0. */
  sourceQpn = 0
  /** The message of a receive had the SE bit: the peer solicits an event (IBA 9.2, 11.4.2.2). */
  solicited = false

  copyFrom(other: Completion): void {
    this.id = other.id
    this.status = other.status
    this.opcode = other.opcode
    this.byteLength = other.byteLength
    this.qpn = other.qpn
    this.isReceive = other.isReceive
    this.hasImmediate = other.hasImmediate
    this.immediate = other.immediate
    this.invalidatedKey = other.invalidatedKey
    this.sourceQpn = other.sourceQpn
    this.solicited = other.solicited
  }
}

/** What a completion says of the work that it ends. */
interface SentWork {
  readonly id: number
  readonly opcode: WorkOpcode
  readonly signaled: boolean
}

/** 4,194,304 completions: as many as any adapter offers. */
const COMPLETION_QUEUE_DEPTH_MAX = 1 << 22

/**
 * A bounded ring of completions (IBA 10.2.3), shared by any number of queue pairs.
 *
 * It cannot overrun: a queue pair reserves a place for each work request as it is posted, and a post that finds no
 * place is refused. So nothing that was accepted is ever lost. (A hardware adapter does not promise that: it puts its
 * queue pairs into error when the queue overruns.)
 */
export class CompletionQueue {
  readonly depth: number
  readonly #slots: Completion[] = []
  #first = 0
  #pending = 0
  #reserved = 0

  /** @param depth places, 1 to COMPLETION_QUEUE_DEPTH_MAX: the sum of the depths of the work queues that use it */
  constructor(depth: number) {
    if (!Number.isInteger(depth) || depth < 1 || depth > COMPLETION_QUEUE_DEPTH_MAX) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `completion queue: depth is 1 to ${COMPLETION_QUEUE_DEPTH_MAX}, not ${depth}`,
      )
    }
    this.depth = depth
  }

  /** Completions that wait to be polled. */
  get pending(): number {
    return this.#pending
  }

  /** Places held for work requests that have not completed. */
  get reserved(): number {
    return this.#reserved
  }

  /** Copies the oldest completion to `into` and removes it; false if there is none. */
  poll(into: Completion): boolean {
    if (this.#pending === 0) return false
    into.copyFrom(this.#slots[this.#first]!)
    this.#first = this.#first + 1 === this.depth ? 0 : this.#first + 1
    this.#pending--
    return true
  }

  /** For queue pairs: holds a place for one work request; false when all are taken. */
  reserve(): boolean {
    if (this.#pending + this.#reserved === this.depth) return false
    this.#reserved++
    return true
  }

  /** For queue pairs: gives back the place of a work request that ends without a completion. */
  release(): void {
    assert(this.#reserved > 0, 'completion queue: a place was given back that was not held')
    this.#reserved--
  }

  /** For queue pairs: turns a held place into a completion, to be filled in by the caller at once. */
  push(): Completion {
    this.release()
    let at = this.#first + this.#pending
    if (at >= this.depth) at -= this.depth
    this.#pending++
    while (this.#slots.length <= at) this.#slots.push(new Completion())
    return this.#slots[at]!
  }

  /**
   * For queue pairs: work of a send queue has ended. Unsignaled work leaves a completion only when it fails.
   * @param bytes that have moved if it has succeeded
   */
  endSent(qpn: number, work: SentWork, status: WorkStatus, bytes: number): void {
    if (status === WorkStatus.SUCCESS && !work.signaled) {
      this.release()
      return
    }
    const completion = this.push()
    completion.id = work.id
    completion.status = status
    completion.opcode = work.opcode
    completion.byteLength = status === WorkStatus.SUCCESS ? bytes : 0
    completion.qpn = qpn
    completion.isReceive = false
    completion.hasImmediate = false
    completion.immediate = 0
    completion.invalidatedKey = 0
    completion.sourceQpn = 0
    completion.solicited = false
  }
}
