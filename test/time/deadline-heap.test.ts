/**
 * The heap of deadlines compared with a plain list that is searched for its smallest entry. SEED=n replays
 * one seed.
 */
import t from 'tap'
import { Random } from '../../lib/sim/random.js'
import { DeadlineHeap } from '../../lib/time/deadline-heap.js'
import { NEVER } from '../../lib/time/nanos.js'
import { fixedSeeds } from '../support/seeds.js'

t.test('empty, then one source that waits for nothing', async t => {
  const heap = new DeadlineHeap()
  t.equal(heap.first(), -1)
  t.equal(heap.firstTime(), NEVER)
  t.equal(heap.add(), 0)
  t.equal(heap.add(), 1)
  t.equal(heap.firstTime(), NEVER)
  t.equal(heap.timeOf(1), NEVER)
})

t.test('equal times: the source that was added first is first', async t => {
  const heap = new DeadlineHeap()
  const ids = Array.from({ length: 100 }, () => heap.add())
  for (const id of [...ids].reverse()) heap.set(id, 5)
  const order = ids.map(() => {
    const id = heap.first()
    heap.set(id, NEVER)
    return id
  })
  t.same(order, ids)
})

t.test('random operations: first, times and order as the list says', async t => {
  const seeds = fixedSeeds([1, 2, 3])
  for (const seed of seeds) {
    const random = new Random(seed)
    const heap = new DeadlineHeap()
    const times: number[] = []
    let wrong = ''
    for (let step = 0; step < 20_000 && wrong === ''; step++) {
      const what = random.below(20)
      if (times.length === 0 || (what === 0 && times.length < 300)) {
        if (heap.add() !== times.length) wrong = `step ${step}: ids are not counted from 0`
        times.push(NEVER)
      } else {
        const id = what < 5 ? heap.first() : random.below(times.length)
        // Few different times, so that there are many equal ones.
        const time = what === 1 ? NEVER : random.below(40)
        heap.set(id, time)
        times[id] = time
        if (heap.timeOf(id) !== time) wrong = `step ${step}: timeOf ${id}`
      }
      const first = times.reduce((best, time, id) => (time < times[best]! ? id : best), 0)
      if (heap.first() !== first || heap.firstTime() !== times[first]) {
        wrong = `step ${step}: first is ${heap.first()} at ${heap.firstTime()}, not ${first} at ${times[first]}`
      }
    }
    t.equal(wrong, '', `SEED=${seed}`)
    const sorted = times.map((time, id) => ({ time, id })).filter(({ time }) => time !== NEVER)
    sorted.sort((a, b) => a.time - b.time || a.id - b.id)
    const drained: { time: number; id: number }[] = []
    while (heap.firstTime() !== NEVER) {
      drained.push({ time: heap.firstTime(), id: heap.first() })
      heap.set(heap.first(), NEVER)
    }
    t.same(drained, sorted, 'what is left comes out sorted')
  }
})
