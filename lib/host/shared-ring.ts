import { WeirError } from '../errors.js'

/**
 * Words of the producer's and of the consumer's counter. They are a cache line apart, so that the threads do
 * not contend for one.
 */
const TAIL = 0
const HEAD = 16
/** Bytes before the records. */
const HEADER_BYTES = 128

/**
 * Records of one size between two threads: one produces, the other consumes. The counters of records wrap at
 * 2^32.
 */
export class SharedRing {
  /** Number of places for records: a power of two. */
  readonly depth: number
  /** The memory from which the other thread makes its `SharedRing`. */
  readonly memory: SharedArrayBuffer
  readonly #counters: Int32Array

  static bytesFor(depth: number, recordBytes: number): number {
    return HEADER_BYTES + depth * recordBytes
  }

  /** Throws WEIR_BAD_ARGUMENT unless depth is a power of two from 2 to 65536. */
  static make(depth: number, recordBytes: number): SharedRing {
    if (!Number.isInteger(depth) || depth < 2 || depth > 65_536 || (depth & (depth - 1)) !== 0) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `ring: depth is a power of two from 2 to 65536, not ${String(depth)}`,
      )
    }
    return new SharedRing(new SharedArrayBuffer(SharedRing.bytesFor(depth, recordBytes)), recordBytes)
  }

  /** @param memory of a ring with records of the same size */
  constructor(memory: SharedArrayBuffer, recordBytes: number) {
    this.memory = memory
    this.depth = (memory.byteLength - HEADER_BYTES) / recordBytes
    this.#counters = new Int32Array(memory, 0, HEADER_BYTES / 4)
  }

  /** Offset of the records in `memory`. */
  get recordsAt(): number {
    return HEADER_BYTES
  }

  /** Records that are published and not released. */
  get pending(): number {
    return (Atomics.load(this.#counters, TAIL) - Atomics.load(this.#counters, HEAD)) >>> 0
  }

  get isFull(): boolean {
    return this.pending === this.depth
  }

  /** Producer: the place of the next record. Valid while the ring is not full. */
  get producing(): number {
    return this.#counters[TAIL]! & (this.depth - 1)
  }

  /** Producer: publishes the record at `producing`. */
  publish(): void {
    Atomics.store(this.#counters, TAIL, (this.#counters[TAIL]! + 1) | 0)
  }

  /** Consumer: the place of the oldest record. Valid while there is one. */
  get consuming(): number {
    return this.consumingAfter(0)
  }

  /** Consumer: the place of the record after so many. Valid while there are more. */
  consumingAfter(records: number): number {
    return (this.#counters[HEAD]! + records) & (this.depth - 1)
  }

  /** Consumer: releases the record at `consuming`. */
  release(): void {
    Atomics.store(this.#counters, HEAD, (this.#counters[HEAD]! + 1) | 0)
  }
}
