/**
 * HPCC++ against lines 1-27 of the draft's listing (draft-miao-rtgwg-hpccplus, section 4), by traces whose numbers
 * are worked out by hand and by a second implementation that follows the listing line by line.
 *
 * All traces: line rate 100 Gbit/s = 12.5 B/ns and T = 8,000 ns, so W_init = B x T = 100,000 B; eta 0.95, so the rule
 * of thumb for N = 100 flows gives W_ai = 100,000 x 0.05 / 100 = 50 B.
 */
import t, { type Test } from 'tap'
import { Hpcc } from '../../lib/cc/hpcc/hpcc.js'
import type { OptionValues } from '../../lib/cc/options.js'
import { Random } from '../../lib/sim/random.js'
import { fixedSeeds } from '../support/seeds.js'
import { type Hop, lossOf, sampleOf } from './samples.js'

const LINE_RATE = 100e9
const T = 8000
const W_INIT = 100_000
const W_AI = 50
const CONTEXT = { lineRateBps: LINE_RATE, baseRttNs: T, mtuBytes: 1000 }

/** One hop at 100 Gbit/s whose counters advance as given. */
class Link {
  tsNs = 1_000_000
  txBytes = 5_000_000
  qlenBytes = 0
  rateBps = LINE_RATE
  tsModulusNs = 2 ** 48
  txModulusBytes = 2 ** 48

  /** `dt` ns later. The hop has sent for the share `load` of them, and its queue is `qlenBytes`. */
  on(dt: number, load: number, qlenBytes: number): Hop {
    this.tsNs = (this.tsNs + dt) % this.tsModulusNs
    this.txBytes = (this.txBytes + ((dt * this.rateBps) / 8e9) * load) % this.txModulusBytes
    this.qlenBytes = qlenBytes
    return this.now()
  }

  now(): Hop {
    const { tsNs, txBytes, qlenBytes, rateBps, tsModulusNs, txModulusBytes } = this
    return { tsNs, txBytes, qlenBytes, rateBps, tsModulusNs, txModulusBytes }
  }
}

interface Variables {
  w: number
  wc: number
  u: number
  rate: number
  incStage: number
}

function variables(cc: Hpcc): Variables {
  const into = new Float64Array(8)
  cc.observe(into)
  return { w: into[0]!, wc: into[1]!, u: into[2]!, rate: into[3]!, incStage: into[4]! }
}

function near(t: Test, got: number, wanted: number, what: string): void {
  const most = 1e-9 * Math.max(1, Math.abs(wanted))
  t.ok(Math.abs(got - wanted) <= most, `${what}: ${got} is ${wanted}`)
}

/** A controller and its only link; every `ack` comes a whole RTT after the last, so that Wc follows W. */
function oneLink(options: OptionValues = {}) {
  const cc = new Hpcc(CONTEXT, options)
  const link = new Link()
  let seq = 0
  let now = 0
  const ack = (dt: number, load: number, qlenBytes: number) => {
    now += dt
    seq += 1000
    cc.onAck(now, sampleOf([link.on(dt, load, qlenBytes)], { seq, sndNxt: seq + 1 }))
    return variables(cc)
  }
  return { cc, link, ack }
}

t.test('a flow starts at line rate with W_init = line rate x T', async t => {
  const cc = new Hpcc(CONTEXT)
  t.same(variables(cc), { w: W_INIT, wc: W_INIT, u: 1, rate: LINE_RATE, incStage: 0 })
  t.equal(cc.windowBytes(), W_INIT)
  t.equal(cc.rateBps(), LINE_RATE)
  t.same(cc.observed, ['windowBytes', 'referenceWindowBytes', 'utilization', 'rateBps', 'incStage'])
})

t.test('the first telemetry is stored only: there is nothing to take differences from', async t => {
  const { cc, ack } = oneLink()
  t.same(ack(1000, 1, 90_000), { w: W_INIT, wc: W_INIT, u: 1, rate: LINE_RATE, incStage: 0 })
  ack(8000, 1, 90_000)
  t.not(cc.windowBytes(), W_INIT, 'the second moves the window')
})

t.test('an acknowledgement without telemetry changes nothing', async t => {
  const { cc, ack } = oneLink()
  ack(1000, 1, 0)
  const before = variables(cc)
  cc.onAck(5000, sampleOf([], { seq: 5000, sndNxt: 6000 }))
  t.same(variables(cc), before)
})

t.test('multiplicative decrease: lines 12-15', async t => {
  const { ack } = oneLink()
  ack(0, 0, 90_000)
  // tau = T, so U = u = 90,000 / (12.5 x 8,000) + 1 = 1.9; W = 100,000 / (1.9 / 0.95) + 50.
  const { w, wc, u, rate, incStage } = ack(8000, 1, 90_000)
  near(t, u, 1.9, 'U')
  near(t, w, 50_050, 'W')
  near(t, wc, 50_050, 'Wc')
  near(t, rate, 50_050_000_000, 'R = W / T')
  t.equal(incStage, 0)
})

t.test('additive increase up to maxStage, then one multiplicative increase: lines 12-19', async t => {
  const { ack } = oneLink()
  ack(0, 0, 90_000)
  ack(8000, 1, 90_000) // Wc = 50,050
  // The queue is gone: u = 0 / ... + 0.5, and the smaller of the two qlens counts.
  for (const [stage, w] of [50_100, 50_150, 50_200, 50_250, 50_300].entries()) {
    const seen = ack(8000, 0.5, 0)
    near(t, seen.u, 0.5, 'U')
    near(t, seen.w, w, `W after increase ${stage + 1}`)
    near(t, seen.wc, w, 'Wc')
    t.equal(seen.incStage, stage + 1)
  }
  // incStage has reached 5: W = 50,300 / (0.5 / 0.95) + 50 = 95,570 + 50.
  const seen = ack(8000, 0.5, 0)
  near(t, seen.w, 95_620, 'W')
  near(t, seen.wc, 95_620, 'Wc')
  t.equal(seen.incStage, 0)
})

t.test('maxStage 0 makes every step multiplicative', async t => {
  const { ack } = oneLink({ maxStage: 0 })
  ack(0, 0, 90_000)
  ack(8000, 1, 90_000) // 50,050
  near(t, ack(8000, 0.76, 0).w, 62_612.5, '50,050 / (0.76 / 0.95) + 50')
})

t.test('U = eta counts as congestion (line 12: >=)', async t => {
  const { ack } = oneLink({ eta: 0.5, wAi: 0 })
  ack(0, 0, 0)
  ack(8000, 1, 0) // U = 1: W = 100,000 / 2
  const seen = ack(8000, 0.5, 0)
  near(t, seen.w, 50_000, 'U / eta = 1: W stays')
  t.equal(seen.incStage, 0, 'and no additive increase is counted')
})

t.test('Wc moves once per RTT; within it W is computed from the same Wc (lines 22-26)', async t => {
  const cc = new Hpcc(CONTEXT)
  const link = new Link()
  // Packets 0-99 are out when the first acknowledgement comes: lastUpdateSeq = 100.
  cc.onAck(0, sampleOf([link.on(0, 0, 90_000)], { seq: 0, sndNxt: 100 }))
  cc.onAck(8000, sampleOf([link.on(8000, 1, 90_000)], { seq: 50, sndNxt: 150 }))
  let seen = variables(cc)
  near(t, seen.w, 50_050, 'W reacts at once')
  t.equal(seen.wc, W_INIT, 'Wc does not')
  cc.onAck(16_000, sampleOf([link.on(8000, 1, 90_000)], { seq: 99, sndNxt: 160 }))
  seen = variables(cc)
  near(t, seen.w, 50_050, 'no overreaction: the same U from the same Wc gives the same W')
  t.equal(seen.wc, W_INIT, 'packet 99 left before lastUpdateSeq')
  cc.onAck(24_000, sampleOf([link.on(8000, 1, 90_000)], { seq: 100, sndNxt: 170 }))
  seen = variables(cc)
  near(t, seen.wc, 50_050, 'packet 100 is the first that was sent since')
  // Now lastUpdateSeq = 170.
  cc.onAck(32_000, sampleOf([link.on(8000, 1, 90_000)], { seq: 169, sndNxt: 200 }))
  seen = variables(cc)
  near(t, seen.w, 25_075, '50,050 / 2 + 50')
  near(t, seen.wc, 50_050, 'Wc waits')
  cc.onAck(40_000, sampleOf([link.on(8000, 1, 90_000)], { seq: 170, sndNxt: 210 }))
  near(t, variables(cc).wc, 25_075, 'and follows with packet 170')
})

t.test('incStage counts rounds, not acknowledgements', async t => {
  const cc = new Hpcc(CONTEXT)
  const link = new Link()
  cc.onAck(0, sampleOf([link.on(0, 0, 90_000)], { seq: 0, sndNxt: 1 }))
  cc.onAck(8000, sampleOf([link.on(8000, 1, 90_000)], { seq: 1, sndNxt: 100 })) // Wc = 50,050
  cc.onAck(16_000, sampleOf([link.on(8000, 0.5, 0)], { seq: 100, sndNxt: 200 })) // Wc = 50,100, stage 1
  for (let n = 0; n < 20; n++) {
    cc.onAck(24_000 + n * 8000, sampleOf([link.on(8000, 0.5, 0)], { seq: 101 + n, sndNxt: 300 }))
    const seen = variables(cc)
    t.equal(seen.incStage, 1)
    near(t, seen.w, 50_150, 'W = Wc + W_ai, however many acknowledgements say so')
  }
})

t.test(
  'W_c waits until all that was measured was sent with it: an echo for several packets, and a probe',
  async t => {
    for (const probe of [false, true]) {
      const cc = new Hpcc(CONTEXT)
      const link = new Link()
      const hear = (now: number, seq: number, sndNxt: number) => {
        const sample = sampleOf([link.on(8000, 1, 90_000)], {
          seq,
          sndNxt,
          rttNs: probe ? 0 : 8000,
          probed: probe,
        })
        sample.hops.accumulated = !probe
        if (probe) cc.onTelemetry(now, sample)
        else cc.onAck(now, sample)
        return variables(cc).wc
      }
      hear(0, 0, 1)
      const first = hear(8000, 16, 100)
      t.ok(first < W_INIT, 'packets 1 to 16 were sent with W_init')
      near(t, hear(16_000, 120, 150), first, 'packets 17 to 99 were sent before the update')
      t.not(hear(24_000, 130, 200), first, 'packets from 121 on were sent after it')
    }
  },
)

t.test(
  'probes: the mean of two queues less the headroom of eta, two W_ai, and nothing from packets of the old window',
  async t => {
    const cc = new Hpcc(CONTEXT, { maxStage: 0 })
    const link = new Link()
    const hear = (queue: number, seq: number, sndNxt: number) => {
      cc.onTelemetry(0, sampleOf([link.on(T, 1, queue)], { seq, sndNxt, probed: true }))
      return variables(cc)
    }
    hear(0, 0, 1)
    // u = (0 + 90,000) / 2 / 100,000 - 0.05 + 1 = 1.4. Line 5's minimum would be 0.
    const first = hear(90_000, 16, 100)
    near(t, first.u, 1.4, 'U')
    near(t, first.w, (W_INIT * 0.95) / 1.4 + 2 * W_AI, 'W: an update by probes stands for two round trips')
    near(t, first.wc, first.w, 'W_c')
    near(
      t,
      hear(0, 120, 150).w,
      first.w,
      'packets 17 to 99 were sent with W_init: the queue that drains raises nothing',
    )
    // u = 4,000 / 100,000 + 1: less than the headroom is waiting, so the minimum counts.
    hear(4000, 160, 200)
    const last = hear(6000, 210, 220)
    near(t, last.u, 1.04, 'U')
  },
)

t.test('the average weighs a sample by tau / T (line 9)', async t => {
  const { ack } = oneLink()
  ack(0, 0, 10_000)
  // u = 10,000 / 100,000 + 1 = 1.1, tau / T = 1/8: U = 7/8 x 1 + 1/8 x 1.1 = 1.0125.
  const first = ack(1000, 1, 10_000)
  near(t, first.u, 1.0125, 'U')
  near(t, first.w, 100_000 / (1.0125 / 0.95) + 50, 'W')
  // u = 0.5, weight 1/4: 0.75 x 1.0125 + 0.25 x 0.5 = 0.884375.
  near(t, ack(2000, 0.5, 0).u, 0.884375, 'U')
})

t.test('tau is bounded by T: an older sample weighs everything, not more (line 8)', async t => {
  const { ack } = oneLink()
  ack(0, 0, 0)
  near(t, ack(80_000, 0.7, 0).u, 0.7, 'U = u after ten RTTs')
})

t.test('of the two queue lengths the smaller counts (line 5)', async t => {
  const { ack } = oneLink()
  ack(0, 0, 0)
  near(t, ack(8000, 1, 50_000).u, 1, 'it was empty before')
  near(t, ack(8000, 1, 80_000).u, 1.5, '50,000 of 80,000')
  near(t, ack(8000, 1, 20_000).u, 1.2, '20,000 of 80,000')
})

t.test('the busiest hop decides, and brings its own tau (lines 6-7)', async t => {
  const cc = new Hpcc(CONTEXT)
  const links = [new Link(), new Link(), new Link()]
  links[1]!.rateBps = 50e9 // half as fast: 6.25 B/ns
  const ack = (now: number, moves: readonly [number, number, number][]) =>
    cc.onAck(
      now,
      sampleOf(
        links.map((link, i) => link.on(...moves[i]!)),
        { seq: now, sndNxt: now + 1 },
      ),
    )
  const still: [number, number, number] = [0, 0, 30_000]
  ack(1, [still, still, still])
  // u of the hops: 30,000/100,000 + 0.2 = 0.5; 30,000/50,000 + 0.6 = 1.2; 0.3 + 0.8 = 1.1.
  // The second has tau 2,000 of T 8,000: U = 0.75 x 1 + 0.25 x 1.2 = 1.05.
  ack(4000, [
    [4000, 0.2, 30_000],
    [2000, 0.6, 30_000],
    [6000, 0.8, 30_000],
  ])
  near(t, variables(cc).u, 1.05, 'U')
  // Now the third: 0.3 + 0.4 = 0.7 with tau 4,000, above 0.3 + 0.1 and 0.6 + 0: U = 0.5 x 1.05 + 0.5 x 0.7.
  ack(8000, [
    [1000, 0.1, 30_000],
    [1000, 0, 30_000],
    [4000, 0.4, 30_000],
  ])
  near(t, variables(cc).u, 0.875, 'U')
})

t.test('time stamps and counters wrap, each at its own modulus', async t => {
  for (const [tsModulusNs, txModulusBytes] of [
    [2 ** 48, 2 ** 48],
    [2 ** 24, 512 * 2 ** 20],
    [2 ** 24 * 32, 128 * 2 ** 20],
  ] as const) {
    const cc = new Hpcc(CONTEXT)
    const link = new Link()
    Object.assign(link, { tsModulusNs, txModulusBytes })
    link.tsNs = tsModulusNs - 3000
    link.txBytes = txModulusBytes - 10_000
    cc.onAck(0, sampleOf([link.now()], { seq: 0, sndNxt: 1 }))
    const hop = link.on(8000, 0.8, 0)
    t.equal(hop.tsNs, 5000, 'the stamp has wrapped')
    t.equal(hop.txBytes, 70_000, 'the counter has wrapped: 80,000 bytes in 8,000 ns')
    cc.onAck(8000, sampleOf([hop], { seq: 1, sndNxt: 2 }))
    near(t, variables(cc).u, 0.8, 'U')
  }
})

t.test('another path: its telemetry is stored, the window stays', async t => {
  for (const change of ['path id', 'hops']) {
    const cc = new Hpcc(CONTEXT)
    const link = new Link()
    const other = new Link()
    other.tsNs = 77
    other.txBytes = 77
    const ack = (now: number, hops: Hop[], pathId: number) =>
      cc.onAck(now, sampleOf(hops, { seq: now, sndNxt: now + 1, pathId }))
    ack(0, [link.on(0, 0, 0)], 5)
    ack(8000, [link.on(8000, 0.8, 0)], 5)
    const before = variables(cc)
    const second = () => (change === 'hops' ? [other.now(), other.now()] : [other.now()])
    const pathId = change === 'hops' ? 5 : 9
    other.on(0, 0, 90_000)
    ack(16_000, second(), pathId)
    t.same(variables(cc), before, `${change}: no differences are taken between different links`)
    other.on(8000, 1, 90_000)
    ack(24_000, second(), pathId)
    near(t, variables(cc).u, 1.9, `${change}: the next ones are`)
  }
})

t.test('telemetry that was overtaken is ignored', async t => {
  const { cc, link, ack } = oneLink()
  ack(0, 0, 0)
  const old = link.on(1000, 1, 90_000)
  ack(3000, 0.8, 0)
  const before = variables(cc)
  cc.onAck(4500, sampleOf([old], { seq: 1, sndNxt: 9000 }))
  t.same(variables(cc), before, 'older than what is known')
  cc.onAck(4600, sampleOf([link.now()], { seq: 2, sndNxt: 9000 }))
  t.same(variables(cc), before, 'the same once more: no time has passed on the link')
  // Differences are still taken from the newest: 0.8 over 4,000 ns.
  const u = before.u
  near(t, ack(4000, 0.8, 0).u, 0.5 * u + 0.5 * 0.8, 'U')
})

t.test('an idle time in which stamps may have wrapped leaves nothing to take differences from', async t => {
  // The compact format at 100 Gbit/s: the stamp wraps after 16.8 ms.
  for (const idle of [9e6, 12e6, 17e6, 40e6]) {
    const { cc, link, ack } = oneLink()
    Object.assign(link, { tsModulusNs: 2 ** 24, txModulusBytes: 2 ** 29 })
    ack(0, 0, 0)
    ack(8000, 0.8, 0)
    const before = variables(cc)
    ack(idle, 0.9, 0)
    t.same(variables(cc), before, `after ${idle / 1e6} ms the first telemetry is stored only`)
    near(t, ack(8000, 0.7, 0).u, 0.7, 'U from the next one on')
  }
})

t.test('a stamp that was damaged on the way does not deafen the controller', async t => {
  // The ICRC does not cover a shim that hops write to, so a flipped bit of a stamp remains undetected.
  const { cc, link, ack } = oneLink()
  ack(0, 0, 0)
  ack(8000, 0.8, 0)
  const hop = link.on(1000, 0.8, 0)
  cc.onAck(9000, sampleOf([{ ...hop, tsNs: hop.tsNs + 2 ** 46 }], { seq: 2001, sndNxt: 2002 }))
  for (let n = 0; n < 20; n++) ack(1000, 0.7, 0)
  ack(8000, 0.7, 0)
  near(t, ack(8000, 0.7, 0).u, 0.7, 'U')
})

t.test('a hop that states no rate is no measure', async t => {
  const { cc, link, ack } = oneLink()
  ack(0, 0, 0)
  ack(8000, 0.8, 50_000)
  const before = variables(cc)
  for (let n = 0; n < 3; n++) {
    const hop = { ...link.on(8000, 1, 50_000), rateBps: 0 }
    cc.onAck(16_000 + n * 8000, sampleOf([hop], { seq: 3000 + n, sndNxt: 3001 + n }))
    t.same(variables(cc), before)
  }
  ack(8000, 0.7, 0)
  near(t, ack(8000, 0.7, 0).u, 0.7, 'U from the sound ones')
})

t.test('bounds: never above W_init, never below minRate x T', async t => {
  const high = oneLink()
  high.ack(0, 0, 0)
  for (let n = 0; n < 20; n++) high.ack(8000, 0.001, 0)
  t.equal(high.cc.windowBytes(), W_INIT)
  t.equal(high.cc.rateBps(), LINE_RATE)
  const low = oneLink({ wAi: 0 })
  low.ack(0, 0, 1e9)
  for (let n = 0; n < 20; n++) low.ack(8000, 1, 1e9)
  t.equal(low.cc.windowBytes(), 100, 'a thousandth of the line rate x T')
  t.equal(low.cc.rateBps(), 1e8)
  const told = oneLink({ wAi: 0, minRate: 1e9 })
  told.ack(0, 0, 1e9)
  for (let n = 0; n < 20; n++) told.ack(8000, 1, 1e9)
  t.equal(told.cc.windowBytes(), 1000, '1 Gbit/s x 8 us')
})

t.test('W_ai by the rule of thumb W_init (1 - eta) / N, or as configured (section 4.3)', async t => {
  const increase = (options: OptionValues) => {
    const { ack } = oneLink(options)
    ack(0, 0, 90_000)
    const before = ack(8000, 1, 90_000).wc
    return ack(8000, 0.1, 0).wc - before
  }
  near(t, increase({}), W_AI, 'N = 100')
  near(t, increase({ flows: 10 }), 500, 'N = 10')
  near(t, increase({ eta: 0.9, flows: 20 }), 500, '100,000 x 0.1 / 20')
  near(t, increase({ wAi: 78 }), 78, 'as told')
  near(t, increase({ wAi: 78, flows: 10 }), 78, 'as told, whatever N')
})

t.test('T has changed: the rate stays; before the first window the flow begins anew', async t => {
  const { cc, ack } = oneLink({ minRate: 1e9 })
  cc.onBaseRtt(0, 2 * T)
  near(t, cc.windowBytes(), 2 * W_INIT, 'line rate x T')
  for (let n = 0; n < 4; n++) ack(T, 1, 400_000)
  const windowBytes = cc.windowBytes()
  const rateBps = cc.rateBps()
  t.ok(windowBytes < 2 * W_INIT)
  cc.onBaseRtt(0, T)
  near(t, cc.windowBytes(), windowBytes / 2, 'W')
  near(t, cc.rateBps(), rateBps, 'R')
  cc.onBaseRtt(0, T / 1000)
  t.ok(cc.windowBytes() <= W_INIT / 1000)
})

t.test('losses and timeouts leave the window to the telemetry', async t => {
  const { cc, ack } = oneLink()
  ack(0, 0, 90_000)
  ack(8000, 1, 90_000)
  const before = variables(cc)
  cc.onLoss(9000, lossOf({ lostBytes: 10_000, newestSeq: 4, sndNxt: 5 }))
  cc.onLoss(9000, lossOf({ lostBytes: 10_000, newestSeq: 4, sndNxt: 5, byTimeout: true }))
  t.same(variables(cc), before)
})

// ---- The second implementation: the listing, line by line, in plain objects.

interface Reference {
  w: number
  wc: number
  u: number
  incStage: number
}

/** Lines 1-27 with bounds; `acks` hold unwrapped stamps and counters, so no modulus is needed here. */
function* listing(
  acks: readonly { seq: number; sndNxt: number; hops: readonly Hop[] }[],
  eta: number,
  maxStage: number,
  wAi: number,
): Generator<Reference> {
  let w = W_INIT
  let wc = W_INIT
  let bigU = 1
  let incStage = 0
  let lastUpdateSeq = -1
  let known: readonly Hop[] | null = null
  const bounded = (value: number) => Math.min(W_INIT, Math.max(W_INIT / 1000, value))
  for (const { seq, sndNxt, hops } of acks) {
    if (known === null) {
      known = hops
      lastUpdateSeq = sndNxt
      yield { w, wc, u: bigU, incStage }
      continue
    }
    const before: readonly Hop[] = known
    const perLink = hops.map((hop, i) => {
      const tau = hop.tsNs - before[i]!.tsNs
      const bytesPerNs = hop.rateBps / 8 / 1e9
      const txRate = (hop.txBytes - before[i]!.txBytes) / tau
      const qlen = Math.min(hop.qlenBytes, before[i]!.qlenBytes)
      return { tau, u: qlen / (bytesPerNs * T) + txRate / bytesPerNs }
    })
    const busiest = perLink.reduce((best, link) => (link.u > best.u ? link : best))
    const part = Math.min(busiest.tau, T) / T
    bigU = (1 - part) * bigU + part * busiest.u
    const updateWc = seq + 1 > lastUpdateSeq
    if (bigU >= eta || incStage >= maxStage) {
      w = bounded(wc / (bigU / eta) + wAi)
      if (updateWc) incStage = 0
    } else {
      w = bounded(wc + wAi)
      if (updateWc) incStage++
    }
    if (updateWc) {
      wc = w
      lastUpdateSeq = sndNxt
    }
    known = hops
    yield { w, wc, u: bigU, incStage }
  }
}

t.test('random traces: as the listing says, step by step', async t => {
  const seeds = fixedSeeds([1, 2, 3, 4, 5, 6, 7, 8])
  for (const seed of seeds) {
    const random = new Random(seed)
    const eta = [0.95, 0.98, 0.8][random.below(3)]!
    const maxStage = random.below(7)
    const wAi = random.below(200)
    const hopCount = 1 + random.below(5)
    const compact = random.below(2) === 1
    const rates = Array.from({ length: hopCount }, () => [100e9, 50e9, 25e9][random.below(3)]!)
    const tsNs = rates.map(() => random.below(1e9))
    const txBytes = rates.map(() => random.below(1e9))
    let seq = 0
    let sndNxt = 50
    const acks = Array.from({ length: 1000 }, () => {
      seq += 1 + random.below(3)
      sndNxt = Math.max(sndNxt, seq) + random.below(4)
      const hops = rates.map((rateBps, i) => {
        const dt = 1 + random.below(random.below(10) === 0 ? 30_000 : 900)
        tsNs[i] = tsNs[i]! + dt
        txBytes[i] = txBytes[i]! + Math.floor((random.next() * dt * rateBps) / 8e9)
        const qlenBytes = random.below(2) === 0 ? 0 : random.below(150_000)
        return { rateBps, tsNs: tsNs[i]!, txBytes: txBytes[i]!, qlenBytes }
      })
      return { seq, sndNxt, hops }
    })
    const tsModulusNs = compact ? 2 ** 24 : 2 ** 48
    const txModulusBytes = compact ? 2 ** 29 : 2 ** 48
    const cc = new Hpcc(CONTEXT, { eta, maxStage, wAi })
    let now = 0
    let n = 0
    let worst = 0
    for (const wanted of listing(acks, eta, maxStage, wAi)) {
      const { seq: ackSeq, sndNxt: next, hops } = acks[n++]!
      const wrapped = hops.map(hop => ({
        ...hop,
        tsNs: hop.tsNs % tsModulusNs,
        txBytes: hop.txBytes % txModulusBytes,
        tsModulusNs,
        txModulusBytes,
      }))
      now += 500
      cc.onAck(now, sampleOf(wrapped, { seq: ackSeq, sndNxt: next }))
      const got = variables(cc)
      for (const name of ['w', 'wc', 'u', 'incStage'] as const) {
        worst = Math.max(worst, Math.abs(got[name] - wanted[name]) / Math.max(1, Math.abs(wanted[name])))
      }
      if (worst > 1e-9) break
    }
    t.equal(n, acks.length, `seed ${seed}: ${hopCount} hops, ${compact ? 'compact' : 'wide'}`)
    t.ok(worst <= 1e-9, `SEED=${seed}: largest relative difference ${worst}`)
  }
})
