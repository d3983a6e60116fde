import { createServer, type Server, type Socket } from 'node:net'
import { WeirError } from '../errors.js'
import type { StreamNic } from '../stream/nic-stream.js'
import { openStream, TunnelError, type Via } from './open-stream.js'
import { type Credentials, Reply, replyOf, replyToFailure, SocksHandshake } from './socks5.js'
import { showTarget, type Target } from './targets.js'
import { STREAMS_MAX, type TunnelStreams } from './tunnel-streams.js'

/** How long a client of the proxy may take to say what it wants. */
const HANDSHAKE_MS = 10_000

/** What a listener does with a connection. */
export type TunnelMode = { target: Target } | { socks: Credentials | null }

interface ListenerOptions {
  nic: StreamNic
  streams: TunnelStreams
  via: Via
  mode: TunnelMode
  /** Why a connection was not carried. */
  onRefused(error: Error): void
}

/** Accepts TCP connections, and carries each of them over a stream of its own. */
export class TunnelListener {
  readonly counters = { accepted: 0, refused: 0 }
  readonly #options: ListenerOptions
  readonly #server: Server
  /** Connections that are not carried yet. */
  readonly #waiting = new Set<Socket>()
  readonly #carried = new Set<Socket>()
  readonly #ended = new AbortController()

  /** Throws WEIR_BAD_ARGUMENT when the address cannot be bound. */
  static async open(address: string, port: number, options: ListenerOptions): Promise<TunnelListener> {
    const listener = new TunnelListener(options)
    await new Promise<void>((resolve, reject) => {
      const onError = (cause: NodeJS.ErrnoException) => {
        const text = `${showTarget({ host: address, port })} cannot be listened at (${cause.code}): choose another address or port`
        reject(new WeirError('WEIR_BAD_ARGUMENT', text, { cause }))
      }
      listener.#server.once('error', onError)
      listener.#server.listen({ host: address, port }, () => {
        listener.#server.off('error', onError)
        // An error of accept(), as EMFILE, costs one connection.
        listener.#server.on('error', error => listener.#refused(error))
        resolve()
      })
    })
    return listener
  }

  private constructor(options: ListenerOptions) {
    this.#options = options
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, socket => void this.#onSocket(socket))
  }

  /** Where it listens: the port that the system chose, where 0 was asked for. */
  get address(): string {
    const { address: host, port } = this.#server.address() as { address: string; port: number }
    return showTarget({ host, port })
  }

  get carried(): number {
    return this.#carried.size
  }

  /** Accepts no more, and resets all that it carries. */
  async close(): Promise<void> {
    this.#ended.abort()
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    for (const socket of [...this.#waiting, ...this.#carried]) socket.resetAndDestroy()
    await closed
  }

  async #onSocket(socket: Socket): Promise<void> {
    this.counters.accepted++
    const { streams, mode } = this.#options
    const onError = () => {}
    socket.on('error', onError)
    const shape = this.#waiting.size + this.#carried.size < STREAMS_MAX ? streams.reserve() : null
    if (shape === null) {
      const text = `${STREAMS_MAX} TCP connections are carried already`
      this.#refused(new WeirError('WEIR_FULL', text))
      socket.resetAndDestroy()
      return
    }
    this.#waiting.add(socket)
    const gone = new AbortController()
    const signal = AbortSignal.any([gone.signal, this.#ended.signal])
    socket.once('close', () => gone.abort())
    const isSocks = 'socks' in mode
    try {
      const target = isSocks ? await handshake(socket, mode.socks) : mode.target
      const { nic, via } = this.#options
      const stream = await openStream(nic, via, target, shape, signal)
      if (socket.destroyed) throw new WeirError('WEIR_CANCELLED', 'the client is gone')
      if (isSocks) socket.write(replyOf(Reply.SUCCEEDED))
      socket.off('error', onError)
      this.#carried.add(socket)
      socket.once('close', () => this.#carried.delete(socket))
      const client = showTarget({ host: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 })
      streams.add(socket, {
        direction: 'out',
        peer: stream.remoteAddress,
        target: showTarget(target),
        client,
        stream,
      })
    } catch (error) {
      streams.unreserve()
      this.#refused(error as Error)
      if (isSocks && error instanceof TunnelError) socket.end(replyOf(replyToFailure(error.reason)))
      else if (!(error instanceof HandshakeError)) socket.resetAndDestroy()
    } finally {
      this.#waiting.delete(socket)
    }
  }

  #refused(error: Error): void {
    this.counters.refused++
    this.#options.streams.counters.refused++
    this.#options.onRefused(error)
  }
}

/** The client does not keep to SOCKS, or its password is wrong. Its connection has the answer of SOCKS already. */
class HandshakeError extends WeirError {
  constructor(text: string) {
    super('WEIR_PROTOCOL', `SOCKS: ${text}`)
  }
}

/** Resolves with what the client asks for. What it sent behind that stays in the socket. Throws HandshakeError. */
function handshake(socket: Socket, credentials: Credentials | null): Promise<Target> {
  const machine = new SocksHandshake(credentials)
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail('the client asks for nothing'), HANDSHAKE_MS)
    const settle = () => {
      clearTimeout(timer)
      socket.off('data', onData)
      socket.off('end', onEnd)
      socket.off('close', onEnd)
      socket.pause()
    }
    const fail = (text: string) => {
      settle()
      socket.end()
      socket.resume()
      setTimeout(() => socket.destroy(), 1000).unref()
      reject(new HandshakeError(text))
    }
    const onEnd = () => fail('the client has ended')
    const onData = (bytes: Buffer) => {
      const { write, target, rest, end } = machine.onBytes(bytes)
      if (write !== undefined && write.length > 0) socket.write(write)
      if (end) fail('the request was refused: wrong version, method, password, command or address')
      else if (target !== undefined) {
        settle()
        if (rest !== undefined && rest.length > 0) socket.unshift(rest)
        resolve(target)
      }
    }
    socket.on('data', onData)
    socket.on('end', onEnd)
    socket.on('close', onEnd)
  })
}
