/**
 * One data connection of a run, at either end: its receives and its sender. Nothing here allocates per
 * message.
 */
import { WeirError } from '../errors.js'
import type { Connection, ConnectionHandler } from '../nic/types.js'
import type { DomainId, MemoryRegion } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import type { ReceiveWork } from '../qp/queues/work.js'
import { WorkStatus, workStatusText } from '../qp/queues/work-status.js'
import type { Nanos } from '../time/nanos.js'

/** The sender on a data connection. */
export interface PerfSender {
  /** A work request of the send queue is complete. */
  onSent(now: Nanos, connection: Connection): void
  /** A message of `bytes` arrived. */
  onReceived(now: Nanos, connection: Connection, bytes: number): void
}

/** Receives the events of the connection. */
export interface DataQpOwner {
  onQpReady?(now: Nanos, qp: DataQp): void
  onQpFailed?(now: Nanos, qp: DataQp, error: WeirError): void
  /** Once, at the end. */
  onQpClosed(now: Nanos, qp: DataQp): void
}

interface DataQpOptions {
  /** The memory of the run. Every message uses its first bytes. */
  region: MemoryRegion
  /** Receives to keep posted. 0 where nothing consumes any. */
  receives: number
  owner: DataQpOwner
}

export class DataQp implements ConnectionHandler {
  readonly domain: DomainId
  /** Null until the connection is requested. */
  connection: Connection | null = null
  sender: PerfSender | null = null
  established = false
  closed = false
  receivedMessages = 0
  receivedBytes = 0
  readonly #owner: DataQpOwner
  readonly #receives: number
  readonly #receive: ReceiveWork

  constructor({ region, receives, owner }: DataQpOptions) {
    this.domain = region.domain
    this.#owner = owner
    this.#receives = receives
    this.#receive = { id: 0, region, offset: 0, length: region.length }
  }

  onCreated(_now: Nanos, connection: Connection): void {
    this.connection = connection
    for (let i = 0; i < this.#receives; i++) connection.postReceive(this.#receive)
  }

  onEstablished(now: Nanos): void {
    this.established = true
    this.#owner.onQpReady?.(now, this)
  }

  onCompletion(now: Nanos, connection: Connection, completion: Completion): void {
    const { status } = completion
    if (status !== WorkStatus.SUCCESS) {
      // The completion of a flushed request does not say why.
      if (status !== WorkStatus.WR_FLUSH_ERR) this.#owner.onQpFailed?.(now, this, failure(connection, status))
      return
    }
    if (!completion.isReceive) {
      this.sender?.onSent(now, connection)
      return
    }
    connection.postReceive(this.#receive)
    this.receivedMessages++
    this.receivedBytes += completion.byteLength
    this.sender?.onReceived(now, connection, completion.byteLength)
  }

  onClosed(now: Nanos, _connection: Connection, error: WeirError | null): void {
    this.closed = true
    if (error !== null) this.#owner.onQpFailed?.(now, this, error)
    this.#owner.onQpClosed(now, this)
  }
}

function failure(connection: Connection, status: WorkStatus): WeirError {
  const text = `perf with ${connection.remote}: a message ended with ${workStatusText(status)}`
  return new WeirError('WEIR_CONNECTION_LOST', text)
}
