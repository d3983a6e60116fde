/**
 * TIMELY beside algorithm 1 of its paper (Mittal et al., SIGCOMM 2015), worked out here from the paper's lines; and what Weir adds: the
 * start of careful flows, losses, timeouts.
 */
import t from 'tap'
import { createCongestionControl } from '../../lib/cc/catalogue.js'
import { type CongestionControl, NO_WINDOW } from '../../lib/cc/congestion-control.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed, fixedSeeds, isReplay } from '../support/seeds.js'
import { lossOf, sampleOf } from './samples.js'

const US = 1000
const MTU = 4096
/** The paper's network: 10 Gbit/s, 20 us. */
const CONTEXT = { lineRateBps: 10e9, baseRttNs: 20 * US, mtuBytes: MTU }
const SEGMENT = 16_384

/** Completes segments of 16 KB, with these round trips. */
class Flow {
  readonly cc: CongestionControl
  now = 1e6
  seq = 0

  constructor(
    options: Record<string, number | boolean> = {},
    careful = false,
    lineRateBps = CONTEXT.lineRateBps,
  ) {
    this.cc = createCongestionControl('timely', { ...CONTEXT, lineRateBps, careful }, options)
  }

  get rateBps(): number {
    return this.cc.rateBps()
  }

  complete(rttNs: number, ackedBytes = SEGMENT, turnaroundNs = -1): void {
    this.now += rttNs
    this.seq += 4
    // All that may be in flight is.
    const inFlightBytes = Math.min(1e9, this.cc.windowBytes())
    const sample = sampleOf([], {
      seq: this.seq - 1,
      sndNxt: this.seq + 40,
      ackedBytes,
      inFlightBytes,
      rttNs,
    })
    sample.turnaroundNs = turnaroundNs
    this.cc.onAck(this.now, sample)
  }
}

/** What a flow does with these round trips but the first: the first step whose rate is not the expected one, or -1. */
function firstWrong(flow: Flow, rttsUs: readonly number[], expected: readonly number[]): number {
  flow.complete(rttsUs[0]! * US)
  return expected.findIndex((rate, i) => {
    flow.complete(rttsUs[i + 1]! * US)
    return Math.abs(flow.rateBps / rate - 1) > 1e-9
  })
}

/** Walks of which parts lie below, between and above the thresholds, with runs that do not change. Microseconds. */
function walk(random: Random): number[] {
  const rtts: number[] = []
  let rtt = 20 + random.below(60)
  for (let i = 0; i < 2000; i++) {
    const step = random.below(10)
    if (step === 0) rtt = 20 + random.below(900)
    else if (step < 6) rtt = Math.max(20, rtt + random.below(9) - 4)
    rtts.push(rtt)
  }
  return rtts
}

/** Patched TIMELY of Zhu et al., ECN or delay (CoNEXT 2016), worked out here step by step, with its beta. */
function patchedTimely(rttsUs: readonly number[], startBps: number): number[] {
  const [alpha, beta, minRtt, tLow, tHigh, delta] = [0.875, 0.008, 20, 50, 500, 10e6]
  const rates: number[] = []
  let prevRtt = rttsUs[0]!
  let rttDiff = 0
  let rate = startBps
  for (const newRtt of rttsUs.slice(1)) {
    rttDiff = (1 - alpha) * rttDiff + alpha * (newRtt - prevRtt)
    prevRtt = newRtt
    const rttGradient = rttDiff / minRtt
    if (newRtt < tLow) rate += delta
    else if (newRtt > tHigh) rate *= 1 - beta * (1 - tHigh / newRtt)
    else {
      // The weight: 0 up to -1/4, 1 from 1/4 on, a line between.
      const weight = rttGradient <= -0.25 ? 0 : rttGradient >= 0.25 ? 1 : 2 * rttGradient + 0.5
      const error = (newRtt - tLow) / tLow
      rate = delta * (1 - weight) + rate * (1 - beta * weight * error)
    }
    rate = Math.min(10e9, Math.max(10e6, rate))
    rates.push(rate)
  }
  return rates
}

/** Algorithm 1, line by line, with the parameters of section 4: rates after each round trip but the first, which only sets prev_rtt. */
function algorithm1(rttsUs: readonly number[], startBps: number): number[] {
  const [alpha, beta, minRtt, tLow, tHigh, delta] = [0.875, 0.8, 20, 50, 500, 10e6]
  const rates: number[] = []
  let prevRtt = rttsUs[0]!
  let rttDiff = 0
  let rate = startBps
  let completions = 0
  for (const newRtt of rttsUs.slice(1)) {
    const newRttDiff = newRtt - prevRtt
    prevRtt = newRtt
    rttDiff = (1 - alpha) * rttDiff + alpha * newRttDiff
    const normalizedGradient = rttDiff / minRtt
    completions = newRtt >= tLow && newRtt <= tHigh && normalizedGradient <= 0 ? completions + 1 : 0
    if (newRtt < tLow) rate += delta
    else if (newRtt > tHigh) rate *= 1 - beta * (1 - tHigh / newRtt)
    else if (normalizedGradient <= 0) rate += (completions >= 5 ? 5 : 1) * delta
    else rate *= 1 - beta * normalizedGradient
    // The bounds of Weir: a thousandth of the line rate, and the line rate.
    rate = Math.min(10e9, Math.max(10e6, rate))
    rates.push(rate)
  }
  return rates
}

t.test('steps worked out by hand', async t => {
  const flow = new Flow()
  t.equal(flow.rateBps, 10e9, 'it begins at line rate')
  flow.complete(100 * US)
  t.equal(flow.rateBps, 10e9, 'one round trip has no gradient')
  flow.complete(108 * US)
  // rtt_diff 0.875 x 8 us = 7 us, gradient 0.35, R (1 - 0.28).
  t.equal(flow.rateBps, 7.2e9, 'growing round trips')
  flow.complete(1000 * US)
  // 1 - 0.8 (1 - 500 / 1000) = 0.6
  t.ok(Math.abs(flow.rateBps - 4.32e9) < 1, 'above Thigh')
  flow.complete(49 * US)
  t.ok(Math.abs(flow.rateBps - 4.33e9) < 1, 'below Tlow one delta')
  for (let i = 0; i < 4; i++) flow.complete(60 * US)
  // The first of these still has a gradient above 0: rtt_diff was far below, 0.125 x (-735 ..) + 0.875 x 11.
  flow.complete(60 * US)
  const before = flow.rateBps
  for (let i = 0; i < 4; i++) flow.complete(60 * US)
  t.ok(flow.rateBps - before >= 40e6, 'HAI adds five deltas at a time')
})

t.test('a trace is that of algorithm 1', async t => {
  const fixed = fixedSeeds([1, 2, 3, 4])
  for (const seed of [...fixed, drawnSeed(t)]) {
    const random = new Random(seed)
    const rtts = walk(random)
    const expected = algorithm1(rtts, 10e9)
    const wrong = firstWrong(new Flow(), rtts, expected)
    t.equal(wrong, -1, `SEED=${seed}: round trip ${wrong}`)
    if (!isReplay && fixed.includes(seed)) t.ok(new Set(expected).size > 100, 'the trace moves')
  }
})

t.test('a trace of patched TIMELY is that of its algorithm', async t => {
  const fixed = fixedSeeds([1, 2, 3, 4])
  for (const seed of [...fixed, drawnSeed(t)]) {
    const rtts = walk(new Random(seed))
    const expected = patchedTimely(rtts, 10e9)
    t.equal(firstWrong(new Flow({ patched: true }), rtts, expected), -1, `SEED=${seed}`)
    if (isReplay || !fixed.includes(seed)) continue
    t.ok(new Set(expected).size > 100, 'the trace moves')
    t.not(firstWrong(new Flow(), rtts, expected), -1, 'algorithm 1 has another')
  }
})

t.test('careful flows have patched TIMELY by default', async t => {
  const rise = (options: Record<string, boolean>, careful: boolean) => {
    const flow = new Flow({ minRate: 1e9, windowGain: 0, lossReaction: false, ...options }, careful)
    flow.cc.onLoss(0, lossOf({ inFlightBytes: 1e9, lostBytes: 1, newestSeq: 0, sndNxt: 0, byTimeout: false }))
    // Off the line rate, then steady.
    for (const rtt of [100, 119, 119]) flow.complete(rtt * US)
    for (let i = 0; i < 40; i++) flow.complete(460 * US)
    const before = flow.rateBps
    flow.complete(459 * US)
    return flow.rateBps > before
  }
  // Far above tLow, and hardly shorter than the one before: algorithm 1 rises, the patch does not.
  t.equal(rise({}, false), true)
  t.equal(rise({ patched: true }, false), false)
  t.equal(rise({}, true), false)
  t.equal(rise({ patched: false }, true), true)
})

t.test('two flows of patched TIMELY become equal, where those of algorithm 1 need not', async t => {
  // A link of 10 Gbit/s, 20 us, fluid: each round trip the queue takes what the rates exceed it by.
  const shares = (options: Record<string, boolean>) => {
    const flows = [new Flow({ beta: 0.08, ...options }), new Flow({ beta: 0.08, ...options })]
    // One has been held back by another path.
    for (let i = 0; i < 300; i++) flows[0]!.complete(450 * US + (i % 2) * 9 * US)
    let queueNs = 0
    for (let round = 0; round < 20_000; round++) {
      const sum = flows[0]!.rateBps + flows[1]!.rateBps
      queueNs = Math.max(0, queueNs + (sum / 10e9 - 1) * 20 * US)
      for (const flow of flows) flow.complete(20 * US + queueNs)
    }
    return flows.map(({ rateBps }) => rateBps / 1e9)
  }
  const [one, other] = shares({ patched: true }) as [number, number]
  t.ok(Math.abs(one / other - 1) < 0.02, `${one} and ${other} Gbit/s`)
  // At rest w = 1/2, so delta = R beta e: e = 10 Mbit/s / (5 Gbit/s x 0.08).
  t.ok(Math.abs(one + other - 10) < 0.5, `${one + other} Gbit/s`)
})

t.test('what was ahead of a packet in its own burst is no queue of the network', async t => {
  const flow = new Flow({ minRtt: 20 * US })
  const { cc } = flow
  // 16 packets of 4 KB leave at once, at 10 Gbit/s: the last one 15 x 3.2768 us behind the first.
  cc.onSent!(0, 15, 16 * MTU)
  const ack = (now: number, seq: number, rttNs: number) =>
    cc.onAck(now, sampleOf([], { seq, sndNxt: seq + 1, ackedBytes: SEGMENT, inFlightBytes: 1e9, rttNs }))
  ack(100 * US, 0, 100 * US)
  ack(200 * US, 15, 100 * US + 15 * 3276.8)
  t.equal(cc.rateBps(), 10e9, 'the round trip has not grown')
  // A run and single packets at one time are one burst.
  for (const [seq, bytes] of [
    [16, MTU],
    [19, 3 * MTU],
    [20, MTU],
  ] as const)
    cc.onSent!(300 * US, seq, bytes)
  cc.onSent!(301 * US, 21, MTU)
  const seen = new Float64Array(4)
  const rttOf = (now: number, seq: number) => {
    ack(now, seq, 200 * US)
    cc.observe(seen)
    return Math.round(200 * US - seen[1]!)
  }
  t.equal(rttOf(500 * US, 18), Math.round(2 * 3276.8))
  t.equal(rttOf(600 * US, 20), Math.round(4 * 3276.8))
  t.equal(rttOf(700 * US, 21), 0, 'it left by itself')
})

t.test('the rate changes with a segment, with each acknowledgement, or once in a round trip', async t => {
  const perSegment = new Flow()
  perSegment.complete(100 * US)
  for (let i = 0; i < 3; i++) perSegment.complete(200 * US, MTU)
  t.equal(perSegment.rateBps, 10e9, 'three quarters of a segment')
  perSegment.complete(104 * US, MTU)
  // Round trips between the ends of segments do not count: rtt_diff 3.5 us.
  t.ok(Math.abs(perSegment.rateBps - 10e9 * (1 - (0.8 * 3.5) / 20)) < 1)

  const perAck = new Flow({ segment: 0 })
  perAck.complete(100 * US, 1)
  perAck.complete(104 * US, 1)
  t.ok(Math.abs(perAck.rateBps - 8.6e9) < 1)

  const perRound = new Flow({ perRoundTrip: true })
  perRound.complete(100 * US)
  for (let i = 0; i < 9; i++) perRound.complete(200 * US)
  t.equal(perRound.rateBps, 10e9, '40 packets were in flight: none of the next round trip')
  perRound.complete(104 * US)
  perRound.complete(104 * US)
  t.ok(Math.abs(perRound.rateBps - 8.6e9) < 1)
})

t.test('HAI by options: later, with more steps, and below Tlow too', async t => {
  const rise = (options: Record<string, number | boolean>, rttsUs: number) => {
    const flow = new Flow({ beta: 0.5, ...options })
    flow.complete(100 * US)
    // Gradients far above 0 take the rate off the line rate; then it does not grow.
    flow.complete(119 * US)
    flow.complete(119 * US)
    for (let i = 0; i < 5; i++) flow.complete(rttsUs * US)
    const before = flow.rateBps
    for (let i = 0; i < 10; i++) flow.complete(rttsUs * US)
    return Math.round((flow.rateBps - before) / 10e6)
  }
  // The last five are counted from the first round trip that is no longer than the one before.
  t.equal(rise({}, 49), 10, 'below Tlow one delta each')
  t.equal(rise({ hyperBelowLow: true }, 49), 50)
  t.equal(rise({}, 110), 50, 'HAI has begun')
  t.equal(rise({ hyperSteps: 3 }, 110), 30)
  t.ok(rise({ hyperAfter: 10 }, 110) < 50)
})

t.test('the time that the peer takes is no round trip of the network', async t => {
  const flow = new Flow()
  flow.complete(100 * US)
  flow.complete(400 * US, SEGMENT, 300 * US)
  t.equal(flow.rateBps, 10e9, '100 us in both: a gradient of 0')
})

t.test('thresholds follow T where it is long, and are as given where they are', async t => {
  const long = createCongestionControl('timely', { ...CONTEXT, baseRttNs: 1e6 })
  const rises = (cc: CongestionControl, rttsUs: number[]) => {
    for (const [i, rtt] of rttsUs.entries()) {
      const numbers = { seq: i, sndNxt: i + 1, ackedBytes: SEGMENT, rttNs: rtt * US }
      cc.onAck(1e9 + i * 1e6, sampleOf([], numbers))
    }
    return cc.rateBps() === 10e9
  }
  t.ok(rises(long, [1000, 1500, 2400]), '2.5 T')
  t.notOk(
    rises(createCongestionControl('timely', { ...CONTEXT, baseRttNs: 1e6 }, { tLow: 2e6 }), [1500, 2400]),
  )
  t.ok(
    rises(createCongestionControl('timely', CONTEXT, { tLow: 900 * US }), [700, 800]),
    'of a tLow above the usual tHigh',
  )
  t.notOk(
    rises(createCongestionControl('timely', CONTEXT, { tHigh: 30 * US }), [40, 45]),
    'of a tHigh below the usual tLow',
  )
  t.throws(() => createCongestionControl('timely', CONTEXT, { tLow: 600 * US, tHigh: 500 * US }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /tLow is 600us, more than tHigh, 500us/,
  })
})

t.test(
  'what is in flight is bounded; a careful flow begins with ten packets in flight, and doubles them',
  async t => {
    // 10 Gbit/s x 50 us, twice.
    t.equal(new Flow().cc.windowBytes(), 125_000)
    t.equal(new Flow({ windowGain: 0 }).cc.windowBytes(), NO_WINDOW)
    const flow = new Flow({}, true, 100e9)
    t.equal(flow.cc.windowBytes(), 10 * MTU)
    const first = flow.rateBps
    // All that a round trip of 20 us carries at that rate.
    flow.complete(20 * US, 5 * MTU)
    t.ok(Math.abs(flow.rateBps / first - 2) < 0.01)
    flow.complete(20 * US, 10 * MTU)
    t.ok(Math.abs(flow.rateBps / first - 4) < 0.01)
    flow.complete(60 * US, SEGMENT)
    const ended = flow.rateBps
    for (let i = 0; i < 5; i++) flow.complete((61 + i) * US, 40 * MTU)
    t.ok(flow.rateBps < ended, 'long and growing round trips end that')
  },
)

t.test('losses bound what is in flight at most once in a round trip; a timeout leaves a packet', async t => {
  const flow = new Flow()
  flow.complete(20 * US)
  const lose = (byTimeout: boolean, newestSeq: number, sndNxt: number) =>
    flow.cc.onLoss(flow.now, lossOf({ inFlightBytes: 24_000, lostBytes: 1000, newestSeq, sndNxt, byTimeout }))
  lose(false, 10, 20)
  t.equal(flow.cc.windowBytes(), 0.7 * 25_000)
  t.ok(Math.abs(flow.rateBps - (0.7 * 25_000 * 8e9) / (20 * US)) < 1, 'and the rate is that of the window')
  lose(false, 19, 25)
  t.equal(flow.cc.windowBytes(), 0.7 * 25_000, 'packets of before the reduction')
  lose(true, 30, 31)
  t.equal(flow.cc.windowBytes(), MTU)
  for (let i = 0; i < 500; i++) flow.complete(20 * US, MTU)
  t.ok(flow.cc.windowBytes() > 100_000, 'without losses the bound goes away')
})
