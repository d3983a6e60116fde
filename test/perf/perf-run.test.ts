/** Runs over the virtual network: what they count, and how they end. */
import t from 'tap'
import { makeWorld } from './world.js'

t.test('bytes and messages are exact, for every operation', async t => {
  for (const op of ['WRITE', 'SEND', 'READ'] as const) {
    for (const [size, iterations, qps, depth] of [
      [1, 7, 1, 1],
      [1024, 64, 3, 16],
      [70_001, 20, 2, 128],
    ] as const) {
      const name = `${op} ${size} B x ${iterations} x ${qps}`
      const { serve, begin, until } = makeWorld()
      serve()
      const run = begin({ op, size, iterations, qps, depth })
      t.ok(
        until(() => run.state === 'closing' || run.state === 'closed', run),
        `${name}: over (${run.state})`,
      )
      t.equal(run.error, null, name)
      t.equal(run.tally.messages, iterations * qps, name)
    }
  }
})
