/** One scenario in virtual time, its telemetry in each encapsulation. */
import { join } from 'node:path'
import { dump } from '../../bin/commands/dump-packets.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { FORMAT_NAMES, type IntFormat } from '../../lib/wire/telemetry/telemetry.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { long, usual } from '../support/long.js'

const T_NS = 25_000
const RATE = 10e9
const ETA = 0.95
const PAYLOAD = 1024
/** Headers and ICRC without telemetry. */
const PLAIN = PAYLOAD + 58
/** Bytes of telemetry as the sender writes it for two hops, and as it is after two hops. */
const BYTES: Record<IntFormat, readonly [number, number]> = {
  wide: [8 + 2 * 24, 8 + 2 * 24],
  compact: [8 + 2 * 8, 8 + 2 * 8],
  'p4-int-md': [16, 16 + 2 * 32],
  ifa: [8, 8 + 2 * 36],
  ioam: [4 + 8 + 2 * 32, 4 + 8 + 2 * 32],
}

/** How a packet with 15 records prints. */
const ALL_RECORDS: Record<IntFormat, RegExp> = {
  wide: /INT wide hops 15\/15 /,
  compact: /INT compact hops 15\/15 /,
  'p4-int-md': /INT-MD hops 15 remaining 0, /,
  ifa: /IFA hops 15 passed 15, /,
  ioam: /IOAM trace nodes 15\/15, /,
}

function run(format: IntFormat, more = ''): RunResult {
  const scenario = parseScenario(
    `
name: ${format}
link: {rate: 10Gbps, delay: 2us}
hosts: [h1, h2, h3]
switches: [s1, s2]
links: [h1--s1, h2--s1, s1--s2, s2--h3]
int: {format: ${format}}
transport: {pathMtu: ${PAYLOAD}}
baseRtt: 25us
traffic:
  - {name: a, from: h1, to: h3, size: 6MB}
  - {name: b, from: h2, to: h3, size: 3MB, start: 1500us}
watch: {queues: [s1:s2], every: 25us}
${more}`,
    'encapsulations.yaml',
  )
  return new VirtualRun(scenario, {}).run()
}

/** Mean of a series from `fromNs` to `toNs`. */
function mean(result: RunResult, name: string, fromNs: number, toNs: number): number {
  const { timesNs, values } = result.series[name]!
  const inside = values.filter((_, i) => timesNs[i]! >= fromNs && timesNs[i]! < toNs)
  return inside.reduce((sum: number, value) => sum + value!, 0) / inside.length
}

long(
  'every byte arrives; windows are the same in proportion to what packets take on the fullest link',
  async t => {
    for (const format of FORMAT_NAMES) {
      const result = run(format)
      for (const flow of result.flows) {
        t.ok(flow.fctNs !== null && flow.fctNs >= flow.idealFctNs, `${format}: no flow beats its ideal`)
        t.equal(flow.ackedBytes, flow.bytes)
        t.equal(flow.retransmittedBytes, 0)
      }
      for (const port of result.ports) t.equal(port.drops, 0)
      // Alone, the flow's window makes eta of the link to h3 busy. The pacing counts packets as they leave
      // the sender.
      const [first, last] = BYTES[format]
      const expected = (ETA * RATE * T_NS * (PLAIN + first)) / (PLAIN + last) / 8e9
      const alone = mean(result, 'window/a', 500_000, 1_500_000)
      t.ok(Math.abs(alone / expected - 1) < 0.01, `${format}: ${alone} of ${expected} bytes alone`)
      const both = mean(result, 'window/a', 2.5e6, 5e6) + mean(result, 'window/b', 2.5e6, 5e6)
      t.ok(Math.abs(both / expected - 1) < 0.02, `${format}: ${both} of ${expected} bytes both`)
    }
  },
)

usual('a flow alone takes exactly its ideal time when nothing holds it back', async t => {
  for (const format of FORMAT_NAMES) {
    const scenario = parseScenario(
      `
name: ideal
hosts: [h1, h2]
switches: [s1, s2, s3]
links: [{ends: h1--s1, rate: 4Gbps}, {ends: s1--s2, rate: 1Gbps}, {ends: s2--s3, rate: 1Gbps}, {ends: s3--h2, rate: 2Gbps}]
int: {format: ${format}}
cc: {name: hpcc, eta: 1}
baseRtt: 10ms
transport: {pathMtu: 1024}
traffic: [{from: h1, to: h2, size: 20KB}]
`,
      'ideal.yaml',
    )
    const [flow] = new VirtualRun(scenario, {}).run().flows
    const offNs = flow!.fctNs! - flow!.idealFctNs
    // Every node rounds times up to whole nanoseconds.
    t.ok(offNs >= 0 && offNs <= 20, `${format}: ${offNs} ns above ${flow!.idealFctNs}`)
  }
})

usual('lossless queues stay lossless while packets become longer', async t => {
  for (const format of ['p4-int-md', 'ifa'] as const) {
    const scenario = parseScenario(
      `
name: paused
link: {rate: 1Gbps, delay: 10us}
hosts: [h1..h5]
switches: {s1: {buffer: 1MB, pfc: {xoff: 6KB}}, s2: {buffer: 1MB, pfc: {xoff: 6KB}}}
links: [h1..h4--s1, s1--s2, s2--h5]
int: {format: ${format}}
transport: {pathMtu: 1024}
traffic:
  - {name: incast, incast: [h1..h4], to: h5, size: 300KB}
`,
      'paused.yaml',
    )
    const result = new VirtualRun(scenario, {}).run()
    for (const flow of result.flows) t.equal(flow.ackedBytes, flow.bytes)
    for (const port of result.ports) t.equal(port.drops, 0)
    t.ok(
      result.ports.some(port => port.pausesSent > 0),
      'pauses were needed',
    )
  }
})

usual('fifteen switches: a record of each, whatever the encapsulation', async t => {
  for (const format of FORMAT_NAMES) {
    const switches = Array.from({ length: 15 }, (_, i) => `s${i + 1}`)
    const links = ['h1', ...switches, 'h2'].slice(1).map((node, i) => `${['h1', ...switches][i]}--${node}`)
    const scenario = parseScenario(
      `
name: long
hosts: [h1, h2]
switches: {${switches.map(name => `${name}: {}`).join(', ')}}
links: [${links.join(', ')}]
int: {format: ${format}}
transport: {pathMtu: 1024}
traffic: [{from: h1, to: h2, size: 100KB}]
watch: {queues: []}
`,
      'long.yaml',
    )
    const folder = t.testdir({})
    const result = new VirtualRun(scenario, { captures: { folder } }).run()
    t.equal(result.flows[0]!.ackedBytes, 100_000)
    let text = ''
    await dump(join(folder, 's15--h2.pcapng'), async chunk => {
      text += chunk
    })
    const data = text.split('\n').filter(line => line.includes('RC_RDMA_WRITE_MIDDLE'))
    t.ok(data.length > 90 && data.every(line => ALL_RECORDS[format].test(line)), data[0])
  }
})
