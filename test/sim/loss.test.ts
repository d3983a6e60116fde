/** Models of loss against the theory of Gilbert's and Elliott's chain. SEED=n replays one seed. */
import t from 'tap'
import { BurstLoss, type LossModel, RandomLoss } from '../../lib/sim/loss.js'
import { Random } from '../../lib/sim/random.js'
import { fixedSeed } from '../support/seeds.js'

const FRAMES = 400_000
const seed = fixedSeed(t, 5)

/** The lengths of runs of losses, and how many frames were lost. */
function run(model: LossModel): { lost: number; bursts: number[] } {
  const random = new Random(seed)
  const bursts: number[] = []
  let lost = 0
  let length = 0
  for (let n = 0; n < FRAMES; n++) {
    if (model.loses(() => random.next())) {
      lost++
      length++
    } else {
      if (length > 0) bursts.push(length)
      length = 0
    }
  }
  return { lost, bursts }
}

t.test('independent losses: the share is binomial, runs are geometric with mean 1 / (1 - loss)', async t => {
  const { lost, bursts } = run(new RandomLoss(0.05))
  t.ok(Math.abs(lost - FRAMES * 0.05) < 4 * Math.sqrt(FRAMES * 0.05 * 0.95), `${lost} lost`)
  const mean = lost / bursts.length
  t.ok(Math.abs(mean - 1 / 0.95) < 0.01, `mean run ${mean}`)
})

for (const [loss, burst] of [
  [0.01, 8],
  [0.05, 3],
  [0.5, 20],
] as const) {
  t.test(`bursts of ${burst}, loss ${loss}`, async t => {
    const { lost, bursts } = run(new BurstLoss(loss, burst, 1))
    // Each burst is geometric: P(length > k) = (1 - 1/burst)^k. The losses of a chain are correlated, so the variance of their number is
    // n q (1 - q) (1 + c) / (1 - c) with c = 1 - p - r.
    const r = 1 / burst
    const c = 1 - r - (r * loss) / (1 - loss)
    const deviation = Math.sqrt((FRAMES * loss * (1 - loss) * (1 + c)) / (1 - c))
    t.ok(
      Math.abs(lost - FRAMES * loss) < 4 * deviation,
      `${lost} lost, expected ${FRAMES * loss} ± ${deviation}`,
    )
    const mean = bursts.reduce((sum, length) => sum + length, 0) / bursts.length
    const spread = Math.sqrt((1 - r) / r ** 2 / bursts.length)
    t.ok(Math.abs(mean - burst) < 4 * spread, `mean burst ${mean}`)
    for (const k of [1, burst, 2 * burst]) {
      const share = bursts.filter(length => length > k).length / bursts.length
      const expected = (1 - r) ** k
      const bound = 4 * Math.sqrt((expected * (1 - expected)) / bursts.length)
      t.ok(Math.abs(share - expected) < bound, `longer than ${k}: ${share}, expected ${expected}`)
    }
  })
}

t.test('in a burst only a share is lost', async t => {
  const { lost, bursts } = run(new BurstLoss(0.02, 10, 0.5))
  t.ok(Math.abs(lost / FRAMES - 0.02) < 0.002, `${lost / FRAMES}`)
  // Runs of losses within a bad time: the next frame is lost too if the time lasts (0.9) and it is lost (0.5).
  const mean = lost / bursts.length
  t.ok(Math.abs(mean - 1 / (1 - 0.9 * 0.5)) < 0.1, `mean run ${mean}`)
})

t.test('what no chain can be is refused, with what to change', async t => {
  t.throws(() => new BurstLoss(0.9, 2, 1), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /66\.667% at most.*burst longer/,
  })
  t.throws(() => new BurstLoss(0.3, 8, 0.25), { code: 'WEIR_BAD_ARGUMENT' })
  t.throws(() => new BurstLoss(0.1, 0.5, 1), { code: 'WEIR_BAD_ARGUMENT' })
  t.doesNotThrow(() => new BurstLoss(2 / 3, 2, 1))
})
