/**
 * FNCC beside its own pseudocode (Xu et al., 2024, algorithm 3), written down here from the paper: random paths, queues and N, and the
 * window after each acknowledgement. W and Wc stay between 1/1000 of the line rate and W_init, which the paper leaves open.
 */
import t from 'tap'
import { createCongestionControl } from '../../lib/cc/catalogue.js'
import type { OptionValues } from '../../lib/cc/options.js'
import { Random } from '../../lib/sim/random.js'
import { fixedSeed } from '../support/seeds.js'
import { type Hop, lossOf, sampleOf } from './samples.js'

const CONTEXT = { lineRateBps: 100e9, baseRttNs: 12_000, mtuBytes: 1000 }
const W_INIT = 150_000
const ETA = 0.95
const MAX_STAGE = 5
const W_AI = 80

/** Algorithm 3, lines 4 to 48; the last link of the path is the last of `hops`. */
class Listing {
  w = W_INIT
  #wc = W_INIT
  #u = 1
  #incStage = 0
  #lastUpdateSeq = -1
  #l: readonly Hop[] | null = null
  readonly #alpha: number
  readonly #beta: number
  lastHop = 0

  constructor(alpha: number, beta: number) {
    this.#alpha = alpha
    this.#beta = beta
  }

  newAck(seq: number, sndNxt: number, n: number, hops: readonly Hop[]): void {
    const before = this.#l
    this.#l = hops
    if (before === null) {
      this.#lastUpdateSeq = sndNxt
      return
    }
    const updateWc = seq >= this.#lastUpdateSeq
    const u = hops.map((hop, i) => {
      const bytesPerNs = hop.rateBps / 8e9
      const txRate = (hop.txBytes - before[i]!.txBytes) / (hop.tsNs - before[i]!.tsNs)
      const queue = Math.min(hop.qlenBytes, before[i]!.qlenBytes)
      return queue / (bytesPerNs * CONTEXT.baseRttNs) + txRate / bytesPerNs
    })
    const most = Math.max(...u)
    const hop = u.indexOf(most)
    const tau = Math.min(hops[hop]!.tsNs - before[hop]!.tsNs, CONTEXT.baseRttNs) / CONTEXT.baseRttNs
    this.#u = (1 - tau) * this.#u + tau * most
    if (n > 0 && hop === hops.length - 1 && most > this.#alpha) {
      this.#wc = bounded(((hops[hop]!.rateBps / 8e9) * CONTEXT.baseRttNs * this.#beta) / n)
      this.lastHop++
    }
    const multiplicative = this.#u >= ETA || this.#incStage >= MAX_STAGE
    this.w = bounded((multiplicative ? this.#wc / (this.#u / ETA) : this.#wc) + W_AI)
    if (!updateWc) return
    this.#incStage = multiplicative ? 0 : this.#incStage + 1
    this.#wc = this.w
    this.#lastUpdateSeq = sndNxt
  }
}

function bounded(w: number): number {
  return Math.min(W_INIT, Math.max(W_INIT / 1000, w))
}

for (const [options, alpha, beta] of [
  [{}, 1.05, 0.9],
  [{ lastHopAlpha: 1.15, lastHopBeta: 0.5 }, 1.15, 0.5],
  [{ lastHop: 0 }, Number.POSITIVE_INFINITY, 1],
] as [OptionValues, number, number][]) {
  t.test(
    `the window after each acknowledgement is that of algorithm 3: ${JSON.stringify(options)}`,
    async t => {
      const random = new Random(fixedSeed(t, 31))
      const cc = createCongestionControl('fncc', CONTEXT, { ...options, wAi: W_AI })
      const listing = new Listing(alpha, beta)
      const hops: Hop[] = [100e9, 400e9, 100e9].map(rateBps => ({
        rateBps,
        tsNs: 0,
        txBytes: 0,
        qlenBytes: 0,
      }))
      let now = 1e6
      let off = 0
      let moved = 0
      for (let seq = 0; seq < 3000; seq += 1 + random.below(3)) {
        const dt = 80 + random.below(400)
        now += dt
        const congested = Math.floor(seq / 100) % 4
        for (const [i, hop] of hops.entries()) {
          const share = i === congested ? 0.9 + random.below(100) / 900 : random.below(900) / 1000
          hop.tsNs = now - 1000 * (3 - i)
          hop.txBytes += Math.floor((hop.rateBps / 8e9) * dt * share)
          hop.qlenBytes = i === congested ? random.below(60_000) : 0
        }
        const flows = random.below(6)
        const sample = sampleOf(hops, { seq, sndNxt: seq + 120, rttNs: 13_000 })
        sample.hops.flows = flows
        const before = cc.windowBytes()
        cc.onAck(now, sample)
        listing.newAck(
          seq,
          seq + 120,
          flows,
          hops.map(hop => ({ ...hop })),
        )
        off = Math.max(off, Math.abs(cc.windowBytes() - listing.w) / listing.w)
        if (cc.windowBytes() !== before) moved++
      }
      t.ok(off < 1e-9, `relative difference ${off}`)
      t.ok(moved > 500, `${moved} windows`)
      t.equal(listing.lastHop > 50, alpha < 2, `${listing.lastHop} times by N`)
      t.ok(Math.abs(cc.rateBps() - (listing.w * 8e9) / CONTEXT.baseRttNs) < 1)
    },
  )
}

/** A path of two links whose last one is full and has a queue of half a bandwidth-delay product. @param n N; 0 = unknown */
function congestedLast(n: number, change: (sample: ReturnType<typeof sampleOf>) => void = () => {}): number {
  const cc = createCongestionControl('fncc', CONTEXT, { wAi: W_AI })
  for (let i = 0; i < 3; i++) {
    const tsNs = 1e6 + i * 12_000
    const hops = [0, 75_000].map(qlenBytes => ({
      rateBps: 100e9,
      tsNs,
      txBytes: i * (qlenBytes ? 150_000 : 1000),
      qlenBytes,
    }))
    const sample = sampleOf(hops, { seq: i * 200, sndNxt: i * 200 + 100, rttNs: 18_000 })
    sample.hops.flows = n
    change(sample)
    cc.onAck(tsNs, sample)
  }
  return cc.windowBytes()
}

t.test(
  'last-hop speedup: the fair share by N at once, and nothing where N or the place is not known',
  async t => {
    // U = 1 + 0.5; W = B T beta / N / (U / eta) + W_AI.
    for (const n of [1, 4, 90]) {
      const fair = (W_INIT * 0.9) / n / (1.5 / ETA) + W_AI
      t.ok(Math.abs(congestedLast(n) - fair) < 1e-6, `N = ${n}: ${congestedLast(n)}, ${fair}`)
    }
    const without = congestedLast(0)
    t.ok(without < W_INIT / 2 && without > congestedLast(4), `${without}`)
    const flags = ['overflow', 'ratioOnly'] as const
    for (const flag of flags) {
      const changed = congestedLast(4, ({ hops }) => {
        hops[flag] = true
      })
      t.ok(changed > congestedLast(4), flag)
    }
  },
)

t.test(
  'losses and timeouts bound a careful flow, and one that starts at line rate by option alone',
  async t => {
    const loss = lossOf({ newestSeq: 50, sndNxt: 100, inFlightBytes: 100_000, lostBytes: 1000 })
    const careful = createCongestionControl('fncc', { ...CONTEXT, careful: true })
    t.equal(careful.windowBytes(), 10_000, 'it begins with ten packets')
    careful.onLoss(0, loss)
    t.equal(careful.windowBytes(), 7000)
    careful.onLoss(0, { ...loss, newestSeq: 150, byTimeout: true, sndNxt: 200 })
    t.equal(careful.windowBytes(), 1000)
    const fast = createCongestionControl('fncc', CONTEXT)
    fast.onLoss(0, loss)
    t.equal(fast.windowBytes(), W_INIT)
    const both = createCongestionControl('fncc', CONTEXT, { lossReaction: true })
    both.onLoss(0, loss)
    t.ok(both.windowBytes() < W_INIT)
  },
)
