/**
 * Compares FNCC with HPCC++ in virtual time as its paper does (Xu et al., 2024, sections 5.1, 5.2 and 5.4): two flows at line rate, the
 * second of which joins at 300 us, with the congestion at the first, the middle or the last of three switches, at 100, 200 and 400
 * Gbit/s. Each figure is the mean over jittered starts.
 */
import type { Scenario } from '../lib/scenario/model/scenario.js'
import { parseScenario } from '../lib/scenario/read/load-scenario.js'
import { mean } from '../lib/scenario/result/fairness.js'
import type { RunResult } from '../lib/scenario/result/result.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { ensembleArguments } from './support/ensemble-arguments.js'
import { jitteredStarts } from './support/jittered-starts.js'

const RATES_GBPS = [100, 200, 400]
/** Where the second flow joins: a switch, and the watched port. */
const PLACES = { first: ['s1', 's1:s2'], middle: ['s2', 's2:s3'], last: ['s3', 's3:h3'] } as const
type Place = keyof typeof PLACES
const VARIANTS = {
  hpcc: '{name: hpcc}',
  'hpcc, LHCS': '{name: hpcc, lastHop: true}',
  'fncc, no LHCS': '{name: fncc, lastHop: false}',
  fncc: '{name: fncc}',
} as const
type Variant = keyof typeof VARIANTS
/** By how much the paper's queue is shorter than HPCC's, at 100 Gbit/s (figure 13). */
const PAPER: Readonly<Record<Place, Partial<Record<Variant, number>>>> = {
  first: { fncc: 0.375 },
  middle: { fncc: 0.295 },
  last: { 'fncc, no LHCS': 0.084, fncc: 0.385 },
}
/** A flow slows down when its rate is below this share of what it was. */
const SLOWER = 0.9

interface FnccFigures {
  gbps: number
  place: Place
  variant: Variant
  peakQueueBytes: number
  /** From the start of the second flow until the first one slows down. */
  slowsAfterNs: number
  /** By how much the peak is lower than that of HPCC++. */
  lower: number
  paper: number | null
}

interface FnccResult {
  benchmark: 'fncc'
  starts: number
  seed: number
  figures: FnccFigures[]
}

/** Arguments: a rate in Gbit/s, default all. `--starts N`, default 10. `--seed N` of their jitter, default 1. */
export function run(args: string[]): FnccResult {
  const { positionals, starts, seed, json } = ensembleArguments(args)
  const rates = RATES_GBPS.filter(gbps => positionals[0] === undefined || String(gbps) === positionals[0])
  const result: FnccResult = { benchmark: 'fncc', starts, seed, figures: [] }
  for (const gbps of rates) {
    for (const place of Object.keys(PLACES) as Place[])
      result.figures.push(...compared(gbps, place, starts, seed))
  }
  if (!json) process.stdout.write(printed(result.figures))
  return result
}

function compared(gbps: number, place: Place, starts: number, seed: number): FnccFigures[] {
  let hpccPeak = 0
  return (Object.keys(VARIANTS) as Variant[]).map(variant => {
    const runs = jitteredStarts(scenarioOf(gbps, place, variant), starts, seed).map(scenario => {
      const result = new VirtualRun(scenario).run()
      return { peak: peakOf(result, place), slowsAfterNs: slowsAfter(scenario, result) }
    })
    const peakQueueBytes = mean(runs.map(({ peak }) => peak))
    if (variant === 'hpcc') hpccPeak = peakQueueBytes
    return {
      gbps,
      place,
      variant,
      peakQueueBytes,
      slowsAfterNs: mean(runs.map(one => one.slowsAfterNs)),
      lower: 1 - peakQueueBytes / hpccPeak,
      paper: (gbps === 100 ? PAPER[place][variant] : undefined) ?? null,
    }
  })
}

/** Links, delay, PFC threshold and start of the paper (section 5.1). T has the time of a full packet and of its acknowledgement. */
function scenarioOf(gbps: number, place: Place, variant: Variant): Scenario {
  const [joins, watched] = PLACES[place]
  const text = `
name: fncc-${place}
link: { rate: ${gbps}Gbps, delay: 1.5us }
hosts: [h1, h2, h3]
switches: { s1..s3: { pfc: { xoff: 500KB } } }
links: [h1--s1, h2--${joins}, s1--s2, s2--s3, s3--h3]
cc: ${VARIANTS[variant]}
transport: { pathMtu: 1024 }
baseRtt: 12.6us
traffic:
  - { name: flow0, from: h1, to: h3, size: 2GB }
  - { name: flow1, from: h2, to: h3, size: 2GB, start: 300us }
watch: { queues: ['${watched}'], every: 200ns }
duration: 600us
`
  return parseScenario(text, `fncc-${place}.yaml`)
}

function peakOf(result: RunResult, place: Place): number {
  const [, watched] = PLACES[place]
  return result.ports.find(({ name }) => name === watched)!.maxQueueBytes
}

function slowsAfter({ flows }: Scenario, { series }: RunResult): number {
  const { timesNs, values } = series['rate/flow0']!
  const joinNs = flows[1]!.startNs
  const joined = timesNs.findIndex(at => at >= joinNs)
  const slower = values.findIndex((rate, i) => i >= joined && rate < SLOWER * values[joined]!)
  return slower < 0 ? Number.NaN : timesNs[slower]! - joinNs
}

function printed(figures: readonly FnccFigures[]): string {
  const lines = ['Gbit/s  congested  controller      peak queue KB  slows after us  lower than hpcc  paper']
  for (const { gbps, place, variant, peakQueueBytes, slowsAfterNs, lower, paper } of figures) {
    const share = (value: number) => `${(100 * value).toFixed(1)} %`
    lines.push(
      [
        String(gbps).padStart(6),
        `  ${place.padEnd(9)}`,
        `  ${variant.padEnd(14)}`,
        (peakQueueBytes / 1000).toFixed(1).padStart(15),
        (slowsAfterNs / 1000).toFixed(1).padStart(16),
        (variant === 'hpcc' ? '' : share(lower)).padStart(17),
        (paper === null ? '' : share(paper)).padStart(8),
      ].join(''),
    )
  }
  return `${lines.join('\n')}\n`
}
