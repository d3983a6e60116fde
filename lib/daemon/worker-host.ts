import type { RequestBodies, ResponseContent } from '../control/messages.js'
import type { RequestContext } from '../control/server.js'
import { WeirError } from '../errors.js'
import type { Logger } from '../log.js'
import { errorOf } from '../thread/error-record.js'
import { Thread } from '../thread/thread.js'
import type { FromHost, HostStart, ToHost } from './host-messages.js'
import type { HostAbout, HostRequest, HostService } from './host-service.js'
import { GRACE_MS, type HostOptions } from './local-host.js'

/** A thread that has not closed its host by then is ended as it is. */
const CLOSE_MS_MAX = 2 * GRACE_MS + 3000
/** How long the thread of a host that is closed may take to end by itself. */
const LINGER_MS = 1000

/** A request that the thread has not answered. */
interface Call {
  resolve(content: ResponseContent): void
  reject(error: Error): void
  progress: RequestContext['progress']
}

/** The data side of a daemon on a thread of its own: what is asked and answered crosses as messages. */
export class WorkerHost implements HostService {
  readonly parts = null
  readonly #thread: Thread
  readonly #log: Logger
  readonly #onDefect: (error: unknown) => void
  readonly #calls = new Map<number, Call>()
  #lastId = 0
  #about: HostAbout | null = null
  /** Why the thread is no more, or null. */
  #lost: Error | null = null
  /** Resolves when the host is up, rejects when it cannot be. */
  readonly #opened: Promise<void>
  #settleOpened: (error: Error | null) => void = () => {}
  /** Resolves when the host is closed, or its thread lost. */
  readonly #down: Promise<void>
  #resolveDown: () => void = () => {}

  /** Throws what `LocalHost.open` throws. `onDefect` is called once, too, if the thread ends by itself. */
  static async open(
    options: HostOptions,
    log: Logger,
    onDefect: (error: unknown) => void,
  ): Promise<WorkerHost> {
    const host = new WorkerHost(options, log, onDefect)
    await host.#opened
    return host
  }

  private constructor(options: HostOptions, log: Logger, onDefect: (error: unknown) => void) {
    this.#log = log
    this.#onDefect = onDefect
    this.#opened = new Promise((resolve, reject) => {
      this.#settleOpened = error => (error === null ? resolve() : reject(error))
    })
    this.#down = new Promise(resolve => {
      this.#resolveDown = resolve
    })
    const start: HostStart = { options, logLevel: log.level, logName: String(log.bindings().name) }
    this.#thread = new Thread(new URL('./host-thread.js', import.meta.url), {
      what: 'the data path',
      data: start,
      onMessage: (message: FromHost) => this.#onMessage(message),
      onLost: error => this.#onLost(error),
    })
  }

  get about(): HostAbout {
    return this.#about!
  }

  async answer<K extends HostRequest>(
    kind: K,
    request: RequestBodies[K],
    { signal, progress }: RequestContext,
  ): Promise<ResponseContent> {
    if (this.#lost !== null) throw this.#lost
    const id = ++this.#lastId
    const abort = () => this.#tell({ type: 'abort', id })
    this.#tell({ type: 'call', id, kind, request })
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    try {
      return await new Promise((resolve, reject) => {
        this.#calls.set(id, { resolve, reject, progress })
      })
    } finally {
      this.#calls.delete(id)
      signal.removeEventListener('abort', abort)
    }
  }

  async close(): Promise<void> {
    if (this.#lost === null) this.#tell({ type: 'close' })
    if (!(await within(CLOSE_MS_MAX, this.#down))) {
      this.#log.error('the data path does not end: it is ended as it is')
    } else {
      await within(LINGER_MS, this.#thread.ended)
    }
    await this.#thread.terminate()
    this.#failCalls(new WeirError('WEIR_BAD_STATE', 'the daemon is shutting down'))
  }

  #tell(message: ToHost): void {
    this.#thread.post(message)
  }

  #onMessage(message: FromHost): void {
    switch (message.type) {
      case 'progress':
        this.#calls.get(message.id)?.progress(message.progress)
        break
      case 'result':
        this.#calls.get(message.id)?.resolve(message.content)
        break
      case 'error':
        this.#calls.get(message.id)?.reject(errorOf(message.error))
        break
      case 'defect':
        this.#onDefect(errorOf(message.error))
        break
      case 'up':
        this.#about = message.about
        this.#settleOpened(null)
        break
      case 'down':
        this.#thread.mayEnd()
        if (message.error !== null) this.#settleOpened(errorOf(message.error))
        this.#resolveDown()
    }
  }

  #onLost(error: WeirError): void {
    this.#lost = error
    this.#resolveDown()
    this.#failCalls(error)
    if (this.#about === null) this.#settleOpened(error)
    else this.#onDefect(error)
  }

  #failCalls(error: Error): void {
    for (const call of this.#calls.values()) call.reject(error)
  }
}

/** True if the promise resolves within so many milliseconds. */
async function within(ms: number, promise: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>(resolve => {
    timer = setTimeout(resolve, ms, false)
  })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
