/**
 * Paths with a large bandwidth-delay product: windows, logs and buffers are large enough, and a receive
 * buffer that is small in comparison does not leave the path empty.
 */
import t from 'tap'
import type { NicConfig } from '../../lib/nic/config.js'
import { MILLISECOND, SECOND } from '../../lib/time/nanos.js'
import { MTU, type PathOptions, write } from './bottleneck.js'

/** As in a daemon. */
const DAEMON: Partial<NicConfig> = {
  packetsInFlightMax: 32_768,
  reorderPackets: 65_536,
  retransmitTimeoutLeastNs: 20 * MILLISECOND,
  queueDepth: 512,
  ackEveryPackets: 16,
  start: 'careful',
  baseRttNs: undefined,
  baseRttWindowNs: 10 * SECOND,
}

/** Goodput after the first `skipped` bytes, as a share of the line's payload rate. */
function share(path: PathOptions, config: Partial<NicConfig>, skipped: number, bytes: number): number {
  const early = write(path, config, skipped, 1)
  const late = write(path, config, skipped + bytes, 1)
  const seconds = late.seconds - early.seconds
  return ((late.doneBytes - early.doneBytes) * 8) / seconds / path.rateBps
}

t.test('1 Gbit/s over 100 ms: one connection has 12,500 packets under way', async t => {
  const path: PathOptions = { rateBps: 1e9, rttNs: 100 * MILLISECOND, bufferBytes: 8e6 }
  const config = { ...DAEMON, cc: { name: 'fixed-window', options: { window: 16e6 } } }
  t.ok(share(path, config, 20e6, 20e6) > 0.9)
})

t.test('the first of so many is lost: all the others are kept, and only it is retransmitted', async t => {
  const path: PathOptions = {
    rateBps: 1e9,
    rttNs: 100 * MILLISECOND,
    bufferBytes: 8e6,
    outage: [130 * MILLISECOND, 130.01 * MILLISECOND],
  }
  const config = { ...DAEMON, cc: { name: 'fixed-window', options: { window: 16e6 } } }
  const outcome = write(path, config, 40e6, 1)
  t.ok(outcome.droppedBytes > 0)
  t.equal(outcome.timeouts, 0)
  t.ok(outcome.retransmittedBytes <= 1.2 * outcome.droppedBytes + 8 * MTU)
})

t.test('CUBIC fills 100 Mbit/s over 200 ms to a host that can keep a tenth of what is under way', async t => {
  const path: PathOptions = { rateBps: 100e6, rttNs: 200 * MILLISECOND, bufferBytes: 1e6 }
  const config = { ...DAEMON, receiveBudgetBytes: 250_000, cc: { name: 'cubic', options: {} } }
  const got = share(path, config, 40e6, 20e6)
  t.comment(`${got.toFixed(3)} of the line`)
  t.ok(got > 0.85, `${got} of the line; the budget alone would be a tenth`)
})
