/** Hops without telemetry: what the round trip shows of them. */
import t from 'tap'
import { HiddenHops } from '../../lib/cc/hpcc/hidden-hops.js'
import { Hpcc } from '../../lib/cc/hpcc/hpcc.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import { sampleOf } from './samples.js'

const T = 10_000
const ETA = 0.95

/** A hop of 8 Gbit/s, a byte a nanosecond, with this queue. */
function told(qlenBytes: number): HopRecords {
  const hops = new HopRecords()
  hops.count = 1
  hops.overflow = true
  hops.rateBps[0] = 8e9
  hops.qlenBytes[0] = qlenBytes
  return hops
}

t.test('u of the hidden hops is the round trip in excess of T and of the reported queues', async t => {
  const hidden = new HiddenHops()
  t.equal(hidden.utilization(told(0), T, ETA), ETA, 'nothing measured yet')
  hidden.onRoundTrip(0, T + 4000, T)
  t.equal(hidden.utilization(told(0), T, ETA), 1.4)
  t.equal(hidden.utilization(told(3000), T, ETA), 1.1)
  t.equal(hidden.utilization(told(4000), T, ETA), ETA, 'all of it is told')
  t.equal(hidden.utilization(told(3600), T, ETA), ETA, 'noise')
})

t.test('what round trips differ by is noise, a lasting queue is not', async t => {
  const hidden = new HiddenHops()
  const u = () => hidden.utilization(told(0), T, ETA)
  for (let i = 0; i < 50; i++) {
    hidden.onRoundTrip(2 * i * T, (i % 2 === 0 ? 1.2 : 2) * T, T)
    if (i > 10 && i % 2 === 0) t.equal(u(), ETA, 'hosts that take turns make each round trip longer than T')
  }
  for (let i = 50; i < 100; i++) hidden.onRoundTrip(2 * i * T, 1.2 * T, T)
  t.equal(u(), 1.2)
})

t.test('the least round trip of one to two T counts', async t => {
  const hidden = new HiddenHops()
  const u = () => hidden.utilization(told(0), T, ETA)
  hidden.onRoundTrip(0, T, T)
  hidden.onRoundTrip(5000, 3 * T, T)
  t.equal(u(), ETA, 'a single long one may be the hosts’')
  hidden.onRoundTrip(10_000, 3 * T, T)
  t.equal(u(), ETA)
  hidden.onRoundTrip(20_000, 3 * T, T)
  t.equal(u(), 3, 'they have been long for a whole T')
  hidden.onRoundTrip(50_000, 2.5 * T, T)
  t.equal(u(), 2.5, 'after a silence what was before does not count')
  hidden.forget()
  t.equal(u(), ETA)
})

t.test('slow hosts after hidden hops hold no flow below two packets', async t => {
  const cc = new Hpcc({ lineRateBps: 200e6, baseRttNs: 1e6, mtuBytes: 1024 })
  for (let i = 0; i < 200; i++) {
    const now = i * 3e6
    const hop = { rateBps: 200e6, tsNs: now, txBytes: i * 1024, qlenBytes: 0 }
    const sample = sampleOf([hop], { seq: i, sndNxt: i + 1, rttNs: 3e6 })
    sample.hops.overflow = true
    cc.onAck(now, sample)
  }
  const packets = cc.windowBytes() / 1024
  t.ok(packets > 0.5 && packets < 4, `${packets} packets`)
})
