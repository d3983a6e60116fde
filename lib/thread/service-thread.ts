import { WeirError } from '../errors.js'
import { errorOf } from './error-record.js'
import type { CallContext, FromService, ToService } from './messages.js'
import type { OpenService } from './serve-thread.js'
import { ThisThread } from './this-thread.js'
import { Thread } from './thread.js'

/** How long a thread may take to end by itself after its service was closed. */
const LINGER_MS = 1000

interface ServiceThreadOptions {
  /** What the thread does, for messages: "the data path". */
  what: string
  /** What the service is opened with. */
  start: unknown
  /** Receives the events of the service. */
  onEvent?: (event: never) => void
  /** Called once if a defect stops the service, or if its thread ends by itself. */
  onDefect: (error: unknown) => void
}

/** A call under way. */
interface Call {
  resolve(result: unknown): void
  reject(error: Error): void
  progress(progress: unknown): void
}

/**
 * The user's end of a service that runs on a thread of its own, by `serveThread`, or on this one. Errors keep their code and
 * cause across threads.
 */
export class ServiceThread<About> {
  readonly #thread: Thread | ThisThread
  readonly #onEvent: (event: never) => void
  readonly #onDefect: (error: unknown) => void
  readonly #calls = new Map<number, Call>()
  #lastId = 0
  #about: About | undefined
  /** Why there is no service any more. Null: there is one. */
  #lost: Error | null = null
  /** Resolves when the service is up, rejects when it cannot be. */
  readonly #opened: Promise<void>
  #settleOpened: (error: Error | null) => void = () => {}
  /** Resolves when the service is closed, or its thread lost. */
  readonly #down: Promise<void>
  #resolveDown: () => void = () => {}

  /**
   * Throws what the service throws when it opens.
   *
   * @param runs the compiled file that calls `serveThread`; or what opens the service, for one on this thread
   */
  static async open<About>(
    runs: URL | OpenService<never>,
    options: ServiceThreadOptions,
  ): Promise<ServiceThread<About>> {
    const made = new ServiceThread<About>(runs, options)
    try {
      await made.#opened
      return made
    } catch (error) {
      await made.#end()
      throw error
    }
  }

  private constructor(runs: URL | OpenService<never>, options: ServiceThreadOptions) {
    this.#onEvent = options.onEvent ?? (() => {})
    this.#onDefect = options.onDefect
    this.#opened = new Promise((resolve, reject) => {
      this.#settleOpened = error => (error === null ? resolve() : reject(error))
    })
    this.#down = new Promise(resolve => {
      this.#resolveDown = resolve
    })
    const onMessage = (message: FromService) => this.#onMessage(message)
    const { what, start: data } = options
    this.#thread =
      runs instanceof URL
        ? new Thread(runs, { what, data, onMessage, onLost: error => this.#onLost(error) })
        : new ThisThread(runs, data as never, onMessage)
  }

  /** The description that the service gave of itself. */
  get about(): About {
    return this.#about!
  }

  /**
   * Calls the service and resolves with its answer. Throws what the service throws, and WEIR_INTERNAL once
   * its thread is lost.
   */
  async call(kind: string, body: unknown, context?: CallContext<never>): Promise<unknown> {
    if (this.#lost !== null) throw this.#lost
    const id = ++this.#lastId
    const signal = context?.signal
    const abort = () => this.#post({ type: 'abort', id })
    this.#post({ type: 'call', id, kind, body })
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
    try {
      return await new Promise((resolve, reject) => {
        const progress = (each: unknown) => context?.progress(each as never)
        this.#calls.set(id, { resolve, reject, progress })
      })
    } finally {
      this.#calls.delete(id)
      signal?.removeEventListener('abort', abort)
    }
  }

  /**
   * Resolves when the thread answers, so its event loop runs. Throws WEIR_INTERNAL once the thread is lost.
   */
  async ping(): Promise<void> {
    if (this.#lost !== null) throw this.#lost
    const id = ++this.#lastId
    this.#post({ type: 'ping', id })
    try {
      await new Promise((resolve, reject) => this.#calls.set(id, { resolve, reject, progress: () => {} }))
    } finally {
      this.#calls.delete(id)
    }
  }

  /** Sends the service an event, which it does not answer. */
  tell(event: unknown): void {
    this.#post({ type: 'event', event })
  }

  /**
   * Closes the service and waits until its thread has ended. Calls under way fail with WEIR_BAD_STATE.
   * Returns false if the service did not close within `withinMs` and its thread was terminated.
   */
  async close(withinMs: number): Promise<boolean> {
    this.#post({ type: 'close' })
    const isDown = await within(withinMs, this.#down)
    await this.#end(isDown ? LINGER_MS : 0)
    this.#lost ??= new WeirError('WEIR_BAD_STATE', 'it is closed')
    this.#failCalls(this.#lost)
    return isDown
  }

  /** Waits this long for the thread to end by itself, then terminates it. */
  async #end(lingerMs = LINGER_MS): Promise<void> {
    await within(lingerMs, this.#thread.ended)
    await this.#thread.terminate()
  }

  #post(message: ToService): void {
    this.#thread.post(message)
  }

  #onMessage(message: FromService): void {
    switch (message.type) {
      case 'progress':
        this.#calls.get(message.id)?.progress(message.progress)
        break
      case 'result':
        this.#calls.get(message.id)?.resolve(message.result)
        break
      case 'error':
        this.#calls.get(message.id)?.reject(errorOf(message.error))
        break
      case 'event':
        this.#onEvent(message.event as never)
        break
      case 'defect':
        this.#onDefect(errorOf(message.error))
        break
      case 'up':
        this.#about = message.about as About
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
    if (this.#about === undefined) this.#settleOpened(error)
    else this.#onDefect(error)
  }

  #failCalls(error: Error): void {
    for (const call of this.#calls.values()) call.reject(error)
  }
}

/** Returns true if the promise resolves within this time. */
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
