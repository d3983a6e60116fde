/** Counts and numbers of chunks as they travel: modulo 2^32. At both ends they go on beyond that. */

const WRAP = 2 ** 32

/** The value that travels for a count. */
export function wrapped(count: number): number {
  return count % WRAP
}

/**
 * The whole count that `value` stands for, given the last one. Returns -1 when that would be more than `most`, or less than the
 * last.
 */
export function advanceCount(last: number, value: number, most: number): number {
  const gained = (value - wrapped(last) + WRAP) % WRAP
  return last + gained <= most ? last + gained : -1
}

/** The greatest number up to `most` that `value` stands for; negative if there is none from 0 on. */
export function latestCount(most: number, value: number): number {
  return most - ((((most - value) % WRAP) + WRAP) % WRAP)
}
