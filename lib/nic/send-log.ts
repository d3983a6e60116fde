import type { Nanos } from '../time/nanos.js'

/**
 * When each packet under way left, and which transmission of its flow it was: a column each, indexed by the low bits
 * of the PSN.
 */
export class SendLog {
  readonly #sentAtNs: Float64Array
  readonly #transmission: Float64Array
  readonly #mask: number

  /** @param packets that may be unacknowledged at a time, a power of two */
  constructor(packets: number) {
    this.#sentAtNs = new Float64Array(packets)
    this.#transmission = new Float64Array(packets)
    this.#mask = packets - 1
  }

  /** @param again the packet had been sent before: no answer tells which of the two it answers (Karn) */
  record(psn: number, now: Nanos, transmission: number, again: boolean): void {
    this.#sentAtNs[psn & this.#mask] = again ? 0 : now
    this.#transmission[psn & this.#mask] = transmission
  }

  /** Number of the packet's last transmission. */
  transmissionOf(psn: number): number {
    return this.#transmission[psn & this.#mask]!
  }

  /** Round-trip time of the packet, 0 when it was sent more than once or is not known. */
  rttNs(psn: number, now: Nanos): Nanos {
    const sent = this.#sentAtNs[psn & this.#mask]!
    return sent > 0 ? now - sent : 0
  }
}
