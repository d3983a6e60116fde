import { powerOfTwo } from '../queues/reorder-buffer.js'

const SACKED = 1
const LOST = 2
const RESENT = 4
const TOLD = 8

const FIRST_SPAN = 256

/** The ring before any mark. Nobody writes to it. */
const NONE = new Uint8Array(0)

/**
 * What a requester knows of single packets beyond the oldest unanswered one (the term is RFC 6675's, section 3): a
 * few marks for each PSN, in a ring that grows with what is in flight. PSNs without marks cost nothing.
 */
export class Scoreboard {
  /** PSNs that can have marks at a time, counted from the oldest unanswered one. */
  readonly span: number
  /** Made when the first mark is set. */
  #marks = NONE
  #mask = -1
  /** No PSN from this one on has a mark. */
  top = 0
  /** PSNs marked lost. */
  lostCount = 0
  /** PSNs marked as arrived. */
  sackedCount = 0
  /** No PSN before this one is marked lost. */
  #lostFrom = 0

  /** @param span PSNs that may be without an answer at a time, 1 to 2^23 */
  constructor(span: number) {
    this.span = powerOfTwo(span)
  }

  #marksOf(seq: number): number {
    return seq < this.top ? this.#marks[seq & this.#mask]! : 0
  }

  /** Arrived at the peer, out of order. */
  isSacked(seq: number): boolean {
    return (this.#marksOf(seq) & SACKED) !== 0
  }

  /** Taken for lost, and not retransmitted since. */
  isLost(seq: number): boolean {
    return (this.#marksOf(seq) & LOST) !== 0
  }

  /** Retransmitted since it was taken for lost. */
  isResent(seq: number): boolean {
    return (this.#marksOf(seq) & RESENT) !== 0
  }

  /** Its bytes have been reported as acknowledged. */
  isTold(seq: number): boolean {
    return (this.#marksOf(seq) & TOLD) !== 0
  }

  /** @param una the oldest unanswered PSN; likewise below */
  sack(seq: number, una: number): void {
    this.find(seq)
    if (!this.isSacked(seq)) this.sackedCount++
    this.#set(seq, SACKED | TOLD, una)
  }

  lose(seq: number, una: number): void {
    this.#set(seq, LOST, una)
    this.#marks[seq & this.#mask]! &= ~RESENT
    this.#lostFrom = this.lostCount === 0 ? seq : Math.min(this.#lostFrom, seq)
    this.lostCount++
  }

  resend(seq: number, una: number): void {
    this.find(seq)
    this.#set(seq, RESENT, una)
  }

  /** Removes the lost mark: it was not lost after all, or has been retransmitted. */
  find(seq: number): void {
    if (!this.isLost(seq)) return
    this.#marks[seq & this.#mask]! &= ~LOST
    this.lostCount--
  }

  /** Takes back that it has arrived; its bytes have been reported as acknowledged. */
  unsack(seq: number): void {
    if (!this.isSacked(seq)) return
    this.#marks[seq & this.#mask]! &= ~SACKED
    this.sackedCount--
  }

  /** Neither lost nor retransmitted. */
  unlose(seq: number): void {
    this.find(seq)
    if (seq < this.top) this.#marks[seq & this.#mask]! &= ~RESENT
  }

  /** Forgets the PSN: it is answered, and another one will take its place in the ring. */
  clear(seq: number): void {
    this.find(seq)
    this.unsack(seq)
    this.#marks[seq & this.#mask] = 0
  }

  /** The lowest PSN marked lost. There must be one. */
  firstLost(): number {
    while (!this.isLost(this.#lostFrom)) this.#lostFrom++
    return this.#lostFrom
  }

  reset(): void {
    this.#marks.fill(0)
    this.top = 0
    this.lostCount = 0
    this.sackedCount = 0
  }

  #set(seq: number, mark: number, una: number): void {
    if (seq - una > this.#mask) this.#grow(seq - una + 1, una)
    this.#marks[seq & this.#mask]! |= mark
    if (seq >= this.top) this.top = seq + 1
  }

  #grow(packets: number, una: number): void {
    const span = Math.min(this.span, Math.max(FIRST_SPAN, powerOfTwo(packets)))
    const marks = new Uint8Array(span)
    for (let seq = una; seq < this.top; seq++) marks[seq & (span - 1)] = this.#marks[seq & this.#mask]!
    this.#marks = marks
    this.#mask = span - 1
  }
}
