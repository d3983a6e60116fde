import { DOUBLE_0, double } from '../../double.js'
import { doubled, type Nanos, NEVER } from '../../time/nanos.js'

/**
 * An answer is given up after so many times the last round trip, or T if that is longer. Each one given up doubles
 * the time.
 */
const TIMEOUT_ROUND_TRIPS = 4
const GIVEN_UP_MAX = 10

/** A flow with a full window that has heard nothing for so many round trips has stalled. */
const STALL_ROUND_TRIPS = 2

/**
 * Bytes by which probes may exceed their share: two probes and their answers, so that a flow finds its window before
 * it has sent much.
 */
const AHEAD_BYTES = 800

/**
 * Probes are 1 to 1 + SPREAD times T apart, by the golden ratio so that all values come up evenly. At equal distances each would meet the
 * packets of others, or the run of its own that one acknowledgement lets out, in the same order every time: a flow then
 * measures more than another for good.
 */
const SPREAD = 0.5
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2

/** Probes for which the transmissions before them are remembered; an answer to an older one is ignored. */
const SENT_PROBES = 16
/** What is remembered before the first. Nobody writes to it. */
const NO_PROBES = new Float64Array(0)

/**
 * When a flow sends probes for telemetry (draft-miao-rtgwg-hpccplus, forward direction, 2): "End-hosts can generate
 * probe packets less frequently and we recommend once per round trip time. This is it sends a new probe packet once
 * it receives the response. In addition, the end-host issues probe packets only when it has data packet in the
 * flight."
 *
 * So a probe goes at the earliest 1 to 1.5 T after the last one, once the answer to that has come or been given up, and only
 * while all probes and answers together stay within a share of the data's bytes. Where windows hold a few packets,
 * one in each round trip would be too many.
 *
 * An answer that comes after it was given up is still used: behind a queue that has just grown every answer is late,
 * and these show the most.
 *
 * A flow that has stalled sends a probe whatever its share; a flow whose data packets collect telemetry sends probes
 * only then. With delayed acknowledgements a window may become smaller than the number of packets for which the
 * receiver delays its acknowledgement; the answer to a probe acknowledges all that has arrived.
 */
export class TelemetryProbe {
  /** Number of the probe that is under way, or else of the next one: the PSN field of its packet, 24 bits. */
  sequence = 0
  /** True: a probe in each round trip. False: only when the flow has stalled. */
  readonly always: boolean
  #t: Nanos
  readonly #share: number
  /** Bytes that probes may still take: the share of what was sent, less what they took. */
  #credit = double(AHEAD_BYTES)
  /** When the flow last sent or was acknowledged. */
  #movedNs: Nanos = Number.NEGATIVE_INFINITY
  #awaited = false
  #roundTripNs: Nanos
  /** Given up since the last answer. */
  #givenUp = 0
  #lastAnswered = -1
  /** By the low bits of the sequence: when a probe left, and the flow's next packet then. Made when the first leaves. */
  #sentNs = NO_PROBES
  #sndNxt = NO_PROBES
  #lastSentNs: Nanos = Number.NEGATIVE_INFINITY
  #answeredSentNs: Nanos = DOUBLE_0

  /**
   * @param tNs T, the base round-trip time; @param share of the data's bytes that probes and answers may take:
   * `probeShare`
   */
  constructor(tNs: Nanos, always: boolean, share: number) {
    this.#t = tNs
    this.#roundTripNs = tNs
    this.always = always
    this.#share = share
  }

  /** When the probe left that `onAnswer` has spoken of last. */
  get answeredSentNs(): Nanos {
    return this.#answeredSentNs
  }

  /** T has changed. */
  onBaseRtt(tNs: Nanos): void {
    this.#t = tNs
  }

  /** True if a probe may go now; the caller knows whether there is a reason for one. */
  isDue(now: Nanos): boolean {
    return !this.#awaited && now >= this.#nextNs()
  }

  #nextNs(): Nanos {
    if (this.always && this.#credit >= 0) return this.#lastSentNs + Math.ceil(this.#t * this.#distance)
    return Math.max(this.#lastSentNs, this.#movedNs) + STALL_ROUND_TRIPS * this.#roundTripNs
  }

  /** From the last probe to the next, in T. */
  get #distance(): number {
    return 1 + SPREAD * ((this.sequence * GOLDEN_RATIO) % 1)
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
    if (this.#sentNs === NO_PROBES) this.#makeRoom()
    const slot = this.sequence % SENT_PROBES
    this.#awaited = true
    this.#lastSentNs = now
    this.#sentNs[slot] = now
    this.#sndNxt[slot] = sndNxt
    this.#credit -= wireBytes
  }

  /**
   * An answer of so many bytes arrived. Returns the number of the flow's first transmission after the probe, which
   * shows the controller whether the probe was sent before or after its last update. -1 for an answer to no known
   * probe, or to one older than the last answered.
   */
  onAnswer(now: Nanos, sequence: number, wireBytes: number): number {
    const back = (this.sequence - sequence) & 0xffffff
    const known = this.#awaited ? back : back - 1
    if (this.#sentNs === NO_PROBES || known < 0 || known >= SENT_PROBES || !this.#isNewer(sequence)) return -1
    const slot = sequence % SENT_PROBES
    this.#credit -= wireBytes
    this.#lastAnswered = sequence
    this.#answeredSentNs = this.#sentNs[slot]!
    this.#roundTripNs = Math.max(this.#t, now - this.#answeredSentNs)
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
    if (this.#awaited)
      return this.#lastSentNs + doubled(TIMEOUT_ROUND_TRIPS, this.#givenUp) * this.#roundTripNs
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

  #makeRoom(): void {
    this.#sentNs = new Float64Array(SENT_PROBES).fill(Number.NEGATIVE_INFINITY)
    this.#sndNxt = new Float64Array(SENT_PROBES)
  }

  #next(): void {
    this.#awaited = false
    this.sequence = (this.sequence + 1) & 0xffffff
  }
}
