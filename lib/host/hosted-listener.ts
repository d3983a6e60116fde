import { WeirError } from '../errors.js'
import type { Connection, ConnectionHandler, Listener } from '../nic/types.js'
import type { ReceiveSource } from '../qp/queues/receive-queue.js'
import type { Nanos } from '../time/nanos.js'
import type { HostedConnection } from './hosted-connection.js'

/**
 * Accepts connections for an application that takes them later. Only established connections count against
 * the backlog. A sender with a forged address cannot establish any. The NIC bounds unconfirmed requests: they
 * expire after 100 ms when others need their place.
 */
export class HostedListener implements Listener {
  readonly #backlog: number
  /** What its connections share. */
  readonly sharedReceiveQueue: ReceiveSource | null
  readonly #make: () => HostedConnection
  /** Ids of connections that peers have requested and not confirmed. */
  readonly #opening = new Set<number>()
  /** Ids of established connections that the application has not taken. */
  readonly #waiting = new Set<number>()

  /** @param backlog established connections that may wait, 1 or more */
  constructor(
    backlog: number,
    make: () => HostedConnection,
    sharedReceiveQueue: ReceiveSource | null = null,
  ) {
    this.sharedReceiveQueue = sharedReceiveQueue
    this.#backlog = backlog
    this.#make = make
  }

  /** Ids of all connections that the application has not taken. */
  get ids(): number[] {
    return [...this.#opening, ...this.#waiting]
  }

  /** Throws WEIR_FULL. */
  accept(): ConnectionHandler {
    if (this.#waiting.size >= this.#backlog) throw this.#fullError()
    const made = this.#make()
    this.#opening.add(made.id)
    return made
  }

  /** Returns true if the request with this id came to this listener and is not confirmed. */
  isOpening(id: number): boolean {
    return this.#opening.has(id)
  }

  /**
   * Handles the confirmation of a connection. Returns false if connections that were confirmed before it have
   * taken the last places. Then the connection ends, and its peer learns why.
   */
  onConfirmed(now: Nanos, id: number, connection: Connection): boolean {
    this.#opening.delete(id)
    if (this.#waiting.size < this.#backlog) {
      this.#waiting.add(id)
      return true
    }
    connection.disconnect(now, this.#fullError())
    return false
  }

  /** The application has taken the connection, or never will. Has no effect on an unknown id. */
  forget(id: number): void {
    this.#opening.delete(id)
    this.#waiting.delete(id)
  }

  #fullError(): WeirError {
    return new WeirError('WEIR_FULL', `${this.#backlog} connections wait to be accepted already`)
  }
}
