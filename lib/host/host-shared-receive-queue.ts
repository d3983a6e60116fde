import type { InspectOptions, inspect } from 'node:util'
import { WeirError } from '../errors.js'
import type { DomainId } from '../qp/memory/memory.js'
import { checkedReceive } from '../qp/queues/receive-queue.js'
import type { ReceiveWork } from '../qp/queues/work.js'
import { INSPECT, shown } from '../shown.js'
import { checkPieces } from './check-pieces.js'
import type { HostOfEnd } from './host-end.js'
import { WorkRing } from './work-ring.js'

/**
 * Receives that several queue pairs of one protection domain share (ibv_srq; IBA 10.2.9). The first packet of a message takes the oldest
 * one, whichever queue pair the message is for; its completion is that queue pair's. `Host.createSharedReceiveQueue` makes it.
 */
export class HostSharedReceiveQueue {
  readonly id: number
  readonly domain: DomainId
  /** @internal */
  readonly ring: WorkRing
  readonly #host: HostOfEnd
  #isClosed = false

  /** Throws WEIR_BAD_ARGUMENT unless `depth` is a power of two from 2 to 32768. */
  constructor(id: number, depth: number, domain: DomainId, host: HostOfEnd) {
    this.id = id
    this.domain = domain
    this.ring = WorkRing.make(depth)
    this.#host = host
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Posts a receive. Returns false when the queue is full or closed. Throws WEIR_BAD_ARGUMENT for memory outside its region, and for a
   * region of another host or protection domain. One for datagrams has 40 bytes before the payload: a shorter one fails with LOC_LEN_ERR.
   */
  postReceive(work: ReceiveWork): boolean {
    const { domain } = this
    const { regionOf } = this.#host
    checkPieces({ who: 'shared receive queue', domain, regionOf }, 'receive work', work)
    checkedReceive(0, work)
    return !this.#isClosed && this.ring.pushReceive(work)
  }

  /**
   * Resolves with true once fewer than `limit` receives are left (the limit event of IBA 10.2.9.2), at once if they are fewer already, and
   * with false when another call sets another limit or the queue is closed. Throws WEIR_BAD_ARGUMENT unless `limit` is 1 to one less than the depth.
   */
  async belowLimit(limit: number): Promise<boolean> {
    const { depth } = this.ring.ring
    if (!Number.isInteger(limit) || limit < 1 || limit >= depth)
      throw new WeirError('WEIR_BAD_ARGUMENT', `belowLimit: limit is 1 to ${depth - 1}, not ${String(limit)}`)
    if (this.#isClosed) return false
    return (await this.#host.call('awaitLimit', { id: this.id, limit })) as boolean
  }

  /** Gives it back. What is left in it never completes. Throws WEIR_BAD_STATE while a queue pair uses it. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.#host.call('closeSharedReceiveQueue', { id: this.id })
    this.#isClosed = true
  }

  /** So that `await using` ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** What console.log and JSON.stringify show. */
  toJSON(): object {
    return { id: this.id, depth: this.ring.ring.depth, domain: this.domain, isClosed: this.#isClosed }
  }

  [INSPECT](_depth: number, options: InspectOptions, inspectOf: typeof inspect): string {
    return shown(this, options, inspectOf)
  }
}
