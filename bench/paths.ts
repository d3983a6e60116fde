/**
 * Measures path selection in virtual time: four flows whose source ports the network hashes to one of four
 * equal paths, at 100 Gbit/s. It shows the aggregate goodput with every way of choosing, relative to that
 * without a choice, by several seeds.
 *
 * Probes and their answers are a share of all bytes that the hosts have sent.
 */
import { parseArgs } from 'node:util'
import { DEFAULT_PATHS, type PathSettings } from '../lib/cc/path-settings.js'
import { packageFile } from '../lib/package-file.js'
import type { Scenario } from '../lib/scenario/model/scenario.js'
import { loadScenario } from '../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../lib/scenario/result/result.js'
import { seriesName, valueAt } from '../lib/scenario/result/series.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { wholeNumber } from './support/whole-number.js'

const RATE_BPS = 100e9
const DELAY_NS = 1000
const DURATION_NS = 5_000_000
/** Interval of samples. */
const EVERY_NS = 50_000
const SEEDS_MAX = 100

interface Mode {
  paths: Partial<PathSettings>
  /** Time between the starts of two flows. */
  apartNs: number
}

const MODES: Readonly<Record<string, Mode>> = {
  'no choice': { paths: {}, apartNs: 0 },
  'new flows, one by one': { paths: { count: 8 }, apartNs: 200_000 },
  'new flows, all at once, moving': { paths: { count: 8, move: 'drain' }, apartNs: 0 },
  'running flows, moving': { paths: { count: 8, start: 'hash', move: 'drain' }, apartNs: 0 },
}

interface PathFiguresOfMode {
  mode: string
  seed: number
  /** Goodput of all flows together, in the whole run and in its second half. */
  goodputBps: number
  laterGoodputBps: number
  /** Ratio to the goodput without a choice. */
  ratio: number
  laterRatio: number
  /** How many of the four paths have a flow at the end. */
  pathsInUse: number
  moves: number
  probeByteShare: number
}

/** @param args `--seeds N`, 1 to SEEDS_MAX, default 5 */
export function run(args: string[]): PathFiguresOfMode[] {
  const { values } = parseArgs({
    args,
    options: { seeds: { type: 'string', default: '5' }, json: { type: 'boolean' } },
  })
  const seeds = wholeNumber('--seeds', values.seeds, 1, SEEDS_MAX)
  const scenario = loadScenario(packageFile('bench', 'scenarios', 'four-paths.yaml'))
  const figures: PathFiguresOfMode[] = []
  for (const [mode, settings] of Object.entries(MODES)) {
    for (let seed = 1; seed <= (settings.paths.count === undefined ? 1 : seeds); seed++) {
      figures.push(measure(mode, seed, applied(scenario, settings), figures[0]))
    }
  }
  if (!values.json) process.stdout.write(printed(figures))
  return figures
}

function applied(scenario: Scenario, { paths, apartNs }: Mode): Scenario {
  return {
    ...scenario,
    links: scenario.links.map(link => ({ ...link, rateBps: RATE_BPS, delayNs: DELAY_NS })),
    transport: { ...scenario.transport, pathMtu: 4096 },
    paths: { ...DEFAULT_PATHS, ...paths },
    flows: scenario.flows.map((flow, i) => ({ ...flow, bytes: 2 ** 31, startNs: i * apartNs })),
    watch: { queues: scenario.watch.queues, flows: true, everyNs: EVERY_NS },
    durationNs: DURATION_NS,
  }
}

function measure(
  mode: string,
  seed: number,
  scenario: Scenario,
  without?: PathFiguresOfMode,
): PathFiguresOfMode {
  const virtual = new VirtualRun(scenario, { seed })
  const result = virtual.run()
  const goodputBps = goodput(result, 0)
  const laterGoodputBps = goodput(result, DURATION_NS / 2)
  const sent = virtual.hostCounters.reduce((sum, { bytes }) => sum + bytes, 0)
  const vendor = virtual.hostCounters.reduce((sum, { vendorBytes }) => sum + vendorBytes, 0)
  const uplinks = result.ports.filter(port => port.switch === 'leaf1' && port.peer.startsWith('spine'))
  return {
    mode,
    seed,
    goodputBps,
    laterGoodputBps,
    ratio: goodputBps / (without?.goodputBps ?? goodputBps),
    laterRatio: laterGoodputBps / (without?.laterGoodputBps ?? laterGoodputBps),
    pathsInUse: uplinks.filter(({ utilization }) => (utilization ?? 0) > 0.1).length,
    moves: result.flows.reduce((sum, { paths }) => sum + (paths?.moves ?? 0), 0),
    probeByteShare: vendor / sent,
  }
}

function goodput(result: RunResult, fromNs: number): number {
  let bytes = 0
  for (const { name } of result.flows) {
    const acked = result.series[seriesName('acked', name)]!
    bytes += valueAt(acked, DURATION_NS) - valueAt(acked, fromNs)
  }
  return (bytes * 8e9) / (DURATION_NS - fromNs)
}

const COLUMNS: readonly [string, (f: PathFiguresOfMode) => string][] = [
  ['seed', f => String(f.seed)],
  ['Gbit/s', f => (f.goodputBps / 1e9).toFixed(1)],
  ['ratio', f => f.ratio.toFixed(2)],
  ['2nd half', f => (f.laterGoodputBps / 1e9).toFixed(1)],
  ['ratio', f => f.laterRatio.toFixed(2)],
  ['paths', f => String(f.pathsInUse)],
  ['moves', f => String(f.moves)],
  ['probes', f => `${(100 * f.probeByteShare).toFixed(2)} %`],
]

function printed(figures: readonly PathFiguresOfMode[]): string {
  const head = 'four flows, four paths'.padEnd(32) + COLUMNS.map(([title]) => title.padStart(10)).join('')
  const rows = figures.map(f => f.mode.padEnd(32) + COLUMNS.map(([, show]) => show(f).padStart(10)).join(''))
  return `\n${head}\n${rows.join('\n')}\n\n`
}
