import type { WeirError } from '../errors.js'
import type { Connection, ConnectionHandler } from '../nic/types.js'
import type { DomainId } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import type { ReceiveSource } from '../qp/queues/receive-queue.js'
import type { Nanos } from '../time/nanos.js'
import { HostedWork } from './hosted-work.js'
import type { EstablishedConnection } from './messages.js'
import type { RegionOfKey } from './work-ring.js'

/** Hears what happens to a connection. */
export interface HostedEvents {
  /** Assigns the connection its number at the doorbell. */
  created(connection: HostedConnection): void
  established(now: Nanos, connection: HostedConnection): void
  completions(of: { id: number }): void
  closed(connection: HostedConnection, error: WeirError | null): void
}

/** The NIC's end of a connection whose application is on another thread. */
export class HostedConnection extends HostedWork<Connection> implements ConnectionHandler {
  /** True once the connection has been established, also after its end. */
  wasEstablished = false
  readonly #events: HostedEvents
  readonly #privateData: Uint8Array

  /** @param privateData on the passive side, what the acceptance carries to the peer */
  constructor(
    id: number,
    regionOf: RegionOfKey,
    events: HostedEvents,
    domain: DomainId,
    sharedReceiveQueue: ReceiveSource | null = null,
    privateData: Uint8Array = new Uint8Array(0),
  ) {
    super(id, regionOf, domain, sharedReceiveQueue, () => events.completions(this))
    this.#privateData = privateData
    this.#events = events
  }

  override get toWhom(): string {
    return `the connection to ${this.connection?.remote}`
  }

  /** What the application learns about the connection once it is established. */
  get about(): EstablishedConnection {
    const { id, bell, domain } = this
    const { id: qpn, remote, pathMtu, peerPrivateData } = this.connection!
    return {
      id,
      bell,
      qpn,
      remote: remote.toString(),
      pathMtu,
      peerPrivateData: Uint8Array.from(peerPrivateData),
      domain,
    }
  }

  acceptData(): Uint8Array {
    return this.#privateData
  }

  onCreated(now: Nanos, connection: Connection): void {
    this.connection = connection
    this.#events.created(this)
    this.take(now)
  }

  onEstablished(now: Nanos, connection: Connection): void {
    this.connection = connection
    this.wasEstablished = true
    this.#events.established(now, this)
    this.take(now)
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    this.complete(now, completion)
  }

  onClosed(_now: Nanos, _connection: Connection, error: WeirError | null): void {
    this.isClosed = true
    this.#events.closed(this, error ?? this.fault)
  }
}
