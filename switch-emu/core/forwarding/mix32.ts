/**
 * The finaliser of MurmurHash3: a bijection of 32-bit words in which every bit of the input changes every bit
 * of the output with probability one half. The result is unsigned.
 */
export function mix32(word: number): number {
  let h = word
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
