import { join } from 'node:path'
import t from 'tap'
import { compare, printComparison, referenceOf, run } from '../../bench/compare-ns3.js'
import type { RunResult, Series } from '../../lib/scenario/result/result.js'
import { writeResult } from '../../lib/scenario/result/write-result.js'
import { flowResult, portResult, runResult, scenarioText } from './synthetic-result.js'

function sampled(valueAt: (ns: number) => number): Series {
  const timesNs = Array.from({ length: 20_001 }, (_, i) => i * 500)
  return { unit: 'bytes', timesNs, values: timesNs.map(valueAt) }
}

/**
 * A correct dumbbell run: 42 and 45 Gbit/s of payload, 95 % of the link, a peak of 108 KB 11 us after the
 * join.
 */
function dumbbell(change: Partial<RunResult> = {}): RunResult {
  return runResult({
    scenario: scenarioText('dumbbell-100g'),
    flows: [flowResult('flow0', { fctNs: null }), flowResult('flow1', { fctNs: null, startNs: 300_000 })],
    ports: [portResult('s1:s2', { rateBps: 100e9, maxQueueBytes: 108_000 }), portResult('s3:h3')],
    series: {
      'queue/s1:s2': sampled(ns => (ns === 311_000 ? 107_500 : ns > 311_000 && ns % 2000 === 0 ? 1114 : 0)),
      'tx/s1:s2': sampled(ns => (ns * 95) / 8),
      'acked/flow0': sampled(ns => (ns * 42) / 8),
      'acked/flow1': sampled(ns => (Math.max(0, ns - 300_000) * 45) / 8),
    },
    ...change,
  })
}

const broken = (result: RunResult) =>
  compare(result, referenceOf(result.scenario.name))
    .filter(row => !row.ok)
    .map(row => row.measure)

t.test('a dumbbell near the reference keeps every rule', async t => {
  const rows = compare(dumbbell(), referenceOf('dumbbell-100g'))
  const value = (measure: string) => rows.find(row => row.measure === measure)?.weir
  t.strictSame(broken(dumbbell()), [])
  t.equal(value('peakQueue'), 108_000)
  t.equal(value('peakAfterJoin'), 11_000)
  t.equal(value('steadyQueueMedian'), 0)
  t.ok(Math.abs(value('utilization')! - 0.95) < 1e-9)
  t.ok(Math.abs(value('jainIndex')! - (87 * 87) / (2 * (42 * 42 + 45 * 45))) < 1e-9)
  t.ok(Math.abs(value('goodput1_2ms_5ms')! - 45e9) < 1)
  t.equal(rows.find(row => row.measure === 'peakQueue')?.reference, 110_090)
  const jain = rows.find(row => row.measure === 'jainIndex')?.reference
  t.ok(jain !== undefined && jain > 0.997 && jain < 0.998, 'from 41.43 and 45.83 Gbit/s')
})

t.test('each rule can be broken', async t => {
  const port = (change: object) => [
    portResult('s1:s2', { rateBps: 100e9, maxQueueBytes: 108_000, ...change }),
  ]
  t.strictSame(broken(dumbbell({ ports: port({ maxQueueBytes: 127_000 }) })), ['peakQueue'], '15.4 % above')
  t.strictSame(broken(dumbbell({ ports: port({ maxQueueBytes: 126_000 }) })), [])
  t.strictSame(broken(dumbbell({ ports: port({ maxQueueBytes: 93_000 }) })), ['peakQueue'], '15.5 % below')
  t.strictSame(broken(dumbbell({ ports: port({ drops: 1 }) })), ['drops'])
  const { series } = dumbbell()
  const fuller = { ...series, 'queue/s1:s2': sampled(() => 3390) }
  t.strictSame(broken(dumbbell({ series: fuller })), ['steadyQueueMedian'])
  t.strictSame(broken(dumbbell({ series: { ...series, 'tx/s1:s2': sampled(ns => (ns * 89.9) / 8) } })), [
    'utilization',
  ])
  t.strictSame(broken(dumbbell({ series: { ...series, 'acked/flow1': sampled(ns => (ns * 30) / 8) } })), [
    'jainIndex',
  ])
  const { 'tx/s1:s2': _, ...without } = series
  t.strictSame(
    broken(dumbbell({ series: without })),
    ['utilization'],
    'what was not sampled is not taken for good',
  )
  t.strictSame(
    broken(dumbbell({ scenario: scenarioText('dumbbell-100g-1500ns') })),
    ['peakQueue'],
    '161 KB there',
  )
})

function incast(change: (i: number) => object, peak = 850_000): RunResult {
  return runResult({
    scenario: scenarioText('incast-16'),
    flows: Array.from({ length: 16 }, (_, i) =>
      flowResult(`incast.h${i}`, {
        bytes: 500_000,
        ackedBytes: 500_000,
        fctNs: 560_000 + i * 12_000,
        ...change(i),
      }),
    ),
    ports: [portResult('s1:h16', { rateBps: 100e9, maxQueueBytes: peak })],
  })
}

t.test('an incast: completion times, peak, every byte', async t => {
  t.strictSame(broken(incast(() => ({}))), [])
  const rows = compare(
    incast(() => ({})),
    referenceOf('incast-16'),
  )
  const value = (measure: string) => rows.find(row => row.measure === measure)?.weir
  t.strictSame(
    ['fctMin', 'fctMean', 'fctMedian', 'fctMax', 'bytes'].map(value),
    [560_000, 650_000, 644_000, 740_000, 8_000_000],
  )
  t.strictSame(broken(incast(i => (i === 3 ? { fctNs: 900_000 } : {}))), ['fctMax'])
  t.strictSame(broken(incast(() => ({ fctNs: 500_000 }))), ['fctMean', 'fctMax'])
  t.strictSame(broken(incast(() => ({}), 700_000)), ['peakQueue'])
  t.strictSame(broken(incast(i => (i === 3 ? { fctNs: null, ackedBytes: 9 } : {}))), [
    'fctMean',
    'fctMax',
    'bytes',
  ])
})

t.test('only scenarios with figures are compared', async t => {
  t.throws(() => referenceOf('dumbbell'), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /dumbbell-100g, .*incast-16/,
  })
  const noPort = dumbbell({ ports: [] })
  t.throws(() => compare(noPort, referenceOf('dumbbell-100g')), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /s1:s2/,
  })
})

t.test(
  'the command reads result files, prints tables and says by its exit code if rules were kept',
  async t => {
    const folder = t.testdir({})
    const good = join(folder, 'good.json')
    const bad = join(folder, 'bad.json')
    writeResult(good, dumbbell())
    writeResult(
      bad,
      incast(() => ({}), 700_000),
    )
    const written: string[] = []
    const original = process.stdout.write
    t.teardown(() => {
      process.stdout.write = original
    })
    const captured = (args: string[]) => {
      process.stdout.write = ((text: string) => written.push(text) > 0) as typeof process.stdout.write
      try {
        return run(args)
      } finally {
        process.stdout.write = original
      }
    }
    t.equal(captured([good]), 0)
    t.equal(captured([good, bad]), 1)
    const text = written.join('')
    t.match(text, /peakQueue +108KB +110\.1KB +0\.981 +ok {2}within 15%/)
    t.match(text, /peakQueue +700KB +854\.6KB +0\.819 +NOT {2}within 15%/)
    t.throws(() => run([join(folder, 'none.json')]), { code: 'WEIR_NO_FILE' })
    t.match(printComparison('x', compare(dumbbell({ series: {} }), referenceOf('dumbbell-100g'))), /unknown/)
  },
)
