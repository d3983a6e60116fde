import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'

t.test('a pool gives out as many frames as it has, then none', async t => {
  const pool = new FramePool(3, 256)
  const frames = [pool.take()!, pool.take()!, pool.take()!]
  t.equal(new Set(frames).size, 3)
  t.equal(new Set(frames.map(frame => frame.slot)).size, 3)
  t.equal(pool.inUse, 3)
  t.equal(pool.take(), null, 'running out is no growth')
  pool.give(frames[1]!)
  t.equal(pool.inUse, 2)
  t.equal(pool.take(), frames[1], 'what was given back is used again')
  for (const frame of frames) pool.give(frame)
  t.equal(pool.inUse, 0)
})

t.test('a frame is taken empty', async t => {
  const pool = new FramePool(1, 512)
  const frame = pool.take()!
  Object.assign(frame, { length: 9, wireLength: 9, port: 3, departNs: 5, enqueuedNs: 6, l3: 14, l4: 34 })
  Object.assign(frame, { shim: 42, bth: 50, payload: 62, payloadLength: 4 })
  pool.give(frame)
  const { length, wireLength, port, departNs, enqueuedNs, l3, l4, shim, bth, payload, payloadLength } =
    pool.take()!
  t.same(
    [length, wireLength, port, departNs, enqueuedNs, l3, l4, shim, bth, payload, payloadLength],
    [0, 0, 0, 0, 0, -1, -1, -1, -1, -1, 0],
  )
})

t.test('giving back a frame of another owner is a defect, and throws', async t => {
  const pool = new FramePool(2, 256)
  const frame = pool.take()!
  pool.give(frame)
  t.throws(() => pool.give(frame), { code: 'WEIR_INTERNAL' }, 'twice')
  const other = new FramePool(2, 256).take()!
  pool.take()
  t.throws(() => pool.give(other), { code: 'WEIR_INTERNAL' }, "another pool's")
  t.equal(pool.inUse, 1)
})

t.test('bounds of capacity and slot', async t => {
  for (const capacity of [0, -1, 1.5, Number.NaN, (1 << 20) + 1]) {
    t.throws(() => new FramePool(capacity), { code: 'WEIR_BAD_ARGUMENT' })
  }
  for (const bytes of [255, 65_537, 1000.5]) {
    t.throws(() => new FramePool(1, bytes), { code: 'WEIR_BAD_ARGUMENT' })
  }
})

t.test('a copy has the bytes, lengths and offsets of its original, and bytes of its own', async t => {
  const from = new Frame(0, Buffer.alloc(256, 1))
  const to = new Frame(1, Buffer.alloc(256, 2))
  Object.assign(from, { length: 100, wireLength: 1100, port: 3, departNs: 5, enqueuedNs: 6, l3: 14, l4: 34 })
  Object.assign(from, { shim: 42, bth: 50, payload: 62, payloadLength: 1000 })
  to.copyFrom(from)
  const facts = (frame: Frame) => {
    const { length, wireLength, port, departNs, enqueuedNs, l3, l4, shim, bth, payload, payloadLength } =
      frame
    return [length, wireLength, port, departNs, enqueuedNs, l3, l4, shim, bth, payload, payloadLength]
  }
  t.same(facts(to), facts(from))
  t.equal(to.materialised, false)
  t.ok(to.bytes.subarray(0, 100).equals(Buffer.alloc(100, 1)))
  t.ok(to.bytes.subarray(100).equals(Buffer.alloc(156, 2)), 'what is not materialised is not copied')
  from.bytes[0] = 9
  t.equal(to.bytes[0], 1)
})

t.test('slots and reserved room lie in one memory and do not overlap', async t => {
  const pool = new FramePool(3, 256, 100)
  const frames = [pool.take()!, pool.take()!, pool.take()!]
  const first = pool.reserve(60)
  const second = pool.reserve(40)
  const spans = [
    ...frames.map(({ bytes }) => [bytes.byteOffset, bytes.byteOffset + bytes.length] as const),
    [first, first + 60] as const,
    [second, second + 40] as const,
  ].sort((a, b) => a[0] - b[0])
  for (const [i, [start]] of spans.entries()) t.ok(i === 0 || spans[i - 1]![1] <= start, `span ${i}`)
  t.equal(spans.at(-1)![1], pool.arena.length)
  t.throws(() => pool.reserve(1), { code: 'WEIR_FULL' })
  pool.arena.fill(7, first, first + 4)
  pool.arena.copyWithin(frames[2]!.bytes.byteOffset, first, first + 4)
  t.same([...frames[2]!.bytes.subarray(0, 5)], [7, 7, 7, 7, 0])
  t.throws(() => new FramePool(1, 256, -1), { code: 'WEIR_BAD_ARGUMENT' })
})

t.test('slots in slabs: memory is made as frames are, and never more than they need', async t => {
  const pool = new FramePool(1000, 256, 0, undefined, 'slabs')
  const frames: Frame[] = []
  for (let frame = pool.take(); frame !== null; frame = pool.take()) frames.push(frame)
  t.equal(frames.length, 1000)
  const memories = new Set(frames.map(({ bytes }) => bytes.buffer))
  t.equal(memories.size, 4)
  const total = [...memories].reduce((sum, { byteLength }) => sum + byteLength, 0)
  t.equal(total, 1000 * 256)
  for (const [i, { bytes }] of frames.entries()) bytes.fill(i & 0xff)
  t.ok(
    frames.every(({ bytes }, i) => bytes.length === 256 && bytes.every(byte => byte === (i & 0xff))),
    'no slot overlaps another',
  )
  for (const frame of frames) pool.give(frame)
  t.equal(pool.inUse, 0)
  t.equal(pool.take(), frames[999], 'the one that was given back last, whose memory is in the caches')
  t.throws(() => pool.arena, { code: 'WEIR_BAD_STATE', message: /piece/ })
})

t.test('a pool is not made for an IP protocol of IFA by which other packets come', async t => {
  for (const taken of [0, 1, 6, 17, 58, 256, 1.5])
    t.throws(() => new FramePool(1, 256, 0, taken), { code: 'WEIR_BAD_ARGUMENT', message: /253/ }, `${taken}`)
  t.equal(new FramePool(1, 256, 0, 131).take()!.ifaProtocol, 131)
})
