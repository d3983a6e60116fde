/** The first slow start of CUBIC fills a path and drops little: in virtual time, where queues are one bandwidth-delay product. */
import t from 'tap'
import { MILLISECOND } from '../../lib/time/nanos.js'
import { variants } from '../support/long.js'
import { fixedSeeds } from '../support/seeds.js'
import { DAEMON } from './beside.js'
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
    // A second and a half, before the end of any of CUBIC's cycles.
    const { droppedPackets, timeouts, goodputBps, error } = write(path, config, 18e6, 1)
    t.equal(error, null)
    t.comment(`${droppedPackets} packets dropped, ${(goodputBps / 1e6).toFixed(1)} Mbit/s`)
    t.ok(droppedPackets * MTU <= bdpBytes / 3)
    t.equal(timeouts, 0)
    t.ok(goodputBps > 0.75 * RATE_BPS)
  })
}

t.test('20 ms, and answers that hosts return up to 20 ms late: the window goes on growing', async t => {
  const path = {
    rateBps: RATE_BPS,
    rttNs: 20 * MILLISECOND,
    bufferBytes: 250_000,
    jitterNs: 20 * MILLISECOND,
  }
  const shares = fixedSeeds([1, 2, 3]).map(seed => {
    const { goodputBps, error, timeouts } = write(path, DAEMON, 40e6, seed)
    t.equal(error, null)
    t.equal(timeouts, 0)
    return goodputBps / RATE_BPS
  })
  const mean = shares.reduce((sum, share) => sum + share) / shares.length
  t.comment(`${shares.map(share => share.toFixed(2))} of the line`)
  t.ok(mean > 0.5, `${shares} of the line`)
})
