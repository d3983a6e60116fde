/**
 * Telemetry that is believed, and telemetry that is not: hand-made traces of two hops at 10 Gbit/s, 1.25
 * bytes a nanosecond.
 */
import t from 'tap'
import { DOUBT_NAMES, PlausibilityCheck } from '../../lib/cc/plausibility.js'
import { Random } from '../../lib/sim/random.js'
import { HOST_ID, HopRecords } from '../../lib/wire/telemetry/hop-records.js'
import * as intShim from '../../lib/wire/telemetry/int-shim.js'
import { drawnSeed, fixedSeed, isReplay } from '../support/seeds.js'

const seed = drawnSeed(t)

const T_NS = 20_000
const RATE = 10e9
const TWO_48 = 2 ** 48

interface Hop {
  id: number
  port?: number
  rate?: number
  ts: number
  tx: number
}

function records(hops: Hop[], more: Partial<HopRecords> = {}): HopRecords {
  const made = new HopRecords()
  made.count = hops.length
  for (const [i, { id, port = 3, rate = RATE, ts, tx }] of hops.entries()) {
    made.switchId[i] = id
    made.port[i] = port
    made.rateBps[i] = rate
    made.tsNs[i] = ts
    made.txBytes[i] = tx
    made.tsModulusNs[i] = TWO_48
    made.txModulusBytes[i] = TWO_48
    made.pathId ^= id
  }
  return Object.assign(made, more)
}

/** Both hops at a time, busy all the while: 1.25 bytes a nanosecond, after stamps of two clocks of their own. */
function at(ns: number, change: Partial<Hop> = {}): HopRecords {
  const tx = Math.floor(1.25 * ns)
  return records([
    { id: 17, ts: 5_000_000 + ns, tx: 9_000 + tx, ...change },
    { id: 34, ts: 800 + ns, tx },
  ])
}

/** A switch, and after it the receiving host at a rate of its own. */
function withHost(ns: number, host: Partial<Hop> = {}): HopRecords {
  const tx = Math.floor(1.25 * ns)
  return records([
    { id: 17, ts: 5_000_000 + ns, tx: 9_000 + tx },
    { id: HOST_ID, port: 0, rate: 8e9, ts: 90_000 + ns, tx: 70_000 + Math.floor(0.9 * ns), ...host },
  ])
}

t.test(
  "the receiving host's own record may change its rate, as it measures that, and nothing else",
  async t => {
    const check = new PlausibilityCheck()
    for (const [i, rate] of [8e9, 8e9, 9e9, 2e9, 40e9, 3e9].entries()) {
      t.ok(check.check((i + 1) * 1000, withHost((i + 1) * 1000, { rate }), T_NS), `${rate}`)
    }
    const refused: [string, HopRecords][] = [
      ['backwards', withHost(6500, { ts: 80_000 })],
      // 100 Mbit more than in what the fastest rate takes a second for, in half a microsecond.
      ['txBytes', withHost(6500, { tx: 70_000 + 12_500_000 })],
      ['ahead', withHost(6500, { ts: 90_000 + 6500 + 1.1e9 })],
      ['link', withHost(6500, { port: 1 })],
      ['path', withHost(6500, { id: HOST_ID - 1 })],
    ]
    for (const [why, hops] of refused) {
      if (why === 'path') hops.pathId = 17 ^ HOST_ID
      const before = doubts(check)[why] ?? 0
      t.notOk(check.check(6500, hops, T_NS), why)
      t.equal(doubts(check)[why], before + 1, why)
    }
    // A switch claims to be a host, before the end of the path.
    const early = withHost(6600)
    early.switchId[0] = HOST_ID
    early.pathId = 0
    t.notOk(check.check(6600, early, T_NS))
    t.ok(check.check(7000, withHost(7000, { rate: 3e9 }), T_NS), 'the truth is believed as before')
  },
)

/** What was not believed, by name. */
function doubts(check: PlausibilityCheck): Record<string, number> {
  const found = [...check.counts].map((n, i) => [DOUBT_NAMES[i]!, n] as const)
  return Object.fromEntries(found.filter(([, n]) => n > 0))
}

/** Three genuine ones, the lie, and genuine ones again. */
function lie(hops: HopRecords, now = 3_500): { believed: boolean; doubts: Record<string, number> } {
  const check = new PlausibilityCheck()
  for (const ns of [1000, 2000, 3000]) t.ok(check.check(ns, at(ns), T_NS))
  const believed = check.check(now, hops, T_NS)
  for (const ns of [4000, 5000]) t.ok(check.check(ns, at(ns), T_NS), 'the truth is believed as before')
  return { believed, doubts: doubts(check) }
}

t.test('each lie is known for what it is', async t => {
  const one = (name: string) => ({ believed: false, doubts: { [name]: 1 } })
  t.same(lie(at(3500, { ts: 5_002_000 })), one('backwards'), 'a stamp before the last')
  t.same(lie(at(3500, { ts: 5_002_999 })), one('backwards'), 'by a nanosecond')
  t.same(lie(at(3500, { ts: 2_005_000_000 })), one('ahead'), 'two seconds in half a microsecond')
  // 500 ns are 625 bytes, and 4,200 are allowed for rounding.
  t.same(lie(at(3500, { tx: 9_000 + 3750 + 625 + 4200 + 10 })), one('txBytes'))
  t.same(lie(at(3500, { tx: 8_000 })), one('txBytes'), 'counters do not go back')
  t.same(lie(at(3500, { rate: 40e9 })), one('link'), 'another rate')
  t.same(lie(at(3500, { rate: 0 })), one('link'), 'no rate')
  t.same(lie(at(3500, { port: 4 })), one('link'), 'another port of the same switch')
  const third = records([
    { id: 17, ts: 5_003_500, tx: 13_375 },
    { id: 34, ts: 4300, tx: 4375 },
    { id: 9, ts: 4300, tx: 0 },
    { id: 9, ts: 4300, tx: 0 },
  ])
  t.same(lie(third), one('hops'), 'more hops with the same path id')
  t.same(lie(Object.assign(at(3500), { pathId: 5 })), one('path'), 'a path id that its hops do not make up')
  const elsewhere = records([
    { id: 17, ts: 5_003_500, tx: 13_375 },
    { id: 35, ts: 4300, tx: 4375 },
  ])
  t.same(lie(elsewhere), one('path'), 'another path that nothing bears out')
})

t.test('a link that carries less than its rate, or nothing, is believed', async t => {
  const check = new PlausibilityCheck()
  for (let n = 1; n < 100; n++) {
    const idle = records([{ id: 1, ts: 1000 * n * n, tx: 100 * n }])
    t.ok(check.check(1000 * n * n, idle, T_NS))
  }
  t.equal(check.implausible, 0)
})

t.test('what rounding may add to the bytes of compact records is believed', async t => {
  const check = new PlausibilityCheck()
  t.ok(check.check(1000, at(1000), T_NS))
  t.ok(check.check(1500, at(1500, { tx: 9_000 + 1250 + 625 + 4000 }), T_NS))
})

t.test('the same telemetry twice, as a network that doubles packets brings it, is no lie', async t => {
  const check = new PlausibilityCheck()
  for (const ns of [1000, 2000, 2000, 3000, 3000]) t.ok(check.check(ns, at(ns), T_NS))
  t.equal(check.implausible, 0)
})

t.test('another path is believed when a second telemetry bears it out', async t => {
  const check = new PlausibilityCheck()
  const other = (ns: number) => records([{ id: 99, ts: 7_000_000 + ns, tx: 1.25 * ns }])
  t.ok(check.check(1000, at(1000), T_NS))
  t.notOk(check.check(2000, other(2000), T_NS))
  t.ok(check.check(3000, other(3000), T_NS))
  t.ok(check.check(4000, other(4000), T_NS))
  t.equal(check.implausible, 0, 'nothing of that was a lie')
  // Two other paths in turn do not confirm each other.
  t.notOk(check.check(5000, at(5000), T_NS))
  t.notOk(check.check(6000, records([{ id: 98, ts: 6000, tx: 0 }]), T_NS))
  t.notOk(check.check(7000, at(7000), T_NS))
  t.ok(check.check(8000, other(8000), T_NS))
  t.same(doubts(check), { path: 3 })
})

t.test('what contradicts for longer than T, alone, is believed: a switch has started anew', async t => {
  const check = new PlausibilityCheck()
  for (const ns of [1000, 2000, 3000]) t.ok(check.check(ns, at(ns), T_NS))
  const anew = (ns: number) => at(ns, { ts: ns, tx: 0 })
  let ignored = 0
  let ns = 4000
  for (; !check.check(ns, anew(ns), T_NS); ns += 1000) ignored++
  t.ok(ns > 4000 + T_NS && ns <= 4000 + T_NS + 2000, `believed after ${ns - 4000} ns`)
  t.same(doubts(check), { backwards: ignored })
  t.ok(check.check(ns + 1000, anew(ns + 1000), T_NS))
  t.notOk(check.check(ns + 2000, at(ns + 2000, { ts: 5 }), T_NS), 'and is the truth from then on')
})

t.test('lies between the truth are never believed, however many', async t => {
  const random = new Random(seed)
  const check = new PlausibilityCheck()
  let lies = 0
  for (let n = 1; n <= 20_000; n++) {
    const ns = 1000 * n
    if (!check.check(ns, at(ns), T_NS)) t.fail(`the truth at ${ns} ns was not believed`)
    for (let k = random.u32() % 3; k > 0; k--, lies++) {
      const back = 1 + (random.u32() % 5_000_000)
      if (check.check(ns, at(ns, { ts: 5_000_000 + ns - back }), T_NS))
        t.fail(`a lie at ${ns} ns was believed`)
    }
  }
  t.equal(check.implausible, lies)
})

t.test('compact records wrap, at every rate, and no wrap is a lie', async t => {
  const random = new Random(fixedSeed(t, 1))
  const view = new DataView(new ArrayBuffer(64))
  for (const rate of [10e6, 40e6, 100e6, 1e9, 10e9, 25e9, 100e9, 400e9, 800e9]) {
    const check = new PlausibilityCheck()
    const hops = new HopRecords()
    let ns = 0
    let tx = 0
    let wraps = 0
    let last = 0
    for (let n = 0; n < 3000; n++) {
      // Sometimes nothing arrives for longer than the stamp takes to wrap. Otherwise the link is busy.
      const modulus = n === 0 ? 16e6 : hops.tsModulusNs[0]!
      const idle = random.u32() % 100 === 0
      const dt = idle ? modulus * 2.3 : 1 + (random.u32() % Math.floor(modulus / 50))
      ns += Math.floor(dt)
      tx += idle ? 0 : Math.floor((dt * rate) / 8e9)
      intShim.write(view, 0, intShim.FORMAT_COMPACT, 1, 0)
      intShim.stamp(view, 0, 64, {
        switchId: 5,
        egressPort: 1,
        rateBps: rate,
        startNs: ns,
        txBytes: tx,
        qlenBytes: 100,
      })
      intShim.read(view, 0, 64, hops)
      if (hops.tsNs[0]! < last) wraps++
      last = hops.tsNs[0]!
      // It arrives a little later, not always as much.
      if (!check.check(ns + (random.u32() % 1000), hops, T_NS))
        t.fail(`${rate} bit/s at ${ns} ns: ${JSON.stringify(doubts(check))}`)
    }
    if (!isReplay) t.ok(wraps > 10, `${rate} bit/s: ${wraps} wraps`)
    t.equal(check.implausible, 0)
    const stamp = hops.tsNs[0]!
    hops.tsNs[0] = stamp >= 1e5 ? stamp - 1e5 : stamp + hops.tsModulusNs[0]! - 1e5
    t.notOk(check.check(ns + 1000, hops, T_NS), 'and a stamp of before is one')
  }
})

t.test('only the busiest hop: each link is compared with what was last heard of it', async t => {
  const check = new PlausibilityCheck()
  const busiest = (ns: number, id: number, more: Partial<Hop> = {}) =>
    records([{ id, ts: id * 1e6 + ns, tx: Math.floor(1.25 * ns), ...more }], {
      busiestOnly: true,
      pathId: 51,
    })
  for (const [ns, id] of [
    [1000, 17],
    [2000, 34],
    [3000, 17],
    [4000, 34],
  ] as const) {
    t.ok(check.check(ns, busiest(ns, id), T_NS))
  }
  t.notOk(check.check(5000, busiest(5000, 17, { ts: 17e6 + 1500 }), T_NS))
  t.notOk(check.check(5000, busiest(5000, 34, { rate: 1e9 }), T_NS))
  t.notOk(check.check(5000, busiest(5000, 34, { tx: 100_000 }), T_NS))
  t.same(doubts(check), { backwards: 1, link: 1, txBytes: 1 })
  t.ok(check.check(6000, busiest(6000, 17), T_NS))
})

t.test('a guaranteed share may be exceeded, so far as the setting says', async t => {
  const strict = new PlausibilityCheck()
  const shares = new PlausibilityCheck(4)
  const share = (ns: number) => records([{ id: 1, rate: RATE / 4, ts: ns, tx: 1.25 * ns }])
  for (const check of [strict, shares]) check.check(1000, share(1000), T_NS)
  t.ok(shares.check(20_000, share(20_000), T_NS))
  t.notOk(strict.check(20_000, share(20_000), T_NS))
})

t.test('what a switch says by itself is compared with its link, and changes nothing', async t => {
  const check = new PlausibilityCheck()
  t.ok(check.check(1000, at(1000), T_NS))
  t.ok(check.checkDirect(records([{ id: 17, ts: 5_001_500, tx: 11_000 }])))
  t.notOk(check.checkDirect(records([{ id: 17, rate: 1e9, ts: 5_001_500, tx: 11_000 }])))
  t.notOk(check.checkDirect(records([{ id: 17, ts: 5_001_500, tx: 11_000 }], { pathId: 18 })))
  t.same(doubts(check), { link: 1, path: 1 })
  t.ok(check.check(1400, at(1400), T_NS))
})
