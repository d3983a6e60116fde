/** Checks that work completes once and in order: one queue of one end of a connection. */
import type { Fail } from './fail.js'

/** Completions of the send queue. Ids of work requests count from 0. */
export class SendOrder {
  posted = 0
  succeeded = 0
  /** Completed with an error. */
  flushed = 0
  readonly #fail: Fail

  constructor(fail: Fail) {
    this.#fail = fail
  }

  onCompletion(id: number, good: boolean): void {
    const next = this.succeeded + this.flushed
    if (id !== next) this.#fail(`work request ${id} completed in place of ${next}`)
    if (id >= this.posted) this.#fail(`work request ${id} completed before it was posted`)
    if (!good) {
      this.flushed++
      return
    }
    if (this.flushed > 0) this.#fail(`work request ${id} succeeded after a failed one`)
    this.succeeded++
  }

  /** The connection has ended, so everything that was posted has completed. */
  onEnd(): void {
    const ended = this.succeeded + this.flushed
    if (ended !== this.posted) this.#fail(`posted ${this.posted} work requests, ${ended} have completed`)
  }
}

/** Completions of the receive queue. */
export class ReceiveCount {
  posted = 0
  completed = 0
  readonly #fail: Fail

  constructor(fail: Fail) {
    this.#fail = fail
  }

  onCompletion(): void {
    this.completed++
    if (this.completed > this.posted)
      this.#fail(`${this.completed} receives completed, ${this.posted} were posted`)
  }

  onEnd(): void {
    if (this.completed !== this.posted) {
      this.#fail(`posted ${this.posted} receives, ${this.completed} have completed`)
    }
  }
}
