import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { Pipe } from '../../lib/sim/pipe.js'
import { Random } from '../../lib/sim/random.js'
import { NEVER } from '../../lib/time/nanos.js'
import { fixedSeed } from '../support/seeds.js'

const frames = Array.from({ length: 1000 }, (_, slot) => new Frame(slot, Buffer.alloc(1)))

t.test('in order in, in order out', async t => {
  const pipe = new Pipe(500, 1, 2)
  t.same([pipe.delayNs, pipe.toNode, pipe.toPort], [500, 1, 2])
  t.equal(pipe.nextArrival(), NEVER)
  for (let n = 0; n < 200; n++) pipe.push(frames[n]!, 10 * n)
  t.equal(pipe.inFlight, 200)
  for (let n = 0; n < 200; n++) {
    t.equal(pipe.nextArrival(), 10 * n)
    t.equal(pipe.pop(), frames[n])
  }
  t.equal(pipe.inFlight, 0)
  t.equal(pipe.nextArrival(), NEVER)
})

t.test('a frame that arrives earlier overtakes; of equal arrivals the one sent first is first', async t => {
  const pipe = new Pipe(0, 0, 0)
  const arrivals = [50, 30, 40, 30, 10, 50]
  for (const [n, arrival] of arrivals.entries()) pipe.push(frames[n]!, arrival)
  t.same(
    arrivals.map(() => pipe.pop().slot),
    [4, 1, 3, 2, 0, 5],
  )
})

t.test('random pushes and pops, against a list that is sorted stably', async t => {
  const seed = fixedSeed(t, 1)
  const random = new Random(seed)
  const pipe = new Pipe(0, 0, 0)
  const list: { frame: Frame; arrival: number }[] = []
  let next = 0
  let now = 0
  let wrong = ''
  for (let step = 0; step < 20_000 && wrong === ''; step++) {
    // Grows past several sizes of the ring, and shrinks again.
    if (random.below(100) < (step % 4000 < 2000 ? 55 : 45)) {
      const arrival = now + random.below(300)
      const frame = frames[next++ % frames.length]!
      pipe.push(frame, arrival)
      list.push({ frame, arrival })
      list.sort((a, b) => a.arrival - b.arrival)
    } else if (list.length > 0) {
      const first = list.shift()!
      if (pipe.nextArrival() !== first.arrival) wrong = `step ${step}: arrival`
      if (pipe.pop() !== first.frame) wrong = `step ${step}: frame`
      now = first.arrival
    }
    if (pipe.inFlight !== list.length) wrong = `step ${step}: count`
  }
  t.equal(wrong, '', `SEED=${seed}`)
})
