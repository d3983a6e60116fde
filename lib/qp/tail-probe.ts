import { type Nanos, NEVER } from '../time/nanos.js'
import type { Requester } from './requester.js'
import type { SelectiveRepeat } from './selective-repeat.js'

const NONE = -1
/** Shortest PTO before a round trip has been measured. RFC 8985, section 7.2, has 1 s here, made for the Internet. */
const FIRST_LEAST_NS: Nanos = 1_000_000

/**
 * When a requester with selective repeat probes for the loss of the last packets it sent (RFC 8985, section 7).
 * Nothing that arrives later could tell of them, and the transport timer is long: the standard counts its timeouts
 * (retry count) and breaks the connection after the last one, so it cannot be as short as a round trip. A probe is
 * the last packet once more, asking for an answer. It uses up no retry, takes no other packet for lost, and the
 * controller is not told.
 *
 * The probe timeout, PTO, is the longest of: two smoothed round trips; SRTT + 4 RTTVAR where round trips vary more
 * (RFC 6298, section 2), as to busy hosts; and twice what a packet has waited for its answer while others got theirs,
 * for queues can grow to many times the round trip within one. PTO runs from the last packet that asked for an
 * answer; and half of it has to pass after the last news, since what is under way behind that may be late as well.
 * (The RFC waits for all of it after news: one round trip more.)
 *
 * Each further probe waits twice as long (RFC 6298, section 5.5), and there is none when the transport timer would
 * come first. The doubling ends only when a packet that was sent once has been timed, not with the next news: the
 * answer to a packet that was probed for too early says nothing about the round trip (Karn), and where the window
 * holds one packet, each would be sent twice for ever.
 *
 * Nothing is timed before the peer has answered something: when the first window meets those of many other senders,
 * its first packet finds a queue that says nothing of what its last one will find.
 */
export class TailProbe {
  /** A probe is to leave, whether the window has room or not (RFC 8985, section 7.3). */
  pending = false
  /** The packet whose answer is timed, or -1: one at a time, sent once (RFC 6298, section 3: Karn). */
  timedSeq = NONE
  /** The highest PSN that has been asked to be answered. */
  askedSeq = NONE
  #timedAtNs: Nanos = 0
  #expectedRttNs: Nanos = 0
  #srttNs: Nanos = 0
  #rttvarNs: Nanos = 0
  readonly #leastNs: Nanos
  /** When the last packet that asked for an answer left. */
  #askedAtNs: Nanos = 0
  /** True once the peer has answered anything. */
  #answered = false
  /** Probes since a round trip was last measured. */
  #unanswered = 0
  #deadline: Nanos = NEVER

  /** @param leastNs the least PTO; NEVER = no probes */
  constructor(leastNs: Nanos) {
    this.#leastNs = leastNs
  }

  /** The round trip of an idle path: stands in until one is measured. */
  expectRtt(rttNs: Nanos): void {
    this.#expectedRttNs = rttNs
  }

  /** PTO; NEVER while no round trip is known. */
  get timeoutNs(): Nanos {
    return Math.max(this.#leastNs, this.#roundTripsNs()) * 2 ** this.#unanswered
  }

  #roundTripsNs(): Nanos {
    if (this.#srttNs > 0) return Math.max(2 * this.#srttNs, this.#srttNs + 4 * this.#rttvarNs)
    return this.#expectedRttNs > 0 ? Math.max(2 * this.#expectedRttNs, FIRST_LEAST_NS) : NEVER
  }

  /**
   * The request packet `seq` has left.
   * @param lastSeq the last PSN that its answer acknowledges: of a READ, that of its last response
   * @param transportNs timeout of the transport timer
   */
  onSent(now: Nanos, seq: number, lastSeq: number, isNew: boolean, asks: boolean, transportNs: Nanos): void {
    if (!isNew) {
      if (seq === this.timedSeq) this.timedSeq = NONE
    } else if (this.timedSeq === NONE && this.#answered) {
      this.timedSeq = seq
      this.#timedAtNs = now
    }
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

  /**
   * The peer has told of packets that were not known to have arrived.
   * @param timed the packet `timedSeq` is known to have arrived
   * @param awaited more answers are awaited that were asked for
   */
  onNews(now: Nanos, timed: boolean, awaited: boolean, transportNs: Nanos): void {
    if (timed && this.timedSeq !== NONE) {
      this.#sample(now - this.#timedAtNs)
      this.timedSeq = NONE
      this.#unanswered = 0
    }
    this.pending = false
    this.#answered = true
    const waitedNs = this.timedSeq === NONE ? 0 : now - this.#timedAtNs
    const timeoutNs = Math.max(this.timeoutNs, 2 * waitedNs)
    const waits = awaited && timeoutNs < transportNs
    this.#deadline = waits ? Math.max(this.#askedAtNs + timeoutNs, now + Math.ceil(timeoutNs / 2)) : NEVER
  }

  /** Everything is sent again, or nothing may be sent: the next packet that asks for an answer begins anew. */
  stop(): void {
    this.pending = false
    this.timedSeq = NONE
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

  /** RFC 6298, sections 2.2 and 2.3, except that RTTVAR begins as R/4: so PTO begins as two round trips. */
  #sample(rttNs: Nanos): void {
    if (this.#srttNs === 0) {
      this.#srttNs = rttNs
      this.#rttvarNs = Math.round(rttNs / 4)
      return
    }
    this.#rttvarNs += Math.round((Math.abs(this.#srttNs - rttNs) - this.#rttvarNs) / 4)
    this.#srttNs += Math.round((rttNs - this.#srttNs) / 8)
  }
}

/**
 * What a probe repeats: the last packet sent that is not known to have arrived or been answered; -1 if there is none.
 * Of a READ that is being answered, the last response: it tells whether those before it are lost.
 */
export function lastUnanswered(requester: Requester, selective: SelectiveRepeat): number {
  const { sndUna, sendSeq } = requester
  const queue = requester.context.sendQueue
  for (let seq = Math.min(sendSeq, sndUna + selective.kept.span) - 1; seq >= sndUna; ) {
    const slot = queue.at(queue.find(seq))
    const from = Math.max(slot.firstSeq, sndUna)
    if (!slot.awaitsResponse) {
      for (; seq >= from; seq--) if (!selective.isSacked(seq)) return seq
    } else if (slot.firstSeq <= selective.executedSeq) {
      for (; seq >= from; seq--) if (!selective.kept.has(seq)) return seq
    } else if (!selective.isSacked(from)) return from
    seq = slot.firstSeq - 1
  }
  return NONE
}
