/** RoCC flows on one queue, in virtual time. */
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

interface Joining {
  flows: number
  gbps: number
  key?: string
  /** Links of the hosts, as a share of the common one: the paper's sources offer 90 % of it. Default 1. */
  share?: number
  /** Time between the starts of two flows. Default 100 ns. */
  gapNs?: number
  /** Flows that end, and their size in bytes. Default: none. */
  ending?: { flows: number; bytes: number }
  /** Default 64 MB: no burst of the tests fills it. */
  buffer?: string
  /** Options of the switches. Default: none. */
  rocc?: string
}

export function joinQueue(
  { flows, gbps, key, share = 1, gapNs = 100, ending, buffer = '64MB', rocc = '' }: Joining,
  ms: number,
): RunResult {
  const names = Array.from({ length: flows }, (_, i) => i)
  const size = (i: number) => (i < flows - (ending?.flows ?? 0) ? '2GB' : `${ending!.bytes}B`)
  const text = `
link: { delay: 1us }
hosts: [h1..h${flows}, r]
switches: { s1: { rocc: { ${rocc} }, buffer: ${buffer} } }
links: [{ ends: h1..h${flows}--s1, rate: ${gbps * share}Gbps }, { ends: s1--r, rate: ${gbps}Gbps }]
cc: rocc
transport: { ${key === undefined ? '' : `key: ${key}, `}pathMtu: 1024 }
baseRtt: 8us
traffic:
${names.map(i => `  - { name: f${i}, from: h${i + 1}, to: r, size: ${size(i)}, start: ${i * gapNs}ns }`).join('\n')}
watch: { queues: ['s1:r'], every: 20us }
duration: ${Math.round(ms * 1000)}us
`
  return new VirtualRun(parseScenario(text, 'joining.yaml')).run()
}

/** What each flow moves between two times, as a multiple of its fair share: of two runs, of which one is the beginning of the other. */
export function sharesBetween(joining: Joining, fromMs: number, untilMs: number): number[] {
  const [before, after] = [fromMs, untilMs].map(ms => joinQueue(joining, ms).flows)
  const fairBytes = ((joining.gbps * (untilMs - fromMs)) / joining.flows) * (1e6 / 8)
  return after!.map(({ ackedBytes }, i) => (ackedBytes - before![i]!.ackedBytes) / fairBytes)
}

/** F of the switch at that time, as a multiple of the fair share of the flows that still send, and how many these are. */
export function fairness(joining: Joining, ms: number): { ratio: number; sending: number } {
  const { ports, flows } = joinQueue(joining, ms)
  const { rocc } = ports.find(({ name }) => name === 's1:r') as { rocc?: { fairRateBps: number } }
  const sending = flows.filter(({ fctNs }) => fctNs === null).length
  return { ratio: (rocc!.fairRateBps * sending) / (joining.gbps * 1e9), sending }
}
