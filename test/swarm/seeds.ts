import type { Test } from 'tap'
import { replayOf } from './arguments.js'
import { added, type Totals } from './totals.js'
import { runSeed } from './world.js'

/**
 * Runs these seeds as one test, and prints how to replay a failing one. Returns what all of them have
 * reached.
 */
export function testSeeds(t: Test, seeds: Iterable<number>): Totals {
  let totals: Totals | null = null
  for (const seed of seeds) {
    const outcome = runSeed(seed)
    totals = added(totals, outcome)
    t.same(outcome.findings, [], `seed ${seed}; replay: ${replayOf(seed)}`)
  }
  return totals!
}

export function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i)
}
