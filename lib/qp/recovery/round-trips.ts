import { DOUBLE_0 } from '../../double.js'
import type { Nanos } from '../../time/nanos.js'

const NONE = -1
/** Questions that wait for their answers, at most; more than the doubling of timeouts lets out. */
const QUESTIONS_MAX = 63

/**
 * Round-trip times of a connection's own requests (RFC 6298, section 2): one packet at a time is timed, and only one that was
 * sent once, as the answer to a repeated one does not say which of them it answers (section 3: Karn).
 *
 * Nothing is timed before the peer has answered something: when the first window meets those of many other senders,
 * the queue that its first packet finds says nothing of the queue that its last one will find. Where no answer comes, the peer is
 * asked a question: it leaves behind the last packet and measures what that will find.
 */
export class RoundTrips {
  /** The packet whose answer is timed, or -1. */
  timedSeq = NONE
  /** Smoothed, and how much they vary; 0 until one is measured. */
  srttNs: Nanos = DOUBLE_0
  rttvarNs: Nanos = DOUBLE_0
  /** The least that was measured, 0 until one is. */
  leastNs: Nanos = DOUBLE_0
  /** Round trip of the idle path, 0 = not known. */
  expectedNs: Nanos = 0
  #timedAtNs: Nanos = DOUBLE_0
  /** True once the peer has answered anything. */
  #answered = false
  /**
   * Questions without an answer, when the oldest of them left, and the PSN that came next as the last one left. They are forgotten once a
   * packet is answered that left after them.
   */
  #questions = 0
  #questionNs: Nanos = DOUBLE_0
  #questionsUntilSeq = NONE

  /** The request packet has left. @param isNew for the first time */
  onSent(now: Nanos, seq: number, isNew: boolean): void {
    if (!isNew) {
      if (seq === this.timedSeq) this.timedSeq = NONE
    } else if (this.timedSeq === NONE && this.#answered) {
      this.timedSeq = seq
      this.#timedAtNs = now
    }
  }

  /**
   * The peer has answered something new. True if that was a round trip.
   * @param timed the packet `timedSeq` is known to have arrived; @param sndUna everything before it is answered
   */
  onNews(now: Nanos, timed: boolean, sndUna: number): boolean {
    this.#answered = true
    if (sndUna > this.#questionsUntilSeq) this.#questions = 0
    if (!timed || this.timedSeq === NONE) return false
    this.#sample(now - this.#timedAtNs)
    this.timedSeq = NONE
    return true
  }

  /** True once a round trip has been measured. */
  get measured(): boolean {
    return this.srttNs > 0
  }

  /** A question leaves. */
  onQuestion(now: Nanos, sndNxt: number): void {
    if (this.#questions === 0) this.#questionNs = now
    this.#questionsUntilSeq = sndNxt
    this.#questions = Math.min(QUESTIONS_MAX, this.#questions + 1)
  }

  /**
   * The requester goes back after silence. A question from before would measure the silence, and the peer counts retransmitted packets now.
   */
  onSilence(): void {
    this.#questions = 0
  }

  /**
   * The peer has counted so many more packets that arrived twice. Returns how many of them were questions. The first round trip is
   * that of the oldest question since the last silence: where that one was lost it is too long, but shorter than a timeout.
   */
  takeAnswers(now: Nanos, packets: number): number {
    const answers = Math.min(packets, this.#questions)
    if (answers === 0) return 0
    this.#questions -= answers
    if (!this.measured) this.#sample(now - this.#questionNs)
    return answers
  }

  /** Times nothing until the next packet is sent: everything is retransmitted, or nothing may be sent. */
  stop(): void {
    this.timedSeq = NONE
  }

  /** How long the timed packet has waited for its answer. */
  waitedNs(now: Nanos): Nanos {
    return this.timedSeq === NONE ? DOUBLE_0 : now - this.#timedAtNs
  }

  /** The least round trip there may be, 0 when nothing is known. */
  get floorNs(): Nanos {
    if (this.leastNs === 0 || this.expectedNs === 0) return this.leastNs + this.expectedNs
    return Math.min(this.leastNs, this.expectedNs)
  }

  /** SRTT + max(leastNs, 4 RTTVAR) (section 2.3), 0 until a round trip is measured. */
  timeoutNs(leastNs: Nanos): Nanos {
    return this.srttNs === 0 ? 0 : this.srttNs + Math.max(leastNs, 4 * this.rttvarNs)
  }

  /** Sections 2.2 and 2.3, except that RTTVAR begins as R/4: so a probe timeout begins as two round trips. */
  #sample(rttNs: Nanos): void {
    if (this.leastNs === 0 || rttNs < this.leastNs) this.leastNs = rttNs
    if (this.srttNs === 0) {
      this.srttNs = rttNs
      this.rttvarNs = Math.round(rttNs / 4)
      return
    }
    this.rttvarNs += Math.round((Math.abs(this.srttNs - rttNs) - this.rttvarNs) / 4)
    this.srttNs += Math.round((rttNs - this.srttNs) / 8)
  }
}
