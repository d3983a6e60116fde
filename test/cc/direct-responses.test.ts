/**
 * HPCC++ and the direct responses of switches (draft-pan-tsvwg-hpccplus-01, section 6.3), by numbers that
 * were computed by hand.
 *
 * Line rate 100 Gbit/s and T = 8,000 ns, so W_init = B x T = 100,000 B and W_ai = 100,000 x 0.05 / 100 = 50
 * B. A queue of q bytes results in W = W_c x 0.95 / (1 + q / 100,000) + 50.
 */
import t from 'tap'
import { Hpcc } from '../../lib/cc/hpcc/hpcc.js'
import { type Hop, sampleOf } from './samples.js'

const T = 8000
const W_INIT = 100_000
const CONTEXT = { lineRateBps: 100e9, baseRttNs: T, mtuBytes: 1000 }
/** Bytes of a link with load 1 in one ns. */
const BYTES_PER_NS = 12.5

function link(tsNs: number, qlenBytes: number): Hop {
  return { rateBps: 100e9, tsNs, txBytes: BYTES_PER_NS * tsNs, qlenBytes }
}

function observed(cc: Hpcc): { w: number; wc: number; u: number } {
  const into = new Float64Array(5)
  cc.observe(into)
  return { w: into[0]!, wc: into[1]!, u: into[2]! }
}

function asks(queueBytes: number, wcBytes = W_INIT): number {
  return (wcBytes * 0.95) / (1 + queueBytes / 100_000) + 50
}

function respond(cc: Hpcc, seq: number, sndNxt: number, queueBytes: number): void {
  cc.onDirectResponse(0, sampleOf([link(0, queueBytes)], { seq, sndNxt }))
}

t.test('a response lowers window and rate at once; U and W_c wait for telemetry', async t => {
  const cc = new Hpcc(CONTEXT)
  respond(cc, 3, 20, 100_000)
  t.equal(cc.windowBytes(), 47_550)
  t.equal(cc.rateBps(), (47_550 * 8e9) / T)
  t.same(observed(cc), { w: 47_550, wc: W_INIT, u: 1 })
})

t.test(
  'within a round trip the lowest window counts; the next one scales what its packets were sent with',
  async t => {
    const cc = new Hpcc(CONTEXT)
    respond(cc, 3, 20, 100_000)
    respond(cc, 10, 25, 400_000)
    t.equal(cc.windowBytes(), asks(400_000))
    respond(cc, 15, 25, 50_000)
    t.equal(cc.windowBytes(), asks(400_000), 'this packet was sent before the response')
    cc.onAck(0, sampleOf([link(1000, 0)], { seq: 0, sndNxt: 26 }))
    cc.onAck(100, sampleOf([link(1100, 0)], { seq: 1, sndNxt: 26 }))
    respond(cc, 25, 30, 50_000)
    t.equal(
      cc.windowBytes(),
      asks(50_000, asks(400_000)),
      'this one after it; packets before it were measured',
    )
  },
)

t.test(
  'where no telemetry comes between them, each response starts from the window of the one before',
  async t => {
    const cc = new Hpcc(CONTEXT)
    respond(cc, 3, 20, 100_000)
    respond(cc, 20, 30, 100_000)
    t.equal(cc.windowBytes(), asks(100_000, asks(100_000)))
    respond(cc, 30, 40, 100_000)
    t.equal(cc.windowBytes(), asks(100_000, asks(100_000, asks(100_000))))
  },
)

t.test('telemetry of packets that were sent after the response ends it', async t => {
  const cc = new Hpcc(CONTEXT)
  cc.onAck(0, sampleOf([link(1000, 0)], { seq: 0, sndNxt: 18 }))
  respond(cc, 3, 20, 100_000)
  cc.onAck(8000, sampleOf([link(9000, 0)], { seq: 19, sndNxt: 24 }))
  t.equal(cc.windowBytes(), 47_550, 'sent before it')
  cc.onAck(16_000, sampleOf([link(17_000, 0)], { seq: 20, sndNxt: 26 }))
  const { u, wc } = observed(cc)
  t.equal(cc.windowBytes(), (47_550 * 0.95) / u + 50, 'W_c is the window that this packet was sent with')
  t.equal(wc, 47_550, 'until W_c is updated')
})

t.test('a packet whose own telemetry has come is answered too late', async t => {
  const cc = new Hpcc(CONTEXT)
  cc.onAck(0, sampleOf([link(1000, 0)], { seq: 5, sndNxt: 18 }))
  respond(cc, 5, 20, 100_000)
  t.equal(cc.windowBytes(), W_INIT)
  respond(cc, 6, 20, 100_000)
  t.equal(cc.windowBytes(), 47_550)
})

t.test('answered early in a burst, late, or not at all: telemetry scales what was sent with', async t => {
  const scale = [20_000, 300_000, Number.NaN].map(queueBytes => {
    const cc = new Hpcc(CONTEXT)
    if (queueBytes > 0) respond(cc, 1, 10, queueBytes)
    cc.onAck(0, sampleOf([link(1000, 0)], { seq: 0, sndNxt: 12 }))
    cc.onAck(T, sampleOf([link(1000 + T, 200_000)], { seq: 12, sndNxt: 20 }))
    const sentWith = queueBytes > 0 ? asks(queueBytes) : W_INIT
    return ((observed(cc).wc - 50) / sentWith).toFixed(9)
  })
  t.equal(scale[0], scale[2])
  t.equal(scale[1], scale[2])
})

t.test('a probe ends it if all that the probe measured was sent after the response', async t => {
  const cc = new Hpcc(CONTEXT)
  const probe = (now: number, seq: number, sndNxt: number) =>
    cc.onTelemetry(now, sampleOf([link(1000 + now, 0)], { seq, sndNxt, probed: true }))
  probe(0, 4, 10)
  respond(cc, 12, 20, 100_000)
  probe(T, 25, 30)
  t.equal(cc.windowBytes(), 47_550, 'packets 5 to 25')
  probe(2 * T, 35, 40)
  t.ok(cc.windowBytes() > 47_550, 'packets 26 to 35')
})

t.test(
  'the response counts in units of T; another path knows nothing of it; no rate, no response',
  async t => {
    const cc = new Hpcc(CONTEXT)
    cc.onAck(0, sampleOf([link(1000, 0)], { seq: 0, sndNxt: 1 }))
    cc.onAck(T, sampleOf([link(1000 + T, 0)], { seq: 1, sndNxt: 2 }))
    respond(cc, 3, 20, 400_000)
    const before = cc.rateBps()
    cc.onBaseRtt(0, 2 * T)
    t.ok(Math.abs(cc.rateBps() / before - 1) < 1e-9, 'the rate stays')
    cc.onPathChange()
    t.equal(cc.windowBytes(), 2 * W_INIT)
    cc.onDirectResponse(0, sampleOf([{ ...link(0, 400_000), rateBps: 0 }], { seq: 50, sndNxt: 60 }))
    t.equal(cc.windowBytes(), 2 * W_INIT)
  },
)
