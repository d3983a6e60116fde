/** Every number that a run prints is in its JSON. */
import t from 'tap'
import { parseScenario } from '../../lib/scenario/read/load-scenario.js'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { resultJson } from '../../lib/scenario/result/write-result.js'
import { formatBytes, formatDuration, formatPercent, formatRate } from '../../lib/units/units.js'
import { VirtualRun } from '../../switch-emu/virtual/virtual-run.js'
import { usual, variants } from '../support/long.js'
import { flowResult, portResult, runResult } from './synthetic-result.js'

/** All forms in which the tables may print a number. */
const FORMS: ((value: number) => string)[] = [
  String,
  formatBytes,
  value => formatBytes(Math.round(value)),
  formatRate,
  formatDuration,
  formatPercent,
  value => value.toFixed(2),
  value => value.toFixed(4),
  value => String(Number((value / 1e9).toPrecision(4))),
]

/** Texts and numbers of a JSON, wherever they are. */
function leaves(value: unknown, found = { texts: new Set<string>(), numbers: new Set<number>() }) {
  if (typeof value === 'string') found.texts.add(value)
  else if (typeof value === 'number') found.numbers.add(value)
  else if (typeof value === 'object' && value !== null)
    for (const one of Object.values(value)) leaves(one, found)
  return found
}

/** Words with a digit that the JSON contains neither as a name nor as a number. */
function unaccounted(result: RunResult, text = printTables(result)): string[] {
  const { texts, numbers } = leaves(JSON.parse(resultJson(result)))
  const known = new Set([...texts, ...[...numbers].flatMap(value => FORMS.map(form => form(value)))])
  const words = text.split(/[\s,;()]+/).map(word => word.replace(/:$/, ''))
  // The heads of the percentiles' columns.
  const heads = ['p50', 'p95', 'p99']
  return words.filter(word => /\d/.test(word) && !known.has(word) && !heads.includes(word))
}

const NET =
  'hosts: [h1..h4]\nswitches: {s1: {buffer: 100KB}}\nlinks: [h1..h4--s1]\nwatch: {queues: all, every: 10us}\n'

for (const [what, traffic] of variants(
  [
    [
      'a few flows',
      'traffic: [{incast: [h1..h3], to: h4, size: 3MB}, {from: h1, to: h2, size: 1GB}]\nduration: 20ms',
    ],
    ['many flows', 'traffic: [{workload: googlerpc, load: 40%, duration: 3ms, seed: 3}]'],
    ['paths', 'paths: {count: 2, move: idle}\ntraffic: [{from: h1, to: h2, size: 100KB}]'],
  ] as const,
  1,
)) {
  t.test(`a run of ${what}`, async t => {
    const result = new VirtualRun(parseScenario(NET + traffic, 'x.yaml')).run()
    t.same(unaccounted(result), [])
    t.ok(/\d/.test(printTables(result)))
  })
}

usual('deadlocks, failures, hundreds of ports and flows', async t => {
  const watchdog = {
    detected: 3,
    restored: 2,
    turnedOff: 4,
    droppedFrames: 777,
    forwardedFrames: 55,
    events: [{ atNs: 12_345_678, priority: 3, event: 'detected' as const }],
  }
  const ports = Array.from({ length: 60 }, (_, i) =>
    portResult(`s${i}:x`, { deadlocked: [3], watchdog, movedFrames: 13, maxQueueBytes: 1000 + i }),
  )
  const flows = Array.from({ length: 90 }, (_, i) =>
    flowResult(`f${i}`, {
      fctNs: 1e6 + 977 * i,
      slowdown: 1 + i / 7,
      retransmittedBytes: i,
      timeouts: i % 3,
    }),
  )
  flows[1] = flowResult('f1', { fctNs: null, slowdown: null, failed: 'lost' })
  flows[2] = flowResult('f2', { fctNs: null, slowdown: null, refused: 'full' })
  flows[3] = flowResult('f3', {
    paths: { sourcePort: 49_999, moves: 17, probes: 1, probeBytes: 99, delayedNs: 123_000 },
  })
  for (const shown of [flows, flows.slice(0, 9), []])
    t.same(unaccounted(runResult({ flows: shown, ports })), [])
})

usual('a number that is not in the JSON is noticed', async t => {
  t.same(unaccounted(runResult(), 'Jain index 0.9877, 4711 frames'), ['0.9877', '4711'])
})
