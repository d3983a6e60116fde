/**
 * Runs two flows that meet on a link of 200 Mbit/s under every congestion controller, in virtual time and with real packets on veth. It
 * shows whether all complete, and whether the controllers have the same order by mean queue in both places.
 *
 * The hosts are processes of one machine, and packets wait for them: about 2 ms in a round trip of an idle path, so the path is much longer.
 * Programs are compiled while they run, which takes most of two cores at first. So the queue is measured after that.
 */
import { parseArgs } from 'node:util'
import { ccNames, ccTakesFairRates } from '../lib/cc/catalogue.js'
import { WeirError } from '../lib/errors.js'
import type { Scenario } from '../lib/scenario/model/scenario.js'
import { parseScenario } from '../lib/scenario/read/load-scenario.js'
import { jainIndex, mean } from '../lib/scenario/result/fairness.js'
import type { RunResult } from '../lib/scenario/result/result.js'
import { seriesName } from '../lib/scenario/result/series.js'
import { runVeth } from '../switch-emu/lab/run-veth.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { stealSince, stealTicks } from './steal.js'
import { table } from './support/table.js'

const RATE_BPS = 200e6
const BOTTLENECK = 's1:s2'
/** One way: 18 ms a round trip over three links. */
const LINK_DELAY_MS = 3
/** When both flows run and programs are compiled, and when a run ends. */
const MEASURED_NS = 1500e6
const DURATION_MS = 12_000
const FLOW_BYTES = 40_000_000
/** Queues that differ by less than this factor in virtual time have no order. */
const APART = 2
const ROUNDS = 2
const LATE_MS_MAX = 1000

/** One controller in one place. */
export interface DumbbellFigures {
  completed: boolean
  /** While both flows run, from MEASURED_NS on. */
  meanQueueBytes: number
  /** Payload of the flows, as a share of the link, from the join until the first of them ends. */
  jain: number
  utilization: number
  drops: number
}

interface DumbbellRow {
  controller: string
  virtual: DumbbellFigures
  /** One a round; none with `--virtual`. */
  veth: DumbbellFigures[]
}

interface DumbbellsResult {
  benchmark: 'dumbbells'
  rows: DumbbellRow[]
  /**
   * Pairs of controllers whose queues in virtual time differ by a factor of APART, and by more than both queues on veth vary between rounds.
   * Others have no order that veth could show.
   */
  pairs: number
  /** Pairs that differ by that factor, but by less than the rounds on veth. */
  tooNear: number
  /** Pairs with another order by the mean of their rounds on veth. */
  otherwise: [string, string][]
  stealShare: number | null
}

/**
 * Arguments: `--cc NAME,NAME…`, default all; `--rounds N` on veth, default 2; `--virtual`: none of them; `--late MS`: in virtual time too,
 * frames from and to hosts are late by up to so many milliseconds; `--start careful`: flows begin with ten packets. Throws WEIR_BAD_ARGUMENT
 * for a controller that there is not.
 */
export async function run(args: string[]): Promise<DumbbellsResult> {
  const { values } = parseArgs({
    args,
    options: {
      cc: { type: 'string' },
      rounds: { type: 'string', default: String(ROUNDS) },
      virtual: { type: 'boolean' },
      late: { type: 'string', default: '0' },
      start: { type: 'string', default: 'line-rate' },
      json: { type: 'boolean' },
    },
  })
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new WeirError('WEIR_BAD_ARGUMENT', `--rounds is a count from 1 on, not "${values.rounds}"`)
  const lateMs = values.late.trim() === '' ? Number.NaN : Number(values.late)
  if (!(lateMs >= 0 && lateMs <= LATE_MS_MAX))
    throw new WeirError(
      'WEIR_BAD_ARGUMENT',
      `--late is a number of milliseconds up to ${LATE_MS_MAX}, not "${values.late}"`,
    )
  const names = values.cc?.split(',') ?? ccNames()
  const unknown = names.find(name => !ccNames().includes(name))
  if (unknown !== undefined)
    throw new WeirError('WEIR_BAD_ARGUMENT', `--cc is one of ${ccNames().join(', ')}, not "${unknown}"`)
  const before = stealTicks()
  const rows = names.map((controller): DumbbellRow => {
    const virtual = figuresOf(new VirtualRun(dumbbell(controller, values.start, lateMs)).run())
    return { controller, virtual, veth: [] }
  })
  for (let round = 0; round < rounds && values.virtual !== true; round++)
    for (const { controller, veth } of rows)
      veth.push(figuresOf(await runVeth(dumbbell(controller, values.start, 0))))
  const result: DumbbellsResult = {
    benchmark: 'dumbbells',
    rows,
    ...compareOrders(rows),
    stealShare: stealSince(before),
  }
  if (values.json !== true) process.stdout.write(printed(result))
  return result
}

/** @param lateMs jitter of the links of hosts; frames keep their order, so those that follow a late one arrive with it */
function dumbbell(controller: string, start: string, lateMs: number): Scenario {
  const rates = ccTakesFairRates(controller) ? 'rocc: {}, ' : ''
  const switches = `{ ${rates}buffer: 4MB, ecn: { kmin: 100KB, kmax: 400KB, pmax: 0.2 } }`
  const late = ['h1--s1', 'h2--s1', 's2--h3'].map(link => `{ at: 0ms, link: ${link}, jitter: ${lateMs}ms }`)
  return parseScenario(
    `
name: dumbbell-${controller}
link: { rate: ${RATE_BPS / 1e6}Mbps, delay: ${LINK_DELAY_MS}ms }
hosts: [h1, h2, h3]
switches: { s1: ${switches}, s2: ${switches} }
links: [h1--s1, h2--s1, s1--s2, s2--h3]
cc: { name: ${controller} }
transport: { pathMtu: 4096, start: ${start} }
${lateMs > 0 ? `events: [${late.join(', ')}]\n` : ''}traffic:
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
  const seen = values.filter((_, i) => timesNs[i]! >= MEASURED_NS && timesNs[i]! <= untilNs)
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

/** The rule of `pairs`, `tooNear` and `otherwise`. */
export function compareOrders(
  rows: readonly DumbbellRow[],
): Pick<DumbbellsResult, 'pairs' | 'tooNear' | 'otherwise'> {
  const otherwise: [string, string][] = []
  let pairs = 0
  let tooNear = 0
  for (const [i, one] of rows.entries()) {
    for (const other of rows.slice(i + 1)) {
      const [less, more] = [one, other].sort((a, b) => a.virtual.meanQueueBytes - b.virtual.meanQueueBytes)
      const apartBytes = more!.virtual.meanQueueBytes - less!.virtual.meanQueueBytes
      if (more!.virtual.meanQueueBytes < APART * less!.virtual.meanQueueBytes) continue
      if (less!.veth.length === 0 || more!.veth.length === 0) continue
      if (apartBytes <= Math.max(spreadBytes(less!.veth), spreadBytes(more!.veth))) {
        tooNear++
        continue
      }
      pairs++
      if (meanBytes(less!.veth) > meanBytes(more!.veth)) otherwise.push([less!.controller, more!.controller])
    }
  }
  return { pairs, tooNear, otherwise }
}

const queuesOf = (rounds: readonly DumbbellFigures[]) => rounds.map(({ meanQueueBytes }) => meanQueueBytes)
const meanBytes = (rounds: readonly DumbbellFigures[]) => mean(queuesOf(rounds))

/** By how much the mean queues of a controller differ between rounds. */
function spreadBytes(rounds: readonly DumbbellFigures[]): number {
  const queues = queuesOf(rounds)
  return Math.max(...queues) - Math.min(...queues)
}

function printed({ rows, pairs, tooNear, otherwise, stealShare }: DumbbellsResult): string {
  const each = (rounds: readonly DumbbellFigures[], text: (figures: DumbbellFigures) => string) =>
    rounds.map(text).join(', ') || '-'
  const cells = (rounds: readonly DumbbellFigures[]) => [
    rounds.length === 0 ? '-' : rounds.every(({ completed }) => completed) ? 'yes' : 'NO',
    each(rounds, ({ meanQueueBytes }) => (meanQueueBytes / 1000).toFixed(1)),
    each(rounds, ({ utilization }) => `${(100 * utilization).toFixed(0)} %`),
    each(rounds, ({ jain }) => jain.toFixed(3)),
    each(rounds, ({ drops }) => String(drops)),
  ]
  const head = ['controller', ...['virtual', 'veth'].flatMap(on => [on, 'queue KB', 'busy', 'Jain', 'drops'])]
  const order = (bytes: (row: DumbbellRow) => number) =>
    [...rows]
      .sort((a, b) => bytes(a) - bytes(b))
      .map(({ controller }) => controller)
      .join(' < ')
  const lines = [
    table(
      head,
      rows.map(({ controller, virtual, veth }) => [controller, ...cells([virtual]), ...cells(veth)]),
      1,
    ),
    `by mean queue, virtual: ${order(({ virtual }) => virtual.meanQueueBytes)}`,
  ]
  if (rows.some(({ veth }) => veth.length > 0)) {
    const steal = stealShare === null ? '?' : `${(100 * stealShare).toFixed(1)} %`
    const different = otherwise.map(([less, more]) => `${less} and ${more}`).join(', ') || 'none'
    lines.push(
      `by mean queue, veth:    ${order(({ veth }) => meanBytes(veth))}`,
      `pairs whose queues in virtual time differ by a factor of ${APART}, and by more than the rounds on veth: ${pairs} (${tooNear} are too near); with another order on veth, ${otherwise.length}: ${different}; steal ${steal}`,
    )
  }
  return `${lines.join('\n')}\n`
}
