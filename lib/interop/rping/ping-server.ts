/** The listening end of rping: it READs the text of each ping, and WRITEs it to where the peer wants it. */
import { WeirError } from '../../errors.js'
import type { Host } from '../../host/host.js'
import type { HostConnection } from '../../host/host-connection.js'
import type { HostListener } from '../../host/host-listener.js'
import { Access } from '../../qp/memory/memory.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import { type Client, ClientPlaces, SILENT_MS } from '../client-places.js'
import { Conversation, MessageMemory } from '../conversation.js'
import { INFO_BYTES, PING_BYTES_MAX, readInfo } from './memory-info.js'
import { RPING_PORT } from './ping-client.js'

/** How a peer has left. */
export interface PingedBy {
  remote: string
  pings: number
  /** Null: in order. */
  error: Error | null
}

/** A peer that has a place. */
class Peer implements Client {
  readonly connection: HostConnection
  heardMs = performance.now()
  /** It has had to give up its place. */
  whyEnded: WeirError | null = null

  constructor(connection: HostConnection) {
    this.connection = connection
  }

  get remote(): string {
    return this.connection.remote
  }

  giveUp(why: WeirError): void {
    this.whyEnded = why
    void this.connection.disconnect()
  }
}

/** Answers until it is closed. What a peer does ends its own connection alone. */
export class PingServer {
  readonly #listener: HostListener
  readonly #host: Host
  readonly #onLeft: (left: PingedBy) => void
  readonly #places: ClientPlaces<Peer>

  /** Throws as `Host.listen` does. @param silentMs as ClientPlaces */
  static async listen(
    host: Host,
    onLeft: (left: PingedBy) => void,
    port = RPING_PORT,
    silentMs = SILENT_MS,
  ): Promise<PingServer> {
    const listener = await host.listen(port, { domain: 'own' })
    const server = new PingServer(host, listener, onLeft, new ClientPlaces(silentMs))
    void server.#accept()
    return server
  }

  private constructor(
    host: Host,
    listener: HostListener,
    onLeft: (left: PingedBy) => void,
    places: ClientPlaces<Peer>,
  ) {
    this.#host = host
    this.#listener = listener
    this.#onLeft = onLeft
    this.#places = places
  }

  /** Accepts no more peers. Those that are there stay until the host is closed. */
  async close(): Promise<void> {
    await this.#listener.close()
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) {
      if (this.#places.hasRoom()) void this.#serve(new Peer(connection))
      else {
        void connection.disconnect()
        this.#onLeft({ remote: connection.remote, pings: 0, error: this.#places.noPlace() })
      }
    }
  }

  async #serve(peer: Peer): Promise<void> {
    const { connection } = peer
    const left: PingedBy = { remote: connection.remote, pings: 0, error: null }
    this.#places.add(peer)
    try {
      // Memory cannot be of the protection domain of a connection that has gone.
      if (connection.isClosed) left.error = await connection.closed
      else await this.#answer(peer, left)
      await connection.disconnect()
    } catch (error) {
      left.error = error as Error
      // A host that is closed has no connections.
      await connection.disconnect().catch(() => {})
    }
    this.#places.delete(peer)
    this.#onLeft({ ...left, error: peer.whyEnded ?? left.error })
  }

  async #answer(peer: Peer, left: PingedBy): Promise<void> {
    const { connection } = peer
    const bytes = new SharedArrayBuffer(PING_BYTES_MAX)
    const [memory, region] = await Promise.all([
      MessageMemory.open(this.#host, connection.domain),
      this.#host.register(bytes, Access.LOCAL_WRITE, connection.domain),
    ])
    try {
      for (const receive of memory.receives) connection.postReceive(receive)
      const talk = new Conversation(connection, memory)
      const done = new Uint8Array(INFO_BYTES)
      for (let source = await talk.receive(); source !== null; source = await talk.receive()) {
        const from = readInfo(source)
        const here = { id: 0, region, offset: 0 }
        const { RDMA_READ, RDMA_WRITE } = WorkOpcode
        await talk.work({
          ...here,
          opcode: RDMA_READ,
          length: from.length,
          remoteAddress: from.address,
          rkey: from.key,
        })
        await talk.send(done)
        const sink = await talk.receive()
        if (sink === null) throw new WeirError('WEIR_CONNECTION_LOST', 'the peer has left amid a ping')
        const to = readInfo(sink)
        if (to.length > from.length)
          throw new WeirError(
            'WEIR_PROTOCOL',
            `the peer sent ${from.length} bytes, and wants ${to.length} back`,
          )
        await talk.work({
          ...here,
          opcode: RDMA_WRITE,
          length: to.length,
          remoteAddress: to.address,
          rkey: to.key,
        })
        await talk.send(done)
        left.pings++
        peer.heardMs = performance.now()
      }
    } finally {
      for (const each of [region, memory.region]) await this.#host.deregister(each).catch(() => {})
    }
  }
}
