/** Goodput of a transfer since the last look at it. */
import { type Nanos, SECOND } from '../../time/nanos.js'

export class Meter {
  #bytes: number
  #atNs: Nanos

  constructor(now: Nanos, bytes = 0) {
    this.#bytes = bytes
    this.#atNs = now
  }

  /** Bits per second since the last call; 0 when no time has passed. */
  sample(now: Nanos, bytes: number): number {
    const elapsed = now - this.#atNs
    const bps = elapsed > 0 ? (Math.max(0, bytes - this.#bytes) * 8 * SECOND) / elapsed : 0
    this.#bytes = bytes
    this.#atNs = now
    return bps
  }
}
