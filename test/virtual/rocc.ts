/** RoCC flows that join one queue at one time, in virtual time. */
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

interface Joining {
  flows: number
  gbps: number
  key?: string
}

export function joinQueue({ flows, gbps, key }: Joining, ms: number): RunResult {
  const names = Array.from({ length: flows }, (_, i) => i)
  const text = `
link: { rate: ${gbps}Gbps, delay: 1us }
hosts: [h1..h${flows}, r]
switches: { s1: { rocc: {}, buffer: 64MB } }
links: [h1..h${flows}--s1, s1--r]
cc: rocc
transport: { ${key === undefined ? '' : `key: ${key}, `}pathMtu: 1024 }
baseRtt: 8us
traffic:
${names.map(i => `  - { name: f${i}, from: h${i + 1}, to: r, size: 2GB, start: ${i * 100}ns }`).join('\n')}
watch: { queues: ['s1:r'], every: 20us }
duration: ${ms}ms
`
  return new VirtualRun(parseScenario(text, 'joining.yaml')).run()
}

/** What each flow moves between two times, as a multiple of its fair share: of two runs, of which one is the beginning of the other. */
export function sharesBetween(joining: Joining, fromMs: number, untilMs: number): number[] {
  const [before, after] = [fromMs, untilMs].map(ms => joinQueue(joining, ms).flows)
  const fairBytes = ((joining.gbps * (untilMs - fromMs)) / joining.flows) * (1e6 / 8)
  return after!.map(({ ackedBytes }, i) => (ackedBytes - before![i]!.ackedBytes) / fairBytes)
}
