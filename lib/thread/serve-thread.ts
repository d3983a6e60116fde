/** The service's end: code for the module that a ServiceThread runs. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { recordOf } from './error-record.js'
import type { CallContext, FromService, ToService } from './messages.js'

/** What runs on the thread. */
export interface Service {
  /** Plain data that describes the service. */
  readonly about: unknown
  /** Answers a call with plain data or shared memory. Throws what went wrong. */
  answer(kind: string, body: never, context: CallContext): Promise<unknown>
  /** Handles an event, which has no answer. */
  onEvent?(event: never): void
  close(): Promise<void>
}

/** Reports of a service that are not answers. */
export interface ServiceEvents {
  tell(event: unknown): void
  /** A defect has stopped the service. */
  defect(error: unknown): void
}

/** Opens a service. */
export type OpenService<Start> = (start: Start, events: ServiceEvents) => Promise<Service>

/**
 * Opens the service, answers calls until it is closed, and lets the thread end. Does nothing on the main
 * thread, so that a test may import the module.
 */
export async function serveThread<Start>(open: OpenService<Start>): Promise<void> {
  if (parentPort !== null) await serve(parentPort, workerData as Start, open)
}

/** The same for a service whose user is at the other end of that port. The port is closed last. */
export async function serve<Start>(port: MessagePort, start: Start, open: OpenService<Start>): Promise<void> {
  const post = (message: FromService) => port.postMessage(message)
  const events: ServiceEvents = {
    tell: event => post({ type: 'event', event }),
    defect: error => post({ type: 'defect', error: recordOf(error) }),
  }
  try {
    const service = await open(start, events)
    const calls = new Calls(port, service)
    port.on('message', (message: ToService) => calls.onMessage(message))
    post({ type: 'up', about: service.about })
  } catch (error) {
    post({ type: 'down', error: recordOf(error) })
    port.close()
  }
}

/** The calls under way. */
class Calls {
  readonly #port: MessagePort
  readonly #service: Service
  readonly #running = new Map<number, AbortController>()

  constructor(port: MessagePort, service: Service) {
    this.#port = port
    this.#service = service
  }

  onMessage(message: ToService): void {
    switch (message.type) {
      case 'call':
        void this.#answer(message.id, message.kind, message.body)
        break
      case 'abort':
        this.#running.get(message.id)?.abort()
        break
      case 'ping':
        this.#post({ type: 'result', id: message.id, result: null })
        break
      case 'event':
        this.#service.onEvent?.(message.event as never)
        break
      case 'close':
        void this.#close()
    }
  }

  async #answer(id: number, kind: string, body: unknown): Promise<void> {
    const abort = new AbortController()
    this.#running.set(id, abort)
    try {
      const result = await this.#service.answer(kind, body as never, {
        signal: abort.signal,
        progress: progress => this.#post({ type: 'progress', id, progress }),
      })
      this.#post({ type: 'result', id, result })
    } catch (error) {
      this.#post({ type: 'error', id, error: recordOf(error) })
    } finally {
      this.#running.delete(id)
    }
  }

  async #close(): Promise<void> {
    await this.#service.close()
    this.#post({ type: 'down', error: null })
    this.#port.close()
  }

  #post(message: FromService): void {
    this.#port.postMessage(message)
  }
}
