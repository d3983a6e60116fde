/** Path selection in whole networks: four flows that the hash puts on one of four paths. */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { resultJson } from '../../lib/scenario/result/write-result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual, variants } from '../support/long.js'

/** The network of bench/scenarios/four-paths.yaml at 10 Gbit/s, its flows of 8 MB. */
const text = (more: string, start = '0us', size = '8MB') => `
name: four-paths
hosts: [h1..h8]
switches: [leaf1, leaf2, spine1..spine4]
link: { rate: 10Gbps, delay: 2us }
links: [h1--leaf1, h2--leaf1, h3--leaf1, h4--leaf1, h5--leaf2, h6--leaf2, h7--leaf2, h8--leaf2,
  leaf1--spine1, leaf1--spine2, leaf1--spine3, leaf1--spine4, leaf2--spine1, leaf2--spine2, leaf2--spine3, leaf2--spine4]
transport: { pathMtu: 4096${more.includes('secret') ? ', key: correct horse battery' : ''}${more.includes('goBackN') ? ', recovery: goBackN' : ''} }
traffic:
  - { name: e1, from: h1, to: h5, size: ${size}, sourcePort: 49153 }
  - { name: e2, from: h2, to: h6, size: ${size}, sourcePort: 49160, start: ${start} }
  - { name: e3, from: h3, to: h7, size: ${size}, sourcePort: 49152, start: ${start} }
  - { name: e4, from: h4, to: h8, size: ${size}, sourcePort: 49153, start: ${start} }
${more.replace('secret', '')}`

function run(more: string, seed = 1, start?: string, size?: string) {
  const virtual = new VirtualRun(parseScenario(text(more, start, size), 'test.yaml'), { seed })
  const result = virtual.run()
  return { result, rx: virtual.hostRxCounters }
}

const uplinks = ({ ports }: RunResult) =>
  ports.filter(port => port.switch === 'leaf1' && port.peer.startsWith('spine'))

function aggregateBps({ flows }: RunResult): number {
  const end = Math.max(...flows.map(({ startNs, fctNs }) => startNs + fctNs!))
  return (flows.reduce((sum, { bytes }) => sum + bytes, 0) * 8e9) / end
}

const without = run('').result

usual('without a choice all flows take one path', async t => {
  t.same(
    uplinks(without).map(({ utilization }) => utilization! > 0.01),
    [true, false, false, false],
  )
  t.equal(without.flows[0]!.paths, undefined)
})

const WAYS: [string, string][] = [
  ['new flows choose', 'paths: { count: 8, move: drain }'],
  ['flows that run move', 'paths: { count: 8, start: hash, move: drain }'],
  ['with a key', 'secret\npaths: { count: 8, move: drain }'],
  ['receiver-based', 'cc: rx-hpcc\npaths: { count: 8, move: drain }'],
  ['go-back-N', 'paths: { count: 8, start: hash, move: drain }\n# goBackN'],
  ['INT-MD', 'int: { format: p4-int-md }\npaths: { count: 8, move: drain }'],
]

for (const [i, [name, more]] of variants([...WAYS.entries()], 2)) {
  t.test(`${name}: all four paths are used, and nothing is lost, retransmitted or overtaken`, async t => {
    const seed = i + 1
    const { result, rx } = run(more, seed)
    t.same(
      uplinks(result).map(({ txBytes }) => txBytes > 4e6),
      [true, true, true, true],
      `seed ${seed}`,
    )
    // 8 MB take 7 ms. Some are over before the last flow has found its path.
    const ratio = aggregateBps(result) / aggregateBps(without)
    t.ok(ratio > 2, `${ratio} times the goodput`)
    for (const { fctNs, retransmittedBytes, timeouts } of result.flows) {
      t.ok(fctNs !== null)
      t.same([retransmittedBytes, timeouts], [0, 0])
    }
    t.equal(
      result.ports.reduce((sum, { drops }) => sum + drops, 0),
      0,
    )
    for (const host of rx) {
      t.same([host.implausibleTelemetry, host.forgedFeedback, host.untaggedFeedback], [0, 0, 0])
    }
    for (const { paths } of result.flows) {
      t.ok(paths!.probes > 16 && paths!.probeBytes > paths!.probes * 60)
      t.ok(paths!.probeBytes < 0.01 * 8e6, `${paths!.probeBytes} bytes of probes`)
    }
  })
}

long('after selection four flows have at least 3.5 times the goodput that they had on one path', async t => {
  const alone = aggregateBps(run('', 1, '0us', '16MB').result)
  for (const way of ['choose', 'hash']) {
    const { result } = run(`paths: { count: 8, start: ${way}, move: drain }`, 1, '0us', '16MB')
    const ratio = aggregateBps(result) / alone
    t.ok(ratio >= 3.5, `start ${way}: ${ratio}`)
  }
})

long('a seed gives the same run, another one another', async t => {
  const json = (seed: number) =>
    resultJson({
      ...run('paths: { count: 8, move: drain }', seed, '0us', '2MB').result,
      wallSeconds: 0,
      seed: 0,
    })
  t.equal(json(3), json(3))
  t.not(json(3), json(4))
})

usual('flows that find all paths full are refused, or wait until one is free', async t => {
  const full = 'admission: 0.6'
  const bound = `paths: { count: 1, ${full} }`
  const refused = run(bound, 1, '2ms').result.flows
  t.match(refused[0], { refused: undefined })
  t.ok(refused[0]!.fctNs !== null)
  for (const flow of refused.slice(1)) {
    t.equal(flow.fctNs, null)
    t.match(flow.refused, /every path to .* is used too much/)
    t.equal(flow.ackedBytes, 0)
  }
  const late = run(`paths: { count: 1, ${full}, admissionWait: 1s }`, 1, '2ms').result.flows
  for (const flow of late) t.ok(flow.fctNs !== null && flow.refused === undefined)
  t.equal(late[0]!.paths!.delayedNs, 0)
  for (const flow of late.slice(1)) t.ok(flow.paths!.delayedNs > 4e6, `${flow.paths!.delayedNs} ns`)
})

usual(
  'path probes that come faster than a link takes them leave room for data and acknowledgements',
  async t => {
    const slow = parseScenario(
      `
name: narrow
hosts: [h1, h2]
switches: [s1]
link: { rate: 100Mbps, delay: 1us }
links: [h1--s1, h2--s1]
transport: { ackTimeout: 16ms }
cc: cubic
paths: { count: 4, start: hash, interval: 4us }
traffic:
${[1, 2, 3, 4].map(n => `  - { name: a${n}, from: h1, to: h2, size: 50KB }\n  - { name: b${n}, from: h2, to: h1, size: 50KB }`).join('\n')}
duration: 5s
`,
      'narrow.yaml',
    )
    const { flows } = new VirtualRun(slow).run()
    for (const { name, fctNs, failed } of flows) {
      t.equal(failed, undefined, name)
      t.ok(fctNs !== null, `${name} has ended`)
    }
  },
)
