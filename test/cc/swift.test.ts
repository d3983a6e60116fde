/**
 * Swift beside algorithm 1 and section 3.5 of its paper (Kumar et al., SIGCOMM 2020), worked out here from the paper's lines; and what Weir
 * adds: the start of careful flows, windows that are not used, the least pace.
 */
import t from 'tap'
import { createCongestionControl } from '../../lib/cc/catalogue.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed, fixedSeeds, isReplay } from '../support/seeds.js'
import { lossOf, sampleOf } from './samples.js'

const US = 1000
const MTU = 4000
const T = 20 * US
/** 100 Gbit/s x 20 us = 62.5 packets. */
const CONTEXT = { lineRateBps: 100e9, baseRttNs: T, mtuBytes: MTU }
const BDP_PACKETS = 62.5
/** Parameters in which every part of the algorithm shows. */
const P = { ai: 1, beta: 0.8, maxMdf: 0.5, minCwnd: 0.01 }
const TARGETS = {
  baseTarget: 30 * US,
  hopScale: 2 * US,
  fsRange: 100 * US,
  fsMinCwnd: 0.1,
  fsMaxCwnd: 50,
}
const OPTIONS = { ...P, ...TARGETS, endTarget: 40 * US, endWeight: 0.25 }

/** No scaling by flows. */
const FLAT = { ...P, baseTarget: 30 * US, hopScale: 2 * US, fsRange: 0, endTarget: 40 * US, endWeight: 0.25 }

const WINDOWS = ['windowBytes', 'fcwnd', 'ecwnd', 'networkNs', 'targetNs', 'endNs', 'rateBps'] as const

class Flow {
  readonly cc
  now = 1e9
  #seq = 0
  readonly #values = new Float64Array(WINDOWS.length)

  constructor(options: Record<string, number> = OPTIONS, careful = false, context = CONTEXT) {
    this.cc = createCongestionControl('swift', { ...context, careful }, options)
  }

  seen(name: (typeof WINDOWS)[number]): number {
    this.cc.observe(this.#values)
    return this.#values[WINDOWS.indexOf(name)]!
  }

  /** An acknowledgement after so long, with all of the window in flight. @param endNs of that at the peer */
  ack(afterNs: number, rttNs: number, endNs = 0, packets = 1, hopCount = 0): void {
    this.now += afterNs
    const ackedBytes = packets * MTU
    const numbers = { seq: this.#seq++, ackedBytes, rttNs, inFlightBytes: this.cc.windowBytes() }
    this.cc.onAck(this.now, { ...sampleOf([], numbers), turnaroundNs: endNs, hopCount })
  }

  lose(afterNs: number, byTimeout: boolean): void {
    this.now += afterNs
    this.cc.onLoss(this.now, lossOf({ byTimeout }))
  }
}

/** Section 3.5. */
function targetUs(hops: number, fcwnd: number): number {
  const alpha = 100 / (1 / Math.sqrt(0.1) - 1 / Math.sqrt(50))
  const beta = -alpha / Math.sqrt(50)
  return 30 + hops * 2 + Math.max(0, Math.min(alpha / Math.sqrt(fcwnd) + beta, 100))
}

/** Algorithm 1 for one window; the time of the last decrease moves with a decrease. */
class Window {
  cwnd = BDP_PACKETS
  #tLastDecrease = Number.NEGATIVE_INFINITY

  onAck(now: number, delay: number, target: number, acked: number, rtt: number): void {
    if (delay < target) this.cwnd += this.cwnd >= 1 ? (P.ai / this.cwnd) * acked : P.ai * acked
    else this.#md(now, Math.max(1 - P.beta * ((delay - target) / delay), 1 - P.maxMdf), rtt)
  }
  onFastRecovery(now: number, rtt: number): void {
    this.#md(now, 1 - P.maxMdf, rtt)
  }
  #md(now: number, factor: number, rtt: number): void {
    if (now - this.#tLastDecrease < rtt) return
    const before = this.cwnd
    this.cwnd = Math.max(P.minCwnd, factor * this.cwnd)
    if (this.cwnd < before) this.#tLastDecrease = now
  }
  reset(now: number): void {
    this.cwnd = P.minCwnd
    this.#tLastDecrease = now
  }
}

t.test('steps worked out by hand', async t => {
  // No scaling: the target is 30 us + 3 x 2 us.
  const flow = new Flow(FLAT)
  t.equal(flow.cc.windowBytes(), BDP_PACKETS * MTU, 'it begins with line rate x T')
  t.equal(flow.cc.rateBps(), 100e9, 'and is not paced')
  flow.ack(T, 30 * US, 0, 25, 3)
  t.equal(flow.seen('fcwnd'), 62.5 + 25 / 62.5, 'below the target')
  flow.ack(T, 72 * US, 0, 1, 3)
  t.ok(Math.abs(flow.seen('fcwnd') - 62.9 * 0.6) < 1e-9, 'twice the target: 1 - 0.8 / 2')
  flow.ack(70 * US, 72 * US, 0, 1, 3)
  t.ok(Math.abs(flow.seen('fcwnd') - 62.9 * 0.6) < 1e-9, 'not twice in a round trip')
  flow.ack(2 * US, 720 * US, 0, 1, 3)
  t.ok(flow.seen('fcwnd') > 62.9 * 0.59, 'the round trip is the longer one now')
  flow.ack(720 * US, 720 * US, 0, 1, 3)
  t.ok(Math.abs(flow.seen('fcwnd') - 62.9 * 0.3) < 1e-9, 'at most max_mdf')
  t.ok(flow.seen('ecwnd') > 62.5, 'nothing waits at the end host')
})

t.test('the delay of the receiving host moves its own window alone, averaged', async t => {
  const flow = new Flow(FLAT)
  flow.ack(T, 300 * US, 280 * US)
  t.equal(flow.seen('networkNs'), 20 * US)
  t.equal(flow.seen('endNs'), 70 * US, 'a quarter of 280 us')
  t.ok(flow.seen('fcwnd') > 62.5)
  // (70 - 40) / 70 x 0.8
  t.ok(Math.abs(flow.seen('ecwnd') - 62.5 * (1 - (0.8 * 30) / 70)) < 1e-9)
  t.equal(flow.cc.windowBytes(), flow.seen('ecwnd') * MTU, 'the smaller window counts')
})

t.test('the target follows hops and windows', async t => {
  const flow = new Flow()
  for (const hops of [1, 5]) {
    flow.ack(T, 25 * US, 0, 1, hops)
    t.equal(flow.seen('targetNs'), (30 + 2 * hops) * US, 'large windows do not raise it')
  }
  flow.lose(T, true)
  for (let i = 0; i < 20; i++) flow.lose(100 * US, false)
  t.equal(flow.seen('fcwnd'), P.minCwnd)
  flow.ack(T, 25 * US, 0, 0, 5)
  t.equal(flow.seen('targetNs'), 140 * US, 'the smallest by fs_range')
})

t.test('a trace is that of algorithm 1', async t => {
  const fixed = fixedSeeds([1, 2, 3, 4])
  for (const seed of [...fixed, drawnSeed(t)]) {
    const random = new Random(seed)
    const flow = new Flow()
    const fabric = new Window()
    const end = new Window()
    const ends = [fabric, end]
    let endDelay = 0
    let rttUs = 20
    let timeouts = 0
    let wrong = ''
    let small = 0
    for (let step = 0; step < 3000 && wrong === ''; step++) {
      const after = random.below(40) * US
      const now = flow.now + after
      const event = random.below(60)
      if (event < 2) {
        flow.lose(after, event === 0)
        timeouts = event === 0 ? timeouts + 1 : 0
        for (const one of ends) timeouts >= 5 ? one.reset(now) : one.onFastRecovery(now, rttUs * US)
      } else {
        const endUs = random.below(80)
        const networkUs = 20 + random.below(step % 400 < 200 ? 300 : 30)
        const hops = 1 + random.below(5)
        const acked = random.below(3)
        rttUs = networkUs + endUs
        timeouts = 0
        flow.ack(after, rttUs * US, endUs * US, acked, hops)
        endDelay = 0.75 * endDelay + 0.25 * endUs
        fabric.onAck(now, networkUs, targetUs(hops, fabric.cwnd), acked, rttUs * US)
        end.onAck(now, endDelay, 40, acked, rttUs * US)
      }
      if (fabric.cwnd < 1) small++
      for (const [name, expected] of [
        ['fcwnd', fabric.cwnd],
        ['ecwnd', end.cwnd],
      ] as const)
        if (!(Math.abs(flow.seen(name) / expected - 1) < 1e-9))
          wrong ||= `step ${step}: ${name} is ${flow.seen(name)}, not ${expected}`
    }
    t.equal(wrong, '', `SEED=${seed}`)
    if (!isReplay && fixed.includes(seed)) t.ok(small > 10, `SEED=${seed}: ${small} windows below a packet`)
  }
})

t.test('timeouts halve the window, once in a round trip; some in a row leave the smallest', async t => {
  const flow = new Flow()
  flow.ack(T, 20 * US)
  const begin = flow.seen('fcwnd')
  flow.lose(T, true)
  t.equal(flow.seen('fcwnd'), begin / 2)
  flow.lose(US, true)
  t.equal(flow.seen('fcwnd'), begin / 2)
  flow.lose(T, true)
  flow.lose(T, true)
  t.equal(flow.seen('fcwnd'), begin / 8)
  flow.lose(T, true)
  t.equal(flow.cc.windowBytes(), P.minCwnd * MTU, 'the fifth in a row')
  flow.ack(T, 20 * US)
  t.equal(flow.seen('fcwnd'), 1 + P.minCwnd, 'one packet acknowledged')
})

t.test('a window below one packet is paced: one packet each round trip / window', async t => {
  const flow = new Flow({ ...OPTIONS, minCwnd: 0.25 })
  for (let i = 0; i < 20; i++) flow.lose(100 * US, true)
  flow.ack(T, 20 * US, 0, 0)
  t.equal(flow.cc.windowBytes(), MTU / 4)
  t.equal(flow.cc.rateBps(), (MTU * 8e9) / (80 * US))

  const slow = new Flow({ minCwnd: 0.001 }, false, { ...CONTEXT, baseRttNs: 10e6 })
  for (let i = 0; i < 20; i++) slow.lose(100e6, true)
  slow.ack(T, 10e6, 0, 0)
  t.equal(slow.cc.rateBps(), (MTU * 8e9) / 10e6, 'but one in each round trip')
})

t.test('a careful flow begins with ten packets, and doubles until the delay reaches its target', async t => {
  const flow = new Flow({}, true)
  t.equal(flow.cc.windowBytes(), 10 * MTU)
  flow.ack(T, 20 * US, 0, 10)
  t.equal(flow.cc.windowBytes(), 20 * MTU)
  flow.ack(T, 200 * US, 0, 20)
  t.ok(flow.cc.windowBytes() < 20 * MTU)
  const before = flow.seen('fcwnd')
  flow.ack(T, 20 * US, 0, 1)
  t.ok(Math.abs(flow.seen('fcwnd') - before - 1 / before) < 1e-9)
})

t.test('a window of which less than half is used does not grow', async t => {
  const flow = new Flow()
  const before = flow.cc.windowBytes()
  const numbers = { ackedBytes: MTU, rttNs: 20 * US, inFlightBytes: before / 2 - 2 * MTU }
  flow.cc.onAck(flow.now, sampleOf([], numbers))
  t.equal(flow.cc.windowBytes(), before)
})

t.test('a receiving host may take 100 us, or as long as the path', async t => {
  const { endTarget: _, ...others } = OPTIONS
  for (const [baseRttNs, below, above] of [
    [T, 90 * US, 110 * US],
    [6000 * US, 5000 * US, 7000 * US],
  ] as const) {
    const flow = (endNs: number) => {
      const made = new Flow({ ...others, endWeight: 1 }, false, { ...CONTEXT, baseRttNs })
      const before = made.seen('ecwnd')
      made.ack(baseRttNs, baseRttNs + endNs, endNs)
      return made.seen('ecwnd') / before
    }
    t.ok(flow(below) > 1, `T ${baseRttNs} ns: ${below} ns are no congestion of the host`)
    t.ok(flow(above) < 1, `${above} ns are`)
  }
})
