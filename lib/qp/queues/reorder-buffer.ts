import { assert } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import { FramePool } from '../../frame/frame-pool.js'
import { SackRanges } from './sack-ranges.js'

const FIRST_CAPACITY = 256

/** Where queue pairs keep packets that came out of order: frames that all of them share, made when first needed. */
export class ReorderPool {
  /** Packets at a time. */
  readonly capacity: number
  readonly #slotBytes: number
  #frames: FramePool | null = null

  /**
   * @param capacity packets, 1 to 1,048,576
   * @param slotBytes room for one with all its headers, 256 to 65,536
   */
  constructor(capacity: number, slotBytes: number) {
    this.capacity = capacity
    this.#slotBytes = slotBytes
  }

  /** A copy of the frame, or null when there is no room for it. */
  copy(frame: Frame): Frame | null {
    if (frame.length > this.#slotBytes) return null
    this.#frames ??= new FramePool(this.capacity, this.#slotBytes, 0, undefined, 'slabs')
    const kept = this.#frames.take()
    kept?.copyFrom(frame)
    return kept
  }

  give(frame: Frame): void {
    this.#frames!.give(frame)
  }

  /** Packets kept now: 0 when everything has been handed back. */
  get inUse(): number {
    return this.#frames?.inUse ?? 0
  }
}

/**
 * Packets of one queue pair that came out of order, by PSN, until those before them have come. Then the handlers of
 * packets in order take them, so every operation has the same result as without loss.
 * (The alternative, to put bytes into place as they arrive, would save one copy of the few packets behind a gap; but
 * it must find the place of a packet whose message's first packet is missing, and undo what it did when that first
 * packet is refused.)
 *
 * Bounded twice: in packets, by its own limit and the pool's, and in PSNs, by a span beyond the next one expected.
 */
export class ReorderBuffer {
  /** A PSN may be kept if it is less than this beyond the next one expected: a power of two. */
  readonly span: number
  readonly #pool: ReorderPool
  readonly #packetsMax: number
  /** By the low bits of the PSN: a ring that grows with what is kept. */
  #frames: (Frame | null)[] = []
  /** No kept PSN is below. */
  #lowestSeq = 0
  /** Packets kept now. */
  count = 0
  /** The PSN that was kept last, and a PSN that no kept one exceeds. */
  latestSeq = Number.NEGATIVE_INFINITY
  highestSeq = Number.NEGATIVE_INFINITY
  /** What no SACK has named yet. */
  readonly unnamed = new SackRanges()

  /** @param span PSNs, 1 to 2^23, rounded up to a power of two */
  constructor(pool: ReorderPool, packetsMax: number, span: number) {
    this.#pool = pool
    this.#packetsMax = packetsMax
    this.span = powerOfTwo(span)
  }

  /** Keeps a copy. False when there is no room. The caller has checked that the PSN is in the span, and not kept yet. */
  put(seq: number, frame: Frame): boolean {
    if (this.count >= this.#packetsMax) return false
    const kept = this.#pool.copy(frame)
    if (kept === null) return false
    this.#place(seq, kept)
    this.latestSeq = seq
    this.unnamed.add(seq)
    return true
  }

  #place(seq: number, kept: Frame): void {
    if (this.count === 0) {
      this.#lowestSeq = seq
      this.highestSeq = seq
    }
    const lowest = Math.min(this.#lowestSeq, seq)
    const highest = Math.max(this.highestSeq, seq)
    if (highest - lowest >= this.#frames.length) this.#grow(highest - lowest + 1)
    this.#lowestSeq = lowest
    this.highestSeq = highest
    const index = seq & (this.#frames.length - 1)
    assert(
      this.#frames[index] === null && kept.taken,
      'reorder buffer: a packet was kept in the place of another',
    )
    this.#frames[index] = kept
    this.count++
  }

  /** What holds while packets are kept: they are those from the expected one on, within the span. Throws WEIR_INTERNAL. */
  check(expectedSeq: number): void {
    assert(!this.has(expectedSeq - 1), 'reorder buffer: a packet is kept whose turn has passed')
    assert(
      this.highestSeq - expectedSeq < this.span && this.count <= this.#packetsMax,
      'reorder buffer: more is kept than it may',
    )
  }

  #grow(packets: number): void {
    const capacity = Math.min(this.span, Math.max(FIRST_CAPACITY, powerOfTwo(packets)))
    const frames: (Frame | null)[] = new Array(capacity).fill(null)
    if (this.count > 0) {
      for (let seq = this.#lowestSeq; seq <= this.highestSeq; seq++) {
        frames[seq & (capacity - 1)] = this.#frames[seq & (this.#frames.length - 1)]!
      }
    }
    this.#frames = frames
  }

  #isInRing(seq: number): boolean {
    return this.count > 0 && seq >= this.#lowestSeq && seq <= this.highestSeq
  }

  /** True if the packet is kept. The PSN must be in the span. */
  has(seq: number): boolean {
    return this.at(seq) !== null
  }

  /** The packet, which stays kept; null: it is not. The PSN must be in the span. */
  at(seq: number): Frame | null {
    return this.#isInRing(seq) ? this.#frames[seq & (this.#frames.length - 1)]! : null
  }

  /** Drops what is kept of the PSNs before `until`. */
  dropBefore(until: number): void {
    const end = Math.min(until, this.highestSeq + 1)
    for (let seq = this.#lowestSeq; seq < end && this.count > 0; seq++) {
      const index = seq & (this.#frames.length - 1)
      const frame = this.#frames[index]!
      if (frame === null) continue
      this.#frames[index] = null
      this.count--
      this.#pool.give(frame)
    }
    this.#lowestSeq = Math.max(this.#lowestSeq, until)
  }

  /** Drops everything. */
  clear(): void {
    this.dropBefore(this.highestSeq + 1)
    this.latestSeq = Number.NEGATIVE_INFINITY
    this.highestSeq = Number.NEGATIVE_INFINITY
    this.unnamed.clear()
  }
}

/** The smallest power of two that is not below `value`, a whole number from 1 to 2^31. */
export function powerOfTwo(value: number): number {
  return value === 1 ? 1 : 2 ** (32 - Math.clz32(value - 1))
}
