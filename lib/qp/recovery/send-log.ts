import type { Nanos } from '../../time/nanos.js'
import { PSN_MASK } from '../queues/psn.js'
import { powerOfTwo } from '../queues/reorder-buffer.js'

const FIRST_CAPACITY = 8
/** So many PSNs are remembered at least, even if all are answered, where there is room for them. */
const REMEMBERED_LEAST = 256
/** The columns of a log without packets. Nobody writes to them. */
const NO_PSNS = new Uint32Array(1)
const NO_TIMES = new Float64Array(1)
const NO_NUMBERS = new Float64Array(1).fill(-1)

/**
 * When each packet under way left last, and which transmission it was: a column each, indexed by the low bits of the PSN.
 * The columns grow with what has been sent and with what is in flight: 20 bytes a packet.
 */
export class SendLog {
  readonly #capacityMax: number
  readonly #rememberedLeast: number
  #capacity = 0
  #mask = 0
  /** The lowest PSN recorded. */
  #firstSeq = Number.POSITIVE_INFINITY
  #psn = NO_PSNS
  /** When each left; -1 less the time if it was sent before. */
  #sentNs = NO_TIMES
  #number = NO_NUMBERS

  /** @param packets that may be unacknowledged at a time: it grows up to so many */
  constructor(packets: number) {
    this.#capacityMax = powerOfTwo(packets)
    this.#rememberedLeast = Math.min(REMEMBERED_LEAST, this.#capacityMax)
  }

  /**
   * The packet leaves.
   * @param again it had been sent before: no answer says which of the two it answers (Karn)
   * @param oldestSeq the oldest PSN that may still be asked for
   */
  record(seq: number, now: Nanos, number: number, again: boolean, oldestSeq: number): void {
    if (seq < this.#firstSeq) this.#firstSeq = seq
    this.#makeRoom(seq, oldestSeq)
    const at = seq & this.#mask
    this.#psn[at] = seq
    this.#sentNs[at] = again ? -1 - now : now
    this.#number[at] = number
  }

  /** So many packets from `seq` on leave together for the first time, transmissions from `number` on. */
  recordRun(seq: number, packets: number, now: Nanos, number: number, oldestSeq: number): void {
    if (seq < this.#firstSeq) this.#firstSeq = seq
    this.#makeRoom(seq + packets - 1, oldestSeq)
    for (let i = 0; i < packets; i++) {
      const at = (seq + i) & this.#mask
      this.#psn[at] = seq + i
      this.#sentNs[at] = now
      this.#number[at] = number + i
    }
  }

  #makeRoom(seq: number, oldestSeq: number): void {
    const keptSeq = Math.max(this.#firstSeq, Math.min(oldestSeq, seq - this.#rememberedLeast + 1))
    if (seq - keptSeq >= this.#capacity) this.#grow(seq - keptSeq + 1)
  }

  /** True if the packet is known. Its PSN may be that of the wire, here and below. */
  has(seq: number): boolean {
    return this.placeOf(seq) >= 0
  }

  /** Where the log has the packet, or -1: it is not known. For `numberAt`, `sentNsAt` and `wasRepeatedAt`, until the next packet leaves. */
  placeOf(seq: number): number {
    const at = seq & this.#mask
    return this.#number[at]! >= 0 && ((this.#psn[at]! ^ seq) & PSN_MASK) === 0 ? at : -1
  }

  numberAt(place: number): number {
    return this.#number[place]!
  }

  sentNsAt(place: number): Nanos {
    const sent = this.#sentNs[place]!
    return sent < 0 ? -1 - sent : sent
  }

  wasRepeatedAt(place: number): boolean {
    return this.#sentNs[place]! < 0
  }

  /** Number of the packet's last transmission; -1 when it is not known. */
  numberOf(seq: number): number {
    return this.has(seq) ? this.#number[seq & this.#mask]! : -1
  }

  /** When it left last. It must be known. */
  sentNs(seq: number): Nanos {
    return this.sentNsAt(seq & this.#mask)
  }

  /** It was sent more than once. It must be known. */
  wasRepeated(seq: number): boolean {
    return this.wasRepeatedAt(seq & this.#mask)
  }

  /** Round-trip time of the packet, 0 when it was sent more than once or is not known. */
  rttNs(seq: number, now: Nanos): Nanos {
    return this.has(seq) && !this.wasRepeated(seq) ? now - this.sentNs(seq) : 0
  }

  #grow(packets: number): void {
    const capacity = Math.min(this.#capacityMax, Math.max(FIRST_CAPACITY, powerOfTwo(packets)))
    if (capacity <= this.#capacity) return
    const mask = capacity - 1
    const psn = new Uint32Array(capacity)
    const sentNs = new Float64Array(capacity)
    const number = new Float64Array(capacity).fill(-1)
    for (let i = 0; i < this.#capacity; i++) {
      const at = this.#psn[i]! & mask
      // What lies further back than a ring's length has been forgotten.
      if (this.#number[i]! <= number[at]!) continue
      psn[at] = this.#psn[i]!
      sentNs[at] = this.#sentNs[i]!
      number[at] = this.#number[i]!
    }
    this.#capacity = capacity
    this.#mask = mask
    this.#psn = psn
    this.#sentNs = sentNs
    this.#number = number
  }
}
