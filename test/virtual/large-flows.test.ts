/** Small flows beside large ones: what a queue of their own gives to the small ones, and costs the large ones. */
import { join } from 'node:path'
import t from 'tap'
import { loadScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import type { LargeFlowsReport } from '../../switch-emu/core/scheduling/large-flows.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { repositoryRoot } from '../support/fixtures.js'

function run(name: string): RunResult {
  return new VirtualRun(loadScenario(join(repositoryRoot, 'bench', 'scenarios', `${name}.yaml`))).run()
}

/** Completion times of the mice, and what all elephants together move in a second. */
function figures({ flows }: RunResult) {
  const mice = flows.filter(({ name }) => name.startsWith('mouse')).map(({ fctNs }) => fctNs!)
  const elephants = flows.filter(({ name }) => name.startsWith('elephant'))
  mice.sort((a, b) => a - b)
  const bytes = elephants.reduce((sum, flow) => sum + flow.bytes, 0)
  return {
    count: mice.length,
    p50: mice[Math.ceil(mice.length * 0.5) - 1]!,
    p99: mice[Math.ceil(mice.length * 0.99) - 1]!,
    elephantsBps: (bytes * 8e9) / Math.max(...elephants.map(({ fctNs }) => fctNs!)),
    idealNs: flows.find(({ name }) => name.startsWith('mouse'))!.idealFctNs,
    retransmitted: flows.reduce((sum, flow) => sum + flow.retransmittedBytes, 0),
  }
}

t.test('mice wait for no elephant, which lose nothing by it', async t => {
  const apart = run('mice-elephants')
  const one = figures(apart)
  const other = figures(run('mice-elephants-together'))
  t.equal(one.count, 300)
  t.equal(other.count, 300)
  // Queues of 200 KB take 16 us.
  t.ok(other.p50 > one.p50 + 10_000, `p50 ${one.p50} and ${other.p50} ns`)
  t.ok(other.p99 > 3 * one.p99, `p99 ${one.p99} and ${other.p99} ns`)
  // At each link they wait for one packet in transmission at most.
  t.ok(one.p99 < one.idealNs + 1000, `p99 ${one.p99} ns, alone ${one.idealNs} ns`)
  t.ok(one.elephantsBps > 0.95 * other.elephantsBps, `${one.elephantsBps} and ${other.elephantsBps} bit/s`)
  t.equal(one.retransmitted, 0, 'nothing comes out of order')
  const { largeFlows } = apart.ports.find(({ name }) => name === 's1:r') as { largeFlows?: LargeFlowsReport }
  t.match(largeFlows, { grown: 4, missed: 0, now: 4 })
  t.same(largeFlows!.list.map(({ from }) => from).sort(), ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'])
})
