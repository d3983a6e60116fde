/** DCTCP beside calculations from RFC 8257: alpha and the window, step by step. */
import t, { type Test } from 'tap'
import { Dctcp } from '../../lib/cc/dctcp/dctcp.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed } from '../support/seeds.js'
import { lossOf, sampleOf } from './samples.js'

const MTU = 1000
const RTT_NS = 100_000
const CONTEXT = { lineRateBps: 10e9, baseRttNs: RTT_NS, mtuBytes: MTU }
const CAREFUL = { ...CONTEXT, careful: true }
const seed = drawnSeed(t)

function variables(cc: Dctcp) {
  const into = new Float64Array(4)
  cc.observe(into)
  return { cwnd: into[0]!, ssthresh: into[1]!, alpha: into[2]!, rate: into[3]! }
}

const near = (t: Test, found: number, wanted: number, what: string) =>
  t.ok(Math.abs(found - wanted) <= 1e-9 * wanted, `${what}: ${found}, by the RFC ${wanted}`)

/** A packet of MTU bytes is acknowledged, with all of the window in flight. */
function ack(cc: Dctcp, seq: number, sndNxt: number, marked: boolean): void {
  const inFlightBytes = (sndNxt - seq - 1) * MTU
  cc.onAck(
    0,
    sampleOf([], {
      seq,
      sndNxt,
      ackedBytes: MTU,
      markedBytes: marked ? MTU : 0,
      ecnEcho: marked,
      inFlightBytes,
      rttNs: RTT_NS,
    }),
  )
}

t.test('slow start, until the first mark: half of the window, as alpha is 1', async t => {
  const cc = new Dctcp(CAREFUL)
  t.equal(cc.windowBytes(), 10 * MTU, 'ten packets')
  for (let seq = 0; seq < 10; seq++) ack(cc, seq, 10 + seq, false)
  t.equal(cc.windowBytes(), 20 * MTU, 'doubled in a round trip')
  near(t, cc.rateBps(), (2 * 20 * MTU * 8e9) / RTT_NS, 'paced over half a round trip')
  const { alpha } = variables(cc)
  // The first acknowledgement ends the first observation, without a mark; then comes a round trip of 10 packets.
  near(t, alpha, 15 / 16, 'alpha')
  ack(cc, 10, 30, true)
  // It ends the second one, in which one of ten packets was marked.
  const wanted = (15 / 16) * (15 / 16) + 1 / 16 / 10
  near(t, variables(cc).alpha, wanted, 'alpha')
  near(t, cc.windowBytes(), 20 * MTU * (1 - wanted / 2), 'the window')
  const reduced = cc.windowBytes()
  for (let seq = 11; seq < 30; seq++) ack(cc, seq, 30, true)
  t.equal(cc.windowBytes(), reduced, 'once in a round trip, and it does not grow meanwhile')
  ack(cc, 30, 45, true)
  t.ok(cc.windowBytes() < reduced, 'and again after that')
})

t.test('congestion avoidance: a packet in a round trip', async t => {
  const cc = new Dctcp(CONTEXT, { initialWindow: 40 })
  ack(cc, 0, 40, true)
  const start = cc.windowBytes()
  let seq = 40
  let wanted = start
  for (let i = 0; i < 60; i++, seq++) {
    wanted += (MTU * MTU) / wanted
    ack(cc, seq, seq + 60, false)
  }
  near(t, cc.windowBytes(), wanted, 'the sum of MTU^2 / cwnd')
  const slow = new Dctcp(CONTEXT, { initialWindow: 40, increase: 0.5 })
  ack(slow, 0, 40, true)
  ack(slow, 40, 100, false)
  near(t, slow.windowBytes(), start + (0.5 * MTU * MTU) / start, 'half as fast')
})

t.test('at line rate it begins with line rate x T', async t => {
  const cc = new Dctcp(CONTEXT)
  t.equal(cc.windowBytes(), 125_000)
  t.equal(cc.rateBps(), 10e9)
  cc.onBaseRtt(0, 2 * RTT_NS)
  t.equal(cc.windowBytes(), 250_000, 'T was a guess')
  t.equal(new Dctcp(CONTEXT, { maxWindow: 60_000 }).windowBytes(), 60_000)
})

/** RFC 8257, section 3.3, steps 1 to 9, with the whole state of a sender of full windows. */
t.test(`alpha and window over random marks as by the RFC, seed ${seed}`, async t => {
  const random = new Random(seed)
  for (let run = 0; run < 20; run++) {
    const g = 1 / (2 + random.below(30))
    const cc = new Dctcp(CONTEXT, { g, initialWindow: 20 + random.below(50) })
    const rfc = {
      cwnd: cc.windowBytes(),
      ssthresh: Number.POSITIVE_INFINITY,
      alpha: 1,
      end: 0,
      acked: 0,
      marked: 0,
      cwrEnd: 0,
    }
    let sndNxt = Math.floor(rfc.cwnd / MTU)
    let worst = 0
    let marks = 0
    for (let seq = 0; seq < 4000; seq++) {
      const marked = random.below(1000) < (Math.floor(seq / 500) % 2) * 100
      marks += Number(marked)
      ack(cc, seq, sndNxt, marked)
      rfc.acked += MTU
      if (marked) rfc.marked += MTU
      // The acknowledgement number is seq + 1.
      if (seq + 1 > rfc.end) {
        rfc.alpha = rfc.alpha * (1 - g) + (g * rfc.marked) / rfc.acked
        rfc.end = sndNxt
        rfc.acked = 0
        rfc.marked = 0
      }
      if (marked && seq >= rfc.cwrEnd) {
        rfc.cwnd = Math.max(2 * MTU, rfc.cwnd * (1 - rfc.alpha / 2))
        rfc.ssthresh = rfc.cwnd
        rfc.cwrEnd = sndNxt
      }
      if (seq >= rfc.cwrEnd) rfc.cwnd += rfc.cwnd < rfc.ssthresh ? MTU : (MTU * MTU) / rfc.cwnd
      sndNxt = Math.max(sndNxt, seq + 1 + Math.floor(rfc.cwnd / MTU))
      const { cwnd, alpha } = variables(cc)
      worst = Math.max(worst, Math.abs(cwnd / rfc.cwnd - 1), Math.abs(alpha / rfc.alpha - 1))
    }
    t.ok(marks > 20)
    t.ok(worst < 1e-9, `run ${run}: off by ${worst}`)
  }
})

t.test(
  'losses as Reno: half once a round trip, a packet after a timeout; undone if nothing was lost',
  async t => {
    const cc = new Dctcp(CONTEXT, { initialWindow: 40 })
    cc.onLoss(0, lossOf({ lostBytes: MTU, inFlightBytes: 39 * MTU, newestSeq: 5, sndNxt: 40 }))
    t.equal(cc.windowBytes(), 20 * MTU)
    cc.onLoss(1, lossOf({ lostBytes: MTU, inFlightBytes: 20 * MTU, newestSeq: 39, sndNxt: 45 }))
    t.equal(cc.windowBytes(), 20 * MTU, 'what was sent before the reduction')
    cc.onSpurious()
    t.equal(cc.windowBytes(), 40 * MTU)
    cc.onLoss(2, lossOf({ lostBytes: 40 * MTU, newestSeq: 44, sndNxt: 45, byTimeout: true }))
    t.same([cc.windowBytes(), variables(cc).ssthresh], [MTU, 20 * MTU])
    cc.onLoss(3, lossOf({ lostBytes: MTU, newestSeq: 45, sndNxt: 46, byTimeout: true }))
    t.same(
      [cc.windowBytes(), variables(cc).ssthresh],
      [MTU, 20 * MTU],
      'another timeout leaves the threshold',
    )
    ack(cc, 46, 47, false)
    t.equal(cc.windowBytes(), 2 * MTU, 'slow start')
  },
)

t.test(
  'once a loss was none, another one among the packets that were in flight then counts, and a mark',
  async t => {
    const loss = lossOf({ lostBytes: MTU, inFlightBytes: 39 * MTU, newestSeq: 5, sndNxt: 40 })
    const afterUndo = () => {
      const cc = new Dctcp(CONTEXT, { initialWindow: 40 })
      cc.onLoss(0, loss)
      cc.onSpurious()
      return cc
    }
    const grows = afterUndo()
    for (let seq = 6; seq < 16; seq++) ack(grows, seq, seq + 40, false)
    t.ok(grows.windowBytes() > 40 * MTU, 'the window grows at once (RFC 5681, section 3.1)')
    const lost = afterUndo()
    lost.onLoss(1, lossOf({ lostBytes: MTU, inFlightBytes: 39 * MTU, newestSeq: 10, sndNxt: 41 }))
    t.equal(lost.windowBytes(), 20 * MTU, 'half (RFC 8257, section 3.5)')
    lost.onLoss(2, lossOf({ lostBytes: MTU, inFlightBytes: 38 * MTU, newestSeq: 40, sndNxt: 42 }))
    t.equal(lost.windowBytes(), 20 * MTU, 'once in a round trip')
    const marked = afterUndo()
    ack(marked, 20, 41, true)
    near(
      t,
      marked.windowBytes(),
      40 * MTU * (1 - variables(marked).alpha / 2),
      'alpha / 2 less (RFC 8257, section 3.3)',
    )
  },
)

t.test('a loss that was none does not take back the one before it', async t => {
  const cc = new Dctcp(CONTEXT, { initialWindow: 40 })
  cc.onLoss(0, lossOf({ lostBytes: MTU, inFlightBytes: 39 * MTU, newestSeq: 5, sndNxt: 40 }))
  cc.onLoss(1, lossOf({ lostBytes: MTU, inFlightBytes: 19 * MTU, newestSeq: 45, sndNxt: 60 }))
  cc.onSpurious()
  t.equal(cc.windowBytes(), 20 * MTU)
  cc.onLoss(2, lossOf({ lostBytes: MTU, inFlightBytes: 19 * MTU, newestSeq: 39, sndNxt: 61 }))
  t.equal(cc.windowBytes(), 20 * MTU, 'what was sent before that one counts no more')
})

t.test('a CNP of a plain RoCEv2 peer counts as a round trip of marks', async t => {
  const cc = new Dctcp(CONTEXT, { initialWindow: 40 })
  ack(cc, 0, 40, false)
  const { cwnd, alpha } = variables(cc)
  cc.onCnp(0, sampleOf([], { seq: -1, sndNxt: 40 }))
  near(t, cc.windowBytes(), cwnd * (1 - alpha / 2), 'reduced')
  cc.onCnp(0, sampleOf([], { seq: -1, sndNxt: 40 }))
  near(t, cc.windowBytes(), cwnd * (1 - alpha / 2), 'once in a round trip')
  ack(cc, 40, 60, false)
  near(t, variables(cc).alpha, alpha * (15 / 16) + 1 / 16, 'all marked')
})
