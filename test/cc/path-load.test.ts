/** What is known of a path, against figures worked out by hand (lines 3 to 9 of the listing of draft-miao-rtgwg-hpccplus). */
import t, { type Test } from 'tap'
import { PathLoad } from '../../lib/cc/hpcc/path-load.js'
import { HopRecords } from '../../lib/wire/telemetry/hop-records.js'

const WRAP = 2 ** 48
const T_NS = 10_000

interface Hop {
  id: number
  gbps: number
  ts: number
  tx: number
  queue: number
}

function telemetry(hops: Hop[], ratioOnly = false): HopRecords {
  const records = new HopRecords()
  records.count = hops.length
  records.ratioOnly = ratioOnly
  for (const [i, { id, gbps, ts, tx, queue }] of hops.entries()) {
    records.pathId ^= id
    records.switchId[i] = id
    records.port[i] = 7
    records.rateBps[i] = gbps * 1e9
    records.tsNs[i] = ts % WRAP
    records.txBytes[i] = tx % WRAP
    records.qlenBytes[i] = queue
    records.tsModulusNs[i] = WRAP
    records.txModulusBytes[i] = WRAP
  }
  return records
}

/** Two links, of 100 and 40 Gbit/s (12.5 and 5 bytes a nanosecond), 20 us apart; both counters wrap in between. */
const FROM = WRAP - 5000
const first = (id = 1) =>
  telemetry([
    { id, gbps: 100, ts: FROM, tx: FROM, queue: 9000 },
    { id: 9, gbps: 40, ts: FROM + 10, tx: FROM, queue: 500 },
  ])
// 100,000 of 250,000 bytes: 0.4, and a queue of min(9000, 25,000) of 125,000 bytes: 0.072.
// 60,000 of 100,000 bytes: 0.6, and a queue of min(500, 4000) of 50,000 bytes: 0.01.
const second = (id = 1) =>
  telemetry([
    { id, gbps: 100, ts: FROM + 20_000, tx: FROM + 100_000, queue: 25_000 },
    { id: 9, gbps: 40, ts: FROM + 20_010, tx: FROM + 60_000, queue: 4000 },
  ])

function measured(id = 1): PathLoad {
  const load = new PathLoad()
  load.measure(1000, first(id), T_NS)
  load.measure(21_000, second(id), T_NS)
  return load
}

const near = (t: Test, value: number, expected: number) =>
  t.ok(Math.abs(value - expected) < 1e-9, `${value}, and ${expected} is expected`)

t.test('U of the busiest link, once two telemetries have come', async t => {
  const load = new PathLoad()
  t.notOk(load.known)
  load.measure(1000, first(), T_NS)
  t.notOk(load.known)
  load.measure(21_000, second(), T_NS)
  near(t, load.utilization, 0.61)
  load.forget()
  t.notOk(load.known)
})

t.test('another path by the same port, or stamps that may have wrapped, begin anew', async t => {
  const load = measured()
  load.measure(41_000, first(2), T_NS)
  t.notOk(load.known)
  const old = new PathLoad()
  old.measure(0, first(), T_NS)
  old.measure(WRAP * 0.6, second(), T_NS)
  t.notOk(old.known)
})

t.test('how others use a path: links that the flow is on count without its share of their bytes', async t => {
  const own = measured(1)
  const other = measured(2)
  // The first link sends 40 Gbit/s, the second 24; the flow 12. Of the second link's 0.61 half is its own.
  near(t, own.usedByOthers(own, 12e9), Math.max(0.472 * (1 - 12 / 40), 0.61 * (1 - 12 / 24)))
  // The flow has a part in the other path on the last link alone.
  near(t, other.usedByOthers(own, 12e9), Math.max(0.472, 0.61 / 2))
  near(t, own.usedByOthers(own, 50e9), 0)
  near(t, other.usedByOthers(own, 0), 0.61)
})

t.test('links that tell only ratios count as all its own', async t => {
  const load = new PathLoad()
  for (const [at, hops] of [
    [1000, first()],
    [21_000, second()],
  ] as const) {
    hops.ratioOnly = true
    load.measure(at, hops, T_NS)
  }
  near(t, load.usedByOthers(load, 1e9), 0)
})

t.test('the same path is that of the same links', async t => {
  t.ok(measured().isSamePathAs(measured()))
  t.notOk(measured(1).isSamePathAs(measured(2)))
  t.notOk(new PathLoad().isSamePathAs(new PathLoad()))
})
