import { DOUBLE_0 } from '../../double.js'
import { doubled, type Nanos, NEVER } from '../../time/nanos.js'
import type { RoundTrips } from './round-trips.js'

const NONE = -1
/** Shortest PTO before a round trip has been measured. RFC 8985, section 7.2, has 1 s here, made for the Internet. */
const FIRST_LEAST_NS: Nanos = 1_000_000
/** The reordering window is this part of a round trip (RFC 8985, section 6.2.1). */
const REORDERING = 4

/**
 * When a requester with selective repeat probes for the loss of the last packets it sent (RFC 8985, section 7).
 * Nothing that arrives later could show it, and the transport timer is long: the standard counts its timeouts
 * (retry count) and breaks the connection after the last one, so it cannot be as short as a round trip. A probe is
 * the last packet once more, with AckReq. If no answer comes, the next probe is the first packet that is missing, as after
 * the RFC's timeout behind a probe: a peer without room for packets out of order takes no other. The two alternate. A probe
 * uses up no retry, takes no other packet for lost, and the controller does not learn of it.
 *
 * The probe timeout, PTO, is the longest of: two smoothed round trips; SRTT + 4 RTTVAR where round trips vary more
 * (RFC 6298, section 2), as to busy hosts; and twice the time that a packet has waited for its answer while others got
 * theirs, because queues can grow to many times the round trip within one. PTO runs from the last packet that asked for an
 * answer; and half of it has to pass after the last news, because what is in flight behind that may be late as well.
 * (The RFC waits for all of it after news: one round trip more.)
 *
 * Before a round trip has been measured nothing bounds the queues on the path: the first windows of a thousand senders wait for
 * hundreds of round trips of the idle path. Then a question takes the probe's place (context/observer.ts). It has no payload, so it costs
 * little where nothing was lost. It leaves behind the last packet, so its answer says how long that takes, and what is still missing
 * then is probed for.
 *
 * Each further probe waits twice as long (RFC 6298, section 5.5), and there is none when the transport timer would
 * come first. The doubling ends only when a packet that was sent once has been timed. The next news does not
 * end it: the answer to a packet that was probed too early says nothing about the round trip (Karn), and where the
 * window holds one packet, each packet would be sent twice for ever.
 */
export class TailProbe {
  /** A probe is to leave, whether the window has room or not (RFC 8985, section 7.3). */
  pending = false
  /** The highest PSN for which an answer has been requested. */
  askedSeq = NONE
  readonly #trips: RoundTrips
  readonly #leastNs: Nanos
  /** When the last packet that asked for an answer left. */
  #askedAtNs: Nanos = DOUBLE_0
  /** Probes since a round trip was last measured. */
  #unanswered = 0
  #deadline: Nanos = NEVER

  /** @param leastNs the least PTO; NEVER = no probes */
  constructor(trips: RoundTrips, leastNs: Nanos) {
    this.#trips = trips
    this.#leastNs = leastNs
  }

  /** PTO; NEVER while no round trip is known. */
  get timeoutNs(): Nanos {
    return doubled(this.firstTimeoutNs, this.#unanswered)
  }

  /** True if the probe before this one brought no answer, and was the last packet. */
  get asksForFirst(): boolean {
    return this.#unanswered % 2 === 1
  }

  /** PTO of a first probe. */
  get firstTimeoutNs(): Nanos {
    return Math.max(this.#leastNs, this.#roundTripsNs())
  }

  #roundTripsNs(): Nanos {
    const { srttNs, rttvarNs, expectedNs } = this.#trips
    if (srttNs > 0) return Math.max(2 * srttNs, srttNs + 4 * rttvarNs)
    return expectedNs > 0 ? Math.max(2 * expectedNs, FIRST_LEAST_NS) : NEVER
  }

  /**
   * A request packet has left.
   * @param lastSeq the last PSN that its answer acknowledges: of a READ, that of its last response
   * @param transportNs timeout of the transport timer, if it asks
   */
  onSent(now: Nanos, lastSeq: number, asks: boolean, transportNs: Nanos): void {
    if (this.pending) {
      this.pending = false
      this.#unanswered++
    }
    if (!asks) return
    if (lastSeq > this.askedSeq) this.askedSeq = lastSeq
    this.#askedAtNs = now
    const { timeoutNs } = this
    this.#deadline = timeoutNs < transportNs ? now + timeoutNs : NEVER
  }

  /** A question has left in place of a probe. @param transportNs timeout of the transport timer */
  onQuestion(now: Nanos, transportNs: Nanos): void {
    this.#unanswered++
    const { timeoutNs } = this
    this.#deadline = timeoutNs < transportNs ? now + timeoutNs : NEVER
  }

  /**
   * The first question has been answered, and the answer reports nothing else. What it overtook comes within the reordering window.
   * @param awaited answers to packets that left before the question are awaited
   */
  onAnswer(now: Nanos, awaited: boolean): void {
    this.#unanswered = 0
    this.#deadline = awaited ? now + Math.ceil(this.#trips.srttNs / REORDERING) : NEVER
  }

  /**
   * The peer has reported packets that were not known to have arrived.
   * @param measured a round trip has been measured by it
   * @param awaited more answers are awaited
   */
  onNews(now: Nanos, measured: boolean, awaited: boolean, transportNs: Nanos): void {
    if (measured) this.#unanswered = 0
    this.pending = false
    const timeoutNs = Math.max(this.timeoutNs, 2 * this.#trips.waitedNs(now))
    const waits = awaited && timeoutNs < transportNs
    this.#deadline = waits ? Math.max(this.#askedAtNs + timeoutNs, now + Math.ceil(timeoutNs * 0.5)) : NEVER
  }

  /** Everything is retransmitted, or nothing may be sent: the next packet that asks for an answer begins anew. */
  stop(): void {
    this.pending = false
    this.#deadline = NEVER
  }

  next(): Nanos {
    return this.#deadline
  }

  /** True, once, if PTO has passed without news. */
  takeDue(now: Nanos): boolean {
    if (now < this.#deadline || this.#deadline === NEVER) return false
    this.#deadline = NEVER
    return true
  }
}
