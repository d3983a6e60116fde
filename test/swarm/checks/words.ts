/**
 * The results of atomics: an independent model of two words of memory that only one queue pair changes (IBA
 * 9.4.5). Atomics of one queue pair take effect once, and in the order of their posts.
 */
import type { Fail } from './fail.js'

export const WORD_BYTES = 8
/** Additions go to one word, compare and swap to the other. */
export const WORDS = 2
const WORD = 2n ** 64n
/** Additions carry into the upper half of the word, and wrap around. */
const ADDEND = 0x8000_0001_8000_0001n

/** One atomic: its operands, and the value that it must find. */
export interface AtomicStep {
  word: number
  compareOrAdd: bigint
  swap: bigint
  found: bigint
}

export class WordModel {
  readonly words = new Array<bigint>(WORDS).fill(0n)

  /** The next FETCH_AND_ADD. */
  add(): AtomicStep {
    const found = this.words[0]!
    this.words[0] = (found + ADDEND) % WORD
    return { word: 0, compareOrAdd: ADDEND, swap: 0n, found }
  }

  /**
   * The next COMPARE_AND_SWAP.
   *
   * @param id determines the value that it writes
   * @param matches true: it compares with the current value
   */
  swap(id: number, matches: boolean): AtomicStep {
    const found = this.words[1]!
    const swap = (BigInt(id + 1) * ADDEND) % WORD
    if (matches) this.words[1] = swap
    return { word: 1, compareOrAdd: matches ? found : (found + 1n) % WORD, swap, found }
  }
}

/** An atomic has completed. */
export function checkFound(what: string, wanted: bigint, found: bigint, fail: Fail): void {
  if (found !== wanted) fail(`${what} found ${found}, not ${wanted}`)
}

/**
 * All atomics have completed.
 *
 * @param memory of the words
 */
export function checkWords(model: WordModel, memory: Buffer, fail: Fail): void {
  for (const [i, wanted] of model.words.entries()) {
    const found = memory.readBigUInt64LE(i * WORD_BYTES)
    if (found !== wanted) fail(`word ${i} is ${found} after all atomics, not ${wanted}`)
  }
}
