/** The figures that controllers and modes are judged by, beside an independent calculation, and the ensemble of starts. */
import t from 'tap'
import { run } from '../../bench/controllers.js'
import { measureModes } from '../../bench/hpcc-modes.js'
import { ensemble, meanOf, worstOf } from '../../bench/support/ensemble.js'
import { type Judgement, judge, moved } from '../../bench/support/judge.js'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import type { RunResult } from '../../lib/scenario/result/result.js'

const scenario = parseScenario(
  `
link: { rate: 8Gbps, delay: 1us }
hosts: [h1..h3]
switches: [s1]
links: [h1..h3--s1]
cc: { name: fixed-window }
baseRtt: 8us
traffic:
  - { name: a, from: h1, to: h3, size: 1MB }
  - { name: b, from: h2, to: h3, size: 1MB, start: 100us }
watch: { queues: [s1:h3], every: 1us }
duration: 1100us
`,
  'judged.yaml',
)

/** A queue of 0 to 999 bytes, and two flows of which one moves three times as much. */
function made(): RunResult {
  const timesNs = Array.from({ length: 1001 }, (_, us) => 100_000 + us * 1000)
  const acked = (perNs: number) => ({
    unit: 'bytes',
    timesNs,
    values: timesNs.map(at => (at - 100_000) * perNs),
  })
  const flow = { bytes: 1e6, fctNs: null }
  return {
    flows: [
      { ...flow, name: 'a', to: 'h3', startNs: 0 },
      { ...flow, name: 'b', to: 'h3', startNs: 100_000 },
    ],
    ports: [
      { switch: 's1', port: 2, name: 's1:h3', rateBps: 8e9, maxQueueBytes: 999, meanQueueBytes: 499 },
      { switch: 's1', port: 0, name: 's1:h1', rateBps: 8e9, maxQueueBytes: 5000, meanQueueBytes: 2000 },
    ],
    series: {
      'queue/s1:h3': { unit: 'bytes', timesNs, values: timesNs.map((_, i) => i % 1000) },
      'acked/a': acked(0.75),
      'acked/b': acked(0.25),
    },
    totals: { retransmittedBytes: 4096, drops: 3, spuriousRetransmissions: 1 },
    summary: { bottleneckUtilization: 0.9 },
  } as unknown as RunResult
}

t.test('one run in figures', async t => {
  const judged = judge(scenario, made())
  t.match(judged, {
    utilization: 0.9,
    peakQueueBytes: 999,
    meanQueueBytes: 499,
    // The nearest rank of 1,001 samples: the 991st in order, of which 0 is there twice.
    p99QueueBytes: 989,
    convergenceNs: null,
    retransmittedBytes: 4096,
    drops: 3,
    needlessPackets: 1,
  })
  // (3 + 1)^2 / (2 (9 + 1))
  t.ok(Math.abs(judged.jainIndex - 0.8) < 1e-9, `${judged.jainIndex}`)
  const [a, b] = moved(made(), ['a', 'b']) as [number, number]
  t.ok(Math.abs(a - 0.75 * 900_000) < 1 && Math.abs(b - 0.25 * 900_000) < 1, 'without the first tenth')
})

t.test('an ensemble: the mean and the worst of each figure', async t => {
  const one = judge(scenario, made())
  const other: Judgement = {
    ...one,
    utilization: 0.7,
    jainIndex: 0.6,
    p99QueueBytes: 1989,
    drops: 1,
    convergenceNs: 10,
  }
  const all = [one, other]
  t.match(meanOf(all), { p99QueueBytes: 1489, drops: 2, convergenceNs: null, drainedNs: one.drainedNs })
  t.ok(Math.abs(meanOf(all).utilization - 0.8) < 1e-9)
  t.match(worstOf(all), { utilization: 0.7, p99QueueBytes: 1989, drops: 3, convergenceNs: null })
  t.ok(Math.abs(worstOf(all).jainIndex - 0.6) < 1e-9)
})

t.test('the same seed, the same figures; another one, others', async t => {
  const first = ensemble(scenario, 2, 1)
  t.same(ensemble(scenario, 2, 1), first)
  t.notSame(ensemble(scenario, 2, 2), first)
  for (const { utilization, drops } of first) {
    t.ok(utilization > 0.9, `two windows of line rate x T fill the link: ${utilization}`)
    t.equal(drops, 0)
  }
})

t.test('names that there are not', async t => {
  t.throws(() => run(['reno']), { code: 'WEIR_BAD_ARGUMENT', message: /"reno": there are hpcc, .*auto$/ })
  t.throws(() => run(['hpcc', 'ring']), { code: 'WEIR_BAD_ARGUMENT', message: /"ring": .*one-queue$/ })
  t.throws(() => run(['--starts', '0']), { code: 'WEIR_BAD_ARGUMENT', message: /--starts/ })
  t.throws(() => run(['hpcc', 'five-hops', 'three']), { code: 'WEIR_BAD_ARGUMENT', message: /"three"/ })
  const modes = /"none": there are every packet, every ACK; compact records; /
  t.throws(() => measureModes(['none']), { code: 'WEIR_BAD_ARGUMENT', message: modes })
})
