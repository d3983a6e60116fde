import { type Nanos, NEVER } from '../time/nanos.js'

/** An answer that takes so many round trips longer than the last one, or than T, is given up. Each that is, doubles the time. */
const TIMEOUT_ROUND_TRIPS = 4
const GIVEN_UP_MAX = 10

/** A flow whose window is full has stalled when it has heard nothing for so many round trips. */
const STALL_ROUND_TRIPS = 2

/** Bytes that a flow may be ahead of its share: two probes and their answers, so that it finds its window before it has sent much. */
const AHEAD_BYTES = 800

/** Probes of which it is known what was sent before them. A later answer is none. */
const SENT_PROBES = 16

/**
 * When a flow sends probes for telemetry (draft-miao-rtgwg-hpccplus, forward direction, 2): "End-hosts can generate probe
 * packets less frequently and we recommend once per round trip time. This is it sends a new probe packet once it receives
 * the response. In addition, the end-host issues probe packets only when it has data packet in the flight."
 *
 * So the next one goes T after the last, when the answer has come or is given up; and when the bytes of all probes and answers
 * are within a share of the data's. Where windows are of a few packets, one in a round trip would be many.
 *
 * An answer that was given up and comes all the same is welcome: behind a queue that the round trips before had not met, every answer is late,
 * and tells most.
 *
 * A flow that has stalled sends one whatever its share; one whose data packets collect telemetry, only then. With delayed
 * acknowledgements a window may become smaller than the packets for which the receiver waits until it acknowledges; an answer
 * to a probe acknowledges all that has come.
 */
export class TelemetryProbe {
  /** Number of the probe that is waited for, or of the next: the PSN field of its packet, 24 bits. */
  sequence = 0
  /** One in each round trip; otherwise only for flows that have stalled. */
  readonly always: boolean
  readonly #t: Nanos
  readonly #share: number
  /** Bytes that probes may still take: the share of what was sent, less what they took. */
  #credit = AHEAD_BYTES
  /** When the flow last sent or was acknowledged. */
  #movedNs: Nanos = Number.NEGATIVE_INFINITY
  #awaited = false
  #roundTripNs: Nanos
  /** Given up since the last answer. */
  #givenUp = 0
  #lastAnswered = -1
  /** By the low bits of the sequence: when a probe left, and the flow's next packet then. */
  readonly #sentNs = new Float64Array(SENT_PROBES).fill(Number.NEGATIVE_INFINITY)
  readonly #sndNxt = new Float64Array(SENT_PROBES)
  #lastSentNs: Nanos = Number.NEGATIVE_INFINITY

  /** @param tNs T, the base round-trip time; @param share of the bytes of data, that probes and answers may take: `probeShare` */
  constructor(tNs: Nanos, always: boolean, share: number) {
    this.#t = tNs
    this.#roundTripNs = tNs
    this.always = always
    this.#share = share
  }

  /** True if a probe may go now; the caller knows whether there is a reason for one. */
  isDue(now: Nanos): boolean {
    return !this.#awaited && now >= this.#nextNs()
  }

  #nextNs(): Nanos {
    if (this.always && this.#credit >= 0) return this.#lastSentNs + this.#t
    return Math.max(this.#lastSentNs, this.#movedNs) + STALL_ROUND_TRIPS * this.#roundTripNs
  }

  /** The flow has sent a packet or heard of one. @param rttNs its round trip, 0 = not known */
  onProgress(now: Nanos, rttNs: Nanos): void {
    this.#movedNs = now
    if (!this.always && rttNs > 0) this.#roundTripNs = Math.max(this.#t, rttNs)
  }

  /** A packet with payload has left. */
  onData(now: Nanos, wireBytes: number): void {
    this.#movedNs = now
    this.#credit = Math.min(AHEAD_BYTES, this.#credit + this.#share * wireBytes)
  }

  /** @param sndNxt number of the flow's next transmission; @param wireBytes of the probe */
  onSent(now: Nanos, sndNxt: number, wireBytes: number): void {
    const slot = this.sequence % SENT_PROBES
    this.#awaited = true
    this.#lastSentNs = now
    this.#sentNs[slot] = now
    this.#sndNxt[slot] = sndNxt
    this.#credit -= wireBytes
  }

  /**
   * An answer of so many bytes arrived. Returns the number of the flow's first transmission after the probe: by that a controller
   * sees whether the probe was sent before or after its last step. -1 if it is no probe's, or not the newest.
   */
  onAnswer(now: Nanos, sequence: number, wireBytes: number): number {
    const back = (this.sequence - sequence) & 0xffffff
    const known = this.#awaited ? back : back - 1
    if (known < 0 || known >= SENT_PROBES || !this.#isNewer(sequence)) return -1
    const slot = sequence % SENT_PROBES
    this.#credit -= wireBytes
    this.#lastAnswered = sequence
    this.#roundTripNs = Math.max(this.#t, now - this.#sentNs[slot]!)
    this.#givenUp = 0
    if (back === 0) this.#next()
    return this.#sndNxt[slot]!
  }

  #isNewer(sequence: number): boolean {
    if (this.#lastAnswered < 0) return true
    const ahead = (sequence - this.#lastAnswered) & 0xffffff
    return ahead > 0 && ahead < 0x800000
  }

  /** When the answer is given up, or the next probe may go. */
  nextTimeout(): Nanos {
    if (this.#awaited) return this.#lastSentNs + TIMEOUT_ROUND_TRIPS * 2 ** this.#givenUp * this.#roundTripNs
    const next = this.#nextNs()
    return next === Number.NEGATIVE_INFINITY ? NEVER : next
  }

  onTimeout(now: Nanos): void {
    if (!this.#awaited || now < this.nextTimeout()) return
    this.#givenUp = Math.min(GIVEN_UP_MAX, this.#givenUp + 1)
    this.#next()
  }

  /** The flow takes another path: answers to probes of the old one count no more. */
  onPathChange(): void {
    if (this.#awaited) this.#next()
    this.#lastAnswered = (this.sequence - 1) & 0xffffff
  }

  #next(): void {
    this.#awaited = false
    this.sequence = (this.sequence + 1) & 0xffffff
  }
}
