import t from 'tap'
import { BaseRttFilter } from '../../lib/nic/feedback/base-rtt-filter.js'
import { NEVER, SECOND } from '../../lib/time/nanos.js'

t.test('the first round trip is T, and smaller ones lower it', async t => {
  const filter = new BaseRttFilter(10 * SECOND, 0)
  t.equal(filter.onRoundTrip(0, 5000, false), 5000)
  t.equal(filter.onRoundTrip(1, 6000, false), 0)
  t.equal(filter.onRoundTrip(2, 4990, false), 0, 'too small a change')
  t.equal(filter.onRoundTrip(3, 3000, false), 3000)
  t.equal(filter.onRoundTrip(4, 2000, true), 2000)
})

t.test('samples older than the window do not count if there is a clean one of the path', async t => {
  const filter = new BaseRttFilter(8 * SECOND, 0)
  filter.onRoundTrip(0, 1000, true)
  for (let now = SECOND; now < 20 * SECOND; now += SECOND) {
    t.equal(
      filter.onRoundTrip(now, 9000, false),
      0,
      'a flow that is never idle may have made the queue itself',
    )
  }
  t.equal(filter.onRoundTrip(20 * SECOND, 4000, true), 4000)
  t.equal(filter.cleanNs, 20 * SECOND)
  for (let now = 21 * SECOND; now < 27 * SECOND; now += SECOND) {
    t.equal(filter.onRoundTrip(now, 6000, true), 0)
  }
  t.equal(filter.onRoundTrip(29 * SECOND, 6000, true), 6000)
})

t.test('after a long pause nothing of before counts', async t => {
  const filter = new BaseRttFilter(8 * SECOND, 0)
  filter.onRoundTrip(0, 1000, true)
  t.equal(filter.onRoundTrip(3600 * SECOND, 7000, true), 7000)
})

t.test('no window: T only falls, and never below the least', async t => {
  const filter = new BaseRttFilter(NEVER, 2000)
  t.equal(filter.onRoundTrip(0, 5000, true), 5000)
  t.equal(filter.onRoundTrip(3600 * SECOND, 7000, true), 0)
  t.equal(filter.onRoundTrip(3601 * SECOND, 10, true), 2000)
})

t.test('another path is measured anew', async t => {
  const filter = new BaseRttFilter(8 * SECOND, 0)
  filter.onRoundTrip(0, 1000, true)
  filter.forget()
  t.equal(filter.onRoundTrip(1, 7000, false), 7000)
})

t.test('an estimate lowers T until its window ends, or until a clean round trip refutes it', async t => {
  const filter = new BaseRttFilter(8 * SECOND, 0)
  t.equal(
    filter.onEstimate(0, 9000, 1000, true),
    1000,
    'what the round trip was without the queues of others',
  )
  t.equal(filter.onRoundTrip(1, 9000, false), 0)
  t.equal(filter.onRoundTrip(2, 1300, true), 0, 'an eighth of it may be a queue')
  t.equal(filter.onRoundTrip(3, 1500, true), 1300, 'it was wrong: T is the smallest round trip')
  t.equal(filter.onEstimate(4, 9000, 1000, true), 1000)
  t.equal(filter.onRoundTrip(7 * SECOND, 1400, false), 0)
  t.equal(filter.onRoundTrip(9 * SECOND, 1400, true), 1400, 'both have left the window')
})
