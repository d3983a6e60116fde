/**
 * RTTCC beside the formula that its file states, worked out here; what follows from that formula: where equal flows come to rest, and how fast
 * rates become equal; and what else holds a flow.
 */
import t from 'tap'
import { createCongestionControl } from '../../lib/cc/catalogue.js'
import { FeedbackSource, NO_WINDOW } from '../../lib/cc/congestion-control.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed, fixedSeeds } from '../support/seeds.js'
import { lossOf, sampleOf } from './samples.js'

const T = 10_000
const LINE = 100e9
const MTU = 4096
const CONTEXT = { lineRateBps: LINE, baseRttNs: T, mtuBytes: MTU }

class Flow {
  readonly cc
  now = 1e9

  constructor(options: Record<string, number> = {}, careful = false) {
    this.cc = createCongestionControl('rttcc', { ...CONTEXT, careful }, options)
  }

  /** The answer to a probe that took so long. */
  probe(rttNs: number): number {
    this.now += rttNs
    const sample = {
      ...sampleOf([], { ackedBytes: 0 }),
      source: FeedbackSource.PROBE,
      sentNs: this.now - rttNs,
    }
    this.cc.onTelemetry!(this.now, sample)
    return this.cc.rateBps()
  }

  ack(rttNs: number, ackedBytes: number): void {
    this.now += rttNs
    this.cc.onAck(this.now, sampleOf([], { ackedBytes, rttNs }))
  }
}

t.test('a trace is that of the formula', async t => {
  for (const seed of [...fixedSeeds([1, 2]), drawnSeed(t)]) {
    const random = new Random(seed)
    const flow = new Flow({ gain: 0.1, damping: 0.2, queue: 4000, step: 3000, maxChange: 0.4, minRate: 50e6 })
    let rate = LINE
    let before = 0
    let wrong = -1
    for (let i = 0; i < 1000 && wrong < 0; i++) {
      const rtt = T + random.below(i % 100 < 50 ? 80_000 : 10_000)
      const target = T + 4000 + 3000 * Math.log2(LINE / rate)
      const change = 0.1 * ((target - rtt) / T) - 0.2 * (before === 0 ? 0 : (rtt - before) / T)
      rate *= 1 + Math.min(0.4, Math.max(-0.4, change))
      rate = Math.min(LINE, Math.max(50e6, rate))
      before = rtt
      if (Math.abs(flow.probe(rtt) / rate - 1) > 1e-9) wrong = i
    }
    t.equal(wrong, -1, `SEED=${seed}`)
  }
})

t.test('flows that see the same delay become equal, and rest where the target says', async t => {
  // They share a link, whose queue takes what the rates exceed it by in each round trip. All but one have been held back by other paths.
  const flows = Array.from({ length: 64 }, () => new Flow())
  for (const [i, flow] of flows.entries())
    for (let round = 0; round < 30; round++) flow.probe(i === 0 ? T : 30 * T)
  let rates = flows.map(flow => flow.cc.rateBps())
  const jain = () => rates.reduce((a, b) => a + b, 0) ** 2 / (64 * rates.reduce((a, b) => a + b * b, 0))
  t.ok(jain() < 0.1, `unequal at first: ${jain()}`)
  let queueNs = 0
  for (let round = 0; round < 400; round++) {
    rates = flows.map(flow => flow.probe(T + queueNs))
    const sum = rates.reduce((a, b) => a + b, 0)
    queueNs = Math.max(0, queueNs + (sum / LINE - 1) * T)
  }
  t.ok(jain() > 0.999, `Jain's index ${jain()}`)
  // queue + step x log2(64) = 3.5 T
  t.ok(Math.abs(queueNs / (3.5 * T) - 1) < 0.05, `${queueNs} ns`)
  for (const rate of rates) t.ok(Math.abs((rate * 64) / LINE - 1) < 0.05)
})

t.test('only answers to probes move the rate', async t => {
  const flow = new Flow()
  flow.ack(50 * T, MTU)
  flow.cc.onTelemetry!(flow.now, { ...sampleOf([]), source: FeedbackSource.NOTIFY, sentNs: 1 })
  flow.cc.onTelemetry!(flow.now, { ...sampleOf([]), source: FeedbackSource.PROBE, sentNs: -1 })
  t.equal(flow.cc.rateBps(), LINE)
  t.ok(flow.probe(5 * T) < LINE)
})

t.test('what is in flight is bounded; a careful flow begins with ten packets, and doubles them', async t => {
  // Line rate x 1.5 T, twice: 125 KB x 3.
  t.equal(new Flow().cc.windowBytes(), 375_000)
  t.equal(new Flow({ windowGain: 0 }).cc.windowBytes(), NO_WINDOW)
  const flow = new Flow({}, true)
  t.equal(flow.cc.windowBytes(), 10 * MTU)
  const beginBps = flow.cc.rateBps()
  flow.ack(T, 5 * MTU)
  t.ok(Math.abs(flow.cc.rateBps() / beginBps - 2) < 0.01)
  flow.probe(T)
  t.ok(Math.abs(flow.cc.rateBps() / beginBps - 2) < 0.01, 'a short delay leaves it so')
  flow.probe(20 * T)
  const rateBps = flow.cc.rateBps()
  t.ok(rateBps < 2 * beginBps)
  flow.ack(T, 5 * MTU)
  t.equal(flow.cc.rateBps(), rateBps, 'acknowledgements no longer raise it')
})

t.test('losses bound what is in flight, a timeout leaves a packet', async t => {
  const flow = new Flow()
  flow.ack(T, MTU)
  const numbers = { inFlightBytes: 49_000, lostBytes: 1000, newestSeq: 10, sndNxt: 20 }
  flow.cc.onLoss(flow.now, lossOf(numbers))
  t.equal(flow.cc.windowBytes(), 35_000)
  flow.cc.onLoss(flow.now, lossOf({ ...numbers, newestSeq: 30, byTimeout: true }))
  t.equal(flow.cc.windowBytes(), MTU)
})

t.test('a flow that only retransmits still learns that its round trips are short again', async t => {
  const flow = new Flow()
  // The queue was full, and all but two packets of what was in flight were lost.
  const QUEUED = 250 * T
  flow.ack(QUEUED, MTU)
  flow.cc.onLoss(
    flow.now,
    lossOf({ inFlightBytes: 2 * MTU, lostBytes: 100 * MTU, newestSeq: 10, sndNxt: 20 }),
  )
  const heldBps = flow.cc.rateBps()
  t.ok(Math.abs(heldBps / ((2 * MTU * 8e9) / QUEUED) - 1) < 1e-9, 'two packets in a round trip')
  const ackOfRetransmission = (sinceRepeatNs: number) => {
    flow.now += sinceRepeatNs
    flow.cc.onAck(flow.now, { ...sampleOf([], { ackedBytes: 0 }), sinceRepeatNs })
    return flow.cc.rateBps()
  }
  t.equal(ackOfRetransmission(T - 1), heldBps, 'sooner than T: it answers an earlier transmission')
  t.ok(Math.abs(ackOfRetransmission(2 * T) / ((2 * MTU * 8e9) / (2 * T)) - 1) < 1e-9)
})
