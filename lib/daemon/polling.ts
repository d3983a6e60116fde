import type { HostLoop } from '../io/host-loop.js'

/** While anybody wants it, the loop runs a round in every turn of the event loop: it looks, and never sleeps. */
export class Polling {
  readonly #loop: HostLoop
  #wanted = 0

  constructor(loop: HostLoop) {
    this.#loop = loop
  }

  begin(): void {
    if (this.#wanted++ === 0) setImmediate(this.#turn)
  }

  end(): void {
    this.#wanted--
  }

  /** Ends it for all, and for good. */
  close(): void {
    this.#wanted = Number.NEGATIVE_INFINITY
  }

  readonly #turn = (): void => {
    if (!(this.#wanted > 0)) return
    this.#loop.wake()
    setImmediate(this.#turn)
  }
}
