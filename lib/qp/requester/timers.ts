import { doubled, type Nanos, NEVER } from '../../time/nanos.js'
import type { RoundTrips } from '../recovery/round-trips.js'

/** Silence that the standard's timer is stretched to at most, where round trips are that long. */
const TRANSPORT_MAX_NS: Nanos = 60e9
/** Before a round trip has been measured (RFC 6298, section 2.1), or so many of those that the handshake promises. */
const FIRST_NS: Nanos = 1e9
const FIRST_ROUND_TRIPS = 3
/** Timeouts without an answer stretch it to so many times its length: IBA 9.7.6.1.3 allows four. */
const STRETCH_MAX = 4

/** Transport timeout of a Local ACK Timeout of `exponent`: 4.096 us * 2^n, 0 = never (IBA 9.9.2.1). */
export function ackTimeoutNs(exponent: number): Nanos {
  return exponent === 0 ? NEVER : 4096 * 2 ** exponent
}

/**
 * The timers of a requester.
 *
 * | timer | runs | length | when it ends |
 * |---|---|---|---|
 * | transport (IBA 9.9.2.1) | while a request is unanswered; starts again with every answer that acknowledges something new | what was negotiated; the retransmission timeout of RFC 6298 where that is longer | a retry is used up; the last one ends the connection |
 * | retransmission (RFC 6298) | as the transport timer, if it is shorter | SRTT + max(least, 4 RTTVAR), doubled with each end | packets are retransmitted, and no retry is used up |
 * | RNR (IBA 9.7.5.2.8) | after an RNR NAK, in place of both | what the NAK says | sending goes on |
 *
 * So a connection never ends after a shorter silence than the standard's, however short round trips are. And a loss with
 * nothing behind it does not wait for the standard's timer.
 */
export class RequesterTimers {
  readonly #trips: RoundTrips
  readonly #retransmitLeastNs: Nanos
  /** When the first of them ends, or NEVER. */
  #nextNs: Nanos = NEVER
  #timeoutNs: Nanos = NEVER
  #ackDeadline: Nanos = NEVER
  #retransmitDeadline: Nanos = NEVER
  #rnrDeadline: Nanos = NEVER
  /** No retransmission timeout is shorter than this: what has to be tried before. */
  #probeNs: Nanos = 0
  /** Times that a timer has ended since the peer was last heard. */
  #ends = 0

  /** @param retransmitLeastNs of the retransmission timer beyond SRTT; NEVER: there is none, and round trips stretch the transport timer only where they are longer */
  constructor(trips: RoundTrips, retransmitLeastNs: Nanos) {
    this.#trips = trips
    this.#retransmitLeastNs = retransmitLeastNs
  }

  /** Timeout of the transport timer; NEVER: it does not run out. */
  get timeoutNs(): Nanos {
    if (this.#timeoutNs === NEVER) return NEVER
    const standardOnly = this.#retransmitLeastNs === NEVER
    const measuredNs = this.#trips.timeoutNs(0)
    if (measuredNs === 0) {
      const expectedNs = Math.min(TRANSPORT_MAX_NS, FIRST_ROUND_TRIPS * this.#trips.expectedNs)
      return Math.max(this.#timeoutNs, standardOnly ? 0 : FIRST_NS, expectedNs)
    }
    if (measuredNs <= this.#timeoutNs / (standardOnly ? 1 : STRETCH_MAX)) return this.#timeoutNs
    const stretchedNs = measuredNs * Math.min(STRETCH_MAX, doubled(1, this.#ends))
    return Math.max(this.#timeoutNs, Math.min(TRANSPORT_MAX_NS, stretchedNs))
  }

  /** Timeout of the retransmission timer; NEVER before a round trip has been measured. */
  get retransmitTimeoutNs(): Nanos {
    const measuredNs = this.#trips.timeoutNs(this.#retransmitLeastNs)
    if (measuredNs === 0 || this.#retransmitLeastNs === NEVER) return NEVER
    return doubled(Math.max(measuredNs, this.#probeNs), this.#ends)
  }

  /** A time before which no timer ends, whatever arrives until then. */
  endNotBefore(now: Nanos): Nanos {
    return Math.min(this.#nextNs, now + Math.min(this.#timeoutNs, this.#retransmitLeastNs))
  }

  setExponent(exponent: number): void {
    this.#timeoutNs = ackTimeoutNs(exponent)
  }

  /** A tail probe and its answer take so long: the timers wait for them. */
  set probeNs(probeNs: Nanos) {
    this.#probeNs = probeNs
  }

  get waitsForReceiver(): boolean {
    return this.#rnrDeadline !== NEVER
  }

  /** A request has left: the timers run from the oldest unanswered one on. */
  onSent(now: Nanos): void {
    if (this.#ackDeadline === NEVER) this.#start(now)
  }

  #start(now: Nanos): void {
    this.#ackDeadline = now + this.timeoutNs
    this.#startRetransmit(now)
  }

  #startRetransmit(now: Nanos): void {
    const deadline = now + this.retransmitTimeoutNs
    this.#retransmitDeadline = deadline < this.#ackDeadline ? deadline : NEVER
    this.#settle()
  }

  #settle(): void {
    this.#nextNs = Math.min(this.#rnrDeadline, this.#ackDeadline, this.#retransmitDeadline)
  }

  /** An answer came; `outstanding` if more are awaited. */
  onProgress(now: Nanos, outstanding: boolean): void {
    this.#ends = 0
    this.#ackDeadline = NEVER
    this.#retransmitDeadline = NEVER
    this.#nextNs = this.#rnrDeadline
    if (outstanding) this.#start(now)
  }

  /** The peer has shown that it is alive, though it answered nothing in order: the timers start again. */
  onSign(now: Nanos): void {
    this.#ends = 0
    if (this.#ackDeadline !== NEVER) this.#start(now)
  }

  startRnr(now: Nanos, waitNs: Nanos): void {
    this.stop()
    this.#rnrDeadline = now + waitNs
    this.#settle()
  }

  stop(): void {
    this.#ackDeadline = NEVER
    this.#retransmitDeadline = NEVER
    this.#rnrDeadline = NEVER
    this.#nextNs = NEVER
  }

  /** When the first of them ends, or NEVER. */
  next(): Nanos {
    return this.#nextNs
  }

  /** Ends the RNR wait if it is over; `outstanding` if answers are awaited then. */
  takeRnr(now: Nanos, outstanding: boolean): void {
    if (now < this.#rnrDeadline) return
    this.#rnrDeadline = NEVER
    this.#settle()
    if (outstanding) this.onSent(now)
  }

  /** True, once, if the transport timer has run out. */
  takeAck(now: Nanos): boolean {
    if (now < this.#ackDeadline || this.#ackDeadline === NEVER) return false
    this.#ackDeadline = NEVER
    this.#retransmitDeadline = NEVER
    this.#nextNs = this.#rnrDeadline
    this.#ends++
    return true
  }

  /** True if the retransmission timer has run out. It starts again with twice the length. */
  takeRetransmit(now: Nanos): boolean {
    if (now < this.#retransmitDeadline || this.#retransmitDeadline === NEVER) return false
    this.#ends++
    this.#startRetransmit(now)
    return true
  }
}
