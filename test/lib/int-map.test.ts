/** The map from whole numbers, beside V8's. */
import t from 'tap'
import { IntMap } from '../../lib/int-map.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed } from '../support/seeds.js'

/** Keys that lie close together, anywhere, and at places that a small table shares. */
const DRAWS: readonly ((random: Random) => number)[] = [
  random => random.u32() % 40,
  random => random.u32(),
  random => (random.u32() % 64) * 2 ** 24 + (random.u32() % 3),
]

t.test('it holds what a Map holds', async t => {
  const random = new Random(drawnSeed(t))
  for (const draw of DRAWS) {
    const map = new IntMap<object>()
    const expected = new Map<number, object>()
    for (let round = 0; round < 3000; round++) {
      const key = draw(random)
      const known = expected.get(key)
      // Entries become more, then fewer, and more again.
      const grows = random.u32() % 3000 > round % 1000
      if (grows) {
        const value = {}
        map.set(key, value)
        expected.set(key, value)
      } else if (known !== undefined) {
        map.deleteIf(key, {})
        if (map.get(key) !== known) t.fail(`key ${key} was removed for another value`)
        map.deleteIf(key, known)
        expected.delete(key)
      } else map.deleteIf(key, {})
      if (map.size !== expected.size) t.fail(`size ${map.size}, not ${expected.size}, after ${round} changes`)
      for (const [other, value] of round % 50 === 0 ? expected : [])
        if (map.get(other) !== value) t.fail(`key ${other} is lost after ${round} changes`)
      if (map.get(key) !== (expected.get(key) ?? null)) t.fail(`key ${key} after ${round} changes`)
    }
    for (const [key, value] of expected) map.deleteIf(key, value)
    t.equal(map.size, 0)
  }
})
