/**
 * The parts of CUBIC, by the RFCs' own rules and examples: HyStart++ (RFC 9406), PRR (RFC 9937), classic ECN
 * (RFC 3168, RFC 8511), pacing (RFC 9002, section 7.7), pauses (RFC 2861).
 */
import t from 'tap'
import { Cubic } from '../../lib/cc/cubic/cubic.js'
import { CubicGrowth } from '../../lib/cc/cubic/cubic-growth.js'
import { cubicConstants } from '../../lib/cc/cubic/cubic-options.js'
import { HyStart } from '../../lib/cc/cubic/hystart.js'
import { Prr } from '../../lib/cc/cubic/prr.js'
import { RttEstimator } from '../../lib/cc/cubic/rtt-estimator.js'
import { NEVER } from '../../lib/time/nanos.js'
import { lossOf, sampleOf } from './samples.js'

const MTU = 1000
const MS = 1e6
const CONTEXT = { lineRateBps: 100e9, baseRttNs: 10 * MS, mtuBytes: MTU }

/** Rounds of eight acknowledgements with equal round trips. Returns the state of slow start after each. */
function rounds(hystart: HyStart, roundTripsMs: readonly number[]): string[] {
  return roundTripsMs.map(rtt => {
    for (let i = 0; i < 8; i++) if (hystart.onAck(0, rtt * MS, i === 0, 1)) return 'over'
    return hystart.divisor === 1 ? 'slow start' : `1/${hystart.divisor}`
  })
}

t.test(
  'HyStart++: slow start ends when the round trip grows by an eighth, at least 4 ms, at most 16 ms',
  async t => {
    const after = (...roundTripsMs: number[]) => rounds(new HyStart(cubicConstants({})), roundTripsMs).at(-1)
    for (const [before, same, grown] of [
      [100, 112, 112.5],
      [10, 13.9, 14],
      [0.1, 4, 4.2],
      [400, 415, 416],
    ] as const) {
      t.equal(after(before, before, same), 'slow start', `${before} to ${same} ms`)
      t.equal(after(before, before, grown), '1/4', `${before} to ${grown} ms`)
    }
  },
)

t.test(
  'after the first slow start the window grows by a twentieth in a round trip while that is short',
  async t => {
    const cwnd = 1000 * MTU
    const queuedNs = 12 * MS
    const grown = (firstGrowth: number, rttNs: number, isReduced = false) => {
      const growth = new CubicGrowth(MTU, MTU, cubicConstants({ firstGrowth }))
      growth.beginFirst(0, cwnd, queuedNs)
      if (isReduced) {
        growth.reduce(cwnd, true)
        growth.begin(0, cwnd)
      }
      // All of a window is acknowledged within the round trip.
      let window = cwnd
      for (let i = 1; i <= 1000; i++) window = growth.next((i * rttNs) / 1000, window, MTU, rttNs, rttNs)
      return window / cwnd - 1
    }
    t.ok(Math.abs(grown(0.05, 10 * MS) - 0.05) < 0.002, `${grown(0.05, 10 * MS)}`)
    t.ok(Math.abs(grown(0.2, 10 * MS) - 0.2) < 0.025, `${grown(0.2, 10 * MS)}`)
    // Reno's part of CUBIC adds a packet, 1/1000.
    t.ok(grown(0.05, 12 * MS) < 0.002, 'a queue')
    t.ok(grown(0, 10 * MS) < 0.002, 'turned off')
    t.ok(grown(0.05, 10 * MS, true) < 0.002, 'after a reduction')
  },
)

t.test(
  'HyStart++: conservative slow start lasts five rounds, or until round trips are short again',
  async t => {
    const css = '1/4'
    t.same(rounds(new HyStart(cubicConstants({})), [50, 60, 60, 60, 60, 60, 60, 60]), [
      'slow start',
      ...Array(5).fill(css),
      'over',
      'over',
    ])
    t.same(rounds(new HyStart(cubicConstants({})), [50, 60, 60, 59, 60]), [
      'slow start',
      css,
      css,
      'slow start',
      'slow start',
    ])
  },
)

t.test('HyStart++: seven round trips are too few to judge by, and one that is not known is none', async t => {
  const hystart = new HyStart(cubicConstants({}))
  for (let i = 0; i < 8; i++) hystart.onAck(0, 50 * MS, i === 0, 1)
  for (let i = 0; i < 7; i++) hystart.onAck(0, 90 * MS, i === 0, 1)
  hystart.onAck(0, 0, false, 1)
  t.equal(hystart.divisor, 1)
  hystart.onAck(0, 90 * MS, false, 1)
  t.equal(hystart.divisor, 4)
})

t.test('HyStart++: an acknowledgement of many packets is two samples', async t => {
  const hystart = new HyStart(cubicConstants({}))
  hystart.onAck(0, 50 * MS, true, 10)
  for (let i = 0; i < 3; i++) hystart.onAck(0, 70 * MS, i === 0, 16)
  t.equal(hystart.divisor, 1)
  hystart.onAck(0, 70 * MS, false, 16)
  t.equal(hystart.divisor, 4)
})

t.test(
  'HyStart++: the last samples of a round count, and a queue that goes on growing ends slow start',
  async t => {
    const hystart = new HyStart(cubicConstants({}))
    const acks = (...roundTripsMs: number[]) =>
      roundTripsMs.map(rtt => {
        for (let i = 0; i < 8; i++) if (hystart.onAck(0, rtt * MS, false, 1)) return 'over'
        return hystart.divisor
      })
    hystart.onAck(0, 50 * MS, true, 1)
    t.same(acks(50), [1])
    hystart.onAck(0, 50 * MS, true, 1)
    // A block of samples is judged with the one before it: both must be above 56.25 ms, and then above 64.1 ms.
    t.same(acks(50, 57, 57, 65, 65, 65), [1, 1, 1, 4, 4, 'over'])
  },
)

t.test(
  'HyStart++: acknowledgements of one round that come for a whole round trip slow it down, in 4 ms at least',
  async t => {
    /**
     * Returns the state of slow start after a round of sixteen acknowledgements with this share of a round
     * trip.
     */
    const after = (rttMs: number, roundTrips: number) => {
      const hystart = new HyStart(cubicConstants({}))
      for (let i = 0; i < 8; i++) hystart.onAck(0, rttMs * MS, i === 0, 1)
      for (let i = 0; i < 16; i++)
        hystart.onAck(1000 * MS + (i * roundTrips * rttMs * MS) / 15, rttMs * MS, i === 0, 1)
      return hystart.divisor
    }
    t.equal(after(10, 0.69), 1, 'what a path that is not full makes of twice the pace: ln 2 of a round trip')
    t.equal(after(10, 0.99), 1)
    t.equal(after(10, 1), 4)
    t.equal(after(1, 3.9), 1)
    t.equal(after(1, 4), 4)
  },
)

t.test(
  'slow start slows down with the window of the beginning of the round; what left before is judged by its own',
  async t => {
    const cc = new Cubic(CONTEXT, { prr: false })
    let [sndNxt, acked] = [0, 0]
    const fill = () => {
      while ((sndNxt - acked + 1) * MTU <= cc.windowBytes()) cc.onSent(0, sndNxt++, MTU)
    }
    const acks = (count: number, rttNs: number) => {
      for (let i = 0; i < count; i++) {
        const seq = acked++
        const inFlightBytes = (sndNxt - acked) * MTU
        cc.onAck(0, sampleOf([], { seq, sndNxt, ackedBytes: MTU, inFlightBytes, rttNs }))
        fill()
      }
    }
    fill()
    acks(9, 10 * MS)
    acks(1, 20 * MS)
    t.equal(cc.windowBytes(), 20 * MTU)
    acks(6, 20 * MS)
    t.equal(cc.windowBytes(), 26 * MTU)
    acks(1, 20 * MS)
    t.equal(cc.windowBytes(), 20.25 * MTU, 'the round began with 20')
    const left = { sndNxt, inFlightBytes: (sndNxt - acked - 1) * MTU, lostBytes: MTU, ackedBytes: 0 }
    cc.onLoss(0, lossOf({ ...left, newestSeq: sndNxt - 1 }))
    t.equal(cc.windowBytes(), 0.7 * 26 * MTU, 'as many were in flight when it was lost')
  },
)

t.test('what was not lost does not end slow start, however late it comes', async t => {
  for (const byTimeout of [false, true]) {
    const cc = new Cubic(CONTEXT, {})
    let [now, sndNxt, acked] = [0, 0, 0]
    const fill = () => {
      while ((sndNxt - acked + 1) * MTU <= cc.windowBytes()) cc.onSent(now, sndNxt++, MTU)
    }
    const acks = (count: number) => {
      for (let i = 0; i < count; i++) {
        const seq = acked++
        now += 0.01 * MS
        const inFlightBytes = (sndNxt - acked) * MTU
        cc.onAck(now, sampleOf([], { seq, sndNxt, ackedBytes: MTU, inFlightBytes, rttNs: 10 * MS }))
        fill()
      }
    }
    fill()
    for (let round = 0; round < 4; round++) {
      now += 8 * MS
      acks(sndNxt - acked)
    }
    t.equal(cc.windowBytes(), 160 * MTU)
    acks(1)
    now += 30 * MS
    const left = { sndNxt, inFlightBytes: (sndNxt - acked - 1) * MTU, lostBytes: MTU, ackedBytes: 0 }
    cc.onLoss(now, lossOf({ ...left, newestSeq: acked, byTimeout }))
    acks(10)
    t.ok(cc.windowBytes() < 160 * MTU)
    cc.onSpurious(now)
    t.equal(cc.windowBytes(), 161 * MTU)
    acks(100)
    t.equal(cc.windowBytes(), 261 * MTU, byTimeout ? 'after a timeout' : 'after a loss')
  }
})

t.test(
  'HyStart++ is of the first slow start alone, and ends it with the window as the threshold',
  async t => {
    const cc = new Cubic(CONTEXT)
    let now = 0
    let seq = 0
    /** Everything in flight is acknowledged, in ten parts. */
    const round = (rttNs: number) => {
      const window = cc.windowBytes()
      for (let sent = 0; sent < window; sent += MTU) cc.onSent(now, seq++, MTU)
      for (let i = 1; i <= 10; i++) {
        now += rttNs / 10
        const left = Math.floor((window / MTU) * (1 - i / 10))
        const sample = { seq: seq - left - 1, sndNxt: seq, ackedBytes: window / 10 }
        cc.onAck(now, sampleOf([], { ...sample, inFlightBytes: left * MTU, rttNs }))
      }
    }
    const threshold = () => {
      const into = new Float64Array(8)
      cc.observe(into)
      return into[1]!
    }
    round(50 * MS)
    t.equal(cc.windowBytes(), 20 * MTU)
    round(50 * MS)
    t.equal(cc.windowBytes(), 40 * MTU)
    for (let i = 0; i < 8; i++) round(80 * MS)
    t.ok(threshold() < 300 * MTU, `${threshold()}: it grew by a quarter a round for five rounds`)
    t.ok(threshold() >= 40 * MTU * 1.25 ** 5)
    cc.onLoss(now, lossOf({ newestSeq: seq - 1, sndNxt: seq, byTimeout: true }))
    const before = threshold()
    for (let i = 0; i < 5; i++) round(i < 2 ? 20 * MS : 200 * MS)
    t.equal(threshold(), before, 'after a timeout the round trip ends no slow start')
  },
)

/** Acknowledgements of a packet each, as RFC 9937, section 8, draws them: returns what is sent after each. */
function prrTrace(ssthresh: number, window: number, lost: number, safe: boolean): number[] {
  const prr = new Prr(1)
  prr.enter(ssthresh, window)
  let inFlight = window - lost
  const sent: number[] = []
  for (let acks = window - lost; acks > 0; acks--) {
    inFlight--
    const sndcnt = Math.floor(prr.onAck(1, inFlight, safe))
    for (let i = 0; i < sndcnt; i++) prr.onSent(1)
    inFlight += sndcnt
    sent.push(sndcnt)
  }
  return [...sent, inFlight]
}

t.test('PRR: one loss in 20 packets, the window halved: every other acknowledgement sends one', async t => {
  const [inFlight, ...back] = prrTrace(10, 20, 1, false).reverse()
  const sent = back.reverse()
  t.equal(inFlight, 10, 'at the end as much is in flight as the window allows')
  t.equal(sent[0], 1, 'the first retransmission leaves at once')
  t.equal(sent.length, 19)
  t.ok(Math.max(...sent) === 1, 'no burst')
  for (let i = 1; i <= sent.length; i++) {
    const sum = sent.slice(0, i).reduce((a, b) => a + b)
    t.ok(Math.abs(sum - Math.ceil(i / 2)) <= 1, `${sum} of ${i}`)
  }
})

t.test('PRR: 15 of 20 lost: one sent for one acknowledged; one more each when that is safe', async t => {
  t.same(prrTrace(10, 20, 15, false), [1, 1, 1, 1, 1, 5], 'PRR-CRB: packet conservation')
  t.same(prrTrace(10, 20, 15, true), [2, 2, 2, 2, 2, 10], 'PRR-SSRB: as fast as slow start, up to the window')
})

t.test(
  'PRR in CUBIC: what is sent follows what arrives, and at the end the window is the threshold',
  async t => {
    const cc = new Cubic(CONTEXT, { hystart: false, initialWindow: 100 })
    let inFlight = 0
    let seq = 0
    let sent = 0
    const fill = () => {
      for (; inFlight < cc.windowBytes(); inFlight += MTU, sent++) cc.onSent(0, seq++, MTU)
    }
    fill()
    sent = 0
    inFlight -= MTU
    cc.onLoss(
      1,
      lossOf({ newestSeq: 0, sndNxt: seq, inFlightBytes: inFlight - 2 * MTU, ackedBytes: 2 * MTU }),
    )
    const recovery = seq
    const bursts: number[] = []
    for (let acked = 2; acked <= 98; acked += 2) {
      inFlight -= 2 * MTU
      const sample = { ackedBytes: 2 * MTU, inFlightBytes: inFlight, rttNs: 10 * MS, advanced: false }
      cc.onAck(2, sampleOf([], { seq: acked, sndNxt: seq, ...sample }))
      const before = sent
      fill()
      bursts.push(sent - before)
    }
    t.ok(Math.max(...bursts) <= 3, `${bursts}`)
    t.ok(Math.abs(sent - 70) <= 2, `${sent} packets for 98: 0.7 of them`)
    cc.onAck(3, sampleOf([], { seq: recovery, sndNxt: seq, ackedBytes: 0, inFlightBytes: inFlight }))
    t.equal(cc.windowBytes(), 70 * MTU)
  },
)

t.test('PRR: a loss found while recovering makes no room by itself', async t => {
  const cc = new Cubic(CONTEXT, { initialWindow: 100 })
  for (let i = 0; i < 100; i++) cc.onSent(0, i, MTU)
  cc.onLoss(1, lossOf({ newestSeq: 0, sndNxt: 100, inFlightBytes: 99 * MTU }))
  t.equal(cc.windowBytes(), 100 * MTU, 'room for the first retransmission')
  cc.onSent(1, 100, MTU)
  cc.onLoss(2, lossOf({ newestSeq: 50, sndNxt: 101, lostBytes: 50 * MTU, inFlightBytes: 50 * MTU }))
  t.ok(cc.windowBytes() <= 51 * MTU, `${cc.windowBytes()}`)
})

t.test('ECN: an echo counts once a round trip, and 0.85 is a choice (RFC 3168, RFC 8511)', async t => {
  for (const [options, beta] of [
    [{}, 0.7],
    [{ betaEcn: 0.85 }, 0.85],
    [{ beta: 0.5 }, 0.7],
  ] as const) {
    const cc = new Cubic(CONTEXT, { prr: false, initialWindow: 100, ...options })
    for (let i = 0; i < 100; i++) cc.onSent(0, i, MTU)
    const marked = (seq: number, sndNxt: number) =>
      cc.onAck(1, sampleOf([], { seq, sndNxt, ackedBytes: 0, inFlightBytes: 99 * MTU, ecnEcho: true }))
    marked(3, 100)
    const once = cc.windowBytes()
    t.equal(Math.round(once), 100 * MTU * beta)
    marked(50, 100)
    marked(99, 100)
    t.equal(cc.windowBytes(), once, 'of the same round trip')
    for (let i = 100; i < 100 + 100 * beta; i++) cc.onSent(2, i, MTU)
    marked(100, 170)
    t.ok(cc.windowBytes() < once, 'of the next one')
  }
})

t.test('a CNP counts as a mark, once a round trip', async t => {
  const cc = new Cubic(CONTEXT, { prr: false, initialWindow: 100 })
  for (let i = 0; i < 100; i++) cc.onSent(0, i, MTU)
  const acked = (seq: number) =>
    cc.onAck(1, sampleOf([], { seq, sndNxt: 100, ackedBytes: 0, inFlightBytes: 99 * MTU }))
  acked(0)
  cc.onCnp(1)
  const once = cc.windowBytes()
  t.equal(Math.round(once), 70 * MTU)
  acked(99)
  cc.onCnp(2)
  t.equal(cc.windowBytes(), once)
  cc.onSent(3, 100, MTU)
  acked(100)
  cc.onCnp(4)
  t.ok(cc.windowBytes() < once)
})

t.test(
  'the pace is twice the window a round trip in slow start, 1.25 times after, at most the line rate',
  async t => {
    const cc = new Cubic(CONTEXT)
    const pace = (gain: number, rttMs: number) => Math.round((gain * cc.windowBytes() * 8e9) / (rttMs * MS))
    t.equal(
      Math.round(cc.rateBps()),
      pace(2, 10),
      'by the round trip that is expected, before one is measured',
    )
    for (let i = 0; i < 10; i++) cc.onSent(0, i, MTU)
    const sample = { sndNxt: 10, ackedBytes: 0, inFlightBytes: 9 * MTU, rttNs: 40 * MS }
    cc.onAck(1, sampleOf([], { seq: 0, ...sample }))
    t.equal(Math.round(cc.rateBps()), pace(2, 40))
    cc.onLoss(2, lossOf({ newestSeq: 9, sndNxt: 10 }))
    cc.onSent(2, 10, MTU)
    cc.onAck(3, sampleOf([], { seq: 10, ...sample }))
    t.equal(cc.windowBytes(), 7 * MTU)
    t.equal(Math.round(cc.rateBps()), pace(1.25, 40))
    t.equal(new Cubic({ ...CONTEXT, lineRateBps: 1e6 }).rateBps(), 1e6)
  },
)

t.test('a pause halves the window for each timeout, down to the initial one (RFC 2861)', async t => {
  for (const [pauseMs, window] of [
    [150, 80],
    [250, 40],
    [450, 20],
    [10_000, 10],
  ] as const) {
    const cc = new Cubic(CONTEXT, { hystart: false })
    let seq = 0
    for (const packets of [10, 20, 40]) {
      for (let i = 0; i < packets; i++) cc.onSent(0, seq++, MTU)
      const sample = { seq: seq - 1, sndNxt: seq, ackedBytes: packets * MTU, inFlightBytes: 0 }
      cc.onAck(1, sampleOf([], { ...sample, rttNs: 10 * MS }))
    }
    t.equal(cc.windowBytes(), 80 * MTU)
    // The timeout is 200 ms: three round trips of 10 ms ask for less.
    cc.onSent(pauseMs * MS, seq, MTU)
    t.equal(cc.windowBytes(), window * MTU, `${pauseMs} ms`)
  }
})

t.test(
  'until the first loss the window grows by a twentieth in a round trip, as in Linux, while there is no queue',
  async t => {
    const rttNs = 100 * MS
    const growth = new CubicGrowth(1448, 1448, cubicConstants({}))
    let now = 0
    let cwnd = 1e6
    const afterRound = (srttNs = rttNs) => {
      for (let i = 0; i < 20; i++) {
        now += rttNs / 20
        cwnd = growth.next(now, cwnd, cwnd / 20, srttNs, srttNs)
      }
      return cwnd
    }
    growth.beginFirst(now, cwnd, 1.125 * rttNs)
    // (1 + 0.05 / 20)^20 in each round trip.
    const wanted = 1e6 * (1 + 0.05 / 20) ** 200
    for (let round = 0; round < 10; round++) afterRound()
    t.ok(Math.abs(cwnd / wanted - 1) < 1e-9, `${cwnd}, not ${wanted}`)
    growth.reduce(cwnd, true)
    growth.undo()
    t.ok(
      Math.abs(afterRound() / wanted / (1 + 0.05 / 20) ** 20 - 1) < 1e-9,
      'nor does a spurious reduction end it',
    )
    growth.reduce(cwnd, true)
    cwnd *= 0.7
    growth.begin(now, cwnd)
    const reduced = cwnd
    // W_cubic: K = cbrt(0.3 W_max / C), and 0.1 s later C (0.1 - K)^3 + W_max.
    const wMax = reduced / 0.7 / 1448
    const k = Math.cbrt((0.3 * wMax) / 0.4)
    t.ok(afterRound() <= 1448 * (0.4 * (0.2 - k) ** 3 + wMax), 'after a loss the curve alone counts')
    growth.beginFresh(now, cwnd)
    const fresh = cwnd
    t.ok(afterRound() < 1.01 * fresh, 'nor does a slow start after a timeout explore')
  },
)

t.test(
  'a queue is what the least of two round trips shows: hosts that run late add nothing to it',
  async t => {
    const rtt = new RttEstimator(200 * MS)
    t.equal(rtt.leastNs, NEVER)
    for (const ms of [40, 21, 33]) rtt.onSample(ms * MS)
    t.equal(rtt.leastNs, 21 * MS)
    rtt.onRound()
    for (const ms of [38, 29]) rtt.onSample(ms * MS)
    t.equal(rtt.leastNs, 21 * MS)
    rtt.onRound()
    t.equal(rtt.leastNs, 29 * MS)
    t.ok(rtt.srttNs > 30 * MS)
    rtt.forget()
    t.equal(rtt.leastNs, NEVER)
  },
)
