/**
 * IPCC beside ECN in virtual time: one flow has a link of 100 Gbit/s, and others join it at one time, all with DCQCN. How long it takes from
 * congestion to the first slow-down, how long the queue gets, how well the link is used, and what was sent. Two networks: the receiver at the
 * congested switch, and 10 km behind it.
 */
import { parseArgs } from 'node:util'
import { parseScenario } from '../lib/scenario/read/load-scenario.js'
import { jainIndex } from '../lib/scenario/result/fairness.js'
import type { RunResult, Series } from '../lib/scenario/result/result.js'
import type { IpccReport } from '../switch-emu/core/ipcc/ipcc.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { oneOf } from './support/one-of.js'

const JOINING = [1, 3, 15]
const JOIN_NS = 500_000
const SAMPLE_US = 1
const MILLISECONDS = 10
const LINE_BPS = 100e9

const NETWORKS = {
  near: { switches: ['s1'], links: 's1--r', congested: 's1:r' },
  far: { switches: ['s1', 's2'], links: '{ ends: s1--s2, delay: 50us }, s2--r', congested: 's1:s2' },
} as const
type NetworkName = keyof typeof NETWORKS

const SETTINGS = {
  ecn: 'ecn: { kmin: 100KB, kmax: 400KB, pmax: 0.2 }',
  ipcc: 'ipcc: {}',
  both: 'ecn: { kmin: 100KB, kmax: 400KB, pmax: 0.2 }, ipcc: {}',
} as const
type SettingName = keyof typeof SETTINGS

interface IpccFigures {
  network: NetworkName
  flows: number
  setting: SettingName
  /** From the first sample with a queue to the first with a flow below the line rate; to 1 us. */
  slowDownNs: number
  peakQueueBytes: number
  /** From then on: what the link was busy, and the mean of the queue. */
  utilization: number
  meanQueueBytes: number
  /** Fairness by what the flows have moved in the last half. */
  jainIndex: number
  marks: number
  cnps: Omit<IpccReport, 'list'> | null
}

/** Arguments: a network, default both. */
export function run(args: string[]): { benchmark: 'ipcc'; figures: IpccFigures[] } {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: { type: 'boolean' } },
  })
  const all = Object.keys(NETWORKS) as NetworkName[]
  const networks = positionals.length === 0 ? all : positionals.map(name => oneOf('NETWORK', name, ...all)!)
  const settings = Object.keys(SETTINGS) as SettingName[]
  const figures = networks.flatMap(network =>
    JOINING.flatMap(joining => settings.map(setting => figuresOf(network, joining, setting))),
  )
  if (!values.json) process.stdout.write(printed(figures))
  return { benchmark: 'ipcc', figures }
}

function figuresOf(network: NetworkName, joining: number, setting: SettingName): IpccFigures {
  const result = runOf(network, joining, setting)
  const { congested } = NETWORKS[network]
  const port = result.ports.find(({ name }) => name === congested)!
  const queue = result.series[`queue/${congested}`]!
  const congestedNs = firstNs(queue, (value, at) => at >= JOIN_NS && value > 0)
  const rates = result.flows.map(({ name }) => result.series[`rate/${name}`]!)
  const slowNs = Math.min(
    ...rates.map(rate => firstNs(rate, (value, at) => at >= JOIN_NS && value < LINE_BPS)),
  )
  const moved = result.flows.map(({ name }) => {
    const { values } = result.series[`acked/${name}`]!
    return values.at(-1)! - values[values.length >> 1]!
  })
  const after = queue.values.filter((_, i) => queue.timesNs[i]! >= congestedNs)
  const tx = result.series[`acked/first`]!
  const { list: _, ...cnps } = (port as { ipcc?: IpccReport }).ipcc ?? { list: [] }
  return {
    network,
    flows: 1 + joining,
    setting,
    slowDownNs: slowNs - congestedNs,
    peakQueueBytes: port.maxQueueBytes,
    utilization: utilizationOf(result, tx.timesNs),
    meanQueueBytes: after.reduce((a, b) => a + b, 0) / after.length,
    jainIndex: jainIndex(moved),
    marks: port.ecnMarks,
    cnps: 'sent' in cnps ? (cnps as IpccFigures['cnps']) : null,
  }
}

/** What all flows have moved since the others joined, as a share of what the link could have. */
function utilizationOf({ flows, series }: RunResult, timesNs: readonly number[]): number {
  const from = timesNs.findIndex(at => at >= JOIN_NS)
  const bytes = flows.reduce((sum, { name }) => {
    const { values, timesNs: times } = series[`acked/${name}`]!
    const start = times.findIndex(at => at >= JOIN_NS)
    return sum + values.at(-1)! - values[start]!
  }, 0)
  return (bytes * 8e9) / (LINE_BPS * (timesNs.at(-1)! - timesNs[from]!))
}

function firstNs({ timesNs, values }: Series, is: (value: number, at: number) => boolean): number {
  const i = values.findIndex((value, i) => is(value, timesNs[i]!))
  return i < 0 ? Number.POSITIVE_INFINITY : timesNs[i]!
}

function runOf(network: NetworkName, joining: number, setting: SettingName): RunResult {
  const { switches, links, congested } = NETWORKS[network]
  const text = `
name: ipcc-${network}
link: { rate: 100Gbps, delay: 1us }
hosts: [h0..h${joining}, r]
switches: { ${switches.map(name => `${name}: { buffer: 64MB, ${SETTINGS[setting]} }`).join(', ')} }
links: [h0..h${joining}--s1, ${links}]
cc: dcqcn
transport: { pathMtu: 4096 }
traffic:
  - { name: first, from: h0, to: r, size: 1GB }
  - { name: join, incast: [${joining === 1 ? 'h1' : `h1..h${joining}`}], to: r, size: 1GB, start: ${JOIN_NS}ns }
watch: { queues: ['${congested}'], every: ${SAMPLE_US}us }
duration: ${MILLISECONDS}ms
`
  return new VirtualRun(parseScenario(text, `ipcc-${network}.yaml`)).run()
}

function printed(figures: readonly IpccFigures[]): string {
  const head =
    'network  flows  setting  first slow-down  peak queue  mean queue  payload of the link  Jain  marks  CNPs of the switch\n'
  const rows = figures.map(({ network, flows, setting, ...f }) => {
    const cells = [
      `${f.slowDownNs / 1e3} us`.padStart(15),
      `${Math.round(f.peakQueueBytes / 1e3)} KB`.padStart(10),
      `${Math.round(f.meanQueueBytes / 1e3)} KB`.padStart(10),
      `${(100 * f.utilization).toFixed(1)} %`.padStart(19),
      f.jainIndex.toFixed(2),
      String(f.marks).padStart(5),
    ]
    return `${network.padEnd(7)}  ${String(flows).padStart(5)}  ${setting.padEnd(7)}  ${cells.join('  ')}  ${cnpsText(f.cnps)}\n`
  })
  return `${head}${rows.join('')}`
}

function cnpsText(cnps: IpccFigures['cnps']): string {
  if (cnps === null) return '-'
  const { sent, cases, spaced, unknownSender } = cnps
  return `${sent}: rising ${cases.risingLow} and full ${cases.risingHigh}, falling and full ${cases.fallingHigh}; ${spaced} spaced, ${unknownSender} unknown`
}
