import { DOUBLE_0 } from '../../double.js'
import { assert } from '../../errors.js'
import type { QpContext } from '../context/context.js'
import type { MemoryRegion } from '../memory/memory.js'
import type { ReorderBuffer } from '../queues/reorder-buffer.js'
import { Owed } from './owed.js'
import { ResponseTable } from './response-table.js'

/** The message that has begun and not ended. */
export const Message = { NONE: 0, SEND: 1, WRITE: 2 } as const
export type Message = (typeof Message)[keyof typeof Message]

/** The peer's stream of requests, as far as it has been carried out: what the handlers of the states read and write. */
export class Inbound {
  readonly context: QpContext
  /** The PSN that comes next. */
  expectedSeq = 0
  /** The PSN of the packet in hand. */
  seq = 0
  /** Messages completed; READs and atomics count at their request. */
  msn = 0
  message: Message = Message.NONE
  /** Bytes in the receive of a SEND that has begun, or that a WRITE has named. */
  receivedBytes = 0
  /** Bytes of a WRITE that are still to come. */
  remainingBytes = 0
  /** Memory that the request has named, as long as it goes on; null: no bytes. Where in it the next byte is. */
  region: MemoryRegion | null = null
  offset = DOUBLE_0
  /** The READs and atomics that the peer may request again. */
  readonly table = new ResponseTable()
  readonly owed = new Owed()
  /** Selective repeat: requests that come out of order are kept. False: go-back-N. */
  isSelective = false
  /** Made when the first is kept. */
  kept: ReorderBuffer | null = null
  /** The PSN that came next when `check` looked last. */
  #checkedSeq = 0
  /** Duplicates of the connections before. */
  readonly #duplicatesBefore: number

  constructor(context: QpContext) {
    this.context = context
    this.#duplicatesBefore = context.counters.duplicates
  }

  /**
   * The peer's requests begin; nothing has come yet.
   *
   * @param firstSeq the PSN that comes first
   * @param resources READs and atomics that the peer may have outstanding, 0 to 255
   */
  begin(firstSeq: number, resources: number, isSelective: boolean): void {
    this.expectedSeq = firstSeq
    this.seq = firstSeq
    this.#checkedSeq = firstSeq
    this.table.resources = resources
    this.isSelective = isSelective
    this.kept = null
  }

  /** Packets of this connection that have arrived twice. */
  get duplicates(): number {
    return this.context.counters.duplicates - this.#duplicatesBefore
  }

  /** What holds between two requests, whatever the peer sends. Throws WEIR_INTERNAL where it does not. */
  check(): void {
    const { expectedSeq, kept, owed } = this
    assert(expectedSeq >= this.#checkedSeq, 'responder: the expected PSN went back')
    this.#checkedSeq = expectedSeq
    assert(this.remainingBytes >= 0, 'responder: more of a WRITE was carried out than it named')
    assert(
      this.region === null || this.message === Message.WRITE,
      'responder: a request that has ended holds memory',
    )
    assert(!owed.pending || owed.seq <= expectedSeq, 'responder: it owes an answer to what has not come')
    if (kept !== null && kept.count > 0) kept.check(expectedSeq)
  }

  /** Forgets the message under way. */
  abandonMessage(): void {
    this.message = Message.NONE
    this.region = null
  }
}
