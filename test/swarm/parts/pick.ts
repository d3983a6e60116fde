import type { Random } from '../../../lib/sim/random.js'

/** One of these, by chance. */
export function pick<T>(random: Random, from: readonly T[]): T {
  return from[random.below(from.length)]!
}
