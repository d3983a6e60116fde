/**
 * CUBIC against RFC 9438's own formulas, worked out here from scratch: closed forms of the curve at given times, hand-made
 * traces, and a second, plain implementation in segments and seconds. Of HyStart++ (RFC 9406), PRR (RFC 9937), ECN and pacing
 * see cubic-parts.test.ts.
 */
import t, { type Test } from 'tap'
import { Cubic } from '../../lib/cc/cubic/cubic.js'
import type { OptionValues } from '../../lib/cc/options.js'
import { Random } from '../../lib/sim/random.js'
import { lossOf, sampleOf } from './samples.js'

const MTU = 1000
const MS = 1e6
const CONTEXT = { lineRateBps: 100e9, baseRttNs: 10 * MS, mtuBytes: MTU }
/** Without the parts that have their own tests: windows change at once and only by the curve. */
const PLAIN = { hystart: false, prr: false, idleRestart: false, segment: MTU }

interface Variables {
  cwnd: number
  ssthresh: number
  wMax: number
  wEst: number
}

/** In segments. */
function variables(cc: Cubic): Variables {
  const into = new Float64Array(8)
  cc.observe(into)
  return { cwnd: into[0]! / MTU, ssthresh: into[1]! / MTU, wMax: into[2]! / MTU, wEst: into[3]! / MTU }
}

function near(t: Test, got: number, wanted: number, what: string, tolerance = 1e-9): void {
  const most = tolerance * Math.max(1, Math.abs(wanted))
  t.ok(Math.abs(got - wanted) <= most, `${what}: ${got} is ${wanted}`)
}

/** A flow that always has its whole window in flight, on a path of one round trip. */
class Driver {
  readonly cc: Cubic
  readonly rttNs: number
  now = 0
  sndNxt = 0
  #inFlight = 0

  constructor(options: OptionValues, rttNs: number, initialWindow = 10) {
    this.cc = new Cubic({ ...CONTEXT, baseRttNs: rttNs }, { ...PLAIN, initialWindow, ...options })
    this.rttNs = rttNs
    this.fill()
  }

  get cwnd(): number {
    return this.cc.windowBytes() / MTU
  }

  fill(): void {
    while (this.#inFlight < this.cc.windowBytes()) {
      this.cc.onSent(this.now, this.sndNxt++, MTU)
      this.#inFlight += MTU
    }
  }

  /**
   * Acknowledges this many bytes.
   *
   * @param since true: some of the packets were sent since the last reduction
   */
  ack(bytes: number, since = true, ecnEcho = false): void {
    this.#inFlight = Math.max(0, this.#inFlight - bytes)
    const seq = since ? this.sndNxt - 1 : 0
    const { rttNs, sndNxt } = this
    this.cc.onAck(
      this.now,
      sampleOf([], { seq, sndNxt, ackedBytes: bytes, inFlightBytes: this.#inFlight, rttNs, ecnEcho }),
    )
    this.fill()
  }

  /** A whole round trip, its acknowledgements in `parts`. */
  round(parts = 20): void {
    const bytes = this.cc.windowBytes() / parts
    for (let i = 0; i < parts; i++) {
      this.now += this.rttNs / parts
      this.ack(bytes)
    }
  }

  lose(byTimeout = false): void {
    const { sndNxt } = this
    const lostBytes = byTimeout ? this.#inFlight : MTU
    this.#inFlight -= lostBytes
    this.cc.onLoss(
      this.now,
      lossOf({ lostBytes, newestSeq: sndNxt - 1, sndNxt, inFlightBytes: this.#inFlight, byTimeout }),
    )
    // The answer to the loss is sent.
    this.cc.onSent(this.now, this.sndNxt++, MTU)
    this.#inFlight += MTU
  }

  /** One packet is lost, and its retransmission acknowledged a round trip later: congestion avoidance begins. */
  loseAndRecover(): void {
    this.lose()
    this.now += this.rttNs
    this.ack(0)
  }
}

t.test('a flow begins with 10 packets, whatever the path (RFC 6928)', async t => {
  t.equal(new Cubic(CONTEXT).windowBytes(), 10 * MTU)
  t.equal(new Cubic({ ...CONTEXT, baseRttNs: 1 }).windowBytes(), 10 * MTU)
  t.equal(new Cubic(CONTEXT, { initialWindow: 3 }).windowBytes(), 3 * MTU)
})

t.test('slow start adds what is acknowledged, up to the threshold (RFC 5681, section 3.1)', async t => {
  const flow = new Driver({}, 10 * MS)
  flow.now += flow.rttNs
  flow.ack(10 * MTU)
  t.equal(flow.cwnd, 20)
  flow.now += flow.rttNs
  flow.ack(20 * MTU)
  t.equal(flow.cwnd, 40)
  flow.lose(true)
  t.same([flow.cwnd, variables(flow.cc).ssthresh], [1, 28])
  for (const cwnd of [2, 4, 8, 16, 28]) {
    flow.now += flow.rttNs
    flow.ack(flow.cwnd * MTU)
    t.equal(flow.cwnd, cwnd)
  }
})

t.test('the window follows W_cubic(t) = C (t - K)^3 + W_max (figures 1 and 2)', async t => {
  // 1,000 segments and a round trip of 100 ms: the cubic region, as Reno would add 0.53 segments a round trip.
  const flow = new Driver({}, 100 * MS, 1000)
  flow.loseAndRecover()
  near(t, flow.cwnd, 700, 'beta = 0.7')
  const began = flow.now
  // K = cbrt(1000 x 0.3 / 0.4) = 9.0856 s
  const k = 9.085602964160698
  const seen: [number, number][] = []
  while (flow.now - began < 16e9) {
    flow.round(50)
    seen.push([(flow.now - began) / 1e9, flow.cwnd])
  }
  for (const [seconds, cwnd] of seen) {
    const wanted = 0.4 * (seconds - k) ** 3 + 1000
    // An acknowledgement moves the window towards the curve, which is not reached in one round trip when it is steep.
    if (seconds > 0.5) near(t, cwnd, wanted, `after ${seconds} s`, 0.02)
  }
  const at = (wanted: number) => seen.find(([seconds]) => seconds >= wanted)![1]
  near(t, at(k), 1000, 'the last maximum is reached after K', 0.005)
  t.ok(at(5) - at(4) > at(9) - at(8), 'concave before K')
  t.ok(at(15) - at(14) > at(11) - at(10), 'convex after it')
})

t.test(
  "small packets lost at random: the window of 1448-byte segments at the same share of packets lost (RFC 4828); with a queue: TCP's step",
  async t => {
    /**
     * Growth of Reno's window in a round trip after a loss, with a queue that makes round trips this long, on
     * a path of 1 ms.
     */
    const grown = (mtuBytes: number, segment: number, rttNs: number, told: 'loss' | 'mark' = 'loss') => {
      const options = { ...PLAIN, initialWindow: 1, alpha: 1, segment }
      const cc = new Cubic({ ...CONTEXT, mtuBytes, baseRttNs: MS }, options)
      cc.takeOver(0, 100_000, 0)
      cc.onSent(0, 0, 100_000)
      const ack = (seq: number, ackedBytes: number, ecnEcho = false) =>
        cc.onAck(
          MS,
          sampleOf([], { seq, sndNxt: seq + 1, ackedBytes, inFlightBytes: 100_000, rttNs, ecnEcho }),
        )
      ack(0, 0, told === 'mark')
      const loss = {
        lostBytes: 1,
        newestSeq: 0,
        sndNxt: 1,
        inFlightBytes: 100_000,
        ackedBytes: 0,
        byTimeout: false,
      }
      if (told === 'loss') cc.onLoss(MS, loss)
      cc.onSent(MS, 1, mtuBytes)
      ack(1, 0)
      const before = cc.windowBytes()
      cc.onSent(MS, 2, mtuBytes)
      ack(2, before)
      return cc.windowBytes() - before
    }
    // Reno's window is proportional to the root of step x packet, which must be that of 1448 x 1448.
    near(t, grown(1024, 1448, MS), 1448 ** 2 / 1024, 'no queue')
    near(t, grown(1024, 1448, 1.4 * MS), 1448 ** 2 / 1024, 'round trips vary')
    near(t, grown(1024, 1448, 1.6 * MS), 1448, 'a queue')
    near(t, grown(1024, 1448, MS, 'mark'), 1448, 'a queue that marks')
    near(t, grown(1448, 1448, MS), 1448, 'segments')
    near(t, grown(256, 1448, MS), 2 * 1448, 'at most two segments')
    near(t, grown(1024, 1, MS), 1024, 'packets longer than the segment')
    near(t, grown(4096, 1448, MS), 4096, 'packets longer than the segment')
  },
)

t.test('the target is at most half a window ahead (section 4.2)', async t => {
  const flow = new Driver({ c: 100 }, 1000 * MS, 10)
  flow.loseAndRecover()
  for (let i = 0; i < 8; i++) {
    const before = flow.cwnd
    flow.now += flow.rttNs
    flow.ack(before * MTU)
    t.ok(flow.cwnd <= 1.5 * before * (1 + 1e-9), `${before} to ${flow.cwnd}`)
  }
  t.ok(flow.cwnd > 50, 'though the curve is far ahead')
})

t.test('where the curve is slower than Reno, the window is Reno’s (section 4.3)', async t => {
  // 20 segments and 1 ms: the curve needs K = 2.47 s to come back, Reno 6 / 0.529 = 11.3 round trips.
  const flow = new Driver({}, 1 * MS, 20)
  flow.loseAndRecover()
  near(t, flow.cwnd, 14, 'beta')
  // alpha = 3 (1 - 0.7) / (1 + 0.7) = 0.9 / 1.7 segments a round trip. Each window is acknowledged in 100 parts.
  for (let round = 1; round <= 11; round++) {
    flow.round(100)
    near(t, flow.cwnd, 14 + (round * 0.9) / 1.7, `round ${round}`, 5e-3)
  }
  flow.round(100)
  flow.round(100)
  const from = flow.cwnd
  t.ok(from > 20)
  flow.round(100)
  near(
    t,
    flow.cwnd,
    from + 1,
    'one segment a round trip once the window is what it was before the loss',
    1e-3,
  )
  const told = new Driver({ alpha: 2 }, 1 * MS, 20)
  told.loseAndRecover()
  told.round(100)
  near(t, told.cwnd, 16, 'alpha as given', 1e-2)
})

t.test('a window that no longer reaches W_max gives up more of it (section 4.7)', async t => {
  const flow = new Driver({}, 100 * MS, 100)
  flow.loseAndRecover()
  t.equal(variables(flow.cc).wMax, 100)
  flow.lose()
  near(t, variables(flow.cc).wMax, 59.5, '70 x (1 + 0.7) / 2')
  near(t, variables(flow.cc).ssthresh, 49, '70 x 0.7')
  const plain = new Driver({ fastConvergence: false }, 100 * MS, 100)
  plain.loseAndRecover()
  plain.lose()
  near(t, variables(plain.cc).wMax, 70, 'without fast convergence')
})

t.test('the window is reduced once for all that was sent before the reduction', async t => {
  const flow = new Driver({}, 100 * MS, 100)
  const before = flow.sndNxt
  flow.lose()
  near(t, flow.cwnd, 70, 'the first loss')
  for (const newestSeq of [0, 50, before - 1]) {
    flow.cc.onLoss(flow.now, lossOf({ newestSeq, sndNxt: flow.sndNxt, inFlightBytes: 60 * MTU }))
    near(t, flow.cwnd, 70, `packet ${newestSeq} was sent before`)
  }
  flow.cc.onLoss(flow.now, lossOf({ newestSeq: before, sndNxt: flow.sndNxt, inFlightBytes: 60 * MTU }))
  near(t, flow.cwnd, 49, 'its retransmission was not')
})

t.test('neither window nor threshold falls below 2 segments by losses (figure 5)', async t => {
  const flow = new Driver({}, 10 * MS, 3)
  for (let i = 0; i < 5; i++) flow.loseAndRecover()
  t.same([flow.cwnd, variables(flow.cc).ssthresh], [2, 2])
})

t.test(
  'a timeout leaves 1 segment, and the threshold of a loss; repeated ones leave that alone (section 4.8)',
  async t => {
    const flow = new Driver({}, 100 * MS, 100)
    flow.lose(true)
    t.same([flow.cwnd, variables(flow.cc).ssthresh], [1, 70])
    for (let i = 0; i < 3; i++) {
      flow.now += 300 * MS
      flow.lose(true)
      t.same([flow.cwnd, variables(flow.cc).ssthresh], [1, 70], 'RFC 5681, section 3.1')
    }
    while (flow.cwnd < 70) flow.round(1)
    // K = 0 and W_max = the window when congestion avoidance begins: W(t) = 0.4 t^3 + 70, and Reno's is 70 + alpha n.
    near(t, variables(flow.cc).wMax, 70, 'W_max')
    const began = flow.now
    for (let round = 1; round <= 100; round++) {
      flow.round(50)
      const seconds = (flow.now - began) / 1e9
      const reno = 70 + (round * 0.9) / 1.7
      const wanted = Math.max(reno < 100 ? reno : 0, 0.4 * seconds ** 3 + 70)
      if (round > 65) near(t, flow.cwnd, wanted, `after ${seconds} s`, 0.05)
      else if (round < 55) near(t, flow.cwnd, wanted, `after ${seconds} s, as Reno`, 0.02)
    }
  },
)

t.test('a reduction for what had arrived is taken back (section 4.9)', async t => {
  for (const byTimeout of [false, true]) {
    const flow = new Driver({}, 100 * MS, 100)
    flow.loseAndRecover()
    for (let i = 0; i < 20; i++) flow.round()
    const before = { ...variables(flow.cc), rate: flow.cc.rateBps() }
    flow.lose(byTimeout)
    t.not(flow.cwnd, before.cwnd)
    flow.cc.onSpurious(flow.now)
    t.same({ ...variables(flow.cc), rate: flow.cc.rateBps() }, before, byTimeout ? 'a timeout' : 'a loss')
    flow.cc.onSpurious(flow.now)
    t.same({ ...variables(flow.cc), rate: flow.cc.rateBps() }, before, 'once')
    // What left before it may still be lost: that is another congestion event.
    const { sndNxt } = flow
    flow.cc.onLoss(
      flow.now,
      lossOf({ lostBytes: MTU, newestSeq: sndNxt - 3, sndNxt, inFlightBytes: 50 * MTU }),
    )
    t.ok(variables(flow.cc).ssthresh < before.cwnd, 'a loss of that counts')
  }
})

t.test(
  'a window of which less than half is used does not grow, and its time stands still (section 5.8)',
  async t => {
    const busy = new Driver({}, 100 * MS, 1000)
    const idle = new Driver({}, 100 * MS, 1000)
    for (const flow of [busy, idle]) {
      flow.loseAndRecover()
      for (let i = 0; i < 30; i++) flow.round()
    }
    const before = idle.cwnd
    // For 20 s it sends 100 packets at a time, of some 850.
    let seq = idle.sndNxt
    for (let i = 0; i < 200; i++) {
      idle.now += 100 * MS
      const sample = { seq: seq - 1, sndNxt: seq, ackedBytes: 100 * MTU, inFlightBytes: 0, rttNs: 100 * MS }
      idle.cc.onAck(idle.now, sampleOf([], sample))
      for (let n = 0; n < 100; n++) idle.cc.onSent(idle.now, seq++, MTU)
      // The first two rounds still had more in flight.
      if (i === 2) t.ok(idle.cwnd < before + 60, `${before} to ${idle.cwnd}`)
      if (i > 2) t.ok(idle.cwnd < before + 60, `${idle.cwnd}`)
    }
    idle.sndNxt = seq
    idle.fill()
    const [a, b] = [busy, idle].map(flow => {
      const from = flow.cwnd
      for (let i = 0; i < 10; i++) flow.round()
      return flow.cwnd - from
    })
    t.ok(b! < 2 * a! + 20, `it goes on where it was: +${b} segments in 10 round trips, of the other +${a}`)
  },
)

// ---- A second implementation: RFC 9438 in segments and seconds, a function for each figure, the state in
// one plain object.

const C = 0.4
const BETA = 0.7
const ALPHA = (3 * (1 - BETA)) / (1 + BETA)

interface Model {
  cwnd: number
  ssthresh: number
  prior: number
  wMax: number
  wEst: number
  k: number
  epoch: number
  frozen: boolean
}

const modelStart = (): Model => ({
  cwnd: 10,
  ssthresh: Number.POSITIVE_INFINITY,
  prior: 0,
  wMax: 0,
  wEst: 0,
  k: 0,
  epoch: 0,
  frozen: false,
})

function modelCongestion(m: Model): void {
  const cwnd = m.frozen ? m.ssthresh : m.cwnd
  m.wMax = cwnd < m.wMax ? (cwnd * (1 + BETA)) / 2 : cwnd
  m.prior = cwnd
  m.ssthresh = Math.max(2, cwnd * BETA)
  m.cwnd = m.ssthresh
  m.frozen = true
}

function modelEpoch(m: Model, seconds: number, afterSlowStart: boolean): void {
  m.epoch = seconds
  m.wEst = m.cwnd
  if (afterSlowStart) m.wMax = m.cwnd
  m.k = Math.cbrt(Math.max(0, m.wMax - m.cwnd) / C)
  m.wMax = Math.max(m.wMax, m.cwnd)
}

function modelAck(m: Model, seconds: number, acked: number, rtt: number): void {
  if (m.frozen) {
    m.frozen = false
    modelEpoch(m, seconds, false)
  }
  if (m.cwnd < m.ssthresh) {
    m.cwnd = Math.min(m.ssthresh, m.cwnd + acked)
    if (m.cwnd === m.ssthresh) modelEpoch(m, seconds, true)
    return
  }
  const w = (at: number) => C * (at - m.epoch - m.k) ** 3 + m.wMax
  m.wEst += ((m.wEst < m.prior ? ALPHA : 1) * acked) / m.cwnd
  if (w(seconds) < m.wEst) m.cwnd = Math.max(m.cwnd, m.wEst)
  else {
    const target = Math.min(1.5 * m.cwnd, Math.max(m.cwnd, w(seconds + rtt)))
    m.cwnd += ((target - m.cwnd) / m.cwnd) * acked
  }
}

t.test('on random traces it is what RFC 9438 says, line by line', async t => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed)
    const rttNs = [1, 20, 200][seed % 3]! * MS
    const flow = new Driver({}, rttNs)
    const model = modelStart()
    let wrong = ''
    let timedOut = false
    for (let step = 0; step < 2000 && wrong === ''; step++) {
      flow.now += Math.round(rttNs * random.next())
      const dice = random.below(100)
      if (dice === 0 && !timedOut) {
        timedOut = true
        flow.lose(true)
        modelCongestion(model)
        model.cwnd = 1
        model.frozen = false
      } else if (dice < 4 || flow.cwnd > 3000) {
        if (timedOut) continue
        flow.lose()
        modelCongestion(model)
      } else {
        timedOut = false
        const part = Math.max(1, Math.floor(flow.cwnd * random.next()))
        const bytes = Math.min(part, Math.floor(flow.cwnd)) * MTU
        modelAck(model, flow.now / 1e9, bytes / MTU, rttNs / 1e9)
        flow.ack(bytes)
      }
      const { cwnd, ssthresh, wMax, wEst } = variables(flow.cc)
      const close = (a: number, b: number) => a === b || Math.abs(a - b) < 1e-6 * Math.max(1, Math.abs(b))
      if (
        !close(cwnd, model.cwnd) ||
        !close(ssthresh, Math.min(model.ssthresh, 2 ** 30 / MTU)) ||
        !close(wMax, model.wMax)
      ) {
        wrong = `step ${step}: ${JSON.stringify({ cwnd, ssthresh, wMax, wEst })}, not ${JSON.stringify(model)}`
      }
    }
    t.equal(wrong, '', `SEED=${seed}`)
  }
})
