/**
 * Receiver-based HPCC++ (lines 28-34 of the listing), and other options of the controllers, by traces that
 * were computed by hand. Line rate 100 Gbit/s = 12.5 B/ns, T = 8,000 ns: W_init = 100,000 B, W_ai = 50 B for
 * N = 100, eta = 0.95.
 */
import t, { type Test } from 'tap'
import { SentWith, WindowDue } from '../../lib/cc/congestion-control.js'
import { Hpcc } from '../../lib/cc/hpcc/hpcc.js'
import { RxHpcc } from '../../lib/cc/rx-hpcc/rx-hpcc.js'
import { RxHpccReceiver } from '../../lib/cc/rx-hpcc/rx-hpcc-receiver.js'
import { RxListing } from '../../lib/cc/rx-hpcc/rx-listing.js'
import { type Hop, sampleOf } from './samples.js'

const T = 8000
const CONTEXT = { lineRateBps: 100e9, baseRttNs: T, mtuBytes: 1000 }

function near(t: Test, got: number, wanted: number, what: string): void {
  t.ok(Math.abs(got - wanted) <= 1e-9 * Math.max(1, Math.abs(wanted)), `${what}: ${got} is ${wanted}`)
}

/** Hops of a link at 100 Gbit/s with these loads (1 = 12.5 B/ns) over `dt` each. */
function* link(): Generator<Hop, never, { dt: number; load: number; queue?: number }> {
  let next = yield { rateBps: 100e9, tsNs: 1_000_000, txBytes: 0, qlenBytes: 0 }
  let tsNs = 1_000_000
  let txBytes = 0
  for (;;) {
    tsNs += next.dt
    txBytes += next.dt * 12.5 * next.load
    next = yield { rateBps: 100e9, tsNs, txBytes, qlenBytes: next.queue ?? 0 }
  }
}

function windows(cc: Hpcc): { w: number; u: number } {
  const into = new Float64Array(8)
  cc.observe(into)
  return { w: into[0]!, u: into[2]! }
}

t.test('lines 28-34: W is due when T has passed, and only then; U runs on between', async t => {
  const receiver = new RxListing(CONTEXT, { wAi: 0, countFlows: false })
  const hops = link()
  const int = (dt: number, load: number) =>
    sampleOf([(dt === 0 ? hops.next() : hops.next({ dt, load })).value]).hops
  t.notOk(receiver.onTelemetry(1000, int(0, 0), 1), 'the first telemetry is only stored')
  // U = (1 - 1/8) x 1 + 1/8 x 2 = 1.125; line 29 holds at once, for lastUpdateTime is long ago.
  t.ok(receiver.onTelemetry(2000, int(1000, 2), 1))
  near(t, receiver.windowBytes(), 100_000 / (1.125 / 0.95), 'Wc = W')
  // Half a T later: U = 0.5 x 1.125 + 0.5 x 0.5 = 0.8125 < eta, so W = Wc + W_ai = Wc; not due.
  t.notOk(receiver.onTelemetry(6000, int(4000, 0.5), 1))
  near(t, receiver.windowBytes(), 100_000 / (1.125 / 0.95), 'additive, W_ai 0')
  t.notOk(receiver.onTelemetry(10_000, int(4000, 0.5), 1), 'T is not over before it is exceeded (line 29: >)')
  // U = 0.5 x 0.65625 + 0.5 x 2 = 1.328125: W = Wc / (U / eta), due.
  t.ok(receiver.onTelemetry(14_000, int(4000, 2), 1))
  near(t, receiver.windowBytes(), 100_000 / (1.125 / 0.95) / (1.328125 / 0.95), 'from Wc')
})

/** A receiver that gets rounds of one link, and the time. */
function receiving(options: Record<string, number>) {
  const receiver = new RxHpccReceiver(CONTEXT, { countFlows: false, ...options })
  const hops = link()
  let now = 0
  receiver.onTelemetry(now, sampleOf([hops.next().value]).hops, 0, false, SentWith.LAST)
  /** A packet arrives `dt` later. For 9,000 ns, more than T, U is the link's load alone (line 9). */
  const packet = (
    load: number,
    { sentWith = SentWith.LAST as number, acknowledging = false, dt = 9000, queue = 0 } = {},
  ) => {
    now += dt
    const { hops: int } = sampleOf([hops.next({ dt, load, queue }).value])
    return receiver.onTelemetry(now, int, 0, acknowledging, sentWith)
  }
  return { receiver, packet }
}

const { NOTHING, NEW, AGAIN } = WindowDue
const EARLIER = { sentWith: SentWith.EARLIER }
const UNKNOWN = { sentWith: SentWith.UNKNOWN }

t.test('to the letter, Wc is the W sent last: W falls with each T', async t => {
  const receiver = new RxListing(CONTEXT, { wAi: 0, minRate: 1, countFlows: false })
  const hops = link()
  receiver.onTelemetry(0, sampleOf([hops.next().value]).hops, 0)
  for (const n of [1, 2, 3]) {
    receiver.onTelemetry(n * 9000, sampleOf([hops.next({ dt: 9000, load: 2 }).value]).hops, 0)
    near(t, receiver.windowBytes(), 100_000 * (0.95 / 2) ** n, `after ${n}`)
  }
})

t.test(
  'by default W follows from packets that were sent with the W sent last, measured for two T',
  async t => {
    const { receiver, packet } = receiving({ wAi: 0, minRate: 1 })
    t.same([packet(2), packet(2)], [NOTHING, NOTHING], 'the first, and one 9,000 ns later')
    t.equal(packet(2), NEW, '18,000 ns after the first')
    near(t, receiver.windowBytes(), 47_500, '100,000 x 0.95 / 2')
    t.equal(packet(2, EARLIER), NOTHING, 'it tells of the window before')
    t.same([packet(1.8), packet(1.8)], [NOTHING, NOTHING])
    t.equal(packet(1.8, { ...EARLIER, dt: 100 }), NOTHING, 'one that was overtaken')
    t.equal(packet(1.8, { acknowledging: true }), NEW)
    near(t, receiver.windowBytes(), 47_500 * (0.95 / 1.8), 'Wc is what it was sent with')
  },
)

t.test('a lost W is repeated although the queue that the sender makes grows all the time', async t => {
  const { packet } = receiving({ wAi: 0, minRate: 1 })
  packet(2)
  packet(2)
  t.equal(packet(2), NEW)
  // The load is twice the link's rate: a packet that arrives after a time has waited for half of it. The W
  // counts as missing when time / 2 is above 2 T = 16,000 ns.
  const due = [1, 2, 3, 4].map(n => packet(1, { ...EARLIER, queue: (n * 9000 * 12.5) / 2 }))
  t.same(due, [NOTHING, NOTHING, NOTHING, AGAIN])
})

t.test('a W that does not come into force is repeated, less and less often', async t => {
  const { receiver, packet } = receiving({ wAi: 0, minRate: 1 })
  packet(2)
  packet(2)
  t.equal(packet(2), NEW)
  const again = Array.from({ length: 60 }, (_, i) => (packet(4, EARLIER) === AGAIN ? i + 1 : 0)).filter(
    n => n,
  )
  // Rounds of 9,000 ns: more than 2 x 8,000 after the W, then than 4 x 8,000 after that, and so on.
  t.same(again, [2, 6, 14, 29, 58])
  near(t, receiver.windowBytes(), 47_500, 'the same W')
  packet(1.9)
  packet(1.9)
  t.equal(packet(1.9, { acknowledging: true }), NEW)
  near(t, receiver.windowBytes(), 47_500 / 2, 'it has come')
})

t.test('a sender that does not tell: W is in force T and the queueing delay after it was sent', async t => {
  const { receiver, packet } = receiving({ wAi: 0, minRate: 1 })
  t.same([packet(2, UNKNOWN), packet(2, UNKNOWN), packet(2, UNKNOWN)], [NOTHING, NOTHING, NEW])
  near(t, receiver.windowBytes(), 47_500, 'with the window of the beginning')
  const queued = (dt: number) => packet(1.5, { ...UNKNOWN, acknowledging: true, queue: 50_000, dt })
  // 50,000 B take 4,000 ns: 8,000 + 4,000, and then two T.
  t.equal(queued(11_900), NOTHING)
  t.equal(queued(16_200), NOTHING, 'the first that counts')
  t.equal(queued(15_900), NOTHING)
  t.equal(queued(200), NEW)
  t.ok(receiver.windowBytes() < 47_500 / 2, '50,000 B are half of B x T, so U is 2')
})

t.test('W is sent when it is news: at once when it is great, else with the next acknowledgement', async t => {
  const { receiver, packet } = receiving({ wAi: 1000, rateChange: 0.05 })
  packet(2)
  packet(2)
  t.equal(packet(2), NEW, 'more than half less')
  near(t, receiver.windowBytes(), 48_500, '100,000 x 0.95 / 2 + W_ai')
  packet(0.95)
  packet(0.95)
  const acknowledging = { acknowledging: true }
  t.equal(packet(0.95, acknowledging), NOTHING, 'W = 49,500: 2.1 % more')
  t.equal(packet(0.95, acknowledging), NOTHING, 'Wc = 48,500 + 1,000: W = 50,500, 4.1 % more')
  near(t, receiver.windowBytes(), 48_500, 'what the sender has')
  t.equal(packet(0.95), NOTHING, 'Wc = 48,500 + 2,000: W = 51,500, 6.2 % more, waits')
  t.equal(packet(0.95, { acknowledging: true, dt: 100 }), NEW, 'takes the place of an acknowledgement')
  near(t, receiver.windowBytes(), 51_500, 'as it was when it became due')
})

t.test('news that no acknowledgement takes along go with the next update; no news, after 16 T', async t => {
  const { receiver, packet } = receiving({ wAi: 0 })
  t.same(
    Array.from({ length: 4 }, () => packet(1.2)),
    [NOTHING, NOTHING, NOTHING, NEW],
  )
  near(t, receiver.windowBytes(), 100_000 * (0.95 / 1.2), 'both tell of the first window')
  const sent = Array.from({ length: 40 }, (_, i) => (packet(0.95) === NEW ? i + 1 : 0)).filter(n => n)
  // 16 T are 128,000 ns: over at the 15th round of 9,000 ns, and sent one later.
  t.same(sent, [16, 32])
})

t.test('what a congested switch says counts at once, but only when the W sent last is in force', async t => {
  const { receiver, packet } = receiving({ wAi: 0, minRate: 1 })
  const congested = (queue: number) =>
    receiver.onDirectResponse(
      0,
      sampleOf([{ rateBps: 100e9, tsNs: 5_000_000, txBytes: 0, qlenBytes: queue }]).hops,
    )
  packet(1)
  t.equal(congested(110_000), NEW)
  near(t, receiver.windowBytes(), 100_000 * (0.95 / 2.1), 'U = 110,000 / 100,000 + 1')
  t.equal(congested(200_000), NOTHING, 'the sender has not taken it yet')
  packet(1, EARLIER)
  t.equal(congested(210_000), NOTHING)
  packet(1)
  t.equal(congested(220_000), NEW)
  near(t, receiver.windowBytes(), 100_000 * (0.95 / 2.1) * (0.95 / 3.2), 'from what it was')
})

t.test('on another path the flow begins anew, and a W that the sender does not have is repeated', async t => {
  const { receiver, packet } = receiving({ wAi: 0, minRate: 1 })
  packet(2)
  packet(2)
  packet(2)
  receiver.onPathChange()
  t.equal(receiver.windowBytes(), 100_000)
  t.equal(packet(2, EARLIER), NOTHING, 'the first telemetry of a path is only stored')
  t.equal(packet(2, EARLIER), AGAIN)
})

t.test('packets that arrive before they are acknowledged are in flight beyond W, up to W_init', async t => {
  const cc = new RxHpcc(CONTEXT, { ackPackets: 8 })
  t.equal(cc.windowBytes(), 100_000)
  cc.onReceiverWindow(0, 3000)
  t.equal(cc.windowBytes(), 11_000)
  t.equal(cc.rateBps(), 3e9, 'R = W / T all the same')
  cc.onReceiverWindow(0, 97_000)
  t.equal(cc.windowBytes(), 100_000)
  const literal = new RxHpcc(CONTEXT, { literal: true })
  literal.onReceiverWindow(0, 3000)
  t.equal(literal.windowBytes(), 3000)
})

t.test('a path with queues takes longer than T, and so does the next update', async t => {
  const { packet } = receiving({ wAi: 0, rateChange: 0 })
  const queued = (dt: number) => packet(1, { dt, queue: 50_000 })
  t.same([queued(1000), queued(16_000)], [NOTHING, NEW])
  // rateChange 0: in every update, the first of which needs two T of packets with the W of before.
  t.same([queued(12_000), queued(15_900), queued(100)], [NOTHING, NOTHING, NEW])
})

t.test('W_ai follows the flows that the receiver counts while the last hop is the busiest', async t => {
  const increase = (busiest: 'first' | 'last', told: number) => {
    const receiver = new RxListing(CONTEXT)
    const first = link()
    const last = link()
    receiver.onTelemetry(0, sampleOf([first.next().value, last.next().value]).hops, told)
    const int = (high: number, low: number) => {
      const loads = busiest === 'first' ? [high, low] : [low, high]
      return sampleOf([
        first.next({ dt: 9000, load: loads[0]! }).value,
        last.next({ dt: 9000, load: loads[1]! }).value,
      ]).hops
    }
    receiver.onTelemetry(9000, int(2, 0.1), told)
    const before = receiver.windowBytes()
    receiver.onTelemetry(18_100, int(0.5, 0.1), told)
    return receiver.windowBytes() - before
  }
  near(t, increase('last', 10), 500, 'W_init (1 - eta) / 10')
  near(t, increase('first', 10), 50, 'another hop: N = 100 as expected')
  near(t, increase('last', 0), 50, 'not known')
})

t.test('the sender uses the window that it gets, within its bounds', async t => {
  const cc = new RxHpcc(CONTEXT, { ackPackets: 0 })
  t.equal(cc.windowBytes(), 100_000)
  cc.onReceiverWindow(0, 25_000)
  t.equal(cc.windowBytes(), 25_000)
  t.equal(cc.rateBps(), 25e9)
  cc.onReceiverWindow(0, 1e12)
  t.equal(cc.windowBytes(), 100_000)
  cc.onReceiverWindow(0, 0)
  t.equal(cc.windowBytes(), 100, 'a thousandth of the line rate x T')
})

t.test('an accumulated queue is taken as it is, another only as the minimum of two', async t => {
  for (const accumulated of [true, false]) {
    const cc = new Hpcc(CONTEXT)
    const hops = link()
    cc.onAck(0, sampleOf([hops.next().value], { seq: 1, sndNxt: 2 }))
    const sample = sampleOf([hops.next({ dt: T, load: 0.5, queue: 40_000 }).value], { seq: 3, sndNxt: 4 })
    sample.hops.accumulated = accumulated
    cc.onAck(T, sample)
    near(t, windows(cc).u, accumulated ? 0.9 : 0.5, '40,000 / 100,000 + 0.5, or min(40,000, 0)')
  }
})

t.test('only the busiest hop comes back: each link is compared with itself', async t => {
  const cc = new Hpcc(CONTEXT)
  const a = link()
  const b = link()
  const only = (hop: Hop, port: number, now: number) => {
    const sample = sampleOf([hop], { seq: now, sndNxt: now + 1, pathId: 3 })
    sample.hops.busiestOnly = true
    sample.hops.switchId[0] = 9
    sample.hops.port[0] = port
    cc.onAck(now, sample)
    return windows(cc).u
  }
  only(a.next().value, 1, 0)
  only(b.next().value, 2, 100)
  near(t, windows(cc).u, 1, 'both are new')
  near(t, only(a.next({ dt: T, load: 0.6 }).value, 1, T), 0.6, 'link 1 since it was last heard of')
  near(t, only(b.next({ dt: 2 * T, load: 0.7 }).value, 2, 2 * T), 0.7, 'link 2, two T ago')
  // Line 9: U has been averaged over all but the last quarter of T, however old the telemetry of link 1 is.
  const u = 0.75 * 0.7 + 0.25 * 0.9
  near(
    t,
    only(a.next({ dt: 1.25 * T, load: 0.9 }).value, 1, 2.25 * T),
    u,
    'link 1, a quarter of T after link 2',
  )
})
