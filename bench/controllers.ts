/**
 * Measures every congestion controller of the catalogue by the same figures, in virtual time: on a dumbbell,
 * in an incast, on five hops, and one flow of each controller on one shared queue. Each figure is the mean
 * and the worst over an ensemble of jittered starts. HPCC and Rx-HPCC have the options of the scenario, the
 * others their defaults.
 */
import { ccNames } from '../lib/cc/catalogue.js'
import { WeirError } from '../lib/errors.js'
import { packageFile } from '../lib/package-file.js'
import type { Scenario } from '../lib/scenario/model/scenario.js'
import { loadScenario, parseScenario } from '../lib/scenario/read/load-scenario.js'
import { mean } from '../lib/scenario/result/fairness.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { ensemble, meanOf, worstOf } from './support/ensemble.js'
import { ensembleArguments } from './support/ensemble-arguments.js'
import { jitteredStarts } from './support/jittered-starts.js'
import { type Judgement, moved } from './support/judge.js'

const SCENARIOS = ['dumbbell-100g', 'incast-16', 'five-hops']
const SHARED = 'one-queue'
/** Runs end at this time. */
const DURATION_MAX_NS = 5_000_000
/** Controllers that use the scenario's options. */
const OF_HPCC = ['hpcc', 'rx-hpcc']

/** A controller on a network. */
interface ControllerFigures {
  network: string
  controller: string
  mean: Judgement
  worst: Judgement
}

/** A controller's share of the queue that all use, as a multiple of an equal share. 1 is fair. */
interface SharedFigures {
  controller: string
  meanShare: number
  leastShare: number
  mostShare: number
}

/** All figures of one run of the bench. */
interface ControllersResult {
  benchmark: 'controllers'
  starts: number
  seed: number
  alone: ControllerFigures[]
  shared: SharedFigures[]
}

/**
 * Arguments: a controller and a part of a network's name, default all. `--starts N`, 1 to 1000, default 10.
 * `--seed N` of their jitter, default 1.
 */
export function run(args: string[]): ControllersResult {
  const { positionals, starts, seed, json } = ensembleArguments(args)
  const [controller, network = ''] = positionals
  const names = ccNames()
  if (controller !== undefined && !names.includes(controller)) throw unknown('controller', controller, names)
  const networks = [...SCENARIOS, SHARED].filter(name => name.includes(network))
  if (networks.length === 0) throw unknown('network', network, [...SCENARIOS, SHARED])
  const result: ControllersResult = { benchmark: 'controllers', starts, seed, alone: [], shared: [] }
  for (const name of networks.filter(name => name !== SHARED)) {
    const scenario = loadScenario(packageFile('bench', 'scenarios', `${name}.yaml`))
    for (const cc of controller === undefined ? names : [controller]) {
      const all = ensemble(withController(scenario, cc), starts, seed)
      result.alone.push({ network: name, controller: cc, mean: meanOf(all), worst: worstOf(all) })
    }
  }
  if (networks.includes(SHARED)) {
    const shares = sharesOf(sharedQueue(names), starts, seed)
    result.shared.push(...shares.filter(share => controller === undefined || share.controller === controller))
  }
  if (!json) process.stdout.write(printed(result))
  return result
}

function unknown(what: string, name: string, names: readonly string[]): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `no ${what} is called "${name}": there are ${names.join(', ')}`)
}

function withController(scenario: Scenario, name: string): Scenario {
  const { durationNs } = scenario
  return {
    ...scenario,
    cc: { name, options: OF_HPCC.includes(name) ? scenario.cc.options : {} },
    ...(durationNs !== undefined && { durationNs: Math.min(durationNs, DURATION_MAX_NS) }),
  }
}

/** A sender for each controller, one receiver, one queue. Links, T and options are those of incast-16. */
function sharedQueue(names: readonly string[]): Scenario {
  const receiver = `h${names.length}`
  const flows = names.map(
    (name, i) => `  - { name: ${name}, from: h${i}, to: ${receiver}, size: 2GB, cc: { name: ${name} } }`,
  )
  const text = `
name: ${SHARED}
link: { rate: 100Gbps, delay: 1us }
hosts: [h0..${receiver}]
switches: [s1]
links: [h0..${receiver}--s1]
cc: { name: hpcc, eta: 0.95, maxStage: 0, wAi: 52B, minRate: 1Gbps }
transport: { pathMtu: 1024 }
int: { format: compact, hops: 5 }
baseRtt: 4.16us
traffic:
${flows.join('\n')}
watch: { queues: [s1:${receiver}], every: 500ns }
duration: ${DURATION_MAX_NS}ns
`
  return parseScenario(text, `${SHARED}.yaml`)
}

function sharesOf(scenario: Scenario, starts: number, seed: number): SharedFigures[] {
  const names = scenario.flows.map(({ name }) => name)
  const runs = jitteredStarts(scenario, starts, seed).map(one => {
    const bytes = moved(new VirtualRun(one).run(), names)
    const equal = mean(bytes)
    return bytes.map(each => each / equal)
  })
  return names.map((controller, i) => {
    const shares = runs.map(one => one[i]!)
    return {
      controller,
      meanShare: mean(shares),
      leastShare: Math.min(...shares),
      mostShare: Math.max(...shares),
    }
  })
}

const COLUMNS: readonly [string, (figures: Judgement) => string][] = [
  ['utilization', f => `${(100 * f.utilization).toFixed(1)} %`],
  ['queue KB', f => kilobytes(f.meanQueueBytes)],
  ['p99 KB', f => kilobytes(f.p99QueueBytes)],
  ['peak KB', f => kilobytes(f.peakQueueBytes)],
  ['Jain', f => f.jainIndex.toFixed(3)],
  ['fair after us', f => (f.convergenceNs === null ? '-' : (f.convergenceNs / 1000).toFixed(0))],
  ['drops', f => f.drops.toFixed(0)],
  ['retrans. KB', f => kilobytes(f.retransmittedBytes)],
  ['needless', f => f.needlessPackets.toFixed(0)],
]
const LEGEND = `queue, p99, peak: of the watched port where they are the longest
fair after: "-" where the shares of one start or more were not fair up to the end
needless: packets that were retransmitted and had not been lost
`
const NAME_WIDTH = 24
const WIDTH = 14

function printed({ alone, shared }: ControllersResult): string {
  const lines: string[] = []
  for (const network of new Set(alone.map(({ network }) => network))) {
    lines.push('', network.padEnd(NAME_WIDTH) + COLUMNS.map(([title]) => title.padStart(WIDTH)).join(''))
    for (const figures of alone.filter(one => one.network === network)) {
      const row = (judgement: Judgement) =>
        COLUMNS.map(([, show]) => show(judgement).padStart(WIDTH)).join('')
      lines.push(figures.controller.padEnd(NAME_WIDTH) + row(figures.mean))
      lines.push('  worst start'.padEnd(NAME_WIDTH) + row(figures.worst))
    }
  }
  if (alone.length > 0) lines.push('', LEGEND.trimEnd())
  if (shared.length > 0) {
    const titles = ['share', 'least', 'most'].map(title => title.padStart(WIDTH)).join('')
    lines.push('', SHARED.padEnd(NAME_WIDTH) + titles)
    for (const { controller, meanShare, leastShare, mostShare } of shared) {
      const shown = [meanShare, leastShare, mostShare].map(share => share.toFixed(2).padStart(WIDTH))
      lines.push(controller.padEnd(NAME_WIDTH) + shown.join(''))
    }
    lines.push('', 'share: of the bytes of all, 1 is an equal share')
  }
  return `${lines.join('\n')}\n\n`
}

function kilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(1)
}
