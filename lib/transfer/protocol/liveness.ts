/**
 * Finds a peer that has died while there is nothing to send to it. After a silence a Ping goes out. If the peer does not
 * acknowledge it, the queue pair fails, and that ends the session. No clock.
 */
import { type Nanos, SECOND } from '../../time/nanos.js'

/** Silence after which a Ping goes out. */
const PING_AFTER_NS = 5 * SECOND

export class Liveness {
  #heardNs: Nanos

  constructor(now: Nanos) {
    this.#heardNs = now
  }

  /** Anything came from the peer, an acknowledgement too. */
  onHeard(now: Nanos): void {
    this.#heardNs = now
  }

  /** True when a Ping is due; the next one is due a silence later. */
  pingDue(now: Nanos): boolean {
    if (now - this.#heardNs < PING_AFTER_NS) return false
    this.#heardNs = now
    return true
  }
}
