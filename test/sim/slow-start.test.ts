/** The first slow start of CUBIC fills a path and drops little: in virtual time, where queues are one bandwidth-delay product. */
import t from 'tap'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { variants } from '../support/long.js'
import { MTU, write } from './bottleneck.js'

const RATE_BPS = 100e6

for (const rttMs of variants([10, 7, 20, 50], 1)) {
  const bdpBytes = (RATE_BPS * rttMs) / 8000
  t.test(`${rttMs} ms: what is dropped is at most a third of a bandwidth-delay product`, async t => {
    const path = { rateBps: RATE_BPS, rttNs: rttMs * MILLISECOND, bufferBytes: bdpBytes }
    const config = {
      cc: { name: 'cubic', options: {} },
      start: 'careful' as const,
      ackEveryPackets: 16,
      retransmitTimeoutLeastNs: 200 * MILLISECOND,
    }
    // A second and a half: of CUBIC's cycles none is over by then.
    const { droppedPackets, timeouts, goodputBps, error } = write(path, config, 18e6, 1)
    t.equal(error, null)
    t.comment(`${droppedPackets} packets dropped, ${(goodputBps / 1e6).toFixed(1)} Mbit/s`)
    t.ok(droppedPackets * MTU <= bdpBytes / 3)
    t.equal(timeouts, 0)
    t.ok(goodputBps > 0.75 * RATE_BPS)
  })
}
