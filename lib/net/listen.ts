/** Streams and messages of other hosts that connect. */
import { WeirError } from '../errors.js'
import type { Host } from '../host/host.js'
import type { HostConnection } from '../host/host-connection.js'
import type { HostListener } from '../host/host-listener.js'
import type { MessageStream } from '../stream/message-stream.js'
import { shapeOf } from '../stream/stream-options.js'
import type { WeirStream } from '../stream/weir-stream.js'
import { messageBytesOf } from './connect.js'
import {
  bytesKind,
  type HostStreamKind,
  HostStreamMemory,
  messagesKind,
  privateDataOf,
  serveStream,
} from './host-stream.js'
import type { ListenerOptions, MessageListenOptions, StreamListenOptions } from './net-options.js'
import { checkedOptions } from './option-names.js'
import { type ChosenHost, chooseHost } from './own-host.js'

/** Accepts streams at one port. `for await (const stream of listener)` takes each of them. */
export class StreamListener<E extends WeirStream | MessageStream> {
  readonly #listener: HostListener
  readonly #host: Host
  readonly #kind: HostStreamKind<E>
  readonly #ownsHost: boolean
  readonly #release: () => Promise<void>
  /** Connections of streams that were accepted. */
  readonly #live = new Set<Promise<void>>()
  #isClosed = false

  constructor(listener: HostListener, { host, isOwn, release }: ChosenHost, kind: HostStreamKind<E>) {
    this.#listener = listener
    this.#host = host
    this.#ownsHost = isOwn
    this.#kind = kind
    this.#release = release
  }

  get port(): number {
    return this.#listener.port
  }

  /** Address that other hosts connect to. */
  get address(): string {
    return this.#host.about.address
  }

  /** Connections that were turned away, because they had ended or speak of no such stream. */
  turnedAway = 0

  /** Resolves with the next stream. Throws WEIR_BAD_STATE once the listener is closed. */
  async accept(): Promise<E> {
    for (;;) {
      const stream = await this.#serve(await this.#listener.accept())
      if (stream !== null) return stream
      this.turnedAway++
    }
  }

  /** Null: it is no such stream, or has ended. */
  async #serve(connection: HostConnection): Promise<E | null> {
    let onEnded = () => {}
    const ended = new Promise<void>(resolve => {
      onEnded = resolve
    })
    try {
      const memory = await HostStreamMemory.take(this.#host, this.#kind.shape, connection.domain)
      const stream = serveStream(connection, memory, this.#kind, true, onEnded)
      this.#live.add(ended)
      void ended.then(() => this.#live.delete(ended))
      return stream
    } catch (error) {
      const isPeers = connection.isClosed || (error as { code?: string }).code === 'WEIR_PROTOCOL'
      if (isPeers) return null
      await connection.disconnect()
      throw error
    }
  }

  /** Streams until the listener is closed. */
  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, void> {
    while (!this.#isClosed) {
      const stream = await this.accept().catch((error: Error) => {
        if (this.#isClosed) return null
        throw error
      })
      if (stream !== null) yield stream
    }
  }

  /**
   * Accepts no more. Streams that were accepted go on. A listener with a host of its own waits until they have ended, as a server of `node:net`
   * does, and then closes the host.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#listener.close()
    if (this.#ownsHost) await Promise.all(this.#live)
    await this.#release()
  }

  /** So that `await using` ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/**
 * Listens for streams of bytes.
 *
 * @param port 1 to 65535, of the connection manager's (RDMA_PS_TCP); not one of Weir's own daemon at the same host
 * Throws WEIR_BAD_STATE if the port is taken, WEIR_CANCELLED after `signal`, and what `Host.open` throws.
 */
export async function listen(
  port: number,
  options: StreamListenOptions,
): Promise<StreamListener<WeirStream>> {
  const given = checkedOptions('listen', options)
  return await listenKind(port, given, bytesKind(shapeOf(given), given))
}

/** The same for messages. */
export async function listenMessages(
  port: number,
  options: MessageListenOptions,
): Promise<StreamListener<MessageStream>> {
  const given = checkedOptions('listenMessages', options)
  return await listenKind(port, given, messagesKind(shapeOf(given), messageBytesOf(given)))
}

async function listenKind<E extends WeirStream | MessageStream>(
  port: number,
  options: ListenerOptions,
  kind: HostStreamKind<E>,
): Promise<StreamListener<E>> {
  const { backlog, signal } = options
  const chosen = await chooseHost(options, kind.shape)
  try {
    checkGoesOn(signal)
    const privateData = privateDataOf(kind)
    const listener = await chosen.host.listen(port, {
      privateData,
      domain: 'own',
      ...(backlog === undefined ? {} : { backlog }),
    })
    return closedBy(signal, new StreamListener(listener, chosen, kind))
  } catch (error) {
    await chosen.release()
    throw error
  }
}

function checkGoesOn(signal: AbortSignal | undefined): void {
  if (signal?.aborted)
    throw new WeirError('WEIR_CANCELLED', 'listen: it was cancelled', { cause: signal.reason })
}

/** The listener, which ends with the signal. */
function closedBy<E extends WeirStream | MessageStream>(
  signal: AbortSignal | undefined,
  listener: StreamListener<E>,
): StreamListener<E> {
  const close = () => void listener.close()
  if (signal?.aborted) close()
  else signal?.addEventListener('abort', close, { once: true })
  return listener
}
