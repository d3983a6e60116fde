import t from 'tap'
import { printTables } from '../../lib/scenario/result/print-tables.js'
import { LatenessGauge } from '../../switch-emu/real-time/lateness.js'
import { realTimeResult } from '../../switch-emu/real-time/real-time-result.js'
import { runResult } from '../scenario/synthetic-result.js'

t.test('frames late by 1 to 1,000 us: counted, and percentiles within a tenth', async t => {
  const gauge = new LatenessGauge(900_000)
  for (let us = 1; us <= 1000; us++) gauge.add(us * 1000)
  const { frames, lateFrames, meanNs, p50Ns, p99Ns, maxNs, limitNs } = gauge.report()
  t.same([frames, lateFrames, limitNs, meanNs, maxNs], [1000, 100, 900_000, 500_500, 1_000_000])
  t.ok(p50Ns >= 500_000 && p50Ns < 550_000, `${p50Ns}`)
  t.ok(p99Ns >= 990_000 && p99Ns <= 1_000_000, `${p99Ns}`)
})

t.test('no frame, frames in time, and ones later than any run', async t => {
  t.match(new LatenessGauge(10).report(), {
    frames: 0,
    lateFrames: 0,
    meanNs: 0,
    p50Ns: 0,
    p99Ns: 0,
    maxNs: 0,
  })
  const gauge = new LatenessGauge(10)
  gauge.add(0)
  t.match(gauge.report(), { frames: 1, lateFrames: 0, p50Ns: 0, maxNs: 0 })
  gauge.add(1e15)
  t.match(gauge.report(), { frames: 2, lateFrames: 1, maxNs: 1e15 })
})

t.test('what a result says of it', async t => {
  const gauge = new LatenessGauge(1_000_000)
  for (let i = 0; i < 96; i++) gauge.add(200_000)
  const outcome = (lostFrames: number) => realTimeResult({ lateness: gauge.report(), lostFrames }, null)
  for (let i = 0; i < 4; i++) gauge.add(5_000_000)
  t.match(outcome(0), { keptUp: true, lateFrames: 4, lateShare: 0.04, lostFrames: 0 })
  t.equal(outcome(1).keptUp, false, 'frames were lost between processes')
  const kept = printTables(runResult({ on: 'overlay', realTime: outcome(0) }))
  t.match(
    kept,
    /^Real time: 4\.0% of 100 frames came more than 1ms late \(half within 2\d+(\.\d+)?us, longest 5ms\)\n$/m,
  )
  t.notMatch(kept, 'did not keep up')
  for (let i = 0; i < 10; i++) gauge.add(5_000_000)
  t.equal(outcome(0).keptUp, false)
  t.match(
    printTables(runResult({ realTime: outcome(3) })),
    /; 3 lost between processes\nThe machine did not keep up/,
  )
  const nothing = realTimeResult({ lateness: new LatenessGauge(1).report(), lostFrames: 0 }, null)
  t.match(nothing, { keptUp: false, lateShare: null })
  t.match(printTables(runResult({ realTime: nothing })), 'Real time: no frame reached a host')
})
