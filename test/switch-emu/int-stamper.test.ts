import t from 'tap'
import * as udp from '../../lib/wire/net/udp.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { buildFrame } from './build-frame.js'
import { drain, HOST, seeded, starSwitch } from './helpers.js'

interface Arrival {
  atNs: number
  bytes: number
  startNs: number
  txBytes: number
  qlenBytes: number
}

/**
 * What a FIFO line at `rateBps` does, in exact fractions: an independent calculation of start, sent and
 * waiting bytes.
 */
function model(arrivals: Arrival[], rateBps: number): void {
  const rate = BigInt(rateBps)
  let end = 0n // in units of 1 / rate ns
  let sent = 0
  for (const arrival of arrivals) {
    const freeNs = Number((end + rate - 1n) / rate)
    if (arrival.atNs > freeNs) end = BigInt(arrival.atNs) * rate
    arrival.startNs = Math.max(arrival.atNs, freeNs)
    end += BigInt(arrival.bytes) * 8n * 1_000_000_000n
    arrival.txBytes = sent
    sent += arrival.bytes
  }
  for (const [i, arrival] of arrivals.entries()) {
    arrival.qlenBytes = 0
    for (const later of arrivals.slice(i + 1))
      if (later.atNs < arrival.startNs) arrival.qlenBytes += later.bytes
  }
}

t.test('hop values are those of an independent model, for every frame of a random load', async t => {
  const random = seeded(t, 17)
  for (const rateBps of [100e9, 400e9, 2_500_000_000, 999_999_000]) {
    const { node, pool } = starSwitch({ id: 0xbeef, ports: [{ rateBps }, { rateBps }, { rateBps }] })
    const meanGapNs = (2_000 * 8e9) / rateBps
    const arrivals: Arrival[] = []
    for (let at = 0, i = 0; i < 400; i++) {
      at += 1 + random.below(2 * meanGapNs)
      arrivals.push({ atNs: at, bytes: 200 + random.below(3_900), startNs: 0, txBytes: 0, qlenBytes: 0 })
    }
    model(arrivals, rateBps)
    const hops = new HopRecords()
    const got: Partial<Arrival>[] = []
    const departed = (frame: ReturnType<typeof buildFrame>) => {
      t.equal(intShim.read(frame.view, frame.shim, frame.length, hops), 0)
      t.same([hops.count, hops.switchId[0], hops.port[0], hops.rateBps[0]], [1, 0xbeef, 2, rateBps])
      got.push({ startNs: hops.tsNs[0]!, txBytes: hops.txBytes[0]!, qlenBytes: hops.qlenBytes[0]! })
      pool.give(frame)
    }
    for (const [i, arrival] of arrivals.entries()) {
      drain(node, arrival.atNs, departed)
      const int = { format: intShim.FORMAT_WIDE, slots: 2 }
      node.onFrame(
        arrival.atNs,
        i % 2,
        buildFrame(pool, { from: HOST(0), to: HOST(2), wireBytes: arrival.bytes, int }),
      )
      drain(node, arrival.atNs, departed)
    }
    drain(node, Number.MAX_SAFE_INTEGER, departed)
    t.same(
      got,
      arrivals.map(({ startNs, txBytes, qlenBytes }) => ({ startNs, txBytes, qlenBytes })),
    )
    t.ok(Math.max(...arrivals.map(a => a.qlenBytes)) > 10_000, 'a queue stood')
    t.equal(pool.inUse, 0)
  }
})

t.test('echoes and frames without a shim pass untouched, full shims overflow', async t => {
  const { node, pool } = starSwitch({ ports: [{ rateBps: 1e9 }, { rateBps: 1e9 }] })
  const through = (flags: number, slots: number) => {
    const int = { format: intShim.FORMAT_WIDE, slots, flags }
    node.onFrame(0, 0, buildFrame(pool, { from: HOST(0), to: HOST(1), int }))
    let result = { hops: -1, flags: -1 }
    drain(node, Number.MAX_SAFE_INTEGER, frame => {
      result = {
        hops: intShim.hopCount(frame.view, frame.shim),
        flags: intShim.flags(frame.view, frame.shim),
      }
      pool.give(frame)
    })
    return result
  }
  t.same(through(0, 1), { hops: 1, flags: 0 })
  t.same(through(intShim.FLAG_ECHO, 1), { hops: 0, flags: intShim.FLAG_ECHO })
  t.same(through(0, 0), { hops: 1, flags: intShim.FLAG_OVERFLOW })
})

t.test('a reverse frame reports the egress of the port that it came in by', async t => {
  const { node, pool } = starSwitch({ id: 3, ports: [{ rateBps: 1e9 }, { rateBps: 10e9 }] })
  const hops = new HopRecords()
  const give = (frame: ReturnType<typeof buildFrame>) => pool.give(frame)
  // Data leaves by port 1: one frame is being sent, two of 2,000 B wait.
  for (let i = 0; i < 3; i++)
    node.onFrame(0, 0, buildFrame(pool, { from: HOST(0), to: HOST(1), wireBytes: 2000 }))
  drain(node, 0, give)
  // Its acknowledgement comes in by port 1 and leaves by port 0.
  const int = { format: intShim.FORMAT_WIDE, slots: 1, flags: intShim.FLAG_REVERSE }
  node.onFrame(500, 1, buildFrame(pool, { from: HOST(1), to: HOST(0), int }))
  drain(node, 500, frame => {
    intShim.read(frame.view, frame.shim, frame.length, hops)
    pool.give(frame)
  })
  // At 10 Gbit/s 625 of the 2,000 bytes of the first frame are on the line after 500 ns.
  t.same(
    [hops.count, hops.port[0], hops.rateBps[0], hops.tsNs[0], hops.txBytes[0], hops.qlenBytes[0]],
    [1, 1, 10e9, 500, 625, 4000],
  )
  drain(node, Number.MAX_SAFE_INTEGER, give)
  t.equal(pool.inUse, 0)
})

t.test('with a table it reports that port as it was at the last update; an unread table rests', async t => {
  const features = { intTable: { intervalNs: 1000 } }
  const { node, pool } = starSwitch({ id: 3, ports: [{ rateBps: 10e9 }, { rateBps: 10e9 }], features })
  const hops = new HopRecords()
  const give = (frame: ReturnType<typeof buildFrame>) => pool.give(frame)
  const got: number[][] = []
  const drive = (until: number, each: typeof give) => {
    for (let now = node.nextTimeout(); now <= until; now = node.nextTimeout()) {
      node.onTimeout(now)
      for (let frame = node.pollTransmit(now); frame !== null; frame = node.pollTransmit(now)) each(frame)
    }
  }
  const int = { format: intShim.FORMAT_WIDE, slots: 1, flags: intShim.FLAG_REVERSE }
  t.equal(node.nextTimeout(), Number.POSITIVE_INFINITY, 'nobody has read it')
  // 2,000 B for port 1 each 1,600 ns, which port 1 sends without a pause; an acknowledgement from it each 700 ns from 300 ns on.
  const events = [
    ...Array.from({ length: 40 }, (_, i) => ({ at: 1600 * i, data: true })),
    ...Array.from({ length: 80 }, (_, i) => ({ at: 300 + 700 * i, data: false })),
  ].sort((a, b) => a.at - b.at)
  for (const { at, data } of events) {
    drive(at, give)
    if (data) node.onFrame(at, 0, buildFrame(pool, { from: HOST(0), to: HOST(1), wireBytes: 2000 }))
    else node.onFrame(at, 1, buildFrame(pool, { from: HOST(1), to: HOST(0), int }))
    drive(at, frame => {
      if (!data) {
        intShim.read(frame.view, frame.shim, frame.length, hops)
        got.push([at, hops.tsNs[0]!, hops.txBytes[0]!, hops.port[0]!])
      }
      pool.give(frame)
    })
  }
  t.equal(got.length, 80)
  for (const [at, tsNs, txBytes, port] of got as [number, number, number, number][]) {
    // Updates are 1,000 ns apart, from the first acknowledgement on; 10 Gbit/s are 1.25 bytes a ns.
    const updated = 300 + Math.floor((at - 300) / 1000) * 1000
    t.same([tsNs, txBytes, port], [updated, 1.25 * updated, 1], `at ${at} ns`)
  }
  drive(Number.MAX_SAFE_INTEGER, give)
  t.equal(node.nextTimeout(), Number.POSITIVE_INFINITY, 'it rests')
  t.equal(pool.inUse, 0)
})

t.test("a checksum that a host's kernel wrote is not left to contradict the stamp", async t => {
  const { node, pool } = starSwitch({ ports: [{ rateBps: 1e9 }, { rateBps: 1e9 }] })
  const int = { format: intShim.FORMAT_WIDE, slots: 1 }
  const frame = buildFrame(pool, { from: HOST(0), to: HOST(1), int })
  udp.setChecksum(frame.view, frame.l4, 0x1234)
  node.onFrame(0, 0, frame)
  drain(node, Number.MAX_SAFE_INTEGER, sent => {
    t.equal(intShim.hopCount(sent.view, sent.shim), 1)
    t.equal(udp.checksum(sent.view, sent.l4), 0, 'none (RFC 768)')
    pool.give(sent)
  })
  t.equal(pool.inUse, 0)
})
