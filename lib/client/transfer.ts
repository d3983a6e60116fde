import { EventEmitter } from 'node:events'
import { checkInstance } from '../arguments.js'
import type { Progress, TransferReply } from '../control/messages.js'
import type { WeirError } from '../errors.js'

/** What a transfer of the daemon's client takes from its object. */
export interface TransferHooks {
  signal: AbortSignal
  onProgress(progress: Progress): void
}

interface TransferEvents {
  /** A few times a second. */
  progress: [Progress]
  /** A connection was lost, and the next attempt waits. */
  retry: [Progress]
  done: [TransferReply]
  failed: [WeirError]
}

/**
 * A transfer that is under way, made by `DaemonClient.start`. It emits `progress`, `retry`, and in the end `done` or `failed`. A loop
 * `for await (const progress of transfer)` has the latest progress each time, and ends with the transfer.
 */
export class ClientTransfer extends EventEmitter<TransferEvents> {
  /** Resolves when all is there; throws what the method of the client throws. */
  readonly result: Promise<TransferReply>
  /** How it stands; null before the daemon has said so. */
  progress: Progress | null = null
  readonly #cancelled = new AbortController()
  /** Number of the attempt that the last `retry` was about. */
  #retry = 0
  #hasEnded = false
  /** Waiting loops. */
  #waiting: (() => void)[] = []

  constructor(begin: (hooks: TransferHooks) => Promise<TransferReply>) {
    super()
    const hooks = {
      signal: this.#cancelled.signal,
      onProgress: (progress: Progress) => this.#onProgress(progress),
    }
    const begun = begin(hooks)
    checkInstance('start', 'what begin returns', Promise, begun)
    this.result = begun.finally(() => {
      this.#hasEnded = true
      this.#wake()
    })
    this.result.then(
      reply => this.emit('done', reply),
      error => this.emit('failed', error),
    )
  }

  /** Ends it at both ends, with WEIR_CANCELLED. Harmless when it has ended. */
  cancel(): void {
    this.#cancelled.abort()
  }

  /** The latest progress, each at most once; throws what ends the transfer. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Progress, TransferReply, void> {
    for (let seen: Progress | null = null; !this.#hasEnded; ) {
      if (this.progress !== null && this.progress !== seen) {
        seen = this.progress
        yield seen
      } else await new Promise<void>(resolve => this.#waiting.push(resolve))
    }
    return await this.result
  }

  #onProgress(progress: Progress): void {
    this.progress = progress
    this.emit('progress', progress)
    const { state, retry } = progress
    if (state === 'waiting' && retry !== this.#retry) this.emit('retry', progress)
    this.#retry = state === 'waiting' ? retry : retry && this.#retry
    this.#wake()
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
