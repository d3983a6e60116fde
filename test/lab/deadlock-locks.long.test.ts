/** PFC deadlock with real packets: the ring locks, as in virtual time (test/virtual/deadlock.test.ts). */
import t from 'tap'
import { runBenchScenario } from './run-bench-scenario.js'
import { noLabs } from './support.js'

const RING = ['s1:s2', 's2:s3', 's3:s4', 's4:s1']

t.test('the ring locks', { skip: noLabs() }, async t => {
  const result = await runBenchScenario(t, 'deadlock-ring', ({ ports }) =>
    ports.some(port => port.deadlocked),
  )
  if (result === null) return
  const { ports, flows } = result
  t.same(
    ports.filter(port => port.deadlocked).map(port => [port.name, port.deadlocked]),
    RING.map(name => [name, [3]]),
  )
  for (const flow of flows)
    t.ok(flow.fctNs === null && flow.ackedBytes < flow.bytes, `${flow.name} is cut off`)
  t.equal(
    ports.reduce((sum, port) => sum + port.drops, 0),
    0,
  )
})
