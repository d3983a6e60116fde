/** How a sender learns how many of its packets were marked: from the counter in answers, and from a peer that does not count. */
import t from 'tap'
import { MarkCount } from '../../lib/nic/feedback/mark-count.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed } from '../support/seeds.js'

const BYTES = 1000
const seed = drawnSeed(t)

t.test('a peer that does not count: all that an answer with BECN acknowledges', async t => {
  const marks = new MarkCount()
  marks.hear(0)
  t.equal(marks.take(true, true, 4000, BYTES), 4000)
  t.equal(marks.take(false, true, 4000, BYTES), 0)
})

t.test(`each marked packet counts once, whichever answers are lost, seed ${seed}`, async t => {
  const random = new Random(seed)
  const marks = new MarkCount()
  let marked = 0
  let unsaid = 0
  let taken = 0
  for (let answer = 0; answer < 5000; answer++) {
    const packets = 1 + random.below(32)
    let echoed = false
    for (let i = 0; i < packets; i++) {
      if (random.below(3) > 0) continue
      marked++
      echoed = true
    }
    unsaid += packets
    // No more than 63 marks are lost in a row.
    if (unsaid < 32 && random.below(4) === 0) continue
    marks.hear(marked % 64)
    taken += marks.take(echoed, true, unsaid * BYTES, BYTES)
    t.equal(taken, marked * BYTES) || t.bailout(`answer ${answer}`)
    unsaid = 0
  }
})

t.test('answers that were overtaken say nothing; 64 marks in one answer count', async t => {
  const marks = new MarkCount()
  marks.hear(5)
  t.equal(marks.take(true, true, 8000, BYTES), 5000)
  marks.hear(3)
  t.equal(marks.take(true, false, 0, BYTES), 0)
  marks.hear(7)
  t.equal(marks.take(true, true, 3000, BYTES), 2000)
  marks.hear(7)
  t.equal(marks.take(true, true, 64_000, BYTES), 64_000)
  t.equal(marks.take(false, true, 1000, BYTES), 0)
})
