import type { Test } from 'tap'
import { type Reached, runSeed } from './world.js'

/** Runs these seeds as one test; says how to replay one that fails. Returns what all of them have reached. */
export function testSeeds(t: Test, seeds: Iterable<number>): Reached {
  const sums: Reached = {
    events: 0,
    completed: 0,
    retransmittedBytes: 0,
    faults: 0,
    switchDrops: 0,
    restarts: 0,
    broken: 0,
  }
  for (const seed of seeds) {
    const { findings, reached } = runSeed(seed)
    for (const key of Object.keys(sums) as (keyof Reached)[]) sums[key] += reached[key]
    t.same(findings, [], `seed ${seed}; replay: npm run swarm -- --seeds 1 --from ${seed}`)
  }
  return sums
}

export function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i)
}
