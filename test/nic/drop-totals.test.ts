import t from 'tap'
import { DropTotals } from '../../lib/nic/flow/drop-totals.js'
import type { Flow } from '../../lib/nic/flow/flow.js'
import { QpCounters } from '../../lib/qp/context/counters.js'

const flowWith = (counters: QpCounters) => ({ qp: { counters } }) as unknown as Flow

t.test('each reason counts, of flows that are there and of those that have ended', async t => {
  const names = Object.keys(new DropTotals().sum([])) as (keyof QpCounters)[]
  t.ok(names.length > 5)
  for (const name of names) {
    const counters = new QpCounters()
    counters[name] = 3
    const totals = new DropTotals()
    t.match(totals.sum([flowWith(counters), null]), { [name]: 3 })
    totals.take(flowWith(counters))
    totals.take(flowWith(new QpCounters()))
    const sums = totals.sum([flowWith(counters)])
    for (const other of names) t.equal(sums[other as keyof typeof sums], other === name ? 6 : 0, name)
  }
})
