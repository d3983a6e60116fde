import { type Nanos, NEVER } from '../time/nanos.js'

/** An answer that takes so many round trips longer than the last one, or than T, is given up. */
const TIMEOUT_ROUND_TRIPS = 4

/** A flow whose window is full has stalled when it has heard nothing for so many round trips. */
const STALL_ROUND_TRIPS = 2

/**
 * When a flow sends probes for telemetry (draft-miao-rtgwg-hpccplus, forward direction, 2): once per round trip, the next
 * when the answer has come or is given up, and only while data is in flight.
 *
 * A flow whose data packets collect telemetry sends one only when it has stalled. With delayed acknowledgements a
 * window may become smaller than the packets for which the receiver waits until it acknowledges; an answer to a
 * probe acknowledges all that has come.
 */
export class TelemetryProbe {
  /** Number of the probe that is waited for, or of the next: the PSN field of its packet, 24 bits. */
  sequence = 0
  /** One in each round trip; otherwise only for flows that have stalled. */
  readonly always: boolean
  readonly #t: Nanos
  /** The last probe's departure, and when the flow last sent or was acknowledged. */
  #sentNs: Nanos = Number.NEGATIVE_INFINITY
  #movedNs: Nanos = Number.NEGATIVE_INFINITY
  #awaited = false
  #roundTripNs: Nanos
  /** The flow's next packet when the probe left. */
  #sndNxt = 0

  /** @param tNs T, the base round-trip time */
  constructor(tNs: Nanos, always: boolean) {
    this.#t = tNs
    this.#roundTripNs = tNs
    this.always = always
  }

  /** True if a probe may go now; the caller knows whether there is a reason for one. */
  isDue(now: Nanos): boolean {
    return !this.#awaited && now >= this.#nextNs()
  }

  #nextNs(): Nanos {
    if (this.always) return this.#sentNs + this.#t
    return Math.max(this.#sentNs, this.#movedNs) + STALL_ROUND_TRIPS * this.#roundTripNs
  }

  /** The flow has sent a packet or heard of one. @param rttNs its round trip, 0 = not known */
  onProgress(now: Nanos, rttNs: Nanos): void {
    this.#movedNs = now
    if (!this.always && rttNs > 0) this.#roundTripNs = Math.max(this.#t, rttNs)
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
    const next = this.#nextNs()
    return next === Number.NEGATIVE_INFINITY ? NEVER : next
  }

  onTimeout(now: Nanos): void {
    if (this.#awaited && now >= this.nextTimeout()) this.#next()
  }

  #next(): void {
    this.#awaited = false
    this.sequence = (this.sequence + 1) & 0xffffff
  }
}
