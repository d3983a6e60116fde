/** When the flows of a virtual run are made and freed: it changes nothing of what they do. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { Network } from '../../lib/sim/network.js'
import { NEVER } from '../../lib/time/nanos.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { fixedSeed } from '../support/seeds.js'

/** Hosts that exchange short and long flows over one switch with little memory, so that some packets are lost. */
function text(more: string): string {
  return `
link: { rate: 10Gbps, delay: 1us }
hosts: [h0..h5]
switches: { s1: { buffer: 40KB } }
links: [h0..h5--s1]
transport: { pathMtu: 1024 }
traffic:
  - { workload: googlerpc, load: 30%, duration: 300us }
  - { name: incast, incast: [h1..h5], to: h0, size: 30KB, start: 50us }
${more}`
}

/** Without what is not of the network. */
function comparable({ wallSeconds: _, scenario: __, ...result }: RunResult) {
  return JSON.parse(JSON.stringify(result))
}

/** The results with every flow made by packets before the traffic, and with each made when it starts. */
function bothWays(more: string, seed: number) {
  const scenario = parseScenario(text(more), 'lives.yaml')
  const folder = mkdtempSync(join(tmpdir(), 'weir-lives-'))
  try {
    const byPackets = new VirtualRun(scenario, { seed, captures: { folder } }).run()
    const run = new VirtualRun(scenario, { seed })
    return { byPackets: comparable(byPackets), directly: comparable(run.run()), run }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

for (const [name, more] of [
  ['T given', 'baseRtt: 8us'],
  ['T measured', ''],
  ['N counted', 'cc: { name: hpcc, countFlows: true }'],
] as const) {
  const seed = fixedSeed(t, 1)
  t.test(`${name}: flows that are made at their start do as flows that were made before`, async t => {
    const { byPackets, directly } = bothWays(more, seed)
    t.ok(byPackets.flows.length > 20, `${byPackets.flows.length} flows`)
    t.same(directly, byPackets)
  })
}

t.test('flows that have ended are freed, but for a few that have lost packets or ended last', async t => {
  const scenario = parseScenario(
    `
link: { rate: 10Gbps, delay: 1us }
hosts: [h1, h2]
switches: [s1]
links: [h1..h2--s1]
baseRtt: 8us
traffic: [{ name: f, from: h1, to: h2, size: 2KB, repeat: 300, every: 5us }]
`,
    'many.yaml',
  )
  const run = new VirtualRun(scenario)
  const { flows } = run.run()
  t.equal(flows.length, 300)
  t.ok(flows.every(({ fctNs, ackedBytes }) => fctNs !== null && ackedBytes === 2000))
  t.ok(run.connections < 30, `${run.connections} connections are left`)
})

t.test('flows are freed where switches send direct responses', async t => {
  const scenario = parseScenario(
    `
link: { rate: 10Gbps, delay: 1us }
hosts: [h1, h2, h3]
switches: { s1: { telemetry: { direct: { threshold: 100B } } } }
links: [h1..h3--s1]
baseRtt: 8us
telemetry: { subscribe: flag }
traffic:
  - { name: f, from: h1, to: h3, size: 10KB, repeat: 100, every: 20us }
  - { name: g, from: h2, to: h3, size: 10KB, repeat: 100, every: 20us }
`,
    'direct.yaml',
  )
  const run = new VirtualRun(scenario)
  const { flows, ports } = run.run()
  t.ok(flows.every(({ ackedBytes }) => ackedBytes === 10_000))
  t.ok(ports.some(({ directResponses = 0 }) => directResponses > 100))
  t.ok(run.connections < 60, `${run.connections} connections are left`)
})

t.test(
  'a flow of which nothing gets through says what may be wrong with the path, whether or not T is given',
  async t => {
    const network = 'link: { rate: 10Gbps, delay: 1us }\nhosts: [h1, h2]\nlinks: [h1..h2--s1]\n'
    const traffic = 'traffic: [{ name: f, from: h1, to: h2, size: 20KB }]\n'
    const fails = (buffer: string, more: string) => {
      const file = `${network}switches: { s1: { buffer: ${buffer} } }\n${traffic}${more}`
      return new VirtualRun(parseScenario(file, 'small.yaml')).run().flows[0]!.failed
    }
    const hint = 'is a link too slow, a delay too long, or the buffer of a switch too small?'
    // The packets of the connection manager, of about 330 bytes, do not fit; or they do, and no data does.
    t.match(fails('200B', 'baseRtt: 8us'), `nothing of it has arrived: ${hint}`)
    t.match(fails('700B', ''), `nothing of it has arrived: ${hint}`)
    t.throws(() => fails('200B', ''), { code: 'WEIR_UNREACHABLE', message: hint })
  },
)

t.test('a run without a duration says so if nothing is due any more, and waits for no event', async t => {
  const scenario = parseScenario(
    `
link: { rate: 10Gbps, delay: 1us }
hosts: [h1, h2]
switches: [s1]
links: [h1..h2--s1]
baseRtt: 8us
traffic: [{ name: f, from: h1, to: h2, size: 20KB }]
`,
    'quiet.yaml',
  )
  const { nextEventNs } = Network.prototype
  t.teardown(() => {
    Network.prototype.nextEventNs = nextEventNs
  })
  // No input makes a network fall silent.
  Network.prototype.nextEventNs = () => NEVER
  t.throws(() => new VirtualRun(scenario).run(), { code: 'WEIR_INTERNAL', message: 'a flow has not ended' })
})
