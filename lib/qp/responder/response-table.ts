import type { MemoryRegion } from '../memory/memory.js'

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

/** Most parts of READs that wait at a time: requests for more are ignored, and the requester repeats them. */
const PARTS_MAX = 256

/**
 * The responder resources (IBA 9.7.4.1): the last READs and atomics, as many as the peer may have outstanding. A
 * record stays after its response has been sent, so that a lost response can be retransmitted; an atomic keeps only its
 * result, as it must not be carried out twice.
 */
export class ResponseTable {
  readonly #records: ResponseRecord[] = []
  #newest = -1
  #pending: ResponseRecord | null = null
  /** Parts of READs that the peer has lost: first and last PSN of each, oldest first. */
  readonly #parts = new Float64Array(2 * PARTS_MAX)
  #partHead = 0
  #partCount = 0
  /** The part that is being sent: a copy of its READ's record. */
  readonly #part = new ResponseRecord()

  constructor(resources: number) {
    for (let i = 0; i < resources; i++) this.#records.push(new ResponseRecord())
  }

  /** The pending response with the lowest PSN, or null: responses leave in the order of PSNs. */
  get pending(): ResponseRecord | null {
    return this.#pending
  }

  /**
   * The oldest record, to be filled with a new request; null if it has not been answered yet. A pending one that was
   * answered before only repeats: the peer asks for no more than agreed, so it has that answer.
   */
  take(): ResponseRecord | null {
    if (this.#records.length === 0) return null
    const index = this.#newest + 1 === this.#records.length ? 0 : this.#newest + 1
    const record = this.#records[index]!
    if (record.isPending && !record.answered) return null
    record.answered = false
    record.repeated = false
    this.#newest = index
    return record
  }

  /** The record whose responses include `seq`, or null. */
  find(seq: number): ResponseRecord | null {
    for (const record of this.#records) {
      if (record.firstSeq <= seq && seq <= record.lastSeq) return record
    }
    return null
  }

  /** A part of the READ is to be retransmitted, without what follows it. False when too many wait. */
  replayPart(firstSeq: number, lastSeq: number): boolean {
    if (this.#partCount === PARTS_MAX) return false
    const at = 2 * ((this.#partHead + this.#partCount++) % PARTS_MAX)
    this.#parts[at] = firstSeq
    this.#parts[at + 1] = lastSeq
    return true
  }

  /** The next part that waits, if its READ is still known. */
  #takePart(): void {
    const part = this.#part
    while (!part.isPending && this.#partCount > 0) {
      const at = 2 * this.#partHead
      this.#partHead = (this.#partHead + 1) % PARTS_MAX
      this.#partCount--
      const record = this.find(this.#parts[at]!)
      if (record === null || record.isAtomic) continue
      part.firstSeq = record.firstSeq
      part.lastSeq = record.lastSeq
      part.nextSeq = this.#parts[at]!
      part.untilSeq = this.#parts[at + 1]!
      part.msn = record.msn
      part.region = record.region
      part.offset = record.offset
      part.length = record.length
    }
  }

  /** To be called when `nextSeq` of any record has changed. */
  choosePending(): void {
    if (this.#partCount > 0) this.#takePart()
    let lowest = this.#part.isPending ? this.#part : null
    for (const record of this.#records) {
      if (record.isPending && (lowest === null || record.nextSeq < lowest.nextSeq)) lowest = record
    }
    this.#pending = lowest
  }

  /** Nothing from `seq` on will be sent any more. */
  cancelFrom(seq: number): void {
    this.#partCount = 0
    this.#part.nextSeq = this.#part.untilSeq + 1
    for (const record of this.#records) {
      if (record.nextSeq >= seq) record.nextSeq = record.untilSeq + 1
    }
    this.choosePending()
  }
}
