/** The listening end of perftest's programs, by TCP and by the connection manager at once. */
import { createServer, type Server, type Socket } from 'node:net'
import { WeirError } from '../../errors.js'
import type { Host } from '../../host/host.js'
import type { HostConnection } from '../../host/host-connection.js'
import type { HostListener } from '../../host/host-listener.js'
import type { DomainId } from '../../qp/memory/memory.js'
import { ClientPlaces } from '../client-places.js'
import { Conversation, MessageMemory } from '../conversation.js'
import type { MessageExchange } from './message-exchange.js'
import { type Left, type Listens, Session } from './session.js'
import { TcpExchange } from './tcp-exchange.js'
import { VerbsExchange } from './verbs-exchange.js'

/** Serves clients until it is closed. What a client does ends its own session alone. */
export class PerftestServer {
  readonly #host: Host
  readonly #listens: Listens
  readonly #onLeft: (left: Left) => void
  readonly #sockets: Server
  readonly #listener: HostListener
  readonly #domain: DomainId
  readonly #places: ClientPlaces<Session>
  readonly #open = new Set<Socket>()

  /**
   * @param port of TCP and of the connection manager; `silentMs` and `places`: as ClientPlaces
   *
   * Throws WEIR_BAD_ARGUMENT when the TCP port cannot be bound, and as `Host.listen` does.
   */
  static async listen(
    host: Host,
    { port, silentMs, places, ...listens }: Listens & { port: number; silentMs?: number; places?: number },
    onLeft: (left: Left) => void,
  ): Promise<PerftestServer> {
    const sockets = createServer()
    await new Promise<void>((resolve, reject) => {
      sockets.once('error', cause => {
        const text = `TCP port ${port} of ${host.about.address} cannot be bound (${(cause as NodeJS.ErrnoException).code}): another perftest may listen there`
        reject(new WeirError('WEIR_BAD_ARGUMENT', text, { cause }))
      })
      sockets.listen(port, host.about.address, resolve)
    })
    const domain = host.newDomain()
    try {
      const listener = await host.listen(port, { domain })
      const server = new PerftestServer(host, listens, onLeft, {
        sockets,
        listener,
        domain,
        places: new ClientPlaces(silentMs, places),
      })
      void server.#accept()
      return server
    } catch (error) {
      sockets.close()
      throw error
    }
  }

  private constructor(
    host: Host,
    listens: Listens,
    onLeft: (left: Left) => void,
    {
      sockets,
      listener,
      domain,
      places,
    }: { sockets: Server; listener: HostListener; domain: DomainId; places: ClientPlaces<Session> },
  ) {
    this.#host = host
    this.#listens = listens
    this.#onLeft = onLeft
    this.#sockets = sockets
    this.#listener = listener
    this.#domain = domain
    this.#places = places
    sockets.on('connection', socket => this.#onSocket(socket))
  }

  /** Clients that are here. */
  get clients(): number {
    return this.#places.count
  }

  /** Takes no more clients, and ends those that are there. */
  async close(): Promise<void> {
    this.#sockets.close()
    for (const socket of this.#open) socket.destroy()
    await this.#listener.close()
  }

  #onSocket(socket: Socket): void {
    // A client that has left already has no address.
    const remote = socket.remoteAddress?.split('%', 1)[0]
    if (remote === undefined || !this.#places.hasRoom()) {
      socket.destroy()
      if (remote !== undefined) this.#turnAway(remote)
      return
    }
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    void this.#serve(new TcpExchange(socket, remote), false)
  }

  #turnAway(remote: string): void {
    const error = this.#places.noPlace()
    this.#onLeft({ remote, version: null, isTurnedAway: true, report: null, error })
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) {
      const waits = [...this.#places.clients].find(
        session => session.awaitsConnection && session.remote === connection.remote,
      )
      if (waits !== undefined) waits.take(connection)
      else if (!this.#places.hasRoom()) {
        void connection.disconnect()
        this.#turnAway(connection.remote)
      } else void this.#serveByManager(connection)
    }
  }

  /** The first connection of a client with `-R` carries messages. */
  async #serveByManager(connection: HostConnection): Promise<void> {
    try {
      const memory = await MessageMemory.open(this.#host, connection.domain)
      for (const receive of memory.receives) connection.postReceive(receive)
      await this.#serve(new VerbsExchange(new Conversation(connection, memory)), true)
      await this.#host.deregister(memory.region)
    } catch (error) {
      if (!isClosing(error)) throw error
    }
  }

  async #serve(exchange: MessageExchange, byManager: boolean): Promise<void> {
    const session = new Session({
      ...this.#listens,
      host: this.#host,
      domain: this.#domain,
      exchange,
      byManager,
    })
    // Another one may have taken the place since.
    if (!this.#places.hasRoom()) {
      await exchange.close()
      this.#turnAway(exchange.remote)
      return
    }
    this.#places.add(session)
    const left = await session.serve()
    this.#places.delete(session)
    this.#onLeft(left)
  }
}

/** The host is closed, and with it everything that this end had. */
function isClosing(error: unknown): boolean {
  return error instanceof WeirError && error.code === 'WEIR_BAD_STATE'
}
