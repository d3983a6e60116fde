/**
 * The receives of a sealed connection. A receive gets memory for its record as a message begins, from the slot that was given back last: so
 * records use few slots, which stay in the cache, however many receives are posted.
 */
import { WeirError } from '../errors.js'
import { Access } from '../qp/memory/memory.js'
import type { ReceiveSlot, ReceiveSource } from '../qp/queues/receive-queue.js'
import type { ReceiveWork } from '../qp/queues/work.js'
import type { BounceMemory, BounceSlot } from './bounce-memory.js'
import { TAG_BYTES } from './records.js'

/** As many as the longest queue holds. */
const RECEIVES_MAX = 65_536

interface SealedReceive {
  readonly id: number
  /** Where the application wants the message; null: it is one of the handshake. */
  readonly work: ReceiveWork | null
  /** Bytes of the record at most. */
  readonly length: number
  /** Null before a message has begun. */
  slot: BounceSlot | null
}

export class SealedReceives implements ReceiveSource {
  readonly #memory: BounceMemory
  /** By number, in the order in which messages take them. The handshake's have numbers below 0, the application's from 0 on. */
  readonly #posted = new Map<number, SealedReceive>()
  /** Numbers of the oldest, of the first that no message has taken, and of the next one that is posted. */
  #oldest = 0
  #untaken = 0
  #next = 0
  #isOpen = false

  constructor(memory: BounceMemory) {
    this.#memory = memory
  }

  /** False when there are too many. @param work keeps its fields */
  post(work: ReceiveWork): boolean {
    if (this.#posted.size >= RECEIVES_MAX) return false
    this.#posted.set(this.#next++, { id: work.id, work, length: work.length + TAG_BYTES, slot: null })
    return true
  }

  /** The handshake's come before all of the application's. From now on messages may take receives. */
  open(handshake: readonly { id: number; length: number }[]): void {
    this.#oldest = -handshake.length
    this.#untaken = this.#oldest
    for (const [at, receive] of handshake.entries())
      this.#posted.set(this.#oldest + at, { ...receive, work: null, slot: null })
    this.#isOpen = true
  }

  take(into: ReceiveSlot): boolean {
    const receive = this.#posted.get(this.#untaken)
    if (!this.#isOpen || receive === undefined) return false
    const { id, work, length } = receive
    // The queue pair refuses memory that may no longer be written.
    if (work !== null && !work.region.allows(Access.LOCAL_WRITE))
      into.take(id, work.region, work.offset, length)
    else {
      receive.slot = this.#slotOf(length)
      if (receive.slot === null) return false
      into.take(id, receive.slot.region, receive.slot.offset, length)
    }
    this.#untaken++
    return true
  }

  /** The oldest has completed. Give its slot back when its bytes have been read. */
  shift(): SealedReceive | undefined {
    if (this.#oldest === this.#untaken) return undefined
    const receive = this.#posted.get(this.#oldest)
    this.#posted.delete(this.#oldest++)
    return receive
  }

  /** The connection has ended: what the application has posted, and no message has filled. */
  flush(): ReceiveWork[] {
    const left = [...this.#posted.values()].flatMap(({ work }) => (work === null ? [] : [work]))
    this.#posted.clear()
    this.#oldest = this.#next
    this.#untaken = this.#next
    return left
  }

  /** Null while the host has no place for more memory: the peer sends the message again. */
  #slotOf(length: number): BounceSlot | null {
    try {
      return this.#memory.take(length)
    } catch (error) {
      if (error instanceof WeirError && error.code === 'WEIR_FULL') return null
      throw error
    }
  }
}
