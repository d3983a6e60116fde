import t from 'tap'
import type { AckSample } from '../../lib/cc/congestion-control.js'
import { ResponseFlight } from '../../lib/nic/feedback/response-flight.js'
import { Transmissions } from '../../lib/nic/feedback/transmissions.js'
import type { QueuePair } from '../../lib/qp/queue-pair.js'
import { sampleOf } from '../cc/samples.js'

const PACKETS = 4096
const BYTES = 1000

t.test('responses under way are counted by transmissions, however many there are', async t => {
  const qp = { transmissions: 0 }
  const sent = new Transmissions(qp as unknown as QueuePair, PACKETS)
  const flight = new ResponseFlight(PACKETS)
  const send = (psn: number, now: number): boolean => {
    qp.transmissions++
    return flight.onSent(now, psn, BYTES, sent, null, 100)
  }
  const arrive = (psn: number, now: number): AckSample => {
    const sample = sampleOf([])
    sample.heardNs = now
    sent.fill(sample, true, psn)
    flight.onArrived(now, sample)
    return sample
  }
  // Requests get numbers as well.
  qp.transmissions = 100_000
  for (let psn = 0; psn < 3000; psn++) t.notOk(send(psn, psn))
  t.equal(flight.inFlightBytes, 3000 * BYTES)
  for (const [psn, acked] of [
    [0, 1],
    [299, 299],
    [2000, 1701],
  ] as const) {
    t.match(arrive(psn, 5000), {
      ackedBytes: acked * BYTES,
      advanced: true,
      inFlightBytes: (2999 - psn) * BYTES,
    })
  }
  t.match(arrive(1500, 5000), { ackedBytes: 0, advanced: false }, 'an older one tells nothing')
  t.ok(send(1000, 6000), 'asked for again')
  t.equal(flight.inFlightBytes, 1000 * BYTES, 'it is under way again')
  t.match(
    arrive(1000, 6500),
    { ackedBytes: 1000 * BYTES, inFlightBytes: 0 },
    'and all before it has arrived, or been lost',
  )
})

t.test('what is asked for sooner than a round trip after it left was not lost', async t => {
  const losses: number[] = []
  const cc = {
    onLoss: (_now: number, { newestSeq }: { newestSeq: number }) => losses.push(newestSeq),
    onSent: () => {},
  }
  const qp = { transmissions: 0 }
  const sent = new Transmissions(qp as unknown as QueuePair, PACKETS)
  const flight = new ResponseFlight(PACKETS)
  for (const now of [0, 50, 150]) {
    qp.transmissions++
    flight.onSent(now, 7, BYTES, sent, cc as never, 100)
  }
  t.same(losses, [1])
})
