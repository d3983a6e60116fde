/**
 * The daemon's end of the control plane: a Unix socket that only its owner may use, or a group too. This file knows the
 * socket, framing, ids, progress and cancellation. Handlers for the requests are registered by name.
 */
import { existsSync, lstatSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { showBytes } from '../byte-text.js'
import { WeirError } from '../errors.js'
import { whyNotWritten } from '../file-reason.js'
import { delimit, MessageSplitter } from './framing.js'
import {
  type ControlRequest,
  type Loose,
  type Progress,
  type RequestBodies,
  type RequestKind,
  type ResponseContent,
  requests,
  responses,
} from './messages.js'
import { groupId, lacksFolder, openFolderToGroup, openSocketToGroup } from './socket-group.js'
import { prepareSocketFolder } from './socket-path.js'

/** Clients at a time. */
const CLIENTS_MAX = 64
/** Unfinished requests of one client. */
const REQUESTS_MAX = 256
/** Bytes that may wait for a client that does not read. A client with more is disconnected. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024

/** How long pending answers may take to be sent when the server closes. */
const LAST_WORDS_MS = 100

/** What a handler gets in addition to the request. */
export interface RequestContext {
  /** Aborts when the client cancels the request or disconnects. */
  readonly signal: AbortSignal
  /** Sends progress to the client. It is skipped for a client that does not keep up. */
  progress(progress: Loose<Progress>): void
}

/** Answers one kind of request: returns one field of Response, or throws. */
export type Handler<K extends RequestKind> = (
  request: RequestBodies[K],
  context: RequestContext,
) => Promise<ResponseContent>

/** Receives the events that are worth a line in the log. */
interface ControlEvents {
  onMalformed?(error: WeirError): void
  onDefect?(error: unknown): void
}

/** The control socket and its clients. */
export class ControlServer {
  readonly path: string
  readonly #events: ControlEvents
  readonly #handlers = new Map<string, Handler<never>>()
  readonly #clients = new Set<Client>()
  #server: Server | null = null

  constructor(path: string, events: ControlEvents = {}) {
    this.path = path
    this.#events = events
    this.registerHandler('cancel', async () => ({ cancel: { found: false } }))
    this.registerHandler('ping', async () => ({ ping: {} }))
  }

  /** Sets the handler of a kind of request, in place of an earlier one. */
  registerHandler<K extends RequestKind>(kind: K, handler: Handler<K>): void {
    this.#handlers.set(kind, handler as Handler<never>)
  }

  handlerOf(kind: string): Handler<never> | undefined {
    return this.#handlers.get(kind)
  }

  /**
   * Begins to listen. Replaces a socket that no daemon serves. Throws WEIR_BAD_STATE if one does.
   *
   * @param groupName members of this group may use the socket too, by name or number. Default: its owner alone
   */
  async listen(groupName?: string): Promise<void> {
    const group = groupName === undefined ? null : groupId(groupName)
    const isNew = lacksFolder(this.path)
    prepareSocketFolder(this.path)
    if (group !== null) openFolderToGroup(this.path, group, isNew)
    await this.#removeStale()
    const server = createServer(socket => this.#accept(socket))
    server.maxConnections = CLIENTS_MAX
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      // The socket file must never be accessible to others, not even for a moment. The bind happens within
      // listen.
      const umask = process.umask(0o177)
      try {
        server.listen(this.path, resolve)
      } finally {
        process.umask(umask)
      }
    }).catch(cause => {
      const text = `cannot listen on ${this.path}: ${whyNotWritten(cause)}; choose another place with --socket`
      throw new WeirError('WEIR_BAD_ARGUMENT', text, { cause })
    })
    if (group !== null) openSocketToGroup(this.path, group)
    this.#server = server
  }

  /** Cancels running requests, disconnects all clients, removes the socket file. */
  async close(): Promise<void> {
    for (const client of this.#clients) client.close()
    const server = this.#server
    this.#server = null
    if (server) await new Promise<void>(resolve => server.close(() => resolve()))
  }

  #accept(socket: Socket): void {
    const client = new Client(socket, this, this.#events)
    this.#clients.add(client)
    socket.once('close', () => this.#clients.delete(client))
  }

  async #removeStale(): Promise<void> {
    if (!existsSync(this.path)) return
    if (!lstatSync(this.path).isSocket()) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `${this.path} is there and is no socket: remove it, or use --socket`,
      )
    }
    if (await isServed(this.path)) {
      const text = `a daemon serves ${this.path} already: stop it, or use --socket and --address for a second one`
      throw new WeirError('WEIR_BAD_STATE', text)
    }
    unlinkSync(this.path)
  }
}

/** Returns true if a process accepts connections on the socket. */
async function isServed(path: string): Promise<boolean> {
  return await new Promise(resolve => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT')
    })
  })
}

/** One connected client. Whatever it sends, only its own connection is affected. */
class Client {
  readonly #socket: Socket
  readonly #server: ControlServer
  readonly #events: ControlEvents
  readonly #splitter = new MessageSplitter()
  readonly #running = new Map<number, AbortController>()

  constructor(socket: Socket, server: ControlServer, events: ControlEvents) {
    this.#socket = socket
    this.#server = server
    this.#events = events
    socket.on('data', piece => this.#onData(piece))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      for (const abort of this.#running.values()) abort.abort()
    })
  }

  close(): void {
    this.#socket.end()
    setTimeout(() => this.#socket.destroy(), LAST_WORDS_MS).unref()
  }

  #onData(piece: Buffer): void {
    try {
      this.#splitter.push(piece, message => this.#onRequest(requests.decode(message)))
    } catch (error) {
      const malformed = error as WeirError
      this.#events.onMalformed?.(malformed)
      this.#reply(0, { error: { code: malformed.code, message: malformed.message } })
      this.#socket.removeAllListeners('data')
      this.#socket.end()
    }
  }

  #onRequest(request: ControlRequest): void {
    const { id, body } = request
    if (id === 0 || this.#running.has(id))
      throw new WeirError('WEIR_PROTOCOL', `request id ${id} is 0 or in use`)
    if (this.#running.size >= REQUESTS_MAX) {
      const message = `at most ${REQUESTS_MAX} requests of one client run at a time`
      return void this.#reply(id, { error: { code: 'WEIR_FULL', message } })
    }
    if (body === 'cancel' && request.cancel!.requestId !== 0)
      return void this.#cancel(id, request.cancel!.requestId)
    void this.#run(request)
  }

  #cancel(id: number, requestId: number): void {
    const abort = this.#running.get(requestId)
    abort?.abort()
    this.#reply(id, { cancel: { found: abort !== undefined } })
  }

  async #run(request: ControlRequest): Promise<void> {
    const { id, body } = request
    const abort = new AbortController()
    this.#running.set(id, abort)
    const context = {
      signal: abort.signal,
      progress: (progress: Loose<Progress>) => {
        if (!this.#socket.writableNeedDrain) this.#reply(id, { progress })
      },
    }
    try {
      const handler = this.#server.handlerOf(body ?? '')
      if (!handler)
        throw new WeirError('WEIR_PROTOCOL', `this daemon does not answer "${body ?? 'unknown'}" requests`)
      const content = await handler(request[body!] as never, context)
      this.#running.delete(id)
      this.#reply(id, content)
    } catch (error) {
      this.#running.delete(id)
      this.#replyError(id, error)
    }
  }

  #replyError(id: number, error: unknown): void {
    if (!(error instanceof WeirError)) this.#events.onDefect?.(error)
    const code = error instanceof WeirError ? error.code : 'WEIR_INTERNAL'
    this.#reply(id, { error: { code, message: showBytes((error as Error)?.message ?? String(error)) } })
  }

  #reply(id: number, content: ResponseContent): void {
    if (!this.#socket.writable) return
    if (this.#socket.writableLength > UNREAD_BYTES_MAX) {
      this.#socket.destroy()
      return
    }
    this.#socket.write(delimit(responses.encode({ id, ...content } as never)))
  }
}
