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
import {
  COORDINATES,
  distance,
  type LineThresholds,
  pointOf,
  type TrafficModel,
} from '../switch-emu/core/ai-ecn/traffic-models.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'
import { figureOf, geometricMean, KINDS, type Kind, mean } from './ai-ecn/metrics.js'
import { type Workload, workloads } from './ai-ecn/workloads.js'

const RATE_GBPS = 100
/** What the line sends in 1 us, bytes. */
const MICROSECOND_BYTES = (RATE_GBPS * 1e3) / 8
const CONTROLLERS = ['dctcp', 'dcqcn']
/** Kmin, us: marking of everything above it, and a ramp up to four times as much. The last ones are near PFC's threshold. */
const STEPS_US = [0.25, 0.5, 1, 2, 4, 8, 12]
const RAMPS_US = [0.25, 0.5, 1, 2, 3]
const RAMP = { times: 4, pmax: 0.2 }
/** The lowest thresholds are taken of those that are as good as the best: they leave PFC the most room. */
const AS_GOOD = 1.01
/** A radius is so many times the root mean square of the distances of its kind's runs. */
const RADIUS_TIMES = 2

interface Outcome {
  kind: Kind
  thresholds: LineThresholds
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
    CONTROLLERS.flatMap(cc => sweep(workload, cc, seed)),
  )
  const models = KINDS.map(kind =>
    modelOf(
      kind,
      outcomes.filter(outcome => outcome.kind === kind),
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
    ...RAMPS_US.map(us => ({ kminNs: us * 1000, kmaxNs: RAMP.times * us * 1000, pmax: RAMP.pmax })),
  ]
}

/** One kind of traffic and one controller, under all thresholds. */
function sweep({ kind, traffic }: Workload, cc: string, seed: number): Outcome[] {
  const runs = grid().map(thresholds => {
    const result = new VirtualRun(
      parseScenario(textOf(traffic, cc, thresholds, seed), 'ai-ecn-train.yaml'),
    ).run()
    const { aiEcn } = result.ports.find(({ name }) => name === 's1:r') as unknown as ObservedPort
    return { kind, thresholds, figure: figureOf(kind, result), point: pointOf(aiEcn.queues[0]!.traffic) }
  })
  const best = Math.min(...runs.map(({ figure }) => figure))
  return runs.map(({ figure, ...outcome }) => ({ ...outcome, ratio: figure / best }))
}

interface ObservedPort {
  aiEcn: { queues: { traffic: Parameters<typeof pointOf>[0] }[] }
}

function textOf(
  traffic: readonly string[],
  cc: string,
  { kminNs, kmaxNs, pmax }: LineThresholds,
  seed: number,
) {
  const bytes = (ns: number) => Math.round((ns / 1000) * MICROSECOND_BYTES)
  const cnps = cc === 'dcqcn' ? ', cnpPriority: 6' : ''
  return `
name: ai-ecn-train
link: { rate: ${RATE_GBPS}Gbps, delay: 5us }
hosts: [h1..h20, m1..m4, r]
switches:
  s1:
    buffer: 16MB
    ecn: { kmin: ${bytes(kminNs)}B, kmax: ${bytes(kmaxNs)}B, pmax: ${pmax} }
    aiEcn: { mode: observe }
    pfc: { xoff: 200KB }
links: [h1..h20--s1, m1..m4--s1, s1--r]
cc: ${cc}
transport: { pathMtu: 4096${cnps} }
seed: ${seed}
traffic:
${traffic.map(entry => `  - ${entry}`).join('\n')}
`
}

function modelOf(kind: Kind, outcomes: readonly Outcome[]): TrafficModel {
  const candidates = grid().map(thresholds => {
    const own = outcomes.filter(outcome => isSame(outcome.thresholds, thresholds))
    return { thresholds, ratio: geometricMean(own.map(({ ratio }) => ratio)) }
  })
  const best = Math.min(...candidates.map(({ ratio }) => ratio))
  const [chosen] = candidates
    .filter(({ ratio }) => ratio <= best * AS_GOOD)
    .sort((a, b) => a.thresholds.kmaxNs - b.thresholds.kmaxNs || a.thresholds.kminNs - b.thresholds.kminNs)
  const centroid = COORDINATES.map((_, i) => rounded(mean(outcomes.map(({ point }) => point[i]!))))
  const away = Math.sqrt(mean(outcomes.map(({ point }) => distance(point, centroid) ** 2)))
  return { name: kind, centroid, radius: rounded(RADIUS_TIMES * away), ...chosen!.thresholds }
}

function isSame(a: LineThresholds, b: LineThresholds): boolean {
  return a.kminNs === b.kminNs && a.kmaxNs === b.kmaxNs && a.pmax === b.pmax
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

function moduleText(models: readonly TrafficModel[], seed: number): string {
  const entries = models.map(
    ({ name, centroid, radius, kminNs, kmaxNs, pmax }) =>
      `  {\n    name: '${name}',\n    centroid: [${centroid.join(', ')}],\n    radius: ${radius},\n    kminNs: ${kminNs},\n    kmaxNs: ${kmaxNs},\n    pmax: ${pmax},\n  },\n`,
  )
  return [
    "import type { TrafficModel } from './traffic-models.js'\n\n",
    `/** Made by \`npm run bench -- ai-ecn-train --seed ${seed} --write\`. Coordinates: ${COORDINATES.join(', ')}. */\n`,
    'export const TRAFFIC_MODELS: readonly TrafficModel[] = [\n',
    ...entries,
    ']\n',
  ].join('')
}
