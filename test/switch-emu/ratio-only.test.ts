/**
 * A switch that reports only ratios: what remains and what is hidden, and that HPCC++ works equally with it.
 */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { variants } from '../support/long.js'
import { buildFrame } from './build-frame.js'
import { drain, HOST, starSwitch } from './helpers.js'

t.test("rate, bytes and queue are those of 100 Gbit/s; their ratios are the link's", async t => {
  for (const rateBps of [10e6, 1e9, 40e9, 100e9, 400e9]) {
    const { node, pool } = starSwitch({
      ports: [{ rateBps }, { rateBps }, { rateBps }],
      features: { telemetry: { ratioOnly: true } },
    })
    // Three of 1,500 bytes at once: the n-th leaves after n, and before 2 - n.
    const seen: number[][] = []
    const hops = new HopRecords()
    for (let n = 0; n < 3; n++) {
      const int = { format: intShim.FORMAT_WIDE, slots: 2 }
      node.onFrame(1000, 0, buildFrame(pool, { from: HOST(0), to: HOST(2), wireBytes: 1500, int }))
    }
    drain(node, Number.MAX_SAFE_INTEGER, frame => {
      t.equal(intShim.read(frame.view, frame.shim, frame.length, hops), 0)
      t.ok(hops.ratioOnly)
      seen.push([hops.rateBps[0]!, hops.txBytes[0]!, hops.qlenBytes[0]!])
      pool.give(frame)
    })
    const scale = 100e9 / rateBps
    t.same(
      seen,
      [0, 1, 2].map(n => [100e9, 1500 * n * scale, 1500 * (2 - n) * scale]),
      `${rateBps} bit/s`,
    )
  }
})

const text = (telemetry: string, more: string) => `
hosts: [a, b, c]
switches: { s1: { telemetry: { ${telemetry} } }, s2: {} }
link: { rate: 40Gbps, delay: 2us }
links: [a--s1, b--s1, { ends: s1--s2, rate: 25Gbps }, s2--c]
traffic:
  - { name: f1, from: a, to: c, size: 4MB }
  - { name: f2, from: b, to: c, size: 4MB, start: 100us }
${more}`

for (const [name, own, more] of variants(
  [
    ['wide', '', ''],
    ['compact', '', 'int: { format: compact }'],
    ['INT-MD', '', 'int: { format: p4-int-md }'],
    ['IFA', '', 'int: { format: ifa }'],
    ['only the busiest hop', '', 'telemetry: { hops: busiest }'],
    ['direct answers', ', direct: { threshold: 20KB }', ''],
  ] as const,
  2,
)) {
  t.test(`${name}: flows end when they do without`, async t => {
    const ends = (ratioOnly: boolean) => {
      const run = new VirtualRun(parseScenario(text(`ratioOnly: ${ratioOnly}${own}`, more), 'ratio.yaml'))
      const { flows, ports } = run.run()
      for (const host of run.hostRxCounters) t.equal(host.implausibleTelemetry, 0)
      const queue = Math.max(...ports.map(port => port.maxQueueBytes))
      return { lastNs: Math.max(flows[0]!.fctNs!, 100e3 + flows[1]!.fctNs!), queue }
    }
    const [plain, hidden] = [ends(false), ends(true)]
    // 8 MB over 25 Gbit/s take 2.56 ms and headers.
    t.ok(hidden.lastNs > 2.56e6 && hidden.lastNs < 3.3e6, `${hidden.lastNs} ns`)
    t.ok(Math.abs(hidden.lastNs / plain.lastNs - 1) < 0.02, `${hidden.lastNs / plain.lastNs} of the time`)
    t.ok(hidden.queue < 1.2 * plain.queue + 5000, `queues ${hidden.queue} and ${plain.queue}`)
  })
}
