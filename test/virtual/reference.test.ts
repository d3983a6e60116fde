/**
 * Scenarios in virtual time compared with the figures of an independent simulator (bench/reference), within
 * the tolerances in bench/compare-ns3.ts. A seed repeats a run to the byte.
 */
import { packageFile } from '../../lib/package-file.js'
import { loadScenario } from '../../lib/scenario/read/load-scenario.js'
import { resultJson } from '../../lib/scenario/result/write-result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual } from '../support/long.js'
import { run, runOf, testAgainstReference } from './reference.js'

testAgainstReference('dumbbell-100g')
testAgainstReference('incast-16')

long('incast-16: every byte, nothing retransmitted', async t => {
  const result = runOf('incast-16')
  t.equal(result.flows.length, 16)
  for (const flow of result.flows) {
    t.equal(flow.ackedBytes, 500_000, flow.name)
    t.equal(flow.retransmittedBytes, 0)
    t.ok(flow.fctNs !== null && flow.fctNs >= flow.idealFctNs, `${flow.name} is no faster than alone`)
  }
  // The receiver's port has sent exactly the payloads, and at most 150 bytes of headers a packet.
  const port = result.ports.find(({ name }) => name === 's1:h16')!
  const packets = 16 * Math.ceil(500_000 / 1024)
  t.ok(port.txBytes > 16 * 500_000 && port.txBytes < 16 * 500_000 + packets * 150, `${port.txBytes} bytes`)
})

usual('the same seed gives the same bytes', async t => {
  const once = runOf('incast-16')
  const again = run('incast-16')
  t.not(once, again)
  t.equal(resultJson({ ...once, wallSeconds: 0 }), resultJson({ ...again, wallSeconds: 0 }))
})

usual('a fixed window of one bandwidth-delay product shares the link by halves', async t => {
  // Two flows of equal windows through one bottleneck. Whatever the order of their packets, neither can have
  // more than its window in flight. So their shares are equal, the link is full, and the queue is the excess
  // of one window.
  const scenario = loadScenario(packageFile('bench', 'scenarios', 'dumbbell-100g.yaml'))
  scenario.cc = { name: 'fixed-window', options: { window: 104_000 } }
  scenario.durationNs = 2_000_000
  const result = new VirtualRun(scenario).run()
  const port = result.ports.find(({ name }) => name === 's1:s2')!
  t.ok(port.maxQueueBytes > 90_000 && port.maxQueueBytes < 130_000, `queue ${port.maxQueueBytes}`)
  t.ok(result.summary!.jainIndex! > 0.999, `Jain index ${result.summary!.jainIndex}`)
  t.ok(result.summary!.bottleneckUtilization! > 0.999)
})
