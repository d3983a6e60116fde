import { powerOfTwo } from './reorder-buffer.js'

const SACKED = 1
const LOST = 2
const RESENT = 4
const TOLD = 8
const TWICE = 16

/**
 * What a requester knows of single packets beyond the oldest unanswered one (the term is RFC 6675's, section 3): a
 * few marks for each PSN, in a ring. PSNs without marks cost nothing.
 */
export class Scoreboard {
  readonly #mask: number
  /** Made when the first mark is set. */
  #marks = new Uint8Array(0)
  #order = new Float64Array(0)
  #repair = new Float64Array(0)
  /** No PSN from this one on has a mark. */
  top = 0
  /** PSNs marked lost. */
  lostCount = 0
  /** No PSN before this one is marked lost. */
  #lostFrom = 0

  /** @param span PSNs that may be without an answer at a time, 1 to 2^23 */
  constructor(span: number) {
    this.#mask = powerOfTwo(span) - 1
  }

  /** PSNs that can have marks at a time, counted from the oldest unanswered one. */
  get span(): number {
    return this.#mask + 1
  }

  /** Arrived at the peer, out of order. */
  isSacked(seq: number): boolean {
    return seq < this.top && (this.#marks[seq & this.#mask]! & SACKED) !== 0
  }

  /** Taken for lost, and not sent again since. */
  isLost(seq: number): boolean {
    return seq < this.top && (this.#marks[seq & this.#mask]! & LOST) !== 0
  }

  /** Sent again since it was taken for lost. */
  isResent(seq: number): boolean {
    return seq < this.top && (this.#marks[seq & this.#mask]! & RESENT) !== 0
  }

  /** Sent again more than once: its arrival does not tell which of them arrived (Karn). */
  isResentTwice(seq: number): boolean {
    return seq < this.top && (this.#marks[seq & this.#mask]! & TWICE) !== 0
  }

  /** Its bytes have been reported as acknowledged. */
  isTold(seq: number): boolean {
    return seq < this.top && (this.#marks[seq & this.#mask]! & TOLD) !== 0
  }

  /** The next new PSN at the time when this one was sent again. */
  orderOf(seq: number): number {
    return this.#order[seq & this.#mask]!
  }

  /** The number of the packet that repeated this one, or asked for it again, among all packets sent again. */
  repairOf(seq: number): number {
    return this.#repair[seq & this.#mask]!
  }

  sack(seq: number): void {
    this.find(seq)
    this.#set(seq, SACKED | TOLD)
  }

  lose(seq: number): void {
    this.#set(seq, LOST)
    this.#marks[seq & this.#mask]! &= ~RESENT
    this.#lostFrom = this.lostCount === 0 ? seq : Math.min(this.#lostFrom, seq)
    this.lostCount++
  }

  resend(seq: number, order: number, repair: number): void {
    this.find(seq)
    this.#set(seq, RESENT)
    // The order stays when the mark is removed because the packet was lost again.
    if (this.#order[seq & this.#mask] !== 0) this.#set(seq, TWICE)
    this.#order[seq & this.#mask] = order
    this.#repair[seq & this.#mask] = repair
  }

  /** Removes the lost mark: it was not lost after all, or has been sent again. */
  find(seq: number): void {
    if (!this.isLost(seq)) return
    this.#marks[seq & this.#mask]! &= ~LOST
    this.lostCount--
  }

  /** Not known to have arrived any more; its bytes have been reported all the same. */
  unsack(seq: number): void {
    if (seq < this.top) this.#marks[seq & this.#mask]! &= ~SACKED
  }

  /** Neither lost nor sent again. */
  unlose(seq: number): void {
    this.find(seq)
    if (seq < this.top) this.#marks[seq & this.#mask]! &= ~RESENT
  }

  /** Forgets the PSN: it is answered, and another one will take its place in the ring. */
  clear(seq: number): void {
    this.find(seq)
    this.#marks[seq & this.#mask] = 0
    this.#order[seq & this.#mask] = 0
  }

  /** The lowest PSN marked lost. There must be one. */
  firstLost(): number {
    while (!this.isLost(this.#lostFrom)) this.#lostFrom++
    return this.#lostFrom
  }

  reset(): void {
    this.#marks.fill(0)
    this.#order.fill(0)
    this.top = 0
    this.lostCount = 0
  }

  #set(seq: number, mark: number): void {
    if (this.#marks.length === 0) {
      this.#marks = new Uint8Array(this.span)
      this.#order = new Float64Array(this.span)
      this.#repair = new Float64Array(this.span)
    }
    this.#marks[seq & this.#mask]! |= mark
    if (seq >= this.top) this.top = seq + 1
  }
}
