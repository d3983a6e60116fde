import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { type OpenService, serve } from './serve-thread.js'

/** In place of a `Thread`: runs a service on the thread of its user, for what works on no other one. */
export class ThisThread {
  /** Resolves when the service is closed. */
  readonly ended: Promise<void>
  readonly #port: MessagePort

  constructor(open: OpenService<never>, start: never, onMessage: (message: never) => void) {
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.on('message', message => onMessage(message as never))
    this.ended = new Promise(resolve => port1.once('close', resolve))
    void serve(port2, start, open)
  }

  post(message: unknown): void {
    this.#port.postMessage(message)
  }

  /** Its end is never an error. */
  mayEnd(): void {}

  async terminate(): Promise<void> {
    this.#port.close()
  }
}
