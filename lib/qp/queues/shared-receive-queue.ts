import { assert, WeirError } from '../../errors.js'
import { checkDomain, type DomainId } from '../memory/memory.js'
import { checkedReceive, ReceiveSlot, type ReceiveSource } from './receive-queue.js'
import type { ReceiveWork } from './work.js'

const DEPTH_MAX = 65_536

/**
 * Receives that several queue pairs share (IBA 10.2.9): the first packet of a message takes the oldest one, for the queue pair that it came
 * to. Receives that nobody has taken are not flushed with a queue pair.
 */
export class SharedReceiveQueue implements ReceiveSource {
  readonly depth: number
  readonly domain: DomainId
  readonly #slots: ReceiveSlot[] = []
  #head = 0
  #tail = 0
  #limit = 0
  #onLimit: () => void = () => {}

  /** Throws WEIR_BAD_ARGUMENT. @param depth receives, 1 to 65,536 */
  constructor(depth: number, domain: DomainId) {
    if (!Number.isInteger(depth) || depth < 1 || depth > DEPTH_MAX)
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `shared receive queue: depth is 1 to ${DEPTH_MAX}, not ${depth}`,
      )
    this.depth = depth
    this.domain = domain
  }

  /** Receives that no message has taken. */
  get count(): number {
    return this.#tail - this.#head
  }

  /** False when it is full. Throws WEIR_BAD_ARGUMENT, also for memory of another protection domain. */
  post(posted: ReceiveWork): boolean {
    const work = checkedReceive(0, posted)
    checkDomain(0, work.region, this.domain)
    if (this.count === this.depth) return false
    const at = this.#tail++ % this.depth
    if (this.#slots.length === at) this.#slots.push(new ReceiveSlot())
    this.#slots[at]!.take(work.id, work.region, work.offset, work.length)
    return true
  }

  /**
   * Arms the limit (IBA 10.2.9.2): `onLimit` is called once, when fewer than `limit` receives are left, at once if they are fewer already. 0
   * disarms it. Throws WEIR_BAD_ARGUMENT.
   */
  arm(limit: number, onLimit: () => void): void {
    if (!Number.isInteger(limit) || limit < 0 || limit > this.depth)
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `shared receive queue: limit is 0 to its depth of ${this.depth}, not ${limit}`,
      )
    this.#limit = limit
    this.#onLimit = onLimit
    this.#checkLimit()
  }

  take(into: ReceiveSlot): boolean {
    if (this.count === 0) return false
    const slot = this.#slots[this.#head++ % this.depth]!
    assert(slot.region !== null, 'shared receive queue: a receive was taken twice')
    into.take(slot.id, slot.region, slot.offset, slot.length)
    slot.region = null
    this.#checkLimit()
    return true
  }

  #checkLimit(): void {
    if (this.count >= this.#limit) return
    this.#limit = 0
    this.#onLimit()
  }
}
