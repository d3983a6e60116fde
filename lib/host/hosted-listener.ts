import { WeirError } from '../errors.js'
import type { Connection, ConnectionHandler, Listener } from '../nic/types.js'
import type { Nanos } from '../time/nanos.js'
import type { HostedConnection } from './hosted-connection.js'

/**
 * Accepts connections for an application that takes them later. Only established connections count against the backlog:
 * whoever forges its address confirms none. Requests that nobody has confirmed are bounded by the NIC, where they give way after
 * 100 ms.
 */
export class HostedListener implements Listener {
  readonly #backlog: number
  readonly #make: () => HostedConnection
  /** Ids of connections that peers have asked for and not confirmed. */
  readonly #opening = new Set<number>()
  /** Ids of established connections that the application has not taken. */
  readonly #waiting = new Set<number>()

  /** @param backlog established connections that may wait, 1 or more */
  constructor(backlog: number, make: () => HostedConnection) {
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

  /** True if the request with this id came to this listener, and is not confirmed. */
  isOpening(id: number): boolean {
    return this.#opening.has(id)
  }

  /**
   * The connection has been confirmed: false if others, confirmed since it was asked for, have taken the last places. Then
   * it ends, and its peer hears why.
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

  /** The application has taken the connection, or never will. Harmless if it is no longer here. */
  forget(id: number): void {
    this.#opening.delete(id)
    this.#waiting.delete(id)
  }

  #fullError(): WeirError {
    return new WeirError('WEIR_FULL', `${this.#backlog} connections wait to be accepted already`)
  }
}
