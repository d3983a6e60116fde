/** Percentiles and histogram against a plain sort. */
import t from 'tap'
import { LatencyRecorder } from '../../lib/perf/latency.js'
import { Tally } from '../../lib/perf/tally.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed } from '../support/seeds.js'

t.test('percentiles: within 0.1 % of those of all the times, sorted', async t => {
  const seed = drawnSeed(t)
  const random = new Random(seed)
  const recorder = new LatencyRecorder()
  const times = Array.from({ length: 20_000 }, () => Math.round(10 ** (2 + 6 * random.next())))
  // Some come several times in a row.
  for (let i = 1; i < times.length; i++) if (random.next() < 0.3) times[i] = times[i - 1]!
  for (const time of times) recorder.record(time)
  times.sort((a, b) => a - b)
  const found = recorder.summary()
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length
  const variance = times.reduce((sum, time) => sum + (time - mean) ** 2, 0) / times.length
  const near = (got: number, want: number, name: string) =>
    t.ok(Math.abs(got - want) <= 0.0015 * want + 1, `${name}: ${got}, ${want} is due`)
  for (const [key, percent] of [
    ['p50', 50],
    ['p90', 90],
    ['p99', 99],
    ['p999', 99.9],
    ['p9999', 99.99],
  ] as const) {
    near(found[key], times[Math.ceil((Math.round(percent * 100) * times.length) / 10_000) - 1]!, key)
  }
  t.equal(found.count, times.length)
  t.equal(found.min, times[0])
  t.equal(found.max, times.at(-1))
  t.ok(Math.abs(found.mean - mean) < 1e-6 * mean, `mean: ${found.mean}, ${mean} is due`)
  near(found.stdev, Math.sqrt(variance), 'stdev')
  const { histogram } = found
  t.equal(
    histogram.reduce((sum, { count }) => sum + count, 0),
    times.length,
  )
  for (const [i, { fromNs, count }] of histogram.entries()) {
    const to = histogram[i + 1]?.fromNs ?? Number.POSITIVE_INFINITY
    t.equal(count, times.filter(time => time >= fromNs && time < to).length, `from ${fromNs}`)
  }
})

t.test('one time, and equal ones: no mean above the greatest', async t => {
  const recorder = new LatencyRecorder()
  for (let i = 0; i < 3; i++) {
    recorder.record(1_448_004)
    t.match(recorder.summary(), { min: 1_448_004, mean: 1_448_004, p50: 1_448_004, max: 1_448_004 })
  }
  recorder.reset()
  recorder.record(7)
  t.equal(recorder.summary(0.5).mean, 3.5)
})

t.test('no times, times of zero, and times beyond an hour', async t => {
  const recorder = new LatencyRecorder()
  t.match(recorder.summary(), {
    count: 0,
    min: 0,
    max: 0,
    mean: 0,
    stdev: 0,
    p50: 0,
    p9999: 0,
    histogram: [],
  })
  recorder.record(0)
  t.match(recorder.summary(), { count: 1, min: 0, max: 0, p99: 0, histogram: [{ fromNs: 0, count: 1 }] })
  recorder.record(1e18)
  t.equal(recorder.summary().max, 3600e9)
  recorder.reset()
  t.equal(recorder.summary().count, 0)
})

t.test('a tally: rate, peak, and the end of the window', async t => {
  const tally = new Tally()
  tally.begin(1e9)
  tally.endNs = 2e9
  // 10 MB in the first half second, 90 MB in the other.
  for (let i = 1; i <= 100; i++) tally.completed(1e9 + (i * 1e9) / 100, 1e9, i <= 50 ? 200_000 : 1_800_000)
  t.equal(tally.bytes, 100_000_000)
  t.equal(tally.seconds, 1)
  t.equal(tally.goodputBps, 800e6)
  t.equal(tally.peakBps, 1440e6)
  tally.completed(2e9 + 1, 1e9, 5)
  t.equal(tally.bytes, 100_000_000, 'what comes later is not counted')
})
