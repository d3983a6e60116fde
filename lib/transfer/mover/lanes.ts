/** The lanes of one end of a transfer. */
import { WeirError } from '../../errors.js'
import type { ConnectionStats } from '../../nic/types.js'
import type { DomainId } from '../../qp/memory/memory.js'
import type { Nanos } from '../../time/nanos.js'
import { STREAMS_MAX } from '../protocol/messages.js'
import { Lane, type LaneReceives, type LaneUser } from './lane.js'

/** What all lanes together have done, or may do. */
type Sums = Pick<
  ConnectionStats,
  | 'rateBps'
  | 'windowBytes'
  | 'ackedBytes'
  | 'retransmittedBytes'
  | 'spuriousRetransmissions'
  | 'timeouts'
  | 'pathQueueBytes'
>

export class Lanes {
  readonly main: Lane
  /** Who hears of lanes beside the main one. */
  user: LaneUser | null = null
  readonly #domain: DomainId
  /** By their numbers. */
  readonly #more = new Map<number, Lane>()

  constructor(domain: DomainId) {
    this.#domain = domain
    this.main = new Lane(0, domain)
  }

  /** Those beside the main one, also those that have ended. */
  get more(): Iterable<Lane> {
    return this.#more.values()
  }

  /** No lane but the main one lives. One that was accepted and could not be made has no connection, and hears of no end. */
  get haveEnded(): boolean {
    for (const { connection, hasEnded } of this.#more.values())
      if (connection !== null && !hasEnded) return false
    return true
  }

  /** Connections that have carried chunks, or could have. */
  get used(): number {
    return 1 + [...this.#more.values()].filter(({ wasUsed }) => wasUsed).length
  }

  /** Chunks are under way on one of them. */
  get areBusy(): boolean {
    return this.main.chunks.length > 0 || [...this.#more.values()].some(({ chunks }) => chunks.length > 0)
  }

  /** Throws WEIR_REJECTED if there is such a lane, or can be none. */
  add(number: number, receives: LaneReceives | null): Lane {
    const isThere = (this.#more.get(number)?.connection ?? null) !== null
    if (number < 1 || number >= STREAMS_MAX || isThere)
      throw new WeirError('WEIR_REJECTED', `a transfer has no stream ${number}, or has it already`)
    const lane = new Lane(number, this.#domain, this.user, receives)
    this.#more.set(number, lane)
    return lane
  }

  get(number: number): Lane | null {
    return this.#more.get(number) ?? null
  }

  /** One that could not be begun. */
  remove(lane: Lane): void {
    this.#more.delete(lane.number)
  }

  /** The open lane with the least chunks under way: each takes the next chunk as it becomes free. */
  get leastBusy(): Lane {
    let found = this.main
    for (const lane of this.#more.values())
      if (lane.isOpen && lane.chunks.length < found.chunks.length) found = lane
    return found
  }

  /** Ends all but the main one. */
  leave(now: Nanos): void {
    for (const lane of this.#more.values()) lane.leave(now)
  }

  /** The server's windows of lanes 1, 2…; 0: it is not known. */
  get windows(): number[] {
    const windows: number[] = []
    for (const { number, connection } of this.#more.values()) {
      while (windows.length < number) windows.push(0)
      windows[number - 1] = connection?.stats.windowBytes ?? 0
    }
    return windows
  }

  /** Figures of the main lane, and what the others add to them. */
  sum<S extends Sums>(figures: S): S {
    if (this.#more.size === 0) return figures
    const sum = { ...figures }
    for (const { connection } of this.#more.values()) {
      if (connection === null) continue
      const { stats } = connection
      sum.rateBps += stats.rateBps
      sum.windowBytes += stats.windowBytes
      sum.ackedBytes += stats.ackedBytes
      sum.retransmittedBytes += stats.retransmittedBytes
      sum.spuriousRetransmissions += stats.spuriousRetransmissions
      sum.timeouts += stats.timeouts
      sum.pathQueueBytes = Math.max(sum.pathQueueBytes, stats.pathQueueBytes)
    }
    return sum
  }
}
