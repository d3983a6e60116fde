import { type Nanos, NEVER } from '../time/nanos.js'

/** An answer that takes so many round trips longer than the last one, or than T, is given up. */
const TIMEOUT_ROUND_TRIPS = 4

/**
 * When a flow sends probes for telemetry (draft-miao-rtgwg-hpccplus, forward direction, 2): once per round trip, the next
 * when the answer has come or is given up, and only while data is in flight.
 */
export class TelemetryProbe {
  /** Number of the probe that is waited for, or of the next: the PSN field of its packet, 24 bits. */
  sequence = 0
  readonly #t: Nanos
  /** The last probe's departure. */
  #sentNs: Nanos = Number.NEGATIVE_INFINITY
  #awaited = false
  #roundTripNs: Nanos
  /** The flow's next packet when the probe left. */
  #sndNxt = 0

  /** @param tNs T, the base round-trip time */
  constructor(tNs: Nanos) {
    this.#t = tNs
    this.#roundTripNs = tNs
  }

  /** True if a probe may go now; the caller knows whether data is in flight. */
  isDue(now: Nanos): boolean {
    return !this.#awaited && now >= this.#sentNs + this.#t
  }

  /** @param sndNxt number of the flow's next transmission */
  onSent(now: Nanos, sndNxt: number): void {
    this.#awaited = true
    this.#sentNs = now
    this.#sndNxt = sndNxt
  }

  /**
   * An answer arrived. Returns the number of the flow's first transmission after the probe: by that a controller sees
   * whether the probe was sent before or after its last step. -1 if the probe is not waited for.
   */
  onAnswer(now: Nanos, sequence: number): number {
    if (!this.#awaited || sequence !== this.sequence) return -1
    this.#roundTripNs = Math.max(this.#t, now - this.#sentNs)
    this.#next()
    return this.#sndNxt
  }

  /** When the answer is given up, or the next probe may go. */
  nextTimeout(): Nanos {
    if (this.#awaited) return this.#sentNs + TIMEOUT_ROUND_TRIPS * this.#roundTripNs
    return this.#sentNs === Number.NEGATIVE_INFINITY ? NEVER : this.#sentNs + this.#t
  }

  onTimeout(now: Nanos): void {
    if (this.#awaited && now >= this.nextTimeout()) this.#next()
  }

  #next(): void {
    this.#awaited = false
    this.sequence = (this.sequence + 1) & 0xffffff
  }
}
