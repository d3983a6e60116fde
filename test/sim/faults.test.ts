/**
 * Links that damage frames: how often, how, and that every frame is accounted for. SEED=n replays one seed.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { type FaultRates, LinkFaults } from '../../lib/sim/faults.js'
import { Pipe } from '../../lib/sim/pipe.js'
import { Random } from '../../lib/sim/random.js'
import { fixedSeed } from '../support/seeds.js'

const FRAMES = 20_000
const BYTES = 200
const seed = fixedSeed(t, 3)

interface Outcome {
  faults: LinkFaults
  pool: FramePool
  arrivals: { tag: number; at: number; turnedBits: number; parsed: boolean }[]
}

/** Sends frame n at time 100 n. The frames' bytes are all 0xa5, so that flipped bits show. */
function run(rates: FaultRates, materialised = true, poolSize = FRAMES * 2): Outcome {
  const random = new Random(seed)
  const pool = new FramePool(poolSize, 256)
  const pipe = new Pipe(0, 0, 0)
  const faults = new LinkFaults(rates, () => random.next())
  const arrivals: Outcome['arrivals'] = []
  const drain = (until: number) => {
    while (pipe.nextArrival() <= until) {
      const at = pipe.nextArrival()
      const frame = pipe.pop()
      let turnedBits = 0
      for (let i = 0; i < BYTES; i++) {
        for (let bits = frame.bytes[i]! ^ 0xa5; bits !== 0; bits &= bits - 1) turnedBits++
      }
      arrivals.push({ tag: frame.departNs / 100, at, turnedBits, parsed: frame.l3 >= 0 && frame.bth >= 0 })
      pool.give(frame)
    }
  }
  for (let n = 0; n < FRAMES; n++) {
    const frame = pool.take() as Frame
    frame.bytes.fill(0xa5)
    frame.length = BYTES
    frame.wireLength = materialised ? BYTES : BYTES + 1000
    frame.departNs = 100 * n
    frame.l3 = 14
    frame.bth = 42
    faults.apply(frame, 100 * n, pipe, pool)
    drain(100 * n)
  }
  drain(Number.MAX_SAFE_INTEGER)
  return { faults, pool, arrivals }
}

/** Within four standard deviations of the mean for this rate. */
function likely(count: number, rate: number): boolean {
  return Math.abs(count - FRAMES * rate) <= 4 * Math.sqrt(FRAMES * rate * (1 - rate))
}

t.test('no faults: everything arrives, in time, as it was', async t => {
  const { arrivals, pool } = run({})
  t.equal(arrivals.length, FRAMES)
  t.ok(
    arrivals.every(
      ({ tag, at, turnedBits, parsed }, n) => tag === n && at === 100 * n && turnedBits === 0 && parsed,
    ),
  )
  t.equal(pool.inUse, 0)
})

t.test('loss', async t => {
  const { arrivals, faults, pool } = run({ loss: 0.1 })
  t.ok(likely(faults.lost, 0.1), `${faults.lost} of ${FRAMES}`)
  t.equal(arrivals.length, FRAMES - faults.lost)
  t.equal(pool.inUse, 0)
  t.equal(run({ loss: 1 }).arrivals.length, 0)
})

t.test('duplication', async t => {
  const { arrivals, faults, pool } = run({ duplication: 0.05 })
  t.ok(likely(faults.duplicated, 0.05), `${faults.duplicated} of ${FRAMES}`)
  t.equal(arrivals.length, FRAMES + faults.duplicated)
  const times = new Map<number, number>()
  for (const { tag } of arrivals) times.set(tag, (times.get(tag) ?? 0) + 1)
  t.equal(times.size, FRAMES)
  t.ok([...times.values()].every(count => count <= 2))
  t.equal(pool.inUse, 0)
})

t.test('corruption turns one bit of what is there, and what was known of the frame is forgotten', async t => {
  const { arrivals, faults } = run({ corruption: 0.2 })
  t.ok(likely(faults.corrupted, 0.2), `${faults.corrupted} of ${FRAMES}`)
  t.equal(arrivals.length, FRAMES)
  t.equal(arrivals.filter(({ turnedBits }) => turnedBits === 1).length, faults.corrupted)
  t.ok(arrivals.every(({ turnedBits, parsed }) => (turnedBits === 0) === parsed))
  const hidden = run({ corruption: 1 }, false)
  t.equal(
    hidden.arrivals.length,
    0,
    'frames whose payload is only counted have no ICRC to find it by: they are discarded',
  )
  t.equal(hidden.pool.inUse, 0)
})

t.test('reordering: held back by at most what was said, so that later ones overtake', async t => {
  const { arrivals, faults } = run({ reorder: 0.1, reorderNs: 1000 })
  t.ok(likely(faults.reordered, 0.1), `${faults.reordered} of ${FRAMES}`)
  t.equal(arrivals.length, FRAMES)
  const late = arrivals.filter(({ tag, at }) => at > 100 * tag)
  t.equal(late.length, faults.reordered)
  t.ok(arrivals.every(({ tag, at }) => at >= 100 * tag && at <= 100 * tag + 1000))
  t.ok(
    arrivals.some(({ tag }, n) => n > 0 && tag < arrivals[n - 1]!.tag),
    'some were overtaken',
  )
})

t.test('jitter is uniform from 0 to what was said; frames keep their order', async t => {
  // Frames are 100 ns apart: with less jitter than that none has to wait for the one before it.
  const { arrivals } = run({ jitterNs: 90 })
  const late = arrivals.map(({ tag, at }) => (at - 100 * tag) / 90).sort((a, b) => a - b)
  t.equal(late.length, FRAMES)
  // Kolmogorov and Smirnov: below 1.95 / sqrt(n) with a probability of 99.9 %, and a nanosecond for the rounding.
  const distance = Math.max(...late.map((share, i) => Math.abs(share - (i + 0.5) / FRAMES)))
  t.ok(distance < 1.95 / Math.sqrt(FRAMES) + 1 / 90, `distance ${distance}`)
  const far = run({ jitterNs: 10_000 }).arrivals
  t.ok(far.every(({ tag, at }, n) => n === 0 || (tag > far[n - 1]!.tag && at >= far[n - 1]!.at)))
  t.ok(far.every(({ tag, at }) => at <= 100 * tag + 10_000))
})

t.test('with an empty pool nothing is doubled, and nothing breaks', async t => {
  const { arrivals, faults } = run({ duplication: 1 }, true, 1)
  t.equal(faults.duplicated, 0)
  t.equal(arrivals.length, FRAMES)
})

t.test('the same seed does the same damage', async t => {
  const storm = { loss: 0.1, duplication: 0.1, corruption: 0.1, reorder: 0.1, reorderNs: 500 }
  t.same(run(storm).arrivals.slice(0, 2000), run(storm).arrivals.slice(0, 2000))
})

t.test('rates outside 0 to 1 are refused', async t => {
  const random = () => 0.5
  for (const name of ['loss', 'duplication', 'corruption', 'reorder']) {
    for (const rate of [-0.1, 1.1, Number.NaN]) {
      t.throws(() => new LinkFaults({ [name]: rate }, random), {
        code: 'WEIR_BAD_ARGUMENT',
        message: new RegExp(name),
      })
    }
  }
  t.throws(() => new LinkFaults({ reorderNs: -1 }, random), { code: 'WEIR_BAD_ARGUMENT' })
})
