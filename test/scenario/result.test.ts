import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import { peakBetween, ratePerSecond, valueAt, valuesBetween } from '../../lib/scenario/result/series.js'
import { summarise } from '../../lib/scenario/result/summary.js'
import { resultJson, writeResult } from '../../lib/scenario/result/write-result.js'
import { flowResult, portResult, runResult } from './synthetic-result.js'

t.test('the JSON holds every field and reads back equal', async t => {
  const result = runResult({
    flows: [flowResult('a'), flowResult('b "quoted"', { fctNs: null, slowdown: null, digestEqual: false })],
    series: { 'queue/s1:s2': { unit: 'bytes', timesNs: [0, 500], values: [0, 1090] } },
    summary: { fromNs: 1, toNs: 2, jainIndex: 0.5 },
  })
  t.strictSame(JSON.parse(resultJson(result)), result)
  t.strictSame(
    JSON.parse(resultJson(runResult({ flows: [], ports: [] }))),
    runResult({ flows: [], ports: [] }),
  )
})

t.test('equal results give equal bytes, whatever order their keys were set in', async t => {
  const reversed = <T extends object>(value: T): T => Object.fromEntries(Object.entries(value).reverse()) as T
  const series = {
    'tx/b': { unit: 'bytes', timesNs: [1], values: [2] },
    'tx/a': { unit: 'bytes', timesNs: [1], values: [3] },
  }
  const one = runResult({ series })
  const other = reversed(
    runResult({
      flows: one.flows.map(reversed),
      ports: one.ports.map(reversed),
      series: reversed({ 'tx/b': reversed(series['tx/b']), 'tx/a': reversed(series['tx/a']) }),
    }),
  )
  t.notSame(Object.keys(other), Object.keys(one))
  t.equal(resultJson(other), resultJson(one))
  const keys = Object.keys(JSON.parse(resultJson(other)))
  t.strictSame(keys, [
    'version',
    'scenario',
    'on',
    'seed',
    'settings',
    'totals',
    'flows',
    'ports',
    'series',
    'events',
    'machine',
    'wallSeconds',
  ])
})

t.test('writeResult replaces the file whole and leaves nothing beside it', async t => {
  const folder = t.testdir({ 'a.json': 'old' })
  writeResult(join(folder, 'a.json'), runResult())
  t.equal(readFileSync(join(folder, 'a.json'), 'utf8'), resultJson(runResult()))
  t.strictSame(readdirSync(folder), ['a.json'])
  const missing = join(folder, 'none', 'a.json')
  t.throws(() => writeResult(missing, runResult()), { code: 'WEIR_NO_FILE', message: /none/ })
  writeFileSync(join(folder, 'blocked'), '')
  t.throws(() => writeResult(join(folder, 'blocked', 'a.json'), runResult()), { code: 'WEIR_NO_FILE' })
  t.throws(() => writeResult(folder, runResult()), { code: 'WEIR_NO_FILE' }, 'a folder is no file')
  t.strictSame(readdirSync(folder).sort(), ['a.json', 'blocked'])
})

t.test('what is no plain file is written to, not replaced', t => {
  const device = lstatSync('/dev/null').rdev
  writeResult('/dev/null', runResult())
  t.equal(lstatSync('/dev/null').isCharacterDevice(), true)
  t.equal(lstatSync('/dev/null').rdev, device)
  t.end()
})

t.test('tables on a narrow terminal: bands, each with the names of its rows, and every figure', t => {
  const flows = [
    flowResult('flow0', { digestEqual: true }),
    flowResult('flow1', { retransmittedBytes: 4096 }),
  ]
  const result = runResult({ flows, ports: [portResult('s1:s2', { drops: 7 })] })
  const words = (text: string) => text.split(/[\s-]+/).filter(word => word !== '')
  const wide = printTables(result)
  for (const columns of [24, 40, 60]) {
    const folded = printTables(result, columns)
    for (const line of folded.split('\n')) t.ok(line.length <= columns, `${columns}: ${line}`)
    t.same(new Set(words(folded)), new Set(words(wide)), 'nothing is left out')
    const bands = folded.split('\n\n').filter(band => band.startsWith('flow'))
    t.ok(bands.length > 1)
    for (const band of bands) t.match(band, /^flow .*\n-.*\nflow0 .*\nflow1 /)
  }
  t.equal(printTables(result, 200), wide)
  t.end()
})

t.test('on a narrow terminal, figures that are zero in all rows are a line and not a band', t => {
  const flows = [0, 1, 2].map(i => flowResult(`flow${i}`))
  const ports = [0, 1, 2].map(i => portResult(`s1:s${i}`, { drops: i }))
  const text = printTables(runResult({ flows, ports }), 55)
  t.equal(text.match(/^flow /gm)!.length, 1)
  t.match(text, /\nin all rows: retrans 0B\n/)
  t.match(text, /\nport +drops\n/, 'one has drops')
  t.match(text, /\nin all rows: pauses 0\n/)
  t.equal(printTables(runResult({ flows, ports }), 200), printTables(runResult({ flows, ports })))
  t.end()
})

t.test('tables for people: figures with units, within 80 columns, without colours', async t => {
  const text = printTables(
    runResult({
      flows: [
        flowResult('flow0', { digestEqual: true, retransmittedBytes: 4096 }),
        flowResult('flow1', {
          from: 'h2',
          fctNs: null,
          slowdown: null,
          ackedBytes: 123_456,
          goodputBps: 1e6,
        }),
        flowResult('flow2', { digestEqual: false }),
      ],
      ports: [portResult('s1:s2', { pausesSent: 3, drops: 7 }), portResult('s1:h1', { txBytes: 0 })],
      summary: {
        fromNs: 1e9,
        toNs: 6e9,
        jainIndex: 0.99912,
        bottleneck: 's1:s2',
        bottleneckUtilization: 0.9512,
      },
    }),
  )
  const lines = text.split('\n')
  const row = (start: string) => lines.find(line => line.startsWith(start))?.split(/ {2,}/)
  t.strictSame(row('flow0'), ['flow0', 'h1 > h3', '40MB', '6.123', '52.26Mbps', '1.86', '4.096KB', 'equal'])
  t.strictSame(row('flow1'), ['flow1', 'h2 > h3', '123.5KB of 40MB', 'cut off', '1Mbps', '-', '0B', '-'])
  t.equal(row('flow2')?.at(-1), 'DIFFERS')
  t.strictSame(row('s1:s2'), ['s1:s2', '100Mbps', '93.1%', '110.1KB', '254B', '12', '7', '3'])
  t.equal(row('s1:h1'), undefined, 'idle ports are left out')
  t.match(text, /1s to 6s: Jain index 0\.9991, s1:s2 busy 95\.1%/)
  t.ok(
    lines.every(line => line.length <= 80),
    `${Math.max(...lines.map(line => line.length))} columns`,
  )
  t.notOk(text.includes('\u001b'))
  t.notOk(/ $/m.test(text), 'no blanks at line ends')
  t.notMatch(printTables(runResult()), /digest/, 'no column of digests where there are none')
  t.match(printTables(runResult({ flows: [], ports: [] })), /No flows/)
})

t.test('many flows are summed up by percentiles, many ports cut to the fullest', async t => {
  const flows = Array.from({ length: 100 }, (_, i) =>
    flowResult(`f${i}`, { fctNs: (i + 1) * 1000, slowdown: 1 + i / 100, bytes: 10_000, ackedBytes: 10_000 }),
  )
  flows[99] = flowResult('f99', { fctNs: null, slowdown: null, ackedBytes: 5000, timeouts: 2 })
  const ports = Array.from({ length: 60 }, (_, i) => portResult(`s${i}:x`, { maxQueueBytes: i * 1000 }))
  const text = printTables(runResult({ flows, ports }))
  t.match(text, /^100 flows, 99 finished, 995KB, 0B retransmitted, 2 timeouts/)
  const row = (start: string) =>
    text
      .split('\n')
      .find(line => line.startsWith(start))
      ?.split(/ {2,}/)
  t.strictSame(row('completion'), ['completion', '50us', '50us', '95us', '99us', '99us'])
  t.strictSame(row('slowdown'), ['slowdown', '1.49', '1.49', '1.94', '1.98', '1.98'])
  t.notOk(row('s19:x'))
  t.ok(row('s20:x'))
  t.match(text, /and others with shorter queues/)
})

t.test('reading series', async t => {
  const series = { unit: 'bytes', timesNs: [0, 100, 200, 300], values: [0, 50, 150, 150] }
  t.strictSame(
    [-5, 0, 50, 100, 150, 300, 999].map(at => valueAt(series, at)),
    [0, 0, 25, 50, 100, 150, 150],
  )
  t.strictSame(valuesBetween(series, 100, 300), [50, 150])
  t.equal(ratePerSecond(series, 50, 150), 75 / 100e-9)
  t.equal(ratePerSecond(series, 50, 50), 0)
  t.strictSame(peakBetween(series, 0, 1000), { atNs: 200, value: 150 })
  t.equal(peakBetween(series, 400, 1000), null)
  t.ok(Number.isNaN(valueAt({ unit: '', timesNs: [], values: [] }, 0)))
})

t.test('the summary is taken over the time that the flows share', async t => {
  const timesNs = [0, 1000, 2000, 3000, 4000]
  const result = runResult({
    flows: [flowResult('a', { startNs: 0, fctNs: 3000 }), flowResult('b', { startNs: 1000, fctNs: 3000 })],
    ports: [portResult('s1:s2', { rateBps: 8e9 }), portResult('s2:h3', { rateBps: 8e9 })],
    series: {
      'acked/a': { unit: 'bytes', timesNs, values: [0, 1000, 1300, 1600, 1600] },
      'acked/b': { unit: 'bytes', timesNs, values: [0, 0, 100, 200, 1200] },
      'tx/s1:s2': { unit: 'bytes', timesNs, values: [0, 1000, 1900, 2800, 3000] },
      'tx/s2:h3': { unit: 'bytes', timesNs, values: [0, 0, 100, 200, 3000] },
    },
  })
  const summary = summarise(result)
  // From 1000 + a tenth of 2000 to the end of the first flow. There a moves 3 bytes for each of b: 16 / (2 x 10).
  t.match(summary, { fromNs: 1200, toNs: 3000, bottleneck: 's1:s2' })
  t.ok(Math.abs(summary!.jainIndex! - 0.8) < 1e-12)
  t.ok(Math.abs(summary!.bottleneckUtilization! - 0.9) < 1e-12)
  t.match(summarise(result, { fromNs: 0, toNs: 1000 }), { jainIndex: 0.5, bottleneckUtilization: 1 })
  t.equal(summarise(runResult()), undefined, 'one flow shares with nobody')
  const apart = [flowResult('a', { fctNs: 10 }), flowResult('b', { startNs: 20 })]
  t.equal(summarise(runResult({ flows: apart })), undefined)
  t.equal(summarise({ ...result, series: {} }), undefined, 'nothing was sampled')
})
