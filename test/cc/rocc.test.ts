/** RoCC at the source: the lowest fair rate and its congestion point, fast recovery, losses (Taheri et al., CoNEXT 2020). */
import t from 'tap'
import { createCongestionControl } from '../../lib/cc/catalogue.js'
import { lossOf, sampleOf } from './samples.js'

const LINE = 40e9
const CONTEXT = { lineRateBps: LINE, baseRttNs: 10_000, mtuBytes: 1000 }
const T = 40_000

function source(options = {}, careful = false) {
  const cc = createCongestionControl('rocc', { ...CONTEXT, careful }, options)
  const hear = (now: number, rateBps: number, port = 1, switchId = 7) =>
    cc.onFairRate!(now, { switchId, port, rateBps, intervalNs: T })
  return { cc, hear }
}

t.test('a flow begins at line rate, and keeps the lowest fair rate and its congestion point', async t => {
  const { cc, hear } = source()
  t.equal(cc.rateBps(), LINE)
  t.equal(cc.nextTimeout!(), Number.POSITIVE_INFINITY)
  // By the rule of the paper: from any queue at first, then from the same queue, or a lower rate.
  for (const [now, rate, port, expected] of [
    [1000, 20e9, 1, 20e9],
    [2000, 25e9, 2, 20e9],
    [3000, 22e9, 1, 22e9],
    [4000, 22e9, 2, 22e9],
    [4500, 21e9, 2, 21e9],
    [5000, 30e9, 1, 21e9],
    [6000, 30e9, 2, 30e9],
    [7000, 30e9, 1, 30e9],
  ] as const) {
    hear(now, rate, port)
    t.equal(cc.rateBps(), expected, `at ${now}`)
  }
  hear(8000, 1e9, 1, 8)
  t.equal(cc.rateBps(), 1e9, 'the same port of another switch is another point')
})

t.test('fast recovery: the rate doubles while nothing comes, up to the rate of the link', async t => {
  const { cc, hear } = source()
  hear(0, 6e9)
  const expected: [number, number][] = [
    [55_000, 12e9],
    [110_000, 24e9],
    [165_000, LINE],
  ]
  for (const [at, rate] of expected) {
    t.equal(cc.nextTimeout!(), at)
    cc.onTimeout!(at - 1)
    t.ok(cc.rateBps() < rate, 'not earlier')
    cc.onTimeout!(at)
    t.equal(cc.rateBps(), rate)
  }
  t.equal(cc.nextTimeout!(), Number.POSITIVE_INFINITY, 'no limit any more')
  hear(200_000, 39e9, 3)
  t.equal(cc.rateBps(), 39e9, 'any queue counts again')
  hear(210_000, 39.5e9, 4)
  t.equal(cc.nextTimeout!(), 255_000, 'what is not accepted does not put it off')
  const slow = source({ recovery: 5 })
  slow.hear(0, 1e9)
  t.equal(slow.cc.nextTimeout!(), 200_000)
})

t.test(
  'one fair rate of nobody, with any rate and interval, holds a flow for less than half a second',
  async t => {
    const { cc } = source()
    cc.onFairRate!(0, { switchId: 1, port: 1, rateBps: 1000, intervalNs: 4.294967295e9 })
    // A packet of 1,000 bytes each 100 ms.
    t.equal(cc.rateBps(), 80_000)
    let now = 0
    while (cc.nextTimeout!() !== Number.POSITIVE_INFINITY) {
      now = cc.nextTimeout!()
      cc.onTimeout!(now)
    }
    // 40 Gbit/s are 2^18.9 x 80 kbit/s; each doubling takes 1.375 x 20 ms.
    t.equal(now, 19 * 27_500_000)
    t.equal(cc.rateBps(), LINE)
    const told = source({ minRate: 1e9, intervalMost: 1e6 })
    told.cc.onFairRate!(0, { switchId: 1, port: 1, rateBps: 1000, intervalNs: 1e9 })
    t.equal(told.cc.rateBps(), 1e9)
    t.equal(told.cc.nextTimeout!(), 1_375_000)
  },
)

t.test('another path: nothing is known of its queues', async t => {
  const { cc, hear } = source()
  hear(0, 1e9)
  cc.onPathChange!()
  t.equal(cc.rateBps(), LINE)
})

t.test('losses and timeouts bound window and rate; a careful flow begins with ten packets', async t => {
  const loss = lossOf({ newestSeq: 9, sndNxt: 20, inFlightBytes: 40_000, lostBytes: 1000 })
  const { cc } = source()
  t.equal(cc.windowBytes(), 2 ** 26)
  cc.onLoss(0, loss)
  t.equal(cc.windowBytes(), 0.7 * 41_000)
  t.equal(cc.rateBps(), (0.7 * 41_000 * 8e9) / 10_000)
  cc.onLoss(0, loss)
  t.equal(cc.windowBytes(), 0.7 * 41_000, 'once a round trip')
  cc.onLoss(0, { ...loss, newestSeq: 25, sndNxt: 30, byTimeout: true })
  t.equal(cc.windowBytes(), 1000)
  const off = source({ lossReaction: false })
  off.cc.onLoss(0, loss)
  t.equal(off.cc.windowBytes(), 2 ** 26)

  const careful = source({}, true)
  t.equal(careful.cc.windowBytes(), 10_000)
  careful.cc.onAck(0, sampleOf([], { ackedBytes: 10_000 }))
  t.equal(careful.cc.windowBytes(), 20_000, 'it doubles in a round trip')
  careful.cc.onLoss(0, lossOf({ newestSeq: 30, sndNxt: 40, inFlightBytes: 19_000, lostBytes: 1000 }))
  t.equal(careful.cc.windowBytes(), 14_000)
  const bounded = source({ maxWindow: 5000 })
  t.equal(bounded.cc.windowBytes(), 5000)
})
