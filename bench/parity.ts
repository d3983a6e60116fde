/**
 * Compares real time with virtual time: flow completion times of one scenario everywhere, and the rate that
 * an emulated link gives to a flow that always has data to send. Rounds alternate, because the speed of
 * machines varies.
 */
import { parseArgs } from 'node:util'
import { packageFile } from '../lib/package-file.js'
import type { Scenario } from '../lib/scenario/model/scenario.js'
import { loadScenario, parseScenario } from '../lib/scenario/read/load-scenario.js'
import { median } from '../lib/scenario/result/fairness.js'
import type { RunResult } from '../lib/scenario/result/result.js'
import { parseRate } from '../lib/units/units.js'
import { runVeth } from '../switch-emu/lab/run-veth.js'
import { checkVeth } from '../switch-emu/lab/veth-support.js'
import { runOverlay } from '../switch-emu/overlay/run-overlay.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { stealSince, stealTicks } from './steal.js'
import { table } from './support/table.js'
import { wholeNumber } from './support/whole-number.js'

type Where = RunResult['on']

interface FlowParity {
  name: string
  /** Median over the rounds. */
  medianFctNs: number
  /** Ratio of its FCT to that in virtual time. */
  ratio: { median: number; min: number; max: number }
}

interface PlaceParity {
  on: Where
  flows: FlowParity[]
  /** In every round the completed bytes and flows are those of virtual time. */
  bytesEqual: boolean
  drops: number
  /** By round: share of the machine's CPU that others used. */
  stealShares: (number | null)[]
}

interface LinkRate {
  on: Where
  rateBps: number
  /**
   * By the sender's clock, from the first packet to the last acknowledgement: the link rate that would result
   * in the same time.
   */
  measuredBps: number
  /** measuredBps / rateBps - 1 */
  error: number
  stealShare: number | null
}

interface ParityResult {
  benchmark: 'parity'
  scenario: string
  rounds: number
  places: PlaceParity[]
  linkRates: LinkRate[]
}

/** @param args a scenario (default dumbbell), `--rounds N` (default 3), `--seconds N` and `--rate R` of the link */
export async function run(args: string[]): Promise<ParityResult> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '10' },
      rate: { type: 'string', default: '100Mbps' },
      json: { type: 'boolean' },
    },
  })
  const scenario = loadScenario(positionals[0] ?? packageFile('bench', 'scenarios', 'dumbbell.yaml'))
  const rounds = wholeNumber('--rounds', values.rounds)
  const seconds = wholeNumber('--seconds', values.seconds)
  const rateBps = parseRate(values.rate)
  const say = (text: string) => process.stderr.write(`${text}\n`)
  const places = await compare(scenario, rounds, say)
  const linkRates: LinkRate[] = []
  for (const on of everywhere()) {
    say(`a link of ${values.rate} for ${seconds} s: ${on}`)
    linkRates.push(await linkRate(on, rateBps, seconds))
  }
  const result: ParityResult = { benchmark: 'parity', scenario: scenario.name, rounds, places, linkRates }
  if (values.json !== true) process.stdout.write(print(result))
  return result
}

async function compare(scenario: Scenario, rounds: number, say: (text: string) => void) {
  const virtual = await runOn('virtual', scenario)
  const real = everywhere().filter(on => on !== 'virtual')
  const results = new Map<Where, RunResult[]>(real.map(on => [on, []]))
  const steals = new Map<Where, (number | null)[]>(real.map(on => [on, []]))
  for (let round = 1; round <= rounds; round++) {
    for (const on of real) {
      say(`round ${round} of ${rounds}: ${on}`)
      const before = stealTicks()
      results.get(on)!.push(await runOn(on, scenario))
      steals.get(on)!.push(stealSince(before))
    }
  }
  return real.map(on => ({ ...parityOf(on, virtual, results.get(on)!), stealShares: steals.get(on)! }))
}

function parityOf(on: Where, virtual: RunResult, results: readonly RunResult[]) {
  const sent = ({ flows }: RunResult) =>
    JSON.stringify(
      flows.map(({ name, bytes, ackedBytes, fctNs }) => [name, bytes, ackedBytes, fctNs !== null]),
    )
  const flows = virtual.flows.map((flow, i) => {
    const times = results.map(result => result.flows[i]!.fctNs ?? Number.NaN)
    const ratios = times.map(fctNs => fctNs / (flow.fctNs ?? Number.NaN))
    const ratio = { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) }
    return { name: flow.name, medianFctNs: median(times), ratio }
  })
  return {
    on,
    flows,
    bytesEqual: results.every(result => sent(result) === sent(virtual)),
    drops: results.flatMap(({ ports }) => ports).reduce((sum, { drops }) => sum + drops, 0),
  }
}

/** Time for which a process may not run while the link stays busy. */
const WINDOW_SECONDS = 0.1

/**
 * The sender's own link is faster and its window long, so that a queue always waits for the link. So the
 * result shows the link, and not how soon the machine runs a process.
 */
async function linkRate(on: Where, rateBps: number, seconds: number): Promise<LinkRate> {
  const windowBytes = Math.max(65_536, Math.round((rateBps * WINDOW_SECONDS) / 8))
  const scenario = parseScenario(
    `
name: link-rate
link: { rate: ${rateBps}bps, delay: 100us }
hosts: [h1, h2]
switches: [s1]
links: [{ ends: h1--s1, rate: ${10 * rateBps}bps }, s1--h2]
cc: { name: fixed-window, window: ${windowBytes}B }
transport: { pathMtu: 4096 }
traffic: [{ name: blast, from: h1, to: h2, size: ${Math.round((rateBps * seconds) / 8)}B }]
`,
    'link-rate.yaml',
  )
  const before = stealTicks()
  const { idealFctNs, fctNs } = (await runOn(on, scenario)).flows[0]!
  const share = idealFctNs / (fctNs ?? Number.NaN)
  return { on, rateBps, measuredBps: rateBps * share, error: share - 1, stealShare: stealSince(before) }
}

async function runOn(on: Where, scenario: Scenario): Promise<RunResult> {
  if (on === 'virtual') return new VirtualRun(scenario).run()
  return on === 'veth' ? await runVeth(scenario) : await runOverlay(scenario)
}

function everywhere(): Where[] {
  try {
    checkVeth()
    return ['virtual', 'overlay', 'veth']
  } catch (error) {
    process.stderr.write(`not on veth: ${(error as Error).message}\n`)
    return ['virtual', 'overlay']
  }
}

function print({ scenario, rounds, places, linkRates }: ParityResult): string {
  const percent = (share: number | null) => (share === null ? '?' : `${(100 * share).toFixed(2)} %`)
  const mbps = (bps: number) => (bps / 1e6).toFixed(3)
  const times = places.flatMap(({ on, flows, bytesEqual, drops, stealShares }) =>
    flows.map(({ name, medianFctNs, ratio }) => [
      on,
      name,
      (medianFctNs / 1e9).toFixed(3),
      ratio.median.toFixed(3),
      ratio.min.toFixed(3),
      ratio.max.toFixed(3),
      bytesEqual ? 'equal' : 'DIFFER',
      String(drops),
      percent(Math.max(...stealShares.map(share => share ?? 0))),
    ]),
  )
  const rates = linkRates.map(({ on, rateBps, measuredBps, error, stealShare }) => [
    on,
    mbps(rateBps),
    mbps(measuredBps),
    percent(error),
    percent(stealShare),
  ])
  const head = ['on', 'flow', 'FCT s', '/ virtual', 'least', 'most', 'bytes', 'drops', 'steal']
  return [
    `${scenario}, medians of ${rounds} rounds beside virtual time`,
    table(head, times, 2),
    'rate of an emulated link, as its sender sees it',
    table(['on', 'Mbit/s', 'measured', 'error', 'steal'], rates, 1),
  ].join('\n')
}
