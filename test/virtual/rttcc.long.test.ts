/**
 * RTTCC with a thousand flows on one link, in virtual time. Each has a thousandth of the line, so that probes, which are 1 % of its bytes,
 * leave about once in a millisecond; with each the logarithm of the ratio of two rates shrinks by gain x step / (T ln 2) = 3.6 %.
 */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { jainIndex } from '../../lib/scenario/result/fairness.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'

const FLOWS = 1000
const HOSTS = 200
const RATE_BPS = 100e9
const [EARLY_MS, FROM_MS, UNTIL_MS] = [10, 30, 50]
/** Senders that begin within a millisecond. */
const STARTS_NS = 1e6

function run(ms: number): RunResult {
  const flows = Array.from({ length: FLOWS }, (_, i) => {
    const startNs = Math.round((((i * 7919) % FLOWS) * STARTS_NS) / FLOWS)
    return `  - { name: f${i}, from: h${i % HOSTS}, to: r, size: 1GB, start: ${startNs}ns }`
  })
  const text = `
link: { rate: 100Gbps, delay: 1us }
hosts: [h0..h${HOSTS - 1}, r]
switches: { s1: { buffer: 32MiB } }
links: [h0..h${HOSTS - 1}--s1, s1--r]
cc: rttcc
transport: { pathMtu: 1024 }
traffic:
${flows.join('\n')}
watch: { queues: [s1:r], every: 1ms }
duration: ${ms}ms
`
  return new VirtualRun(parseScenario(text, 'thousand.yaml')).run()
}

const dropsOf = ({ ports }: RunResult) => ports.reduce((sum, { drops }) => sum + drops, 0)

t.test('a thousand flows that begin at line rate become equal, and their queue goes away', async t => {
  const [early, before, after] = [EARLY_MS, FROM_MS, UNTIL_MS].map(ms => run(ms))
  const moved = after!.flows.map(({ ackedBytes }, i) => ackedBytes - before!.flows[i]!.ackedBytes)
  const sum = moved.reduce((a, b) => a + b, 0)
  const used = (sum * 8e3) / (UNTIL_MS - FROM_MS) / RATE_BPS
  const jain = jainIndex(moved)
  const queueBytes = after!.series['queue/s1:r']!.values.at(-1)!
  t.comment(`${dropsOf(early!)} drops by ${EARLY_MS} ms, ${dropsOf(after!)} by ${UNTIL_MS} ms`)
  t.comment(`Jain's index ${jain}, ${used} of the link used, ${queueBytes} bytes wait in the end`)
  t.equal(dropsOf(after!), dropsOf(early!), 'nothing is dropped once the first windows are through')
  t.ok(jain > 0.95, `Jain's index ${jain}`)
  t.ok(Math.min(...moved) > (0.5 * sum) / FLOWS, 'none starves')
  t.ok(used > 0.9, `${used} of the link`)
  // T + queue + step x log2(1000) = 6.5 T of delay: half a MB; on its way there, less than a tenth of the buffer.
  t.ok(queueBytes < 3.3e6, `${queueBytes} bytes wait`)
})
