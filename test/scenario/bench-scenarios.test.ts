import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { packageFile } from '../../lib/package-file.js'
import { baseRttNs, portName, Topology } from '../../lib/scenario/model/topology.js'
import { loadScenario } from '../../lib/scenario/read/load-scenario.js'

const folder = dirname(packageFile('bench', 'scenarios', 'dumbbell.yaml'))
const load = (name: string) => loadScenario(join(folder, `${name}.yaml`))

t.test('every scenario of the bench loads, and its traffic has paths', async t => {
  const files = readdirSync(folder).filter(file => file.endsWith('.yaml'))
  t.ok(files.length >= 5)
  for (const file of files) {
    const scenario = loadScenario(join(folder, file))
    t.equal(`${scenario.name}.yaml`, file, 'named after its file')
    const topology = new Topology(scenario)
    for (const { from, to } of scenario.flows) t.ok(topology.paths(from, to).length > 0, `${from} to ${to}`)
    for (const { switch: name, port } of scenario.watch.queues) t.ok(topology.ports(name)[port])
  }
})

/** What the reference simulation ran: 100 Gbit/s, one base RTT for all, eta 0.95, maxStage 0, minimum rate 1 Gbit/s. */
const REFERENCE_CC = { eta: 0.95, maxStage: 0, minRate: 1e9 }

for (const [name, delayNs, rttNs] of [
  ['dumbbell-100g', 1000, 8320],
  ['dumbbell-100g-1500ns', 1500, 12_320],
] as const) {
  t.test(`${name} is the reference's dumbbell`, async t => {
    const scenario = load(name)
    t.ok(scenario.links.every(link => link.rateBps === 100e9 && link.delayNs === delayNs))
    t.strictSame([scenario.hosts.length, scenario.switches.length, scenario.links.length], [3, 3, 5])
    const topology = new Topology(scenario)
    for (const from of ['h1', 'h2']) {
      const [path] = topology.paths(from, 'h3')
      t.strictSame(
        path?.map(hop => hop.peer),
        ['s1', 's2', 's3', 'h3'],
      )
      t.equal(baseRttNs(path!, 1000), rttNs)
    }
    t.equal(scenario.baseRttNs, rttNs)
    // 50 Mbit/s of additive increase times T.
    t.strictSame(scenario.cc, {
      name: 'hpcc',
      options: { ...REFERENCE_CC, wAi: Math.round((50e6 * rttNs) / 8e9) },
    })
    t.match(scenario.flows, [
      { from: 'h1', to: 'h3', bytes: 2e9, startNs: 0 },
      { from: 'h2', to: 'h3', bytes: 2e9, startNs: 300_000 },
    ])
    t.equal(scenario.durationNs, 10_000_000)
    t.strictSame(scenario.int, { format: 'compact', hops: 5 })
    t.strictSame(
      scenario.watch.queues.map(({ switch: node, port }) => portName(topology, node, port)),
      ['s1:s2'],
    )
    t.equal(scenario.watch.everyNs, 500)
    t.ok(scenario.switches.every(s => s.bufferBytes >= 32e6 && s.ecn === undefined && s.pfc === undefined))
  })
}

t.test("incast-16 is the reference's star", async t => {
  const scenario = load('incast-16')
  t.strictSame([scenario.hosts.length, scenario.switches.length, scenario.links.length], [17, 1, 17])
  t.ok(scenario.links.every(link => link.rateBps === 100e9 && link.delayNs === 1000))
  t.equal(scenario.baseRttNs, 4160)
  t.strictSame(scenario.cc, { name: 'hpcc', options: { ...REFERENCE_CC, wAi: 26 } })
  t.equal(scenario.flows.length, 16)
  const senders = new Set(scenario.flows.map(flow => flow.from))
  t.equal(senders.size, 16)
  t.ok(scenario.flows.every(flow => flow.to === 'h16' && flow.bytes === 500_000 && flow.startNs === 0))
  t.notOk(senders.has('h16'))
  t.equal(scenario.durationNs, undefined, 'runs to the end')
})

t.test('dumbbell is slow enough for real time', async t => {
  const scenario = load('dumbbell')
  for (const { rateBps, delayNs } of scenario.links) {
    t.ok(rateBps / 8 / scenario.transport.pathMtu < 5000, 'packets a second')
    t.ok(delayNs >= 500_000)
  }
  t.ok(scenario.flows[1]!.startNs > 0)
  const bytes = scenario.flows.reduce((sum, flow) => sum + flow.bytes, 0)
  t.ok((bytes * 8) / 100e6 < 15, 'done within seconds')
})
