/**
 * Makes the table of traffic models of AI ECN by a sweep in virtual time: kinds of traffic x loads x controllers x static thresholds. Of each
 * kind the table has the features, on average, and the thresholds that were best. The same seed makes the same table.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageFile } from '../lib/package-file.js'
import { parseScenario } from '../lib/scenario/read/load-scenario.js'
import { Random } from '../lib/sim/random.js'
import type { Senders } from '../switch-emu/core/ai-ecn/senders.js'
import {
  COORDINATES,
  distance,
  type LineThresholds,
  pointOf,
  type TrafficModel,
} from '../switch-emu/core/ai-ecn/traffic-models.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { figureOf, geometricMean, KINDS, type Kind, mean, pausesOf } from './ai-ecn/metrics.js'
import { type Workload, workloads } from './ai-ecn/workloads.js'

const RATE_GBPS = 100
/** What the line sends in 1 us, bytes. */
const MICROSECOND_BYTES = (RATE_GBPS * 1e3) / 8
/** Senders by how they hear of marks. DCQCN at line rate hardly depends on thresholds; one that begins carefully does. */
const SENDERS: readonly { senders: Senders; cc: string; transport: string }[] = [
  { senders: 'acks', cc: 'dctcp', transport: '' },
  { senders: 'cnps', cc: 'dcqcn', transport: ', cnpPriority: 6' },
  { senders: 'cnps', cc: 'dcqcn', transport: ', cnpPriority: 6, start: careful' },
]
/** Kmin, us: marking of everything above it, and ramps up to a multiple of it. 19 us are near PFC's threshold. */
const STEPS_US = [0.25, 0.5, 1, 2, 4, 8, 12]
const RAMPS = [
  { kminUs: [0.25, 0.5, 1, 2, 3, 5, 8, 12], times: 4, pmax: 0.2 },
  { kminUs: [2, 5, 8, 12, 19], times: 2, pmax: 0.05 },
]
/** Thresholds are as good as the best for a kind of traffic where they cost at most so much more. */
const AS_GOOD = 1.03
/** A radius is so many times the greatest distance of its kind's runs: what is seen in a period differs more than means of a run. */
const RADIUS_TIMES = 1.5
/** No spread is less: periods differ. */
const SPREAD_LEAST = 0.08

interface Outcome {
  kind: Kind
  senders: Senders
  thresholds: LineThresholds
  pauses: number
  /** Figure of the run over that of the best thresholds for the same traffic and controller. */
  ratio: number
  point: number[]
}

/** Arguments: `--write` replaces the table that ships. */
export function run(args: string[]): { benchmark: 'ai-ecn-train'; seed: number; models: TrafficModel[] } {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: 'string', default: '1' },
      write: { type: 'boolean' },
      json: { type: 'boolean' },
    },
  })
  const seed = Number(values.seed)
  const outcomes = workloads(new Random(seed)).flatMap(workload =>
    SENDERS.flatMap(controller => sweep(workload, controller, seed)),
  )
  const models = [...new Set(SENDERS.map(({ senders }) => senders))].flatMap(senders =>
    modelsOf(
      senders,
      outcomes.filter(outcome => outcome.senders === senders),
    ),
  )
  const text = moduleText(models, seed)
  if (values.write) writeFileSync(packageFileOf('switch-emu/core/ai-ecn/model-table.ts'), text)
  if (!values.json) process.stdout.write(text)
  return { benchmark: 'ai-ecn-train', seed, models }
}

function packageFileOf(path: string): string {
  return join(packageFile('package.json'), '..', path)
}

function grid(): LineThresholds[] {
  return [
    ...STEPS_US.map(us => ({ kminNs: us * 1000, kmaxNs: us * 1000, pmax: 1 })),
    ...RAMPS.flatMap(({ kminUs, times, pmax }) =>
      kminUs.map(us => ({ kminNs: us * 1000, kmaxNs: times * us * 1000, pmax })),
    ),
  ]
}

/** One kind of traffic and one controller, under all thresholds. */
function sweep({ kind, traffic }: Workload, controller: (typeof SENDERS)[number], seed: number): Outcome[] {
  const { senders } = controller
  const runs = grid().map(thresholds => {
    const result = new VirtualRun(
      parseScenario(textOf(traffic, controller, thresholds, seed), 'ai-ecn-train.yaml'),
    ).run()
    const { aiEcn } = result.ports.find(({ name }) => name === 's1:r') as unknown as ObservedPort
    const point = pointOf(aiEcn.queues[0]!.traffic)
    return { kind, senders, thresholds, pauses: pausesOf(result), figure: figureOf(kind, result), point }
  })
  const best = Math.min(...runs.map(({ figure }) => figure))
  return runs.map(({ figure, ...outcome }) => ({ ...outcome, ratio: figure / best }))
}

interface ObservedPort {
  aiEcn: { queues: { traffic: Parameters<typeof pointOf>[0] }[] }
}

function textOf(
  traffic: readonly string[],
  { cc, transport }: (typeof SENDERS)[number],
  { kminNs, kmaxNs, pmax }: LineThresholds,
  seed: number,
) {
  const bytes = (ns: number) => Math.round((ns / 1000) * MICROSECOND_BYTES)
  return `
name: ai-ecn-train
link: { rate: ${RATE_GBPS}Gbps, delay: 5us }
hosts: [h1..h20, m1..m4, r]
switches:
  s1:
    buffer: 16MB
    ecn: { kmin: ${bytes(kminNs)}B, kmax: ${bytes(kmaxNs)}B, pmax: ${pmax} }
    aiEcn: { mode: observe }
    pfc: { xoff: 300KB }
links: [h1..h20--s1, m1..m4--s1, s1--r]
cc: ${cc}
transport: { pathMtu: 4096${transport} }
seed: ${seed}
traffic:
${traffic.map(entry => `  - ${entry}`).join('\n')}
`
}

/** Thresholds and what they cost: over all runs of one kind of traffic. */
interface Candidate {
  thresholds: LineThresholds
  ratio: number
  pauses: number
}

/**
 * The models of senders. For each kind of traffic only thresholds with the fewest pauses count, because ECN is to act before PFC. Of those that
 * are as good as the best, the ones are taken that cost the other kinds least: they are in force until another kind is recognised.
 */
function modelsOf(senders: Senders, outcomes: readonly Outcome[]): TrafficModel[] {
  const ofKind = KINDS.map(kind => outcomes.filter(outcome => outcome.kind === kind))
  const byKind = ofKind.map(own => grid().map(thresholds => candidateOf(thresholds, own)))
  const costs = grid().map((_, i) => geometricMean(byKind.map(candidates => candidates[i]!.ratio)))
  return KINDS.map((kind, k) => {
    const candidates = byKind[k]!
    const fewest = Math.min(...candidates.map(({ pauses }) => pauses))
    const counted = candidates.map(({ ratio, pauses }) =>
      pauses > fewest ? Number.POSITIVE_INFINITY : ratio,
    )
    const best = Math.min(...counted)
    const good = counted.flatMap((ratio, i) => (ratio <= best * AS_GOOD ? [i] : []))
    const chosen = good.reduce((a, b) => (costs[b]! < costs[a]! ? b : a))
    return modelOf(kind, senders, ofKind[k]!, candidates[chosen]!.thresholds)
  })
}

function candidateOf(thresholds: LineThresholds, outcomes: readonly Outcome[]): Candidate {
  const own = outcomes.filter(outcome => isSame(outcome.thresholds, thresholds))
  return {
    thresholds,
    ratio: geometricMean(own.map(({ ratio }) => ratio)),
    pauses: mean(own.map(({ pauses }) => pauses)),
  }
}

function modelOf(
  kind: Kind,
  senders: Senders,
  outcomes: readonly Outcome[],
  thresholds: LineThresholds,
): TrafficModel {
  const centroid = COORDINATES.map((_, i) => rounded(mean(outcomes.map(({ point }) => point[i]!))))
  const spread = COORDINATES.map((_, i) =>
    rounded(
      Math.max(SPREAD_LEAST, Math.sqrt(mean(outcomes.map(({ point }) => (point[i]! - centroid[i]!) ** 2)))),
    ),
  )
  const away = Math.max(...outcomes.map(({ point }) => distance({ centroid, spread }, point)))
  return { name: kind, senders, centroid, spread, radius: rounded(RADIUS_TIMES * away), ...thresholds }
}

function isSame(a: LineThresholds, b: LineThresholds): boolean {
  return a.kminNs === b.kminNs && a.kmaxNs === b.kmaxNs && a.pmax === b.pmax
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

function moduleText(models: readonly TrafficModel[], seed: number): string {
  const entries = models.map(
    ({ name, senders, centroid, spread, radius, kminNs, kmaxNs, pmax }) =>
      `  {\n    name: '${name}',\n    senders: '${senders}',\n    centroid: [${centroid.join(', ')}],\n    spread: [${spread.join(', ')}],\n    radius: ${radius},\n    kminNs: ${kminNs},\n    kmaxNs: ${kmaxNs},\n    pmax: ${pmax},\n  },\n`,
  )
  return [
    "import type { TrafficModel } from './traffic-models.js'\n\n",
    `/** Made by \`npm run bench -- ai-ecn-train --seed ${seed} --write\`. Coordinates: ${COORDINATES.join(', ')}. */\n`,
    'export const TRAFFIC_MODELS: readonly TrafficModel[] = [\n',
    ...entries,
    ']\n',
  ].join('')
}
