/** Telemetry of the switches paces READ responses. NOTIFY packets return it. */

import { long, usual } from '../support/long.js'
import { MIB, READS, type Reader, readAll } from './read-all.js'

usual('HPCC++ holds the serving side to the link, a fixed window does not', async t => {
  const fixed = readAll('fixed-window')
  const hpcc = readAll('hpcc')
  t.equal(fixed.done, READS)
  t.equal(hpcc.done, READS)
  // 8,192 packets of 1 KiB may be outstanding: at ten times the link's rate nearly all of them queue.
  t.ok(fixed.peakQueue > 6 * MIB, `${fixed.peakQueue} bytes`)
  // The first round trip at line rate is 30 us x 10 Gbit/s = 37.5 KB; a few of those, not megabytes.
  t.ok(hpcc.peakQueue < 0.2 * MIB, `${hpcc.peakQueue} bytes`)
  t.ok(hpcc.serverRateBps < 1.5e9, `${hpcc.serverRateBps} bit/s`)
  t.equal(hpcc.inUse, 0)
  t.equal(fixed.inUse, 0)
})

usual('FNCC paces it by what the answers to READ responses collect', async t => {
  const fncc = readAll('fncc')
  t.equal(fncc.done, READS)
  t.ok(fncc.peakQueue < 0.4 * MIB, `${fncc.peakQueue} bytes`)
  t.ok(fncc.serverRateBps < 1.5e9, `${fncc.serverRateBps} bit/s`)
  t.ok(fncc.goodputBps > 0.8e9, `${fncc.goodputBps} bit/s`)
  t.equal(fncc.inUse, 0)
})

usual(
  'without telemetry of switches CUBIC paces the serving side: notifications acknowledge, what is asked for again was lost',
  async t => {
    // 1 Gbit/s and 2.04 ms: 255,000 bytes, and a queue of as many.
    const links = { delayNs: 500_000, queueBytes: 255_000, silent: true }
    const cubic = readAll('cubic', links)
    t.equal(cubic.done, READS)
    const goodputBps = (READS * MIB * 8) / cubic.seconds
    t.ok(goodputBps > 0.5e9, `${goodputBps} bit/s, slow start included`)
    // Slow start exceeds the capacity of link and queue, 498 packets, by at most as much. At line rate 15 of
    // 16 are dropped.
    t.ok(cubic.drops < 1100, `${cubic.drops} of 10,240 responses were dropped`)
    t.equal(cubic.inUse, 0)
  },
)

long('CUBIC has answers to READ responses whichever packets collect telemetry', async t => {
  const cases: Record<string, Reader> = {
    'probes collect': { telemetry: { collect: 'probe' } },
    'one packet in many collects': { telemetry: { everyPackets: 10_000 } },
    'a packet collects now and then': { telemetry: { everyBytes: 2 ** 30 } },
  }
  for (const [name, options] of Object.entries(cases)) {
    const fast = readAll('cubic', { delayNs: 500_000, queueBytes: 255_000, silent: true }, options)
    t.equal(fast.done, READS)
    t.ok(fast.goodputBps > 0.5e9, `${name}: ${fast.goodputBps} bit/s`)
    t.ok(fast.drops < 1100, `${name}: ${fast.drops} of 10,240 responses were dropped`)
  }
  const auto = readAll(
    'auto',
    { delayNs: 500_000, queueBytes: 255_000, silent: true },
    { telemetry: { collect: 'probe' } },
  )
  t.ok(auto.goodputBps > 0.5e9, `auto: ${auto.goodputBps} bit/s`)
})

long(
  'to a plain RoCEv2 peer, which answers no READ response, they leave at the pace of the first window until READs acknowledge them; what it requests again was lost',
  async t => {
    const links = { delayNs: 500_000, queueBytes: 255_000, silent: true }
    const fast = readAll('cubic', links, { plain: true })
    t.equal(fast.done, READS)
    // Twice ten packets in 2.01 ms.
    t.ok(fast.goodputBps > 70e6 && fast.goodputBps < 85e6, `${fast.goodputBps} bit/s`)
    t.equal(fast.drops, 0)
    for (const readBytes of [READS * MIB, MIB, MIB / 16]) {
      const slow = readAll('cubic', { ...links, rateBps: 50e6 }, { plain: true, readBytes })
      t.ok(slow.goodputBps > 30e6, `READs of ${readBytes}: ${slow.goodputBps} bit/s at 50 Mbit/s`)
      t.ok(slow.drops < 1000, `READs of ${readBytes}: ${slow.drops} of 10,240 responses were dropped`)
      t.equal(slow.inUse, 0)
    }
  },
)

usual(
  'to a plain RoCEv2 peer the pace grows with what its READs show to have arrived, and not beyond what arrives',
  async t => {
    // Queues of one bandwidth-delay product. At the pace of the first window 10 MiB take 11 and 54 s: 7.7 and 1.5 Mbit/s.
    for (const [rttMs, leastBps] of [
      [20, 40e6],
      [100, 15e6],
    ] as const) {
      const links = { delayNs: (rttMs * 1e6) / 4, queueBytes: 12_500 * rttMs, silent: true, rateBps: 100e6 }
      const { done, drops, goodputBps, inUse } = readAll('cubic', links, { plain: true, readBytes: MIB / 16 })
      t.equal(done, READS * 16)
      t.ok(goodputBps > leastBps, `${rttMs} ms: ${goodputBps} bit/s`)
      t.ok(drops < 500, `${rttMs} ms: ${drops} of 10,240 responses were dropped`)
      t.equal(inUse, 0)
    }
  },
)

usual(
  'receiver-based: a flow that begins carefully hears of a careful window from the receiver too',
  async t => {
    // The server's link takes 2.5 MB in a round trip, the path a tenth of that and a queue of as much.
    const links = { delayNs: 500_000, queueBytes: 255_000, silent: false }
    for (const silent of [false, true]) {
      const { done, drops, goodputBps } = readAll('rx-hpcc', { ...links, silent }, { start: 'careful' })
      t.equal(done, READS)
      t.ok(drops < 1100, `${drops} of 20,480 responses were dropped`)
      // Without telemetry nobody computes another window than ten packets in 2.01 ms: 40 Mbit/s.
      t.ok(goodputBps > (silent ? 30e6 : 500e6), `${goodputBps} bit/s`)
    }
  },
)
