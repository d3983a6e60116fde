import t from 'tap'
import { drawnShare, isWhole } from '../support/long.js'
import { range, testSeeds } from './seeds.js'

/** Ten thousand together with those of swarm.test.ts. */
const totals: Record<string, number> = {}
for (let from = 51; from < 10_000; from += 1000) {
  t.test(`seeds from ${from} on`, async t => {
    const reached = testSeeds(t, drawnShare(t, range(from, Math.min(1000, 10_001 - from))))
    for (const [what, count] of Object.entries(reached)) totals[what] = (totals[what] ?? 0) + count
  })
}

t.test('what they reach', { skip: !isWhole && 'WEIR_LONG_SHARE: a part of the seeds' }, async t => {
  t.comment(JSON.stringify(totals))
  const { failed: _, ...reached } = totals
  for (const [what, count] of Object.entries(reached)) t.ok(count > 0, `${what}: ${count}`)
})
