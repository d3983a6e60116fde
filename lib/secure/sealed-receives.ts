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
  /** Oldest first: those that messages have taken, then those of the handshake, then the application's. */
  readonly #posted: SealedReceive[] = []
  #taken = 0
  #isOpen = false

  constructor(memory: BounceMemory) {
    this.#memory = memory
  }

  /** False when there are too many. @param work keeps its fields */
  post(work: ReceiveWork): boolean {
    if (this.#posted.length === RECEIVES_MAX) return false
    this.#posted.push({ id: work.id, work, length: work.length + TAG_BYTES, slot: null })
    return true
  }

  /** The handshake's come before all of the application's. From now on messages may take receives. */
  open(handshake: readonly { id: number; length: number }[]): void {
    this.#posted.unshift(...handshake.map(receive => ({ ...receive, work: null, slot: null })))
    this.#isOpen = true
  }

  take(into: ReceiveSlot): boolean {
    const receive = this.#posted[this.#taken]
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
    this.#taken++
    return true
  }

  /** The oldest has completed. Give its slot back when its bytes have been read. */
  shift(): SealedReceive | undefined {
    if (this.#taken === 0) return undefined
    this.#taken--
    return this.#posted.shift()
  }

  /** The connection has ended: what the application has posted, and no message has filled. */
  flush(): ReceiveWork[] {
    this.#taken = 0
    return this.#posted.splice(0).flatMap(({ work }) => (work === null ? [] : [work]))
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
