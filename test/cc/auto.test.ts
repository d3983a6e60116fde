/** `auto`: whether CUBIC or HPCC++ decides, when this changes, and what the window is then. */
import t from 'tap'
import { Auto } from '../../lib/cc/auto/auto.js'
import type { AckSample } from '../../lib/cc/congestion-control.js'
import { Cubic } from '../../lib/cc/cubic/cubic.js'
import { type Hop, lossOf, sampleOf } from './samples.js'

const MTU = 1000
const MS = 1e6
const RTT = 10 * MS
const CONTEXT = { lineRateBps: 10e9, baseRttNs: RTT, mtuBytes: MTU, careful: true }
const FOREIGN = { ...CONTEXT, foreignPeer: true }

/** A flow whose window is always in flight. In each round trip it is acknowledged in tenths. */
class Flow {
  readonly cc: Auto
  now = MS
  #seq = 0
  #inFlight = 0

  constructor(cc: Auto = new Auto(CONTEXT)) {
    this.cc = cc
    this.fill()
  }

  fill(): void {
    for (; this.#inFlight < this.cc.windowBytes(); this.#inFlight += MTU)
      this.cc.onSent(this.now, this.#seq++, MTU)
  }

  /** @param hops of the switches; `host`: that of the receiving host behind them */
  ack(hops: readonly Hop[], host = false, pathId = 1): void {
    const acked = Math.min(this.#inFlight, Math.ceil(this.cc.windowBytes() / 10 / MTU) * MTU)
    this.now += RTT / 10
    this.#inFlight -= acked
    const seq = this.#seq - Math.ceil(this.#inFlight / MTU) - 1
    const numbers = { seq, sndNxt: this.#seq, ackedBytes: acked, inFlightBytes: this.#inFlight }
    const sample: AckSample = sampleOf(host ? [...hops, this.hop(1e9)] : hops, {
      ...numbers,
      rttNs: RTT,
      pathId,
    })
    sample.hops.endsAtHost = host
    this.cc.onAck(this.now, sample)
    this.fill()
  }

  /** A link of that rate with nothing in its queue, that sends at a part of it. */
  hop(rateBps: number, load = 0.9): Hop {
    const txBytes = (load * rateBps * this.now) / 8e9
    return { rateBps, tsNs: this.now, txBytes, qlenBytes: 0 }
  }

  round(hops: () => readonly Hop[], host = false): void {
    for (let i = 0; i < 10; i++) this.ack(hops(), host)
  }

  cnp(): void {
    this.cc.onCnp(this.now, sampleOf([], { seq: -1, sndNxt: this.#seq }))
  }

  lose(byTimeout: boolean): void {
    const lostBytes = byTimeout ? this.#inFlight : MTU
    this.#inFlight -= lostBytes
    const loss = { lostBytes, newestSeq: this.#seq - 1, sndNxt: this.#seq, inFlightBytes: this.#inFlight }
    this.cc.onLoss(this.now, lossOf({ ...loss, byTimeout }))
    this.fill()
  }
}

t.test('without telemetry of switches it is CUBIC, byte for byte', async t => {
  for (const host of [false, true]) {
    const flow = new Flow()
    const cubic = new Cubic(CONTEXT)
    const twin = new Flow(cubic as unknown as Auto)
    for (let i = 0; i < 200; i++) {
      for (const f of [flow, twin]) {
        if (i % 60 === 59) f.lose(i % 120 === 119)
        else f.ack([], host)
      }
      if (flow.cc.windowBytes() !== cubic.windowBytes() || flow.cc.rateBps() !== cubic.rateBps())
        t.fail(`step ${i}: ${flow.cc.windowBytes()} and ${cubic.windowBytes()}`)
    }
    t.equal(flow.cc.inForce, 'cubic')
    t.match(flow.cc.reason, /no switch/)
  }
})

t.test(
  'a second answer in a row with telemetry of a switch brings HPCC++, with the window that there is',
  async t => {
    const flow = new Flow()
    for (let i = 0; i < 5; i++) flow.round(() => [])
    flow.ack([flow.hop(100e6)])
    t.equal(flow.cc.inForce, 'cubic', 'once is not enough')
    flow.ack([])
    flow.ack([flow.hop(100e6)])
    t.equal(flow.cc.inForce, 'cubic', 'nor is twice with a gap')
    const before = flow.cc.windowBytes()
    flow.ack([flow.hop(100e6)])
    t.equal(flow.cc.inForce, 'hpcc')
    t.match(flow.cc.reason, /write telemetry/)
    // 100 Mbit/s x 10 ms: no window of HPCC++ is greater on this path.
    t.ok(flow.cc.windowBytes() <= Math.min(before * 1.2, 125_000), `${before} to ${flow.cc.windowBytes()}`)
    t.ok(flow.cc.rateBps() <= 100e6 * (1 + 1e-9), 'nor is it faster than the slowest link')
  },
)

t.test('where the plausibility check holds back every record, no switch writes telemetry', async t => {
  const flow = new Flow(new Auto(CONTEXT))
  for (let i = 0; i < 10; i++) {
    const sample = sampleOf([], { seq: i, sndNxt: i + 1, ackedBytes: MTU, rttNs: RTT })
    sample.hops.endsAtHost = true
    flow.cc.onAck((i + 1) * RTT, sample)
  }
  t.equal(flow.cc.inForce, 'cubic')
  t.match(flow.cc.reason, /no switch on the path has written telemetry/)
})

t.test('HPCC++ begins with the window of CUBIC where that is less than the path holds', async t => {
  const flow = new Flow()
  flow.ack([flow.hop(1e9)])
  const before = flow.cc.windowBytes()
  flow.ack([flow.hop(1e9)])
  t.equal(flow.cc.inForce, 'hpcc')
  t.ok(flow.cc.windowBytes() < 2 * before, `${before} to ${flow.cc.windowBytes()}, of 1,250,000`)
})

t.test(
  'telemetry that stays away for four round trips brings CUBIC back, in congestion avoidance',
  async t => {
    const flow = new Flow()
    for (let i = 0; i < 3; i++) flow.round(() => [flow.hop(100e6)])
    t.equal(flow.cc.inForce, 'hpcc')
    const before = flow.cc.windowBytes()
    for (let i = 0; i < 39; i++) flow.ack([], true)
    t.equal(flow.cc.inForce, 'hpcc', 'after 3.9 round trips')
    for (let i = 0; i < 3; i++) flow.ack([], true)
    t.equal(flow.cc.inForce, 'cubic')
    t.match(flow.cc.reason, /stayed away/)
    t.ok(Math.abs(flow.cc.windowBytes() - before) < 2 * MTU, `${before} to ${flow.cc.windowBytes()}`)
    flow.round(() => [])
    t.ok(flow.cc.windowBytes() < before + 5 * MTU, 'no slow start')
    flow.ack([flow.hop(100e6)])
    flow.ack([flow.hop(100e6)])
    t.equal(flow.cc.inForce, 'hpcc', 'and it can come again')
  },
)

t.test('all packets collect at the beginning and where it is of use; else one in a window', async t => {
  const flow = new Flow()
  t.equal(flow.cc.collectsAll, true)
  flow.ack([])
  t.equal(flow.cc.collectsAll, false)
  flow.ack([flow.hop(1e9)])
  t.equal(flow.cc.collectsAll, true, 'the next answer is to confirm it')
  flow.ack([flow.hop(1e9)])
  t.equal(flow.cc.collectsAll, true)
})

t.test('timeouts while telemetry stays away bring CUBIC, and its window after them', async t => {
  const flow = new Flow()
  for (let i = 0; i < 3; i++) flow.round(() => [flow.hop(100e6)])
  flow.now += 500 * MS
  flow.lose(true)
  t.equal(flow.cc.inForce, 'cubic')
  t.ok(flow.cc.windowBytes() <= 2 * MTU, `${flow.cc.windowBytes()}`)
})

t.test('at line rate it begins as HPCC++ does, and gives way to CUBIC if no telemetry comes', async t => {
  const cc = new Auto({ ...CONTEXT, careful: false })
  t.equal(cc.inForce, 'hpcc')
  t.equal(cc.windowBytes(), (10e9 * RTT) / 8e9)
  const flow = new Flow(cc)
  for (let i = 0; i < 5; i++) flow.round(() => [])
  t.equal(cc.inForce, 'cubic')
})

t.test('a new path has a new slowest link', async t => {
  const flow = new Flow()
  flow.round(() => [flow.hop(100e6)])
  t.ok(flow.cc.windowBytes() <= 125_000)
  for (let i = 0; i < 200; i++) flow.ack([flow.hop(1e9, 0.3)], false, 2)
  t.ok(flow.cc.windowBytes() > 200_000, `${flow.cc.windowBytes()} of 1,250,000`)
})

t.test(
  'probes before the flow that show telemetry: HPCC++ from the first packet on, with ten packets',
  async t => {
    const probed = { answers: 5, slowestBps: 100e6, pathId: 1 }
    const flow = new Flow(new Auto({ ...CONTEXT, probed }))
    t.equal(flow.cc.inForce, 'hpcc')
    t.match(flow.cc.reason, /^the switches on the path write telemetry$/)
    t.equal(flow.cc.windowBytes(), 10 * MTU)
    t.ok(flow.cc.rateBps() <= 100e6, 'no faster than the slowest link')
    flow.round(() => [flow.hop(100e6, 0.5)])
    t.ok(flow.cc.windowBytes() > 10 * MTU && flow.cc.windowBytes() <= 125_000, `${flow.cc.windowBytes()}`)
    for (let i = 0; i < 5; i++) flow.round(() => [])
    t.equal(flow.cc.inForce, 'cubic', 'and it gives way where none comes')
    t.match(flow.cc.reason, /stayed away/)
  },
)

t.test('one answer of a probe with telemetry is not enough, and none is as before', async t => {
  for (const answers of [0, 1]) {
    const cc = new Auto({ ...CONTEXT, probed: { answers, slowestBps: 1e9, pathId: 1 } })
    t.equal(cc.inForce, 'cubic')
    t.equal(cc.windowBytes(), new Cubic(CONTEXT).windowBytes())
    const flow = new Flow(cc)
    flow.ack([flow.hop(1e9)])
    t.equal(cc.inForce, answers === 1 ? 'hpcc' : 'cubic', 'the answers of probes count')
  }
})

t.test('after a path change the reason says what is known of the new path', async t => {
  const flow = new Flow()
  flow.round(() => [flow.hop(100e6)])
  flow.cc.onPathChange()
  t.equal(flow.cc.inForce, 'hpcc')
  t.match(flow.cc.reason, /path has changed; the switches on the one before/)
  flow.ack([flow.hop(100e6)])
  t.match(flow.cc.reason, /^the switches on the path write telemetry$/)
  flow.cc.onPathChange()
  for (let i = 0; i < 6; i++) flow.round(() => [])
  t.equal(flow.cc.inForce, 'cubic')
  t.match(flow.cc.reason, /path has changed, and no switch on the new one/)

  const foreign = new Flow(new Auto(FOREIGN))
  for (let i = 0; i < 3; i++) foreign.round(() => [])
  t.equal(foreign.cc.reason, 'the peer is no Weir host, and has sent no CNP')
  foreign.cnp()
  t.equal(foreign.cc.inForce, 'dcqcn')
  const before = foreign.cc.windowBytes()
  foreign.cc.onPathChange()
  foreign.round(() => [])
  t.equal(foreign.cc.inForce, 'cubic')
  t.match(foreign.cc.reason, /path has changed, and no CNP/)
  t.ok(foreign.cc.windowBytes() <= 2 * before, 'no burst')
})

t.test(
  'towards another RoCEv2 host it is CUBIC until a CNP shows that switches mark, then DCQCN',
  async t => {
    const flow = new Flow(new Auto(FOREIGN))
    for (let i = 0; i < 4; i++) flow.round(() => [])
    t.equal(flow.cc.inForce, 'cubic', 'nothing is known of marks')
    const before = flow.cc.windowBytes()
    flow.cnp()
    t.equal(flow.cc.inForce, 'dcqcn')
    t.match(flow.cc.reason, /CNPs/)
    // Alpha begins at 1 (equation 1): the first CNP halves the rate. It goes on from CUBIC's window.
    const rateBps = (before * 8e9) / RTT
    t.ok(Math.abs(flow.cc.rateBps() / (rateBps / 2) - 1) < 0.01, `${rateBps} to ${flow.cc.rateBps()} bit/s`)
    t.ok(flow.cc.windowBytes() <= before, `no burst: ${before} to ${flow.cc.windowBytes()}`)
  },
)

t.test(
  'packets that are lost without CNPs before bring CUBIC back, with the window that there is',
  async t => {
    const flow = new Flow(new Auto(FOREIGN))
    for (let i = 0; i < 4; i++) flow.round(() => [])
    flow.cnp()
    flow.lose(false)
    t.equal(flow.cc.inForce, 'dcqcn', 'a full queue may drop just behind a mark')
    for (let i = 0; i < 5; i++) flow.round(() => [])
    const before = flow.cc.windowBytes()
    flow.lose(false)
    t.equal(flow.cc.inForce, 'cubic')
    t.match(flow.cc.reason, /lost.*without CNPs/)
    t.ok(flow.cc.windowBytes() <= before, `no burst: ${before} to ${flow.cc.windowBytes()}`)
    t.ok(flow.cc.windowBytes() >= before / 2, `nor is what was learned lost: ${flow.cc.windowBytes()}`)
    flow.cnp()
    t.equal(flow.cc.inForce, 'dcqcn', 'and it can come again')
  },
)

t.test('without a window before, what its rate has in flight is handed over', async t => {
  const cc = new Auto({ ...FOREIGN, careful: false })
  const flow = new Flow(cc)
  for (let i = 0; i < 5; i++) flow.round(() => [])
  flow.cnp()
  t.equal(cc.inForce, 'dcqcn')
  for (let i = 0; i < 5; i++) flow.round(() => [])
  const bytes = (cc.rateBps() * RTT) / 8e9
  flow.lose(false)
  t.equal(cc.inForce, 'cubic')
  t.ok(cc.windowBytes() <= 1.3 * bytes, `${cc.windowBytes()} of ${bytes}`)
})

t.test('a Weir host that sends CNPs, or one that forges them, brings no other controller', async t => {
  const flow = new Flow()
  for (let i = 0; i < 4; i++) flow.round(() => [])
  flow.cnp()
  t.equal(flow.cc.inForce, 'cubic')
})
