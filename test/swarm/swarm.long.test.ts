import t from 'tap'
import { range, testSeeds } from './seeds.js'

/** Together with those of swarm.test.ts ten thousand. */
for (let from = 101; from < 10_000; from += 1000) {
  t.test(`seeds from ${from} on`, async t => {
    testSeeds(t, range(from, Math.min(1000, 10_001 - from)))
  })
}
