/**
 * One of the connections that carry the chunks of a transfer. Lane 0 carries the messages too, and ends with the transfer. The others
 * carry chunks alone, and may end before.
 */
import type { WeirError } from '../../errors.js'
import type { Connection, ConnectionHandler } from '../../nic/types.js'
import type { DomainId, MemoryRegion } from '../../qp/memory/memory.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { WorkStatus } from '../../qp/queues/work-status.js'
import type { Nanos } from '../../time/nanos.js'

/** Who has lanes. */
export interface LaneUser {
  /** Throws a WeirError if the peer of that connection is another one. */
  checkPeer(connection: Connection): void
  onLaneEstablished(now: Nanos): void
  onLaneCompletion(now: Nanos, lane: Lane, completion: Completion): void
  onLaneEnded(now: Nanos, lane: Lane): void
}

/** Memory for the receives that WRITEs with immediate take: nothing is written there. */
export interface LaneReceives {
  region: MemoryRegion
  count: number
}

export class Lane implements ConnectionHandler {
  readonly number: number
  readonly domain: DomainId
  /** Null before there is one; stays set after its end. */
  connection: Connection | null = null
  /** Chunks that this end has handed to the connection and that are not acknowledged, oldest first. */
  chunks: number[] = []
  hasEnded = false
  /** It was established. */
  wasUsed = false
  readonly #user: LaneUser | null
  readonly #receives: LaneReceives | null
  #isLeft = false

  /** @param user null: somebody else handles the connection */
  constructor(
    number: number,
    domain: DomainId,
    user: LaneUser | null = null,
    receives: LaneReceives | null = null,
  ) {
    this.number = number
    this.domain = domain
    this.#user = user
    this.#receives = receives
  }

  /** Chunks may be handed to it. */
  get isOpen(): boolean {
    return !this.#isLeft && (this.connection?.established ?? false)
  }

  /** Ends it. Nothing that it still brings counts. */
  leave(now: Nanos): void {
    if (this.#isLeft || this.hasEnded) return
    this.#isLeft = true
    this.connection?.disconnect(now)
  }

  onCreated(_now: Nanos, connection: Connection): void {
    this.connection = connection
  }

  onEstablished(now: Nanos, connection: Connection): void {
    this.connection = connection
    if (this.#isLeft) {
      connection.disconnect(now)
      return
    }
    try {
      this.#user!.checkPeer(connection)
    } catch (error) {
      this.#isLeft = true
      connection.disconnect(now, error as WeirError)
      return
    }
    for (let id = 0; id < (this.#receives?.count ?? 0); id++) this.#postReceive(id)
    this.wasUsed = true
    this.#user!.onLaneEstablished(now)
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    if (completion.status !== WorkStatus.SUCCESS || !this.isOpen) return
    if (completion.isReceive) this.#postReceive(completion.id)
    this.#user!.onLaneCompletion(now, this, completion)
  }

  onClosed(now: Nanos, connection: Connection, _error: WeirError | null): void {
    this.connection = connection
    this.hasEnded = true
    this.#user!.onLaneEnded(now, this)
  }

  #postReceive(id: number): void {
    if (this.#receives === null) return
    this.connection!.postReceive({ id, region: this.#receives.region, offset: 0, length: 0 })
  }
}
