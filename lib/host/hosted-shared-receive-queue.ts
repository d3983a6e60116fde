import type { DomainId } from '../qp/memory/memory.js'
import type { ReceiveSlot, ReceiveSource } from '../qp/queues/receive-queue.js'
import { SharedReceiveQueue } from '../qp/queues/shared-receive-queue.js'
import type { ReceiveWork } from '../qp/queues/work.js'
import { GONE } from './hosted-work.js'
import type { RegionOfKey, WorkRing } from './work-ring.js'

/**
 * The NIC's end of receives that queue pairs share. They are read from the application's ring when a message needs one, and keep their places
 * there until it has taken them: both together hold as many as the ring.
 */
export class HostedSharedReceiveQueue implements ReceiveSource {
  readonly domain: DomainId
  readonly #ring: WorkRing
  readonly #regionOf: RegionOfKey
  readonly #queue: SharedReceiveQueue
  readonly #work: ReceiveWork = { id: 0, region: GONE, offset: 0, length: 0 }
  #resolveLimit: (isReached: boolean) => void = () => {}
  /** The application's memory was overwritten: what takes a receive now fails with it (the error state of IBA 10.2.9.4). */
  #isBroken = false

  constructor(ring: WorkRing, domain: DomainId, regionOf: RegionOfKey) {
    this.domain = domain
    this.#ring = ring
    this.#regionOf = regionOf
    this.#queue = new SharedReceiveQueue(ring.ring.depth, domain)
  }

  take(into: ReceiveSlot): boolean {
    this.#refill()
    if (!this.#isBroken) {
      const isTaken = this.#queue.take(into)
      if (isTaken) this.#ring.ring.release()
      return isTaken
    }
    into.take(0, GONE, 0, GONE.length)
    return true
  }

  /** Resolves with true when fewer are left, with false when another limit is set. */
  awaitLimit(limit: number): Promise<boolean> {
    this.#resolveLimit(false)
    this.#refill()
    return new Promise(resolve => {
      this.#resolveLimit = resolve
      this.#queue.arm(limit, () => resolve(true))
    })
  }

  close(): void {
    this.#resolveLimit(false)
  }

  #refill(): void {
    const { ring } = this.#ring
    try {
      while (this.#queue.count < Math.min(ring.pending, ring.depth)) {
        this.#ring.peekReceive(this.#work, this.#regionOf, this.#queue.count)
        this.#queue.post(this.#work)
      }
    } catch {
      this.#isBroken = true
    }
  }
}
