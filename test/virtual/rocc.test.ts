import { jainIndex } from '../../lib/scenario/result/fairness.js'
import { long, usual } from '../support/long.js'
import { PAPER_40G } from '../switch-emu/rocc-paper.js'
import { fairness, joinQueue, sharesBetween } from './rocc.js'
import { reachedMs, roccModel, settledMs } from './rocc-model.js'

const GBPS = 40
/** Links of hosts: sources offer 90 % of the common link (section 6.1). */
const SHARE = 0.9
/** Flows of the model begin as `joinQueue` has it. */
const MODEL = { gapNs: 100, share: SHARE, delayNs: 3000, qLow: PAPER_40G.qRef / 8 }

for (const flows of [2, 10, 100]) {
  const test = flows === 100 ? long : usual
  test(`${flows} flows with RoCC have their fair shares of a link after 5 ms`, async t => {
    const shares = sharesBetween({ flows, gbps: GBPS }, 5, 7)
    const jain = jainIndex(shares)
    t.ok(jain > 0.98, `Jain index ${jain}`)
    const mean = shares.reduce((a, b) => a + b, 0) / flows
    t.ok(mean > 0.8, `${mean} of the link is payload`)
  })
}

/**
 * Intervals of algorithm 1 from F_min to a fair share while the queue is empty: each adds alpha Q_ref / r, in units of 10 Mbit/s, where
 * r = 2^k for F of F_max / 2^(k+1) on, and 32 for less.
 */
function intervalsToClimb(flows: number): number {
  const [fMax, alpha, qRef] = [4000, 0.3, 250]
  let intervals = 0
  for (let f = 10; f < fMax / flows; intervals++) {
    let r = 1
    while (r < 32 && f < fMax / (2 * r)) r *= 2
    f += (alpha * qRef) / r
  }
  return intervals
}

for (const flows of [2, 10]) {
  const test = flows === 10 ? usual : long
  test(`algorithm 1 as printed, ${flows} flows: F climbs from F_min as it says`, async t => {
    const climbMs = intervalsToClimb(flows) * 0.04
    t.comment(`the climb takes ${climbMs} ms`)
    const joining = { flows, gbps: GBPS, share: SHARE, rocc: 'qLow: 0B' }
    t.ok(fairness(joining, 0.5).ratio < 0.3, 'the burst of the start has taken F down')
    for (const more of [0.8, 1.3]) {
      const { ratio } = fairness(joining, climbMs + more)
      t.ok(ratio > 0.85 && ratio < 1.15, `after ${climbMs + more} ms ${ratio} of the fair share`)
    }
  })
}

/** Figure 8: F settles in ~2 ms. The authors' simulation has 5 MB for each port. */
for (const [flows, off, test] of [
  [2, 0.07, usual],
  [10, 0.07, usual],
  [100, 0.15, long],
] as const) {
  test(`${flows} flows that begin at once have the fair rate after 2 ms, as a model without packets`, async t => {
    const model = { ...MODEL, flows, bufferBytes: 5e6 }
    const modelMs = settledMs(roccModel(model, 10), off)
    t.ok(modelMs < 2.1, `the model has it after ${modelMs} ms`)
    const printedMs = settledMs(roccModel({ ...model, qLow: 0 }, 10), off)
    t.comment(`by algorithm 1 as printed after ${printedMs} ms`)
    const joining = { flows, gbps: GBPS, share: SHARE, buffer: '5MB' }
    for (const ms of [2, 2.3, 2.7, 3.5]) {
      const { ratio } = fairness(joining, ms)
      t.ok(Math.abs(ratio - 1) < off, `after ${ms} ms ${ratio} of the fair share`)
    }
    const halfway = fairness(joining, modelMs / 2).ratio
    t.ok(halfway < 1 - off, `after ${modelMs / 2} ms not yet: ${halfway}`)
  })
}

/**
 * No case of the paper: a buffer that holds all that 100 flows send until the first F reaches them. The queue is above Q_max until that has
 * left, so algorithm 1 itself keeps F at F_min, with which the link still gets 10 of 40 Gbit/s.
 */
long('100 flows and a buffer for their burst: F comes back when the calculation says', async t => {
  const model = { ...MODEL, flows: 100, bufferBytes: 64e6 }
  const modelMs = reachedMs(roccModel(model, 10), 0.15)
  t.ok(modelMs > 4, `by the calculation after ${modelMs} ms`)
  const joining = { flows: 100, gbps: GBPS, share: SHARE }
  const before = fairness(joining, 0.75 * modelMs).ratio
  t.ok(before < 0.3, `after ${0.75 * modelMs} ms ${before} of the fair share`)
  for (const later of [0.4, 1, 2]) {
    const { ratio } = fairness(joining, modelMs + later)
    t.ok(Math.abs(ratio - 1) < 0.15, `${later} ms later ${ratio}`)
  }
})

/** Each source has a packet in 22 us then, and they fall into step: what the queue holds depends on when in that time T ends. */
usual('100 sources of packets swing about the fair rate by algorithm 1 itself, a fluid does not', async t => {
  const swing = (packetBytes?: number) => {
    const model = {
      ...MODEL,
      flows: 100,
      bufferBytes: 5e6,
      ...(packetBytes !== undefined && { packetBytes }),
    }
    return Math.max(
      ...roccModel(model, 10)
        .slice(100)
        .map(ratio => Math.abs(ratio - 1)),
    )
  }
  t.ok(swing() < 0.001, `a fluid by ${swing()}`)
  t.ok(swing(1100) > 0.05 && swing(1100) < 0.2, `packets by ${swing(1100)}`)
})

/** Figure 9: as flows stop, F and the queue settle in less than 2 ms. */
for (const [flows, test] of [
  [6, long],
  [12, usual],
  [48, long],
] as const) {
  test(`${flows} flows become ${flows / 2}: the fair rate is right within 2 ms`, async t => {
    const bytes = Math.round((0.8 * 0.0095 * GBPS * 1e9) / 8 / flows)
    const joining = { flows, gbps: GBPS, share: SHARE, gapNs: 20_000, ending: { flows: flows / 2, bytes } }
    const last = Math.max(
      ...joinQueue(joining, 14).flows.flatMap(({ startNs, fctNs }) =>
        fctNs === null ? [] : [startNs + fctNs],
      ),
    )
    const before = fairness(joining, last / 1e6 - 1)
    t.ok(before.sending > flows / 2)
    t.ok(Math.abs(before.ratio * (flows / before.sending) - 1) < 0.4, `before: ${before.ratio}`)
    for (const after of [2, 2.5]) {
      const { ratio, sending } = fairness(joining, last / 1e6 + after)
      t.equal(sending, flows / 2)
      t.ok(ratio > 0.93 && ratio < 1.07, `${after} ms later ${ratio} of the fair share`)
    }
  })
}

usual('with a key the fair rates are believed', async t => {
  const result = joinQueue({ flows: 2, gbps: GBPS, key: 'sixteen bytes or more' }, 1)
  const { rocc } = result.ports.find(({ name }) => name === 's1:r') as { rocc?: { sent: number } }
  t.ok(rocc!.sent > 4, `${rocc!.sent} were sent`)
  for (const { name } of result.flows) {
    const rates = result.series[`rate/${name}`]!.values
    t.ok(Math.min(...rates) < 0.5 * GBPS * 1e9, `${name} has slowed down to ${Math.min(...rates)} bit/s`)
  }
})
