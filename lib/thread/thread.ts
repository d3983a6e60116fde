import { Worker } from 'node:worker_threads'
import { WeirError } from '../errors.js'

interface ThreadOptions {
  /** What the thread does, for messages: "the data path". */
  what: string
  /** What the module finds in `workerData`. */
  data: unknown
  onMessage: (message: never) => void
  /** Called once if the thread ends before `mayEnd`: by a defect, for want of memory, by an exit. */
  onLost: (error: WeirError) => void
}

/** A thread of this process that runs one module. Its end is an accident until `mayEnd` is called. */
export class Thread {
  /** Resolves when the thread is gone, whatever the reason. */
  readonly ended: Promise<void>
  readonly #worker: Worker
  readonly #options: ThreadOptions
  #mayEnd = false
  #cause: unknown

  /** @param module the file that the thread runs, compiled */
  constructor(module: URL, options: ThreadOptions) {
    this.#options = options
    this.#worker = new Worker(module, { workerData: options.data })
    this.#worker.on('message', message => options.onMessage(message as never))
    this.#worker.on('error', error => {
      this.#cause = error
    })
    this.ended = new Promise(resolve => {
      this.#worker.once('exit', code => {
        this.#onExit(code)
        resolve()
      })
    })
  }

  post(message: unknown): void {
    this.#worker.postMessage(message)
  }

  /** The end of the thread, from now on, is no accident. */
  mayEnd(): void {
    this.#mayEnd = true
  }

  /** Ends the thread wherever it is. */
  async terminate(): Promise<void> {
    this.mayEnd()
    await this.#worker.terminate()
  }

  #onExit(code: number): void {
    if (this.#mayEnd) return
    this.#mayEnd = true
    const { what, onLost } = this.#options
    const cause = this.#cause
    const why = cause === undefined ? `exit code ${code}` : cause instanceof Error ? cause.message : cause
    onLost(new WeirError('WEIR_INTERNAL', `the thread of ${what} has ended: ${why}`, { cause }))
  }
}
