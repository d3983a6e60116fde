import { WeirError } from '../../../lib/errors.js'
import { mix32 } from '../forwarding/mix32.js'

/** Hash functions. With this number the filter errs least at one entry in three bits. */
const HASHES = 2

/**
 * A set of 32-bit keys with false positives and no false negatives (Bloom, 1970). Entries are removed only
 * all at once.
 */
export class BloomFilter {
  readonly #words: Int32Array
  readonly #mask: number

  /** @param bits a power of two, 32 to 2^24 */
  constructor(bits: number) {
    if (!Number.isInteger(bits) || bits < 32 || bits > 1 << 24 || (bits & (bits - 1)) !== 0) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `bloom filter: bits are a power of two from 32 to 2^24, not ${bits}`,
      )
    }
    this.#words = new Int32Array(bits >>> 5)
    this.#mask = bits - 1
  }

  /** Adds a key. Returns false if the filter has it already, or a false positive. */
  add(key: number): boolean {
    let isNew = false
    let hash = mix32(key)
    for (let i = 0; i < HASHES; i++) {
      const bit = hash & this.#mask
      const flag = 1 << (bit & 31)
      if ((this.#words[bit >>> 5]! & flag) === 0) isNew = true
      this.#words[bit >>> 5]! |= flag
      hash = mix32(hash + 0x9e3779b9)
    }
    return isNew
  }

  clear(): void {
    this.#words.fill(0)
  }
}
