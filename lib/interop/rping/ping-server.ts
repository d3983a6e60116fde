/** The listening end of rping: it READs the text of each ping, and WRITEs it to where the peer wants it. */
import { WeirError } from '../../errors.js'
import type { Host } from '../../host/host.js'
import type { HostConnection } from '../../host/host-connection.js'
import type { HostListener } from '../../host/host-listener.js'
import { Access } from '../../qp/memory/memory.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import { Conversation, MessageMemory } from '../conversation.js'
import { INFO_BYTES, PING_BYTES_MAX, readInfo } from './memory-info.js'
import { RPING_PORT } from './ping-client.js'

/** Peers at a time. More wait until one has left, or are rejected. */
const PEERS_MAX = 16

/** How a peer has left. */
export interface PingedBy {
  remote: string
  pings: number
  /** Null: in order. */
  error: Error | null
}

/** Answers until it is closed. What a peer does ends its own connection alone. */
export class PingServer {
  readonly #listener: HostListener
  readonly #host: Host
  readonly #onLeft: (left: PingedBy) => void
  #peers = 0
  #onPlace: () => void = () => {}

  /** Throws as `Host.listen` does. */
  static async listen(host: Host, onLeft: (left: PingedBy) => void, port = RPING_PORT): Promise<PingServer> {
    const listener = await host.listen(port, { domain: 'own' })
    const server = new PingServer(host, listener, onLeft)
    void server.#accept()
    return server
  }

  private constructor(host: Host, listener: HostListener, onLeft: (left: PingedBy) => void) {
    this.#host = host
    this.#listener = listener
    this.#onLeft = onLeft
  }

  /** Accepts no more peers. Those that are there stay until the host is closed. */
  async close(): Promise<void> {
    await this.#listener.close()
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) {
      this.#peers++
      void this.#serve(connection)
      while (this.#peers === PEERS_MAX)
        await new Promise<void>(resolve => {
          this.#onPlace = resolve
        })
    }
  }

  async #serve(connection: HostConnection): Promise<void> {
    const left: PingedBy = { remote: connection.remote, pings: 0, error: null }
    try {
      await this.#answer(connection, left)
      await connection.disconnect()
    } catch (error) {
      left.error = error as Error
      // A host that is closed has no connections.
      await connection.disconnect().catch(() => {})
    }
    this.#peers--
    this.#onPlace()
    this.#onLeft(left)
  }

  async #answer(connection: HostConnection, left: PingedBy): Promise<void> {
    const memory = await MessageMemory.open(this.#host, connection.domain)
    const bytes = new SharedArrayBuffer(PING_BYTES_MAX)
    const region = await this.#host.register(bytes, Access.LOCAL_WRITE, connection.domain)
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
      }
    } finally {
      for (const each of [region, memory.region]) await this.#host.deregister(each).catch(() => {})
    }
  }
}
