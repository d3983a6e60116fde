import t from 'tap'
import { Backing } from '../../lib/frame/backing.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Random } from '../../lib/sim/random.js'
import { drawnSeed } from '../support/seeds.js'

const seed = drawnSeed(t)

t.test('a view is of the bytes asked for, whatever was asked for before', async t => {
  const random = new Random(seed)
  const buffer = new ArrayBuffer(3_000_000)
  const backing = new Backing(new Uint8Array(buffer, 500, 2_999_000))
  for (let n = 0; n < 20_000; n++) {
    const length = Math.floor(random.next() * 5000)
    const at = Math.floor(random.next() * (2_999_001 - length))
    const view = backing.view(at, length)
    if (view.length !== length) t.fail(`${length} bytes from ${at}: ${view.length}`)
    if (length > 0 && (view.buffer !== buffer || view.byteOffset !== 500 + at))
      t.fail(`${length} bytes from ${at}`)
  }
  t.pass('20000 views')
})

t.test('the packets of a message that is sent repeatedly: no view is made twice', async t => {
  for (const [mtu, bytes] of [
    [256, 1_000_000],
    [4096, 16_000_000],
  ] as const) {
    const backing = new Backing(new Uint8Array(bytes))
    const views: Uint8Array[] = []
    for (let at = 0; at + mtu <= bytes; at += mtu) views.push(backing.view(at, mtu))
    t.ok(
      views.every((view, n) => backing.view(n * mtu, mtu) === view),
      `${views.length} packets of ${mtu} bytes`,
    )
  }
})

t.test('a frame with its payload outside: seen, copied and brought in', async t => {
  const pool = new FramePool(2, 512)
  const backing = new Backing(Uint8Array.from({ length: 100 }, (_, i) => i))
  const frame = pool.take()!
  frame.bytes.fill(0xaa)
  Object.assign(frame, { length: 80, wireLength: 80, payload: 60, payloadLength: 10 })
  frame.outside = backing
  frame.outsideBase = 30 - frame.payload
  const expected = Uint8Array.from({ length: 10 }, (_, i) => 30 + i)
  t.same(Uint8Array.from(frame.payloadBytes()), expected)
  const copy = pool.take()!
  copy.copyFrom(frame)
  frame.bringIn()
  for (const each of [frame, copy]) {
    t.equal(each.outside, null)
    t.same(Uint8Array.from(each.payloadBytes()), expected)
    t.same(Uint8Array.from(each.bytes.subarray(60, 70)), expected)
    t.ok([...each.bytes.subarray(0, 60), ...each.bytes.subarray(70, 80)].every(byte => byte === 0xaa))
  }
  t.equal(frame.payloadBytes(), frame.payloadBytes(), 'one view, used again')
})
