import { type Nanos, NEVER } from '../../time/nanos.js'

/** Questions that a silent peer is asked before it counts as gone. */
const QUESTIONS = 10

/**
 * Whether the peer of an idle connection is still there. A peer that loses its power says nothing more, and a connection without
 * work waits for nothing: after half of the keep-alive time without a packet of the peer it is asked, and asked again, until the time is
 * over.
 */
export class KeepAlive {
  readonly #withinNs: Nanos
  readonly #everyNs: Nanos
  /** NEVER: the connection is not established, or nobody asks. */
  #heardNs: Nanos = NEVER
  #asked = 0

  /** @param withinNs a peer that has been silent for so long is gone; NEVER: none is */
  constructor(withinNs: Nanos) {
    this.#withinNs = withinNs
    this.#everyNs = withinNs / 2 / QUESTIONS
  }

  /** The peer has sent something. The first time: the connection is established. */
  onHeard(now: Nanos): void {
    this.#heardNs = now
    this.#asked = 0
  }

  nextTimeout(): Nanos {
    if (this.#heardNs === NEVER || this.#withinNs === NEVER) return NEVER
    return Math.ceil(this.#heardNs + this.#withinNs / 2 + this.#asked * this.#everyNs)
  }

  /** What is to be done now. */
  onTimeout(now: Nanos): 'nothing' | 'ask' | 'gone' {
    if (this.nextTimeout() > now) return 'nothing'
    if (this.#asked === QUESTIONS) return 'gone'
    // A host that did not run for a while has asked nobody meanwhile.
    this.#heardNs = Math.max(this.#heardNs, now - this.#withinNs / 2 - this.#asked * this.#everyNs)
    this.#asked++
    return 'ask'
  }
}
