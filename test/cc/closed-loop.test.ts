/**
 * Every controller in a closed loop, by one operation model. While a flood shares its queue and feedback is lost, late, reordered,
 * repeated and forged, its window and rate stay within their bounds and no flow stalls. When all that has ended, it uses the link again,
 * and neither of two flows starves.
 *
 * SEED=n replays one seed.
 */
import t, { type Test } from 'tap'
import { ccNames } from '../../lib/cc/catalogue.js'
import { MILLISECOND, type Nanos } from '../../lib/time/nanos.js'
import { variants } from '../support/long.js'
import { drawnSeed, fixedSeeds } from '../support/seeds.js'
import { FLOOD_NS, type LoopOutcome, type LoopPlan, loopPlan, RATE_BPS, runLoop } from './closed-loop.js'

/** Time that flows have to come back after the flood, and for which they are measured then. */
const RECOVERY_NS: Nanos = 60 * MILLISECOND
const MEASURED_NS: Nanos = 100 * MILLISECOND
/** Those whose rate follows one round trip in many packets, so that at a low rate it rises seldom. */
const SLOW_NS: Readonly<Record<string, Nanos>> = { timely: 1500 * MILLISECOND, rttcc: 1500 * MILLISECOND }
/**
 * Those of which nothing makes two flows equal here. TIMELY has no single resting point (Zhu et al., ECN or Delay, CoNEXT 2016), but where it
 * is patched, as in flows that begin carefully. RoCC's rates
 * come from switches with that feature, which this one is not: without them losses alone hold it.
 */
const isUnequal = ({ controller, start }: LoopPlan) =>
  controller === 'rocc' || (controller === 'timely' && start === 'line-rate')
/** What both use of the link then, and the least share of half of that which each has. */
const USED_LEAST = 0.5
const SHARE_LEAST = 0.1
/** Three retransmission timeouts in a row, of 20 ms and twice as long each, and what comes late before. */
const SILENCE_MOST_NS: Nanos = 150 * MILLISECOND
const RATE_SLACK = 1.001

function check(t: Test, plan: LoopPlan, { result, faults, moved }: LoopOutcome): void {
  const what = `SEED=${plan.seed}, ${JSON.stringify(plan)}`
  const { endNs } = plan
  const backNs = endNs - MEASURED_NS
  for (const name of ['f0', 'f1']) {
    const windows = result.series[`window/${name}`]!.values
    const rates = result.series[`rate/${name}`]!.values
    if (!windows.every(bytes => bytes >= 0 && Number.isFinite(bytes))) t.fail(`${what}: window of ${name}`)
    if (!rates.every(bps => bps > 0 && bps <= RATE_BPS * RATE_SLACK)) t.fail(`${what}: rate of ${name}`)
  }
  for (let at = 10 * MILLISECOND; at + SILENCE_MOST_NS <= endNs; at += 10 * MILLISECOND)
    for (const [i, bytes] of moved(at, at + SILENCE_MOST_NS).entries())
      if (!(bytes > 0)) t.fail(`${what}: flow ${i} stands still from ${at / MILLISECOND} ms on`)
  const after = moved(backNs, endNs)
  const seconds = MEASURED_NS / 1e9
  const used = ((after[0]! + after[1]!) * 8) / seconds / RATE_BPS
  if (!(used >= USED_LEAST)) t.fail(`${what}: ${used.toFixed(3)} of the link are used after the flood`)
  const share = (2 * Math.min(...after)) / (after[0]! + after[1]!)
  if (!(share >= SHARE_LEAST) && !isUnequal(plan))
    t.fail(`${what}: a flow has ${share.toFixed(3)} of its share after the flood`)
  if (!(faults > 0)) t.fail(`${what}: feedback met no fault`)
  t.comment(
    `SEED=${plan.seed}: ${faults} faults; ${used.toFixed(2)} of the link, the lesser flow ${share.toFixed(2)} of its half`,
  )
}

const seeds = [...fixedSeeds(variants([1, 2, 3, 4, 5, 6], 1)), drawnSeed(t)]

for (const name of ccNames()) {
  t.test(`${name}: bounded under faults, and back behind them`, async t => {
    for (const seed of seeds) {
      const endNs = FLOOD_NS[1] + (SLOW_NS[name] ?? RECOVERY_NS) + MEASURED_NS
      const plan = loopPlan(name, seed, endNs)
      check(t, plan, runLoop(plan))
    }
    t.ok(seeds.length > 0)
  })
}
