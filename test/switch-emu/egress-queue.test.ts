import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { EgressQueue } from '../../switch-emu/core/queueing/egress-queue.js'
import { seeded } from './helpers.js'

function frameOf(pool: FramePool, wireLength: number): Frame {
  const frame = pool.take()!
  frame.wireLength = wireLength
  return frame
}

t.test('the byte bound is exact', async t => {
  const pool = new FramePool(16, 256)
  const queue = new EgressQueue(3000, 16)
  queue.push(frameOf(pool, 1000))
  queue.push(frameOf(pool, 1500))
  t.ok(queue.hasRoom(500))
  t.notOk(queue.hasRoom(501))
  t.throws(() => queue.push(frameOf(pool, 501)), { code: 'WEIR_INTERNAL' })
  t.equal(queue.bytes, 2500)
  t.equal(queue.headBytes(), 1000)
})

t.test('the frame bound holds where frames are tiny', async t => {
  const pool = new FramePool(8, 256)
  const queue = new EgressQueue(1e9, 3)
  for (let i = 0; i < 3; i++) queue.push(frameOf(pool, 60))
  t.notOk(queue.hasRoom(60))
  queue.shift()
  t.ok(queue.hasRoom(60))
})

t.test('order and sums are those of a plain list, through growth and wrap-around', async t => {
  const random = seeded(t, 3)
  const pool = new FramePool(1000, 256)
  const queue = new EgressQueue(1e9, 1000)
  const model: Frame[] = []
  let target = 20
  for (let step = 0; step < 20_000; step++) {
    if (step % 1000 === 0) target = random.below(900)
    if (model.length < target || random.below(2) === 0) {
      if (model.length === 1000) continue
      const frame = frameOf(pool, 60 + random.below(4000))
      queue.push(frame)
      model.push(frame)
    } else if (model.length > 0) {
      const frame = queue.shift()
      if (frame !== model.shift()) return t.fail(`wrong frame at step ${step}`)
      pool.give(frame)
    }
    const bytes = model.reduce((sum, frame) => sum + frame.wireLength, 0)
    if (step % 97 === 0) t.equal(queue.bytes, bytes)
    if (queue.count !== model.length) return t.fail(`wrong count at step ${step}`)
  }
})

t.test('an empty queue has nothing to give', async t => {
  t.throws(() => new EgressQueue(1, 1).shift(), { code: 'WEIR_INTERNAL' })
  t.throws(() => new EgressQueue(0, 1), { code: 'WEIR_BAD_ARGUMENT' })
})
