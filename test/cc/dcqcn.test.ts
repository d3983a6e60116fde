/** DCQCN beside calculations from the equations of the paper (Zhu et al., SIGCOMM 2015, section 3.1), step by step. */
import t, { type Test } from 'tap'
import { type CongestionControl, newAckSample } from '../../lib/cc/congestion-control.js'
import { Dcqcn } from '../../lib/cc/dcqcn/dcqcn.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed } from '../support/seeds.js'
import { lossOf, sampleOf } from './samples.js'

const LINE_BPS = 40e9
const US = 1000
const CONTEXT = { lineRateBps: LINE_BPS, baseRttNs: 8 * US, mtuBytes: 1000 }
const seed = drawnSeed(t)

/** Runs the controller's deadlines up to a time. */
function until(cc: CongestionControl, ns: number): void {
  for (let due = cc.nextTimeout!(); due <= ns; due = cc.nextTimeout!()) cc.onTimeout!(due)
}

const cnp = (cc: CongestionControl, now: number) => cc.onCnp!(now, newAckSample())

/**
 * The paper's reaction point, event by event, with alpha and both counters kept as the text has them: alpha by a timer of its own, increases
 * counted one by one. Times in whole microseconds.
 */
class Paper {
  rc = LINE_BPS
  rt = LINE_BPS
  alpha = 1
  #t = 0
  #bc = 0
  #bytes = 0
  #seen = false
  #alphaAt = 0
  #timerAt = 0
  readonly #g = 1 / 256
  readonly #f: number
  readonly #ai: number
  readonly #hai: number

  constructor(f: number, ai: number, hai: number) {
    this.#f = f
    this.#ai = ai
    this.#hai = hai
  }

  /** A microsecond passes. */
  tick(us: number): void {
    if (!this.#seen) return
    if (us - this.#alphaAt === 55) {
      this.alpha *= 1 - this.#g
      this.#alphaAt = us
    }
    if (us - this.#timerAt === 55) {
      this.#increase()
      this.#t++
      this.#timerAt = us
    }
  }

  cnp(us: number): void {
    this.#seen = true
    this.rt = this.rc
    this.rc *= 1 - this.alpha / 2
    this.alpha = (1 - this.#g) * this.alpha + this.#g
    this.#t = 0
    this.#bc = 0
    this.#bytes = 0
    this.#alphaAt = us
    this.#timerAt = us
  }

  sent(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < 10_000_000) return
    this.#bytes -= 10_000_000
    this.#increase()
    this.#bc++
  }

  #increase(): void {
    if (Math.max(this.#t, this.#bc) < this.#f) this.rc = (this.rt + this.rc) / 2
    else {
      const step = Math.min(this.#t, this.#bc) > this.#f ? this.#hai : this.#ai
      this.rt = Math.min(LINE_BPS, this.rt + step)
      this.rc = (this.rt + this.rc) / 2
    }
  }
}

const near = (t: Test, found: number, wanted: number, what: string) =>
  t.ok(Math.abs(found - wanted) <= 1e-6 * wanted, `${what}: ${found}, by the paper ${wanted}`)

t.test('two CNPs and what follows, by hand', async t => {
  const cc = new Dcqcn(CONTEXT)
  t.same(
    [cc.rateBps(), cc.windowBytes(), cc.nextTimeout()],
    [40e9, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  )
  cnp(cc, 0)
  near(t, cc.rateBps(), 20e9, 'alpha is 1 at first: half')
  until(cc, 49 * US)
  near(t, cc.rateBps(), 20e9, 'nothing happens in less than 55 us')
  cnp(cc, 50 * US)
  near(t, cc.rateBps(), 10e9, 'alpha stays 1 with every CNP')
  until(cc, 105 * US)
  near(t, cc.rateBps(), 15e9, 'fast recovery: half way to 20 Gbit/s')
  until(cc, 160 * US)
  near(t, cc.rateBps(), 17.5e9, 'and half of the rest')
  until(cc, 325 * US)
  near(t, cc.rateBps(), 20e9 - 10e9 / 32, 'five times')
  until(cc, 380 * US)
  near(t, cc.rateBps(), (20.04e9 + (20e9 - 10e9 / 32)) / 2, 'then 40 Mbit/s are added')
  cnp(cc, 381 * US)
  const before = (20.04e9 + (20e9 - 10e9 / 32)) / 2
  // 331 us since the last CNP are six times 55 us.
  near(t, cc.rateBps(), before * (1 - (255 / 256) ** 6 / 2), 'alpha has decayed six times')
})

t.test('hyper increase: only when timer and byte counter have both had more than F', async t => {
  const cc = new Dcqcn(CONTEXT, { fastRecovery: 2, byteCounter: 1000, rAi: 1e6, rHai: 1e8 })
  cnp(cc, 0)
  let rt = 40e9
  cnp(cc, 1)
  rt = 20e9
  let rc = 10e9
  const steps = [0, 0, 1e6, 1e6, 1e6]
  for (const [i, step] of steps.entries()) {
    cc.onSent(2, i, 1000)
    rt += step
    rc = (rt + rc) / 2
    near(t, cc.rateBps(), rc, `step ${i} of the byte counter`)
  }
  // The timer's own count is 0, 1, 2 and 3 before its steps: from then on both are above 2.
  for (const [i, step] of [1e6, 1e6, 1e6, 1e8, 1e8].entries()) {
    until(cc, 1 + (i + 1) * 55 * US)
    rt += step
    rc = (rt + rc) / 2
    near(t, cc.rateBps(), rc, `step ${i} of the timer`)
  }
})

t.test(`the same as the paper's reaction point over random CNPs and packets, seed ${seed}`, async t => {
  const random = new Random(seed)
  for (let run = 0; run < 20; run++) {
    const [f, ai, hai] = [1 + random.below(6), 40e6 * (1 + random.below(20)), 200e6 * (1 + random.below(20))]
    const cc = new Dcqcn(CONTEXT, { fastRecovery: f, rAi: ai, rHai: hai })
    const paper = new Paper(f, ai, hai)
    let worst = 0
    let cuts = 0
    for (let us = 1; us < 12_000; us++) {
      until(cc, us * US)
      paper.tick(us)
      if (random.below(us % 4000 < 400 ? 60 : 3000) === 0) {
        cnp(cc, us * US)
        paper.cnp(us)
        cuts++
      }
      const bytes = random.below(60_000)
      // At line rate the counters have nothing to raise; the paper does not say whether they run.
      if (paper.rc < 0.999 * LINE_BPS) {
        cc.onSent(us * US, us, bytes)
        paper.sent(bytes)
      }
      worst = Math.max(worst, Math.abs(cc.rateBps() - paper.rc) / paper.rc)
    }
    t.ok(cuts > 0)
    t.ok(worst < 2e-6, `run ${run}: off by ${worst} with F ${f} after ${cuts} CNPs`)
  }
})

t.test('as NICs do it: CNPs are looked at by timers, and the target is not clamped twice', async t => {
  const options = {
    cutInterval: 4 * US,
    alphaTimer: 1 * US,
    timer: 300 * US,
    byteCounter: 0,
    fastRecovery: 1,
    clampTarget: false,
  }
  const cc = new Dcqcn(CONTEXT, options)
  const g = 1 / 256
  cnp(cc, 10 * US)
  t.equal(cc.rateBps(), 40e9, 'nothing yet')
  for (let at = 10_500; at < 14_000; at += 500) cnp(cc, at)
  t.equal(cc.nextTimeout(), 14 * US)
  until(cc, 14 * US)
  near(t, cc.rateBps(), 20e9, 'a cut for all of them, with an alpha of 1')
  // CNPs in each microsecond kept alpha at 1. Without any it decays by 1 - g a microsecond: 14 to 21, with one in the first.
  cnp(cc, 14.2 * US)
  until(cc, 18 * US)
  let alpha = 1
  for (let us = 14; us < 18; us++) alpha = (1 - g) * alpha + (us === 14 ? g : 0)
  near(t, cc.rateBps(), 20e9 * (1 - alpha / 2), 'the next look')
  const rc = 20e9 * (1 - alpha / 2)
  until(cc, 317 * US)
  near(t, cc.rateBps(), rc, 'no CNP, no cut')
  until(cc, 318 * US)
  near(t, cc.rateBps(), (rc + 40e9) / 2, 'the target is what it was before both cuts')
  const next = (rc + 40e9) / 2
  until(cc, 618 * US)
  near(t, cc.rateBps(), (next + 40e9) / 2, 'additive increase is bounded by the line rate')
})

t.test('no rate below the least, whatever comes', async t => {
  const cc = new Dcqcn(CONTEXT, { minRate: 5e6 })
  for (let i = 0; i < 1000; i++) cnp(cc, i)
  t.equal(cc.rateBps(), 5e6)
  t.ok(cc.nextTimeout() > 999 && cc.nextTimeout() <= 999 + 55 * US, 'and it recovers')
})

t.test('a window that follows the rate', async t => {
  const cc = new Dcqcn(CONTEXT, { withWindow: true })
  t.equal(cc.windowBytes(), 40_000)
  cnp(cc, 0)
  t.equal(cc.windowBytes(), 20_000)
  for (let i = 1; i < 100; i++) cnp(cc, i)
  t.equal(cc.windowBytes(), 1000, 'a packet at least')
})

t.test('a careful flow begins with ten packets, doubles them, and a CNP ends that', async t => {
  const cc = new Dcqcn({ ...CONTEXT, baseRttNs: 100 * US, careful: true })
  t.equal(cc.windowBytes(), 10_000)
  near(t, cc.rateBps(), (2 * 10_000 * 8e9) / 100_000, 'paced over half a round trip')
  for (let i = 0; i < 10; i++)
    cc.onAck(100 * US + i, sampleOf([], { seq: i, ackedBytes: 1000, inFlightBytes: 10_000, rttNs: 100 * US }))
  t.equal(cc.windowBytes(), 20_000)
  cnp(cc, 200 * US)
  // 20,000 bytes in 100 us are 1.6 Gbit/s: what the flow had, and half of that is left.
  near(t, cc.rateBps(), 0.8e9, 'half of what the flow had, not of the line rate')
  cnp(cc, 201 * US)
  near(t, cc.rateBps(), 0.8e9, 'once in a round trip')
  cnp(cc, 301 * US)
  // Alpha has decayed once meanwhile.
  near(t, cc.rateBps(), 0.8e9 * (1 - 255 / 512), 'and again')
})

t.test('losses bound the window, a timeout to a packet; it grows again as packets arrive', async t => {
  const cc = new Dcqcn(CONTEXT)
  cc.onLoss(0, lossOf({ lostBytes: 1000, inFlightBytes: 99_000, newestSeq: 50, sndNxt: 100 }))
  t.equal(cc.windowBytes(), 70_000, 'of what was in flight 0.7 is left')
  cc.onLoss(1, lossOf({ lostBytes: 1000, inFlightBytes: 69_000, newestSeq: 99, sndNxt: 120 }))
  t.equal(cc.windowBytes(), 70_000, 'once in a round trip')
  cc.onLoss(2, lossOf({ lostBytes: 70_000, inFlightBytes: 0, newestSeq: 119, sndNxt: 120, byTimeout: true }))
  t.equal(cc.windowBytes(), 1000)
  t.ok(cc.rateBps() <= (2 * 1000 * 8e9) / (8 * US) + 1, 'paced')
  cc.onAck(3, sampleOf([], { seq: 120, ackedBytes: 1000, rttNs: 8 * US }))
  t.equal(cc.windowBytes(), 2000)
  const off = new Dcqcn(CONTEXT, { lossReaction: false })
  off.onLoss(0, lossOf({ byTimeout: true }))
  t.equal(off.windowBytes(), Number.POSITIVE_INFINITY, 'as in the paper')
})

t.test('a flow without congestion has no deadline', async t => {
  const cc = new Dcqcn(CONTEXT)
  cnp(cc, 0)
  let steps = 0
  for (let due = cc.nextTimeout(); due < Number.POSITIVE_INFINITY; due = cc.nextTimeout()) {
    cc.onTimeout(due)
    if (++steps > 1000) break
  }
  t.equal(cc.rateBps(), 40e9)
  t.ok(steps < 30, `${steps} steps of the timer`)
})
