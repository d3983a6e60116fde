import { WeirError } from '../errors.js'

/** Words of the producer's and of the consumer's counter: a cache line apart, so that neither takes the other's. */
const TAIL = 0
const HEAD = 16
/** Bytes before the records. */
const HEADER_BYTES = 128

/** Records of one size between two threads: one produces, one consumes. Counters of records are modulo 2^32. */
export class SharedRing {
  /** Places for records: a power of two. */
  readonly depth: number
  /** What the other thread makes its `SharedRing` of. */
  readonly memory: SharedArrayBuffer
  readonly #counters: Int32Array

  static bytesFor(depth: number, recordBytes: number): number {
    return HEADER_BYTES + depth * recordBytes
  }

  /** Throws WEIR_BAD_ARGUMENT unless depth is a power of two from 2 to 65536. */
  static make(depth: number, recordBytes: number): SharedRing {
    if (!Number.isInteger(depth) || depth < 2 || depth > 65_536 || (depth & (depth - 1)) !== 0) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `ring: depth is a power of two from 2 to 65536, not ${depth}`)
    }
    return new SharedRing(new SharedArrayBuffer(SharedRing.bytesFor(depth, recordBytes)), recordBytes)
  }

  /** @param memory of a ring of records of the same size */
  constructor(memory: SharedArrayBuffer, recordBytes: number) {
    this.memory = memory
    this.depth = (memory.byteLength - HEADER_BYTES) / recordBytes
    this.#counters = new Int32Array(memory, 0, HEADER_BYTES / 4)
  }

  /** Where records begin in `memory`. */
  get recordsAt(): number {
    return HEADER_BYTES
  }

  /** Records that have been published and not released. */
  get pending(): number {
    return (Atomics.load(this.#counters, TAIL) - Atomics.load(this.#counters, HEAD)) >>> 0
  }

  get isFull(): boolean {
    return this.pending === this.depth
  }

  /** Producer: the place of the next record, while the ring is not full. */
  get producing(): number {
    return this.#counters[TAIL]! & (this.depth - 1)
  }

  /** Producer: the record at `producing` is whole. */
  publish(): void {
    Atomics.store(this.#counters, TAIL, (this.#counters[TAIL]! + 1) | 0)
  }

  /** Consumer: the place of the oldest record, while there is one. */
  get consuming(): number {
    return this.#counters[HEAD]! & (this.depth - 1)
  }

  /** Consumer: the record at `consuming` has been read. */
  release(): void {
    Atomics.store(this.#counters, HEAD, (this.#counters[HEAD]! + 1) | 0)
  }
}
