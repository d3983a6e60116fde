/**
 * Runs two flows that meet on a link of 200 Mbit/s under every congestion controller, in virtual time and with real packets on veth. It
 * shows whether all complete, and whether the controllers have the same order by mean queue in both places.
 */
import { parseArgs } from 'node:util'
import { ccNames, ccTakesFairRates } from '../lib/cc/catalogue.js'
import { WeirError } from '../lib/errors.js'
import type { Scenario } from '../lib/scenario/model/scenario.js'
import { parseScenario } from '../lib/scenario/read/load-scenario.js'
import { jainIndex, mean } from '../lib/scenario/result/fairness.js'
import type { RunResult } from '../lib/scenario/result/result.js'
import { seriesName } from '../lib/scenario/result/series.js'
import { table } from '../lib/scenario/result/table.js'
import { runVeth } from '../switch-emu/lab/run-veth.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { stealSince, stealTicks } from './steal.js'

const RATE_BPS = 200e6
const BOTTLENECK = 's1:s2'
/** When both flows run, and when a run ends. */
const BOTH_NS = 400e6
const DURATION_MS = 6000
const FLOW_BYTES = 15_000_000
/** Thresholds of a network in a data centre are below the 6 ms that this path takes by itself. */
const OPTIONS: Readonly<Record<string, string>> = { timely: ', minRtt: 6ms, tLow: 8ms, tHigh: 20ms' }
/** Queues that differ by less than this factor in virtual time have no order. */
const APART = 2

/** One controller in one place. */
export interface DumbbellFigures {
  completed: boolean
  /** While both flows run. */
  meanQueueBytes: number
  /** Payload of the flows, as a share of the link, from the join until the first of them ends. */
  jain: number
  utilization: number
  drops: number
}

interface DumbbellRow {
  controller: string
  virtual: DumbbellFigures
  /** Null without `--on veth`. */
  veth: DumbbellFigures | null
}

interface DumbbellsResult {
  benchmark: 'dumbbells'
  rows: DumbbellRow[]
  /** Pairs of controllers that are apart in virtual time, and those of them with another order on veth. */
  pairs: number
  otherwise: [string, string][]
  stealShare: number | null
}

/** Arguments: `--cc NAME`, default all; `--virtual`: without veth. Throws WEIR_BAD_ARGUMENT for a controller that there is not. */
export async function run(args: string[]): Promise<DumbbellsResult> {
  const { values } = parseArgs({
    args,
    options: { cc: { type: 'string' }, virtual: { type: 'boolean' }, json: { type: 'boolean' } },
  })
  const names = ccNames().filter(name => values.cc === undefined || name === values.cc)
  if (names.length === 0)
    throw new WeirError('WEIR_BAD_ARGUMENT', `--cc is one of ${ccNames().join(', ')}, not "${values.cc}"`)
  const before = stealTicks()
  const rows: DumbbellRow[] = []
  for (const controller of names) {
    const scenario = dumbbell(controller)
    const virtual = figuresOf(new VirtualRun(scenario).run())
    const veth = values.virtual === true ? null : figuresOf(await runVeth(scenario))
    rows.push({ controller, virtual, veth })
  }
  const result: DumbbellsResult = {
    benchmark: 'dumbbells',
    rows,
    ...compareOrders(rows),
    stealShare: stealSince(before),
  }
  if (values.json !== true) process.stdout.write(printed(result))
  return result
}

function dumbbell(controller: string): Scenario {
  const rates = ccTakesFairRates(controller) ? 'rocc: {}, ' : ''
  const switches = `{ ${rates}buffer: 4MB, ecn: { kmin: 100KB, kmax: 400KB, pmax: 0.2 } }`
  return parseScenario(
    `
name: dumbbell-${controller}
link: { rate: ${RATE_BPS / 1e6}Mbps, delay: 1ms }
hosts: [h1, h2, h3]
switches: { s1: ${switches}, s2: ${switches} }
links: [h1--s1, h2--s1, s1--s2, s2--h3]
cc: { name: ${controller}${OPTIONS[controller] ?? ''} }
transport: { pathMtu: 4096 }
traffic:
  - { name: flow0, from: h1, to: h3, size: ${FLOW_BYTES}B }
  - { name: flow1, from: h2, to: h3, size: ${FLOW_BYTES}B, start: 200ms }
watch: { queues: ['${BOTTLENECK}'], every: 5ms }
duration: ${DURATION_MS}ms
`,
    `dumbbell-${controller}.yaml`,
  )
}

/** What a run shows while both flows send. */
function figuresOf({ flows, series, totals }: RunResult): DumbbellFigures {
  const ends = flows.map(({ startNs, fctNs }) => startNs + (fctNs ?? Number.POSITIVE_INFINITY))
  const untilNs = Math.min(...ends, DURATION_MS * 1e6)
  const { timesNs, values } = series[seriesName('queue', BOTTLENECK)]!
  const seen = values.filter((_, i) => timesNs[i]! >= BOTH_NS && timesNs[i]! <= untilNs)
  const lastNs = Math.min(Math.max(...ends), DURATION_MS * 1e6)
  const bytes = flows.reduce((sum, { ackedBytes }) => sum + ackedBytes, 0)
  return {
    completed: flows.every(({ fctNs }) => fctNs !== null),
    meanQueueBytes: mean(seen),
    jain: jainIndex(flows.map(({ ackedBytes, fctNs }) => ackedBytes / (fctNs ?? DURATION_MS * 1e6))),
    utilization: (bytes * 8e9) / lastNs / RATE_BPS,
    drops: totals.drops,
  }
}

/** Pairs that are apart in virtual time, and whether they have the same order on veth. */
export function compareOrders(rows: readonly DumbbellRow[]): Pick<DumbbellsResult, 'pairs' | 'otherwise'> {
  const otherwise: [string, string][] = []
  let pairs = 0
  for (const [i, one] of rows.entries()) {
    for (const other of rows.slice(i + 1)) {
      const [less, more] = [one, other].sort((a, b) => a.virtual.meanQueueBytes - b.virtual.meanQueueBytes)
      if (more!.virtual.meanQueueBytes < APART * less!.virtual.meanQueueBytes) continue
      if (less!.veth === null || more!.veth === null) continue
      pairs++
      if (less!.veth.meanQueueBytes > more!.veth.meanQueueBytes)
        otherwise.push([less!.controller, more!.controller])
    }
  }
  return { pairs, otherwise }
}

function printed({ rows, pairs, otherwise, stealShare }: DumbbellsResult): string {
  const cells = (figures: DumbbellFigures | null) =>
    figures === null
      ? ['-', '-', '-', '-', '-']
      : [
          figures.completed ? 'yes' : 'NO',
          (figures.meanQueueBytes / 1000).toFixed(1),
          `${(100 * figures.utilization).toFixed(0)} %`,
          figures.jain.toFixed(3),
          String(figures.drops),
        ]
  const head = ['controller', ...['virtual', 'veth'].flatMap(on => [on, 'queue KB', 'busy', 'Jain', 'drops'])]
  const order = (of: (row: DumbbellRow) => DumbbellFigures | null) =>
    [...rows]
      .sort((a, b) => (of(a)?.meanQueueBytes ?? 0) - (of(b)?.meanQueueBytes ?? 0))
      .map(({ controller }) => controller)
      .join(' < ')
  const lines = [
    table(
      head,
      rows.map(({ controller, virtual, veth }) => [controller, ...cells(virtual), ...cells(veth)]),
      1,
    ),
    `by mean queue, virtual: ${order(row => row.virtual)}`,
  ]
  if (rows.some(({ veth }) => veth !== null)) {
    const steal = stealShare === null ? '?' : `${(100 * stealShare).toFixed(1)} %`
    const different = otherwise.map(([less, more]) => `${less} and ${more}`).join(', ') || 'none'
    lines.push(
      `by mean queue, veth:    ${order(row => row.veth)}`,
      `pairs whose queues differ by a factor of ${APART} in virtual time: ${pairs}; with another order on veth: ${different}; steal ${steal}`,
    )
  }
  return `${lines.join('\n')}\n`
}
