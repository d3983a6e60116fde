import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { ReorderBuffer, ReorderPool } from '../../lib/qp/queues/reorder-buffer.js'

const SPAN = 8

t.test('a PSN whose turn has passed is not kept, though the ring has another one in its place', async t => {
  const pool = new ReorderPool(SPAN, 512)
  const kept = new ReorderBuffer(pool, SPAN, SPAN)
  const frame = new Frame(0, Buffer.alloc(64))
  frame.taken = true
  for (const seq of [4, 10]) kept.put(seq, frame)
  // Request 3 arrives, and the one kept after it has its turn.
  kept.dropBefore(5)
  // A READ arrives whose responses use the PSNs 5 and 6. Then 14 arrives, at the far end of the span.
  kept.dropBefore(7)
  t.equal(kept.put(14, frame), true)
  t.equal(kept.has(6), false, '14 lies in its place')
  t.doesNotThrow(() => kept.check(7))
  t.same([kept.has(10), kept.has(14), kept.count], [true, true, 2])
  kept.clear()
  t.equal(pool.inUse, 0)
})
