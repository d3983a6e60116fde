import { Worker } from 'node:worker_threads'
import { WeirError } from '../errors.js'

interface ThreadOptions {
  /** What the thread does, for messages: "the data path". */
  what: string
  /** `workerData` of the module. */
  data: unknown
  onMessage: (message: never) => void
  /** Called once if the thread ends before `mayEnd`: by a defect, out of memory, or by an exit. */
  onLost: (error: WeirError) => void
}

/** A thread of this process that runs one module. Until `mayEnd` is called, its end is an error. */
export class Thread {
  /** Resolves when the thread has ended, whatever the reason. */
  readonly ended: Promise<void>
  readonly #worker: Worker
  readonly #options: ThreadOptions
  #mayEnd = false
  #cause: unknown

  /** @param module the compiled file that the thread runs */
  constructor(module: URL, options: ThreadOptions) {
    this.#options = options
    const workerData = options.data
    this.#worker = saysKindOfText()
      ? new Worker(`import(${JSON.stringify(module.href)})`, { eval: true, workerData })
      : new Worker(module, { workerData })
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

  /** From now on the end of the thread is no error. */
  mayEnd(): void {
    this.#mayEnd = true
  }

  /** Terminates the thread at any point. */
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

/**
 * A program that was given as text (-e) may say of what kind it is. No file may, so a thread, which has the flags of its program, runs a text
 * too. Flags that are given to a thread are checked by other rules: it would lose those that are for the process.
 */
function saysKindOfText(): boolean {
  return [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some(words => words.includes('--input-type'))
}
