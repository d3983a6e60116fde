import t from 'tap'
import { QueueGauge } from '../../switch-emu/core/queueing/queue-gauge.js'
import { seeded } from './helpers.js'

t.test('mean and peak by hand', async t => {
  const gauge = new QueueGauge()
  gauge.change(100, 1000) // 0 for 100 ns
  gauge.change(150, 500) // 1000 for 50 ns
  gauge.change(250, -1000) // 1500 for 100 ns
  t.equal(gauge.bytes, 500) // 500 for 50 ns
  t.equal(gauge.meanBytes(300), (1000 * 50 + 1500 * 100 + 500 * 50) / 300)
  t.equal(gauge.peakBytes(300), 1500)
})

t.test('a length that lasts for no time is no peak', async t => {
  const gauge = new QueueGauge()
  gauge.change(10, 4000)
  gauge.change(10, -4000)
  gauge.change(20, 100)
  gauge.change(20, 900)
  t.equal(gauge.peakBytes(20), 0)
  t.equal(gauge.peakBytes(21), 1000)
})

t.test('a window begins with the queue that stands', async t => {
  const gauge = new QueueGauge()
  gauge.change(0, 5000)
  gauge.change(100, -4000)
  gauge.resetWindow(200)
  gauge.change(300, 2000)
  t.equal(gauge.meanBytes(500), (1000 * 100 + 3000 * 200) / 300)
  t.equal(gauge.peakBytes(500), 3000, 'the 5000 belong to the window before')
  gauge.resetWindow(500)
  t.equal(gauge.meanBytes(500), 3000, 'an empty window has the mean of its instant')
})

t.test('departures that are reported late give the same integral', async t => {
  const random = seeded(t, 21)
  const onTime = new QueueGauge()
  const late = new QueueGauge()
  // Arrivals in order. Each departs after a while. Late: all departures of a period are reported at its end.
  const events: { at: number; delta: number }[] = []
  for (let i = 0; i < 500; i++) {
    const at = random.below(100_000)
    const bytes = 60 + random.below(4000)
    events.push({ at, delta: bytes }, { at: at + 1 + random.below(3000), delta: -bytes })
  }
  events.sort((a, b) => a.at - b.at)
  for (const event of events) onTime.change(event.at, event.delta)
  for (let from = 0; from < 110_000; from += 5_000) {
    const stretch = events.filter(event => event.at >= from && event.at < from + 5_000)
    for (const event of stretch) if (event.delta > 0) late.change(event.at, event.delta)
    for (const event of stretch) if (event.delta < 0) late.change(event.at, event.delta)
  }
  t.equal(late.meanBytes(200_000), onTime.meanBytes(200_000))
  t.equal(onTime.bytes, 0)
})
