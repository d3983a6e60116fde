/** The client's end of the control plane: it sends requests and receives progress and answers. */
import { connect, type Socket } from 'node:net'
import { ERROR_CODES, type ErrorCode, WeirError } from '../errors.js'
import { delimit, MessageSplitter } from './framing.js'
import {
  type ControlResponse,
  type Progress,
  type RequestContent,
  type ResponseBodies,
  type ResponseKind,
  requests,
  responses,
} from './messages.js'
import { SilenceWatch } from './silence.js'

/** Options of a request. */
export interface RequestOptions {
  onProgress?: (progress: Progress) => void
  /**
   * Asks the daemon to cancel the request. The request then ends as the daemon reports, usually with
   * WEIR_CANCELLED. If the daemon does not answer in time, it has lost the request.
   */
  signal?: AbortSignal
  /**
   * For a request that the daemon answers at once: after this time it counts as hanging. Default: a request
   * may take any time, as long as the daemon answers pings (`SilenceWatch`).
   */
  withinMs?: number
}

/**
 * A daemon answers simple requests within this time, on a slow machine too. A daemon that is stopped
 * (SIGSTOP) or hangs never does.
 */
export const ANSWER_WITHIN_MS = 15_000

interface Pending {
  resolve: (response: ControlResponse) => void
  reject: (error: WeirError) => void
  onProgress: (progress: Progress) => void
}

/** What a daemon says to a request that its version has no name for. */
const UNKNOWN_REQUEST = 'this daemon does not answer "unknown" requests'

/** A connection to a daemon's control socket. */
export class ControlClient {
  readonly #socket: Socket
  readonly #path: string
  readonly #splitter = new MessageSplitter()
  readonly #pending = new Map<number, Pending>()
  /** Pings the daemon while there are requests that may take any time. */
  readonly #silence: SilenceWatch
  #patient = 0
  /** What the daemon reports about a part of it that hangs. '': nothing. */
  #trouble = ''
  #lastId = 0
  #ended: WeirError | null = null
  /** Resolves when the connection has ended, whichever end closed it. */
  readonly closed: Promise<void>

  private constructor(socket: Socket, path: string) {
    this.#socket = socket
    this.#path = path
    this.#silence = new SilenceWatch(
      () => this.#write(++this.#lastId, { ping: {} }),
      ms => this.#hangUp(ms),
    )
    this.closed = new Promise(resolve => socket.once('close', () => resolve()))
    socket.on('data', piece => this.#onData(piece))
    socket.on('error', error => this.#end(error.message))
    socket.on('close', () => this.#end('the daemon ended the connection'))
  }

  /** Throws WEIR_DAEMON_UNREACHABLE when no daemon serves the socket. */
  static async connect(path: string): Promise<ControlClient> {
    return await new Promise((resolve, reject) => {
      const socket = connect(path)
      const onError = (cause: NodeJS.ErrnoException) => {
        const text =
          cause.code === 'EACCES'
            ? `the daemon's socket ${path} is not for this user: start a daemon of your own and name its socket with --socket, or have the other daemon's --group include you`
            : `no daemon answers on ${path}: start one with "weir daemon", or name its socket with --socket`
        reject(new WeirError('WEIR_DAEMON_UNREACHABLE', text, { cause }))
      }
      socket.once('error', onError)
      socket.once('connect', () => {
        socket.removeListener('error', onError)
        resolve(new ControlClient(socket, path))
      })
    })
  }

  /**
   * Sends a request and resolves with the field `answer` of the final response. Throws the error that the
   * daemon reports.
   */
  async request<K extends ResponseKind>(
    content: RequestContent,
    answer: K,
    options: RequestOptions = {},
  ): Promise<ResponseBodies[K]> {
    const { onProgress = () => {}, signal, withinMs } = options
    if (signal?.aborted) throw new WeirError('WEIR_CANCELLED', 'cancelled before it began')
    const id = ++this.#lastId
    let timer: NodeJS.Timeout | undefined
    const expectAnswer = (ms: number) => {
      timer ??= setTimeout(() => this.#giveUp(id, ms), ms)
    }
    const onAbort = () => {
      this.#write(++this.#lastId, { cancel: { requestId: id } })
      expectAnswer(ANSWER_WITHIN_MS)
    }
    const ended = new Promise<ControlResponse>((resolve, reject) =>
      this.#pending.set(id, { resolve, reject, onProgress }),
    )
    this.#write(id, content)
    signal?.addEventListener('abort', onAbort, { once: true })
    if (withinMs === undefined) this.#beginPatience()
    else expectAnswer(withinMs)
    try {
      const response = await ended
      if (response.body === answer) return response[answer] as ResponseBodies[K]
      throw new WeirError('WEIR_PROTOCOL', `the daemon answered "${response.body}" where "${answer}" was due`)
    } finally {
      clearTimeout(timer)
      if (withinMs === undefined) this.#endPatience()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Closes the connection. The daemon cancels all unfinished requests. */
  close(): void {
    this.#socket.destroy()
    this.#end('closed')
  }

  #beginPatience(): void {
    if (this.#patient++ === 0 && this.#ended === null) this.#silence.start()
  }

  #endPatience(): void {
    if (--this.#patient === 0) this.#silence.stop()
  }

  #giveUp(id: number, ms: number): void {
    this.#pending.get(id)?.reject(this.#hangs(ms))
    this.#pending.delete(id)
  }

  /**
   * Gives up a daemon that hangs. If it continues later, it finds the connection closed and cancels the
   * requests.
   */
  #hangUp(ms: number): void {
    this.#fail(this.#hangs(ms))
    this.#socket.destroy()
  }

  #hangs(ms: number): WeirError {
    const what = this.#trouble === '' ? '' : `, as ${this.#trouble}`
    const text = `the daemon on ${this.#path} has not answered for ${ms / 1000} s${what}: end its process and start it again, if it is a daemon`
    return new WeirError('WEIR_DAEMON_UNREACHABLE', text)
  }

  #write(id: number, content: RequestContent): void {
    if (this.#ended) this.#pending.get(id)?.reject(this.#ended)
    else this.#socket.write(delimit(requests.encode({ id, ...content } as never)))
  }

  #onData(piece: Buffer): void {
    try {
      this.#splitter.push(piece, message => this.#onResponse(responses.decode(message)))
    } catch (error) {
      this.#end((error as Error).message)
      this.#socket.destroy()
    }
  }

  #onResponse(response: ControlResponse): void {
    const pending = this.#pending.get(response.id)
    // An error as the answer to a ping does not show that the daemon works, but it says what hangs.
    const isTrouble = response.error && pending === undefined
    this.#trouble = isTrouble ? response.error!.message : ''
    if (!isTrouble) this.#silence.onHeard()
    if (response.id === 0 && response.error) this.#end(response.error.message)
    else if (response.body === 'progress') pending?.onProgress(response.progress!)
    else if (pending) {
      this.#pending.delete(response.id)
      if (response.error) pending.reject(errorFrom(response.error))
      else pending.resolve(response)
    }
  }

  #end(why: string): void {
    this.#fail(new WeirError('WEIR_DAEMON_UNREACHABLE', `lost the daemon on ${this.#path}: ${why}`))
  }

  #fail(error: WeirError): void {
    this.#ended ??= error
    this.#silence.stop()
    for (const pending of this.#pending.values()) pending.reject(this.#ended)
    this.#pending.clear()
  }
}

function errorFrom({ code, message }: ResponseBodies['error']): WeirError {
  if (message === UNKNOWN_REQUEST) {
    const text = `the daemon on this host is of an older version and does not know such requests: end it with weir stop, and start it anew`
    return new WeirError('WEIR_REJECTED', text)
  }
  const known = Object.hasOwn(ERROR_CODES, code)
  return new WeirError(known ? (code as ErrorCode) : 'WEIR_INTERNAL', known ? message : `${code}: ${message}`)
}
