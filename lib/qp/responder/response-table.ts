import type { MemoryRegion } from '../memory/memory.js'
import { AskedAgain } from './asked-again.js'

/** A READ or atomic of the peer: what its response needs, now or when it is requested again. */
export class ResponseRecord {
  isAtomic = false
  /** Unwrapped PSNs of the first and last response packet. */
  firstSeq = 0
  lastSeq = -1
  /** The next response packet to be sent, and the last one; the next is beyond the last when all have been sent. */
  nextSeq = 0
  untilSeq = -1
  /** Message sequence number of the responses, unwrapped. */
  msn = 0
  region: MemoryRegion | null = null
  /** READ: where its bytes are, and how many. */
  offset = 0
  length = 0
  /** Address as the peer gave it, to check a repetition against. */
  address = 0
  /** Atomic: what the memory held before (IBA 9.4.5). */
  originalHigh = 0
  originalLow = 0

  /** True once all response packets have been sent; if it is pending then, it repeats. */
  answered = false
  /** True once the peer has requested again all that it has not received of a READ. */
  repeated = false

  get isPending(): boolean {
    return this.nextSeq <= this.untilSeq
  }
}

/**
 * The responder resources (IBA 9.7.4.1): the last READs and atomics, as many as the peer may have outstanding. A
 * record stays after its response has been sent, so that a lost response can be retransmitted; an atomic keeps only its
 * result, as it must not be carried out twice.
 */
export class ResponseTable {
  /** Made when first needed. */
  readonly #records: ResponseRecord[] = []
  /** Records at a time. */
  #resources = 0
  #newest = -1
  #pending: ResponseRecord | null = null
  readonly #askedAgain = new AskedAgain()
  /** The first range requested again: a copy of the record of its READ or atomic. Made when first needed. */
  #repeat: ResponseRecord | null = null

  /** The peer may have so many READs and atomics outstanding: set before the first one, 0 until then. */
  set resources(most: number) {
    this.#resources = most
  }

  /**
   * The response that leaves next, or null: the first that was requested again with selective repeat, else the pending one with
   * the lowest PSN.
   */
  get pending(): ResponseRecord | null {
    return this.#pending
  }

  /** The record of the last request; `take` must have found one. */
  get newest(): ResponseRecord {
    return this.#records[this.#newest]!
  }

  /**
   * Makes the oldest record the newest, to be filled with a new request. False if it has not been answered yet. A pending one
   * that was answered before only repeats: the peer asks for no more than agreed, so it has that answer.
   */
  take(): boolean {
    if (this.#resources === 0) return false
    const index = this.#newest + 1 === this.#resources ? 0 : this.#newest + 1
    if (index === this.#records.length) this.#records.push(new ResponseRecord())
    const record = this.#records[index]!
    if (record.isPending && !record.answered) return false
    record.answered = false
    record.repeated = false
    this.#newest = index
    return true
  }

  /** The record whose responses include `seq`, or null. */
  find(seq: number): ResponseRecord | null {
    for (const record of this.#records) {
      if (record.firstSeq <= seq && seq <= record.lastSeq) return record
    }
    return null
  }

  /**
   * With selective repeat: responses of one READ or atomic are to be retransmitted, ahead of all that have not been sent. False
   * when too many wait.
   */
  repeat(firstSeq: number, lastSeq: number): boolean {
    return this.#askedAgain.add(firstSeq, lastSeq)
  }

  /** The pending response has been sent. */
  advance(): void {
    const record = this.#pending!
    record.nextSeq++
    if (record === this.#repeat) this.#askedAgain.answered()
    if (record.isPending) return
    record.answered = true
    this.choosePending()
  }

  /** To be called when `nextSeq` of any record has changed, or responses have been requested again. */
  choosePending(): void {
    this.#pending = this.#nextRepeat() ?? this.#nextRecord()
  }

  /** What is requested again and still known; the peer has what is not. */
  #nextRepeat(): ResponseRecord | null {
    const asked = this.#askedAgain
    for (; !asked.isEmpty; asked.shift()) {
      const record = this.find(asked.firstSeq)
      if (record === null) continue
      this.#repeat ??= new ResponseRecord()
      const repeat = this.#repeat
      repeat.isAtomic = record.isAtomic
      repeat.firstSeq = record.firstSeq
      repeat.lastSeq = record.lastSeq
      repeat.nextSeq = asked.firstSeq
      repeat.untilSeq = asked.lastSeq
      repeat.msn = record.msn
      repeat.region = record.region
      repeat.offset = record.offset
      repeat.length = record.length
      repeat.originalHigh = record.originalHigh
      repeat.originalLow = record.originalLow
      return repeat
    }
    return null
  }

  #nextRecord(): ResponseRecord | null {
    let lowest: ResponseRecord | null = null
    for (const record of this.#records) {
      if (record.isPending && (lowest === null || record.nextSeq < lowest.nextSeq)) lowest = record
    }
    return lowest
  }

  /** Nothing from `seq` on will be sent any more. */
  cancelFrom(seq: number): void {
    this.#askedAgain.cancelFrom(seq)
    for (const record of this.#records) {
      if (record.nextSeq >= seq) record.nextSeq = record.untilSeq + 1
    }
    this.choosePending()
  }
}
