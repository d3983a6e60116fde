/**
 * Random networks, options, faults and restarts by seed: see world.ts. `npm run swarm` runs any number of
 * seeds.
 */
import t from 'tap'
import { drawnSeed, fixedSeeds, isReplay } from '../support/seeds.js'
import { range, testSeeds } from './seeds.js'
import { runSeed } from './world.js'

/** What fifty seeds need not reach. */
const RARE = ['deadlocks', 'moves']

t.test('a fixed set of seeds, and what it reaches', async t => {
  const { failed: _, ...reached } = testSeeds(t, fixedSeeds(range(1, 50)))
  if (isReplay) return
  t.comment(JSON.stringify(reached))
  for (const [what, count] of Object.entries(reached))
    if (!RARE.includes(what)) t.ok(count > 0, `${what}: ${count}`)
})

/**
 * Races whose windows W_ai moves too little, two ends with one address and key, responses that are in flight twice, responses
 * without room for which the responder waits.
 */
const FOUND = [7015326, 7103840, 8007127, 8004576, 8052654]

t.test('seeds that have failed', async t => {
  if (!isReplay) testSeeds(t, FOUND)
})

t.test('another seed each time', async t => {
  testSeeds(t, [drawnSeed(t)])
})

t.test('a seed is the same each time', async t => {
  for (const seed of [3, 7]) t.same(runSeed(seed), runSeed(seed))
})
