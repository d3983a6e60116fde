/** PFC deadlock with real packets: the watchdog recovers the ring, as in virtual time (test/virtual/deadlock.test.ts). */
import t from 'tap'
import { runBenchScenario } from './run-bench-scenario.js'
import { noLabs } from './support.js'

t.test('the watchdog recovers the ring', { skip: noLabs() }, async t => {
  const result = await runBenchScenario(t, 'deadlock-ring-watchdog', ({ ports }) =>
    ports.some(port => port.watchdog!.detected > 0),
  )
  if (result === null) return
  const { ports, flows } = result
  for (const flow of flows) t.equal(flow.ackedBytes, flow.bytes, `${flow.name} arrived`)
  const dogs = ports.map(port => port.watchdog!)
  const detected = dogs.reduce((sum, dog) => sum + dog.detected, 0)
  t.ok(detected >= 1, `${detected} deadlocks`)
  t.equal(
    dogs.reduce((sum, dog) => sum + dog.restored, 0),
    detected,
  )
  t.ok(ports.every(port => port.deadlocked === undefined))
})
