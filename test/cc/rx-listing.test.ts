/**
 * Lines 28-34 of the listing (draft-miao-rtgwg-hpccplus, section on receiver-based HPCC), to the letter, against a second
 * implementation that follows the draft line by line, by random traces: when W is sent, and what it is then and between.
 */
import t from 'tap'
import { WindowDue } from '../../lib/cc/congestion-control.js'
import { RxListing } from '../../lib/cc/rx-hpcc/rx-listing.js'
import { Random } from '../../lib/sim/random.js'
import { fixedSeeds } from '../support/seeds.js'
import { type Hop, sampleOf } from './samples.js'

const T = 8000
const W_INIT = 100_000
const CONTEXT = { lineRateBps: 100e9, baseRttNs: T, mtuBytes: 1000 }
const ETA = 0.95

interface Seen {
  w: number
  /** Line 31: send_ack(W). */
  sent: boolean
}

function* listing(
  ints: readonly { now: number; hops: readonly Hop[] }[],
  maxStage: number,
  wAi: number,
): Generator<Seen> {
  let w = W_INIT
  let wc = W_INIT
  let bigU = 1
  let incStage = 0
  let lastUpdateTime = Number.NEGATIVE_INFINITY
  let known: readonly Hop[] | null = null
  for (const { now, hops } of ints) {
    if (known === null) {
      known = hops
      yield { w, sent: false }
      continue
    }
    // Lines 1-10.
    let u = 0
    let tau = 0
    for (const [i, hop] of hops.entries()) {
      const last: Hop = known[i]!
      const txRate = (hop.txBytes - last.txBytes) / (hop.tsNs - last.tsNs)
      const b = hop.rateBps / 8e9
      const uLink = Math.min(hop.qlenBytes, last.qlenBytes) / (b * T) + txRate / b
      if (uLink > u) {
        u = uLink
        tau = hop.tsNs - last.tsNs
      }
    }
    tau = Math.min(tau, T)
    bigU = (1 - tau / T) * bigU + (tau / T) * u
    // Lines 29-34, and 11-20 within.
    const updateWc = now > lastUpdateTime + T
    if (bigU >= ETA || incStage >= maxStage) {
      w = wc / (bigU / ETA) + wAi
      w = Math.min(W_INIT, Math.max(W_INIT / 1000, w))
      if (updateWc) {
        incStage = 0
        wc = w
      }
    } else {
      w = Math.min(W_INIT, Math.max(W_INIT / 1000, wc + wAi))
      if (updateWc) {
        incStage++
        wc = w
      }
    }
    if (updateWc) lastUpdateTime = now
    known = hops
    yield { w, sent: updateWc }
  }
}

t.test('random traces: W as the listing has it, and sent when it says so', async t => {
  const seeds = fixedSeeds([1, 2, 3, 4, 5, 6])
  for (const seed of seeds) {
    const random = new Random(seed)
    const maxStage = random.below(7)
    const wAi = random.below(500)
    const rates = Array.from({ length: 1 + random.below(4) }, () => [100e9, 40e9][random.below(2)]!)
    const tsNs = rates.map(() => random.below(1e9))
    const txBytes = rates.map(() => random.below(1e9))
    let now = 0
    const ints = Array.from({ length: 2000 }, () => {
      now += 1 + random.below(random.below(20) === 0 ? 2 * T : 600)
      const hops = rates.map((rateBps, i) => {
        const dt = 1 + random.below(600)
        tsNs[i] = tsNs[i]! + dt
        txBytes[i] = txBytes[i]! + Math.floor((random.next() * dt * rateBps) / 8e9)
        return { rateBps, tsNs: tsNs[i]!, txBytes: txBytes[i]!, qlenBytes: random.below(40_000) }
      })
      return { now, hops }
    })
    const receiver = new RxListing(CONTEXT, { maxStage, wAi, countFlows: false })
    let n = 0
    let sent = 0
    let wrong = ''
    for (const wanted of listing(ints, maxStage, wAi)) {
      const int = ints[n++]!
      const due = receiver.onTelemetry(int.now, sampleOf(int.hops).hops, 0) === WindowDue.NEW
      const w = receiver.windowBytes()
      if (due) sent++
      if (due !== wanted.sent || Math.abs(w - wanted.w) > 1e-9 * W_INIT)
        wrong ||= `${n}: ${w} and ${due}, not ${wanted.w} and ${wanted.sent}`
    }
    t.equal(wrong, '', `SEED=${seed}`)
    t.ok(sent > 50 && sent <= now / T + 1, `${sent} windows in ${now / T} T`)
  }
})
