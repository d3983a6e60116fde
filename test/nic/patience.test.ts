/** How long arrivals may wait, so that several are taken in at once: a part of the shortest round trip, as each end measures it. */
import t from 'tap'
import { Patience } from '../../lib/nic/flow/patience.js'
import { Receiver } from '../../lib/nic/flow/receiver.js'
import { TelemetryEcho } from '../../lib/nic/telemetry/telemetry-echo.js'
import { MICROSECOND, MILLISECOND, NEVER } from '../../lib/time/nanos.js'

const SHARE = 1 / 16

t.test('the shortest round trip of the flows that had something to do in the last 10 to 20 ms', async t => {
  const patience = new Patience()
  t.equal(patience.ns(0), 0, 'no flow had')
  patience.note(64 * MILLISECOND)
  t.equal(patience.ns(1), SHARE * 64 * MILLISECOND)
  patience.note(20 * MICROSECOND)
  t.equal(patience.ns(2), SHARE * 20 * MICROSECOND, 'a near peer does not wait for a far one')
  for (const ms of [11, 22]) {
    patience.note(64 * MILLISECOND)
    patience.ns(ms * MILLISECOND)
  }
  t.equal(patience.ns(23 * MILLISECOND), SHARE * 64 * MILLISECOND, 'the near one has fallen silent')
})

t.test('a flow without a round trip: nothing waits', async t => {
  const patience = new Patience()
  patience.note(64 * MILLISECOND)
  patience.note(0)
  t.equal(patience.ns(1), 0)
})

t.test(
  'the receiving end takes its round trip from probes, of which the peer has one under way at a time',
  async t => {
    const receiver = new Receiver(new TelemetryEcho(false, null), false, 16)
    t.equal(receiver.roundTripNs, NEVER)
    const row = (first: number, ...atMs: number[]) => {
      for (const [n, ms] of atMs.entries()) receiver.onProbe(ms * MILLISECOND, first + n)
    }
    row(100, 1, 14, 17)
    t.equal(receiver.roundTripNs, NEVER, 'two round trips do not say enough')
    receiver.onProbe(31 * MILLISECOND, 103)
    t.equal(receiver.roundTripNs, 10 * MILLISECOND, 'the second was late, not the third early')
    row(200, 100, 101)
    t.equal(receiver.roundTripNs, 10 * MILLISECOND)
    row(300, 200, 206, 212, 218, 224)
    t.equal(receiver.roundTripNs, 6 * MILLISECOND)
  },
)
