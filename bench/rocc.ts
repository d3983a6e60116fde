/**
 * How fast the fair rates of RoCC settle, in virtual time: 2, 10 and 100 flows that join one queue at line rate at one time, on links of
 * 40 and 100 Gbit/s, with the default constants of switches. Utilization and Jain index of each millisecond, and the fair rate at its end.
 *
 * The buffer decides about 100 flows: all that they send until the first fair rate reaches them has to leave it before the rate rises.
 */
import { parseArgs } from 'node:util'
import { WeirError } from '../lib/errors.js'
import { parseScenario } from '../lib/scenario/read/load-scenario.js'
import { jainIndex } from '../lib/scenario/result/fairness.js'
import { VirtualRun } from '../switch-emu/virtual/virtual-run.js'

const FLOWS = [2, 10, 100]
const RATES_GBPS = [40, 100]
const MILLISECONDS = 8
/** A port's in the simulation that the authors published (danushkam/rocc, simple-fabric-dyn.ini), which has no PFC either. */
const PAPER_BUFFER = '5MB'

interface RoccFigures {
  flows: number
  gbps: number
  /** Payload as a share of the link, and Jain's index of what the flows have moved, in each millisecond. */
  utilization: number[]
  jainIndex: number[]
  /** F at the end of each, as a multiple of the fair share. */
  fairRate: number[]
  peakQueueBytes: number
  drops: number
}

/** Arguments: a number of flows, default all; `--buffer SIZE` of the switch, default that of the authors' simulation. Throws WEIR_BAD_ARGUMENT. */
export function run(args: string[]): { benchmark: 'rocc'; figures: RoccFigures[] } {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: { type: 'boolean' }, buffer: { type: 'string', default: PAPER_BUFFER } },
  })
  const [only] = positionals
  const chosen = FLOWS.filter(flows => only === undefined || String(flows) === only)
  if (chosen.length === 0)
    throw new WeirError('WEIR_BAD_ARGUMENT', `FLOWS is ${FLOWS.join(', ')}, not "${only}"`)
  const figures = chosen.flatMap(flows => RATES_GBPS.map(gbps => figuresOf(flows, gbps, values.buffer)))
  if (!values.json) process.stdout.write(printed(figures))
  return { benchmark: 'rocc', figures }
}

/** Each run is the beginning of the next, longer one. */
function figuresOf(flows: number, gbps: number, buffer: string): RoccFigures {
  const runs = Array.from({ length: MILLISECONDS }, (_, i) => runOf(flows, gbps, buffer, i + 1))
  const moved = runs.map(({ flows: all }) => all.map(({ ackedBytes }) => ackedBytes))
  const inEach = moved.map((bytes, i) => bytes.map((all, flow) => all - (moved[i - 1]?.[flow] ?? 0)))
  const last = runs.at(-1)!
  return {
    flows,
    gbps,
    utilization: inEach.map(bytes => (bytes.reduce((a, b) => a + b, 0) * 8) / (gbps * 1e6)),
    jainIndex: inEach.map(jainIndex),
    fairRate: runs.map(run => (fairRateBps(run) * flows) / (gbps * 1e9)),
    peakQueueBytes: last.ports.find(({ name }) => name === 's1:r')!.maxQueueBytes,
    drops: last.totals.drops,
  }
}

function fairRateBps({ ports }: ReturnType<typeof runOf>): number {
  const { rocc } = ports.find(({ name }) => name === 's1:r') as { rocc?: { fairRateBps: number } }
  return rocc!.fairRateBps
}

function runOf(flows: number, gbps: number, buffer: string, ms: number) {
  const text = `
name: rocc-${flows}
link: { rate: ${gbps}Gbps, delay: 1us }
hosts: [h1..h${flows}, r]
switches: { s1: { rocc: {}, buffer: ${buffer} } }
links: [h1..h${flows}--s1, s1--r]
cc: rocc
transport: { pathMtu: 1024 }
baseRtt: 8us
traffic:
${Array.from({ length: flows }, (_, i) => `  - { name: f${i}, from: h${i + 1}, to: r, size: 2GB, start: ${100 * i}ns }`).join('\n')}
watch: { queues: ['s1:r'], every: 100us }
duration: ${ms}ms
`
  return new VirtualRun(parseScenario(text, `rocc-${flows}.yaml`)).run()
}

function printed(figures: readonly RoccFigures[]): string {
  const lines: string[] = []
  for (const { flows, gbps, utilization, jainIndex: jain, fairRate, peakQueueBytes, drops } of figures) {
    const row = (values: readonly number[]) => values.map(value => value.toFixed(3).padStart(7)).join('')
    lines.push(
      `${flows} flows, ${gbps} Gbit/s: peak queue ${Math.round(peakQueueBytes / 1000)} KB, ${drops} drops`,
    )
    lines.push(
      `  payload of the link, each ms${row(utilization)}`,
      `  Jain index                  ${row(jain)}`,
      `  F / fair share, at its end  ${row(fairRate)}`,
    )
  }
  return `${lines.join('\n')}\n`
}
