import type { InspectOptions, inspect } from 'node:util'
import { checkInstance } from '../arguments.js'
import { REPLY_BYTES_MAX } from '../cm/weir-private-data.js'
import { WeirError } from '../errors.js'
import { DEFAULT_DOMAIN, type DomainId } from '../qp/memory/memory.js'
import { INSPECT, shown } from '../shown.js'
import type { HostConnection } from './host-connection.js'
import type { HostSharedReceiveQueue } from './host-shared-receive-queue.js'

const BACKLOG = 16
const BACKLOG_MAX = 1024

/** Options of a listener. */
export interface ListenOptions {
  /**
   * Established connections that may wait for `accept`, 1 to 1024. Further requests are rejected. If several
   * requests compete for the last place, the connections that are established later are ended. Default 16.
   */
  backlog?: number
  /**
   * Private data for every peer that connects, which it gets as `peerPrivateData`: at most 80 bytes. Peers that
   * are no Weir hosts get 196, with zeros behind. Default: none.
   */
  privateData?: Uint8Array
  /**
   * Protection domain of the accepted connections. `'own'`: each has one of its own, `connection.domain`, so
   * that no peer reaches what is registered for another. Default: the host's, 0.
   */
  domain?: DomainId | 'own'
  /** A queue of receives that the accepted connections share, of the same `domain`. Default: each has receives of its own. */
  sharedReceiveQueue?: HostSharedReceiveQueue
}

/** What a listener needs from its host. */
interface Owner {
  accepted(id: number): Promise<void>
  closed(): Promise<void>
}

/** Accepts connections to one port. */
export class HostListener {
  readonly port: number
  readonly backlog: number
  readonly privateData: Uint8Array
  readonly domain: DomainId | 'own'
  readonly #owner: Owner
  readonly #incoming: HostConnection[] = []
  readonly #waiting: { resolve(connection: HostConnection): void; reject(error: Error): void }[] = []
  #isClosed = false

  /** `Host.listen` calls this. */
  constructor(
    port: number,
    { backlog = BACKLOG, privateData = new Uint8Array(0), domain = DEFAULT_DOMAIN }: ListenOptions,
    owner: Owner,
  ) {
    if (!Number.isInteger(backlog) || backlog < 1 || backlog > BACKLOG_MAX) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `listen: backlog is 1 to ${BACKLOG_MAX}, not ${String(backlog)}`,
      )
    }
    checkInstance('listen', 'privateData', Uint8Array, privateData)
    if (privateData.length > REPLY_BYTES_MAX) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `listen: privateData has at most ${REPLY_BYTES_MAX} bytes`)
    }
    this.port = port
    this.backlog = backlog
    this.privateData = privateData
    this.domain = domain
    this.#owner = owner
  }

  /**
   * Resolves with the next established connection. It can take work at once. If the peer sends before a
   * receive is posted, it retransmits (receiver not ready). Throws WEIR_BAD_STATE once the listener or its
   * host is closed.
   */
  async accept(): Promise<HostConnection> {
    if (this.#isClosed) throw this.#closedError()
    const connection =
      this.#incoming.shift() ??
      (await new Promise<HostConnection>((resolve, reject) => {
        this.#waiting.push({ resolve, reject })
      }))
    await this.#owner.accepted(connection.id)
    return connection
  }

  /** The connections, one after the other, until the listener or its host is closed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<HostConnection, void> {
    while (!this.#isClosed) {
      try {
        yield await this.accept()
      } catch (error) {
        if (!this.#isClosed) throw error
      }
    }
  }

  /** Accepts no more connections and disconnects those that were not taken. The others continue. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.onHostClosed()
    await this.#owner.closed()
  }

  /** So that `await using` ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Its host calls this. */
  onIncoming(connection: HostConnection): void {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#incoming.push(connection)
    else waiting.resolve(connection)
  }

  /** Its host calls this. */
  onHostClosed(): void {
    this.#isClosed = true
    this.#incoming.length = 0
    for (const { reject } of this.#waiting.splice(0)) reject(this.#closedError())
  }

  /** What console.log and JSON.stringify show. */
  toJSON(): object {
    return { port: this.port, backlog: this.backlog, domain: this.domain, isClosed: this.#isClosed }
  }

  [INSPECT](_depth: number, options: InspectOptions, inspectOf: typeof inspect): string {
    return shown(this, options, inspectOf)
  }

  #closedError(): WeirError {
    return new WeirError('WEIR_BAD_STATE', `the listener on port ${this.port} is closed`)
  }
}
