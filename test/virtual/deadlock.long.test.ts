/** The PFC watchdog with its other action, and its limit. */
import t from 'tap'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import { dogged, finished, portsOf, run, sum, testRecovery, watchdogs } from './deadlock.js'
import './deadlock.test.js'

testRecovery('drop')

t.test('a cycle that locks again and again: the limit turns PFC off', async t => {
  const limited = run(dogged('action: forward, limit: { deadlocks: 2, window: 10s }'))
  t.ok(finished(limited))
  for (const { watchdog, name } of portsOf(limited)) {
    t.same(
      watchdog!.events.map(({ event }) => event),
      ['detected', 'restored', 'detected', 'turnedOff'],
      name,
    )
  }
  t.match(printTables(limited), /PFC turned off 4 times/)
  // Deadlocks within the window do not add up to three.
  const patient = run(dogged('action: forward, limit: { deadlocks: 3, window: 500ms }'))
  t.equal(sum(watchdogs(patient).map(w => w.turnedOff)), 0)
})
