import t from 'tap'
import { RoundTrips } from '../../lib/qp/recovery/round-trips.js'
import { ackTimeoutNs, RequesterTimers } from '../../lib/qp/requester/timers.js'
import { NEVER } from '../../lib/time/nanos.js'

t.test('4.096 us * 2^n, 0 = never', async t => {
  t.equal(ackTimeoutNs(0), NEVER)
  t.equal(ackTimeoutNs(1), 8192)
  t.equal(ackTimeoutNs(14), 67_108_864)
  t.equal(ackTimeoutNs(31), 8_796_093_022_208)
})

t.test('the transport timer runs from the oldest request on, and anew with progress', async t => {
  const timers = new RequesterTimers(new RoundTrips(), NEVER)
  timers.setExponent(1)
  t.equal(timers.next(), NEVER)
  timers.onSent(100)
  timers.onSent(5000)
  t.equal(timers.next(), 8292)
  t.notOk(timers.takeAck(8291))
  timers.onProgress(6000, true)
  t.equal(timers.next(), 14_192)
  t.ok(timers.takeAck(14_192))
  t.notOk(timers.takeAck(14_192), 'once')
  timers.onProgress(20_000, false)
  t.equal(timers.next(), NEVER)
})

t.test('the RNR timer takes its place', async t => {
  const timers = new RequesterTimers(new RoundTrips(), NEVER)
  timers.setExponent(1)
  timers.onSent(0)
  timers.startRnr(10, 640_000)
  t.ok(timers.waitsForReceiver)
  t.equal(timers.next(), 640_010)
  timers.takeRnr(640_009, true)
  t.ok(timers.waitsForReceiver)
  timers.takeRnr(640_010, false)
  t.notOk(timers.waitsForReceiver)
  t.equal(timers.next(), NEVER)
  timers.startRnr(700_000, 640_000)
  timers.takeRnr(1_340_000, true)
  t.equal(timers.next(), 1_340_000 + 8192, 'answers that are awaited have their time from then on')
})
