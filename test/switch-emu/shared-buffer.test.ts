import t from 'tap'
import { SharedBuffer } from '../../switch-emu/core/queueing/shared-buffer.js'
import { seeded } from './helpers.js'

t.test('what fits is decided by the whole switch', async t => {
  const buffer = new SharedBuffer(10_000, 4)
  buffer.update(0, 3, 1, 6_000)
  t.ok(buffer.check(4_000))
  t.notOk(buffer.check(4_001))
  buffer.remove(0, 3, 1, 6_000)
  t.ok(buffer.check(10_000))
})

t.test('sums by ingress port and priority, and by egress port, are those of the frames inside', async t => {
  const random = seeded(t, 8)
  const buffer = new SharedBuffer(1 << 20, 4)
  const inside: [ingress: number, priority: number, egress: number, bytes: number][] = []
  for (let step = 0; step < 3000; step++) {
    if (random.below(5) < 3) {
      const frame: (typeof inside)[number] = [
        random.below(4),
        random.below(8),
        random.below(4),
        60 + random.below(4000),
      ]
      if (!buffer.check(frame[3])) continue
      buffer.update(...frame)
      inside.push(frame)
    } else if (inside.length > 0) {
      buffer.remove(...inside.splice(random.below(inside.length), 1)[0]!)
    }
  }
  const sum = (of: (frame: (typeof inside)[number]) => boolean) =>
    inside.filter(of).reduce((total, frame) => total + frame[3], 0)
  t.ok(inside.length > 50)
  t.equal(
    buffer.usedBytes,
    sum(() => true),
  )
  for (let port = 0; port < 4; port++) {
    t.equal(
      buffer.egressBytes(port),
      sum(frame => frame[2] === port),
    )
    for (let priority = 0; priority < 8; priority++) {
      t.equal(
        buffer.ingressBytes(port, priority),
        sum(frame => frame[0] === port && frame[1] === priority),
      )
    }
  }
})

t.test('removing what was not admitted is a defect', async t => {
  const buffer = new SharedBuffer(1000, 2)
  buffer.update(0, 0, 1, 100)
  t.throws(() => buffer.remove(0, 1, 1, 100), { code: 'WEIR_INTERNAL' })
  t.throws(() => buffer.remove(0, 0, 1, 101), { code: 'WEIR_INTERNAL' })
  t.throws(() => new SharedBuffer(0, 2), { code: 'WEIR_BAD_ARGUMENT' })
})
