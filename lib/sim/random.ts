/**
 * Random numbers by seed: xoshiro128** (Blackman and Vigna, 2018), its state filled from the seed by splitmix32.
 * The same seed gives the same numbers on every machine; nothing here reads a clock or the system.
 */
export class Random {
  /** Two generators of one seed are the same. */
  readonly seed: number
  #a: number
  #b: number
  #c: number
  #d: number

  /** @param seed any whole number; its low 53 bits count */
  constructor(seed: number) {
    this.seed = seed
    const mix = splitmix32(Math.floor(seed / 2 ** 32) ^ 0x9e3779b9, seed)
    this.#a = mix()
    this.#b = mix()
    this.#c = mix()
    this.#d = mix()
    // All zeros is the one state that it never leaves.
    if ((this.#a | this.#b | this.#c | this.#d) === 0) this.#a = 1
  }

  /** The generator in a given state of four 32-bit words, not all zero; its `fork` goes by seed 0. */
  static fromState(a: number, b: number, c: number, d: number): Random {
    const random = new Random(0)
    random.#a = a
    random.#b = b
    random.#c = c
    random.#d = d
    return random
  }

  /** A whole number from 0 to 2^32 - 1. */
  u32(): number {
    const result = Math.imul(rotateLeft(Math.imul(this.#b, 5), 7), 9)
    const t = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= t
    this.#d = rotateLeft(this.#d, 11)
    return result >>> 0
  }

  /** A number from 0 to just under 1, in steps of 2^-53. */
  next(): number {
    const high = this.u32() >>> 5
    const low = this.u32() >>> 6
    return (high * 2 ** 26 + low) / 2 ** 53
  }

  /** A whole number from 0 to `below` - 1, `below` at most 2^32. */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  /** Exponentially distributed with this mean: the gap to the next arrival of a Poisson process. */
  exponential(mean: number): number {
    return -Math.log1p(-this.next()) * mean
  }

  /**
   * A generator of its own for one purpose. It depends on this one's seed and the label alone, not on what
   * was drawn before, so that a new consumer of randomness does not disturb the others.
   */
  fork(label: string): Random {
    let hash = 0x811c9dc5
    for (let i = 0; i < label.length; i++) hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193)
    const mix = splitmix32(Math.floor(this.seed / 2 ** 32) ^ hash, this.seed)
    mix()
    return new Random((mix() >>> 11) * 2 ** 32 + mix())
  }
}

/** A sequence of well-mixed 32-bit numbers from two words of seed. */
function splitmix32(high: number, low: number): () => number {
  let state = fmix32(high) ^ (low >>> 0)
  return () => {
    state = (state + 0x9e3779b9) | 0
    return fmix32(state) >>> 0
  }
}

/** The finaliser of MurmurHash3: every bit of the input moves every bit of the output. */
function fmix32(word: number): number {
  let h = word | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}
