import t from 'tap'
import { SharedBuffer } from '../../switch-emu/core/queueing/shared-buffer.js'
import { seeded } from './helpers.js'

t.test('what fits is decided by the whole switch', async t => {
  const buffer = new SharedBuffer(10_000)
  buffer.update(6_000)
  t.ok(buffer.check(4_000))
  t.notOk(buffer.check(4_001))
  buffer.remove(6_000)
  t.ok(buffer.check(10_000))
})

t.test('the sum is that of the frames inside', async t => {
  const random = seeded(t, 8)
  const buffer = new SharedBuffer(1 << 20)
  const inside: number[] = []
  for (let step = 0; step < 3000; step++) {
    if (random.below(5) < 3) {
      const bytes = 60 + random.below(4000)
      if (!buffer.check(bytes)) continue
      buffer.update(bytes)
      inside.push(bytes)
    } else if (inside.length > 0) {
      buffer.remove(inside.splice(random.below(inside.length), 1)[0]!)
    }
  }
  t.ok(inside.length > 50)
  t.equal(
    buffer.usedBytes,
    inside.reduce((total, bytes) => total + bytes, 0),
  )
})

t.test('removing what was not admitted is a defect', async t => {
  const buffer = new SharedBuffer(1000)
  buffer.update(100)
  t.throws(() => buffer.remove(101), { code: 'WEIR_INTERNAL' })
  t.throws(() => new SharedBuffer(0), { code: 'WEIR_BAD_ARGUMENT' })
})
