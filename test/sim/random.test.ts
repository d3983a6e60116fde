import t from 'tap'
import { Random } from '../../lib/sim/random.js'
import { fixedSeed } from '../support/seeds.js'

t.test('the generator is xoshiro128**: its published first outputs from state 1, 2, 3, 4', async t => {
  const random = Random.fromState(1, 2, 3, 4)
  const got = Array.from({ length: 10 }, () => random.u32())
  t.same(
    got,
    [11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804],
  )
})

t.test('a seed always gives the same numbers, another seed others', async t => {
  const draw = (seed: number) => {
    const random = new Random(seed)
    return Array.from({ length: 50 }, () => random.u32())
  }
  t.same(draw(7), draw(7))
  const firsts = new Set<number>()
  for (let seed = 0; seed < 2000; seed++) firsts.add(draw(seed)[0]!)
  t.ok(firsts.size > 1990, 'first draws of neighbouring seeds differ')
  t.notSame(draw(1), draw(1 + 2 ** 32), 'bits above the 32nd count')
})

t.test('next() is in [0, 1) and uniform: mean, variance and every tenth', async t => {
  const seed = fixedSeed(t, 42)
  const random = new Random(seed)
  const count = 100_000
  const tenths = new Array<number>(10).fill(0)
  let sum = 0
  let squares = 0
  let outside = 0
  for (let i = 0; i < count; i++) {
    const x = random.next()
    if (!(x >= 0 && x < 1)) outside++
    sum += x
    squares += x * x
    tenths[Math.floor(x * 10)]!++
  }
  t.equal(outside, 0)
  const mean = sum / count
  // Standard error of the mean is sqrt(1/12)/sqrt(count) = 0.0009; five of them.
  t.ok(Math.abs(mean - 0.5) < 0.0046, `mean ${mean}`)
  t.ok(Math.abs(squares / count - mean * mean - 1 / 12) < 0.002, 'variance 1/12')
  const chi = tenths.reduce((total, n) => total + (n - count / 10) ** 2 / (count / 10), 0)
  t.ok(chi < 34, `chi-square ${chi} with 9 degrees of freedom, 34 is one in 10^4`)
})

t.test('exponential() has the mean asked for and below() stays below', async t => {
  const random = new Random(3)
  let sum = 0
  for (let i = 0; i < 100_000; i++) sum += random.exponential(250)
  t.ok(Math.abs(sum / 100_000 / 250 - 1) < 0.02, `mean ${sum / 100_000}`)
  const seen = new Set<number>()
  for (let i = 0; i < 1000; i++) seen.add(random.below(6))
  t.same([...seen].sort(), [0, 1, 2, 3, 4, 5])
})

t.test('a fork depends on seed and label, not on what was drawn before', async t => {
  const fresh = new Random(9).fork('arrivals')
  const used = new Random(9)
  for (let i = 0; i < 17; i++) used.u32()
  const later = used.fork('arrivals')
  for (let i = 0; i < 20; i++) t.equal(later.u32(), fresh.u32())
  const labels = ['arrivals', 'sizes', 'h1', 'h2', 'workload 0', 'workload 1', '']
  const firsts = new Set(labels.map(label => new Random(9).fork(label).u32()))
  firsts.add(new Random(9).u32())
  t.equal(firsts.size, labels.length + 1, 'labels and the parent give different sequences')
  t.not(new Random(9).fork('x').u32(), new Random(10).fork('x').u32())
})
