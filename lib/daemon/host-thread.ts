/** The thread of a host: opens it, answers what the main thread forwards, and closes it when told. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { createLog } from '../log.js'
import { recordOf } from '../thread/error-record.js'
import type { FromHost, HostStart, ToHost } from './host-messages.js'
import { LocalHost } from './local-host.js'

/** A host, and the calls of the other thread that it is busy with. */
class HostThread {
  readonly #port: MessagePort
  readonly #host: LocalHost
  readonly #calls = new Map<number, AbortController>()

  constructor(port: MessagePort, host: LocalHost) {
    this.#port = port
    this.#host = host
  }

  onMessage(message: ToHost): void {
    if (message.type === 'call') void this.#answer(message)
    else if (message.type === 'abort') this.#calls.get(message.id)?.abort()
    else void this.#close()
  }

  async #answer({ id, kind, request }: Extract<ToHost, { type: 'call' }>): Promise<void> {
    const call = new AbortController()
    this.#calls.set(id, call)
    try {
      const content = await this.#host.answer(kind, request as never, {
        signal: call.signal,
        progress: progress => this.#tell({ type: 'progress', id, progress }),
      })
      this.#tell({ type: 'result', id, content })
    } catch (error) {
      this.#tell({ type: 'error', id, error: recordOf(error) })
    } finally {
      this.#calls.delete(id)
    }
  }

  async #close(): Promise<void> {
    await this.#host.close()
    this.#tell({ type: 'down', error: null })
    this.#port.close()
  }

  #tell(message: FromHost): void {
    this.#port.postMessage(message)
  }
}

async function run(port: MessagePort, { options, logLevel, logName }: HostStart): Promise<void> {
  const tell = (message: FromHost) => port.postMessage(message)
  try {
    const onDefect = (error: unknown) => tell({ type: 'defect', error: recordOf(error) })
    const host = await LocalHost.open(options, createLog(logLevel, logName), onDefect)
    const thread = new HostThread(port, host)
    port.on('message', (message: ToHost) => thread.onMessage(message))
    tell({ type: 'up', about: host.about })
  } catch (error) {
    tell({ type: 'down', error: recordOf(error) })
  }
}

// A worker has a parent port; a test that imports this file has none.
if (parentPort !== null) await run(parentPort, workerData as HostStart)
