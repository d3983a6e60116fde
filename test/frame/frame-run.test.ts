/** Frames that follow the head of a run. */
import t from 'tap'
import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { FrameRun, RUN_PACKETS_MAX } from '../../lib/frame/frame-run.js'

const PAYLOAD_AT = 58
const PAYLOAD_BYTES = 100

function headOf(pool: FramePool): Frame {
  const head = pool.take()!
  head.l3 = 14
  head.l4 = 34
  head.bth = 46
  head.payload = PAYLOAD_AT
  head.payloadLength = PAYLOAD_BYTES
  head.length = head.wireLength = PAYLOAD_AT + PAYLOAD_BYTES + 4
  head.udpPort = 4000
  head.alone = true
  for (let i = 0; i < head.length; i++) head.bytes[i] = i + 1
  return head
}

t.test('they have its headers, lengths and offsets, and leave in order', async t => {
  const pool = new FramePool(8, 256)
  const run = new FrameRun(pool)
  const head = headOf(pool)
  run.begin(head, 3)
  t.equal(run.size, 3)
  const frames = [0, 1, 2].map(i => run.at(i))
  for (const frame of frames) {
    t.same(frame.bytes.subarray(0, PAYLOAD_AT), head.bytes.subarray(0, PAYLOAD_AT))
    const { l3, l4, bth, payload, payloadLength, length, wireLength, udpPort, alone } = frame
    t.same(
      { l3, l4, bth, payload, payloadLength, length, wireLength, udpPort, alone },
      {
        l3: 14,
        l4: 34,
        bth: 46,
        payload: PAYLOAD_AT,
        payloadLength: PAYLOAD_BYTES,
        length: head.length,
        wireLength: head.length,
        udpPort: 4000,
        alone: true,
      },
    )
    t.equal(frame.run, head.run)
  }
  t.same([run.shift(), run.shift(), run.shift(), run.shift()], [...frames, null])
  t.equal(pool.inUse, 4, 'who takes them gives them back')
})

t.test('each run has a number of its own, and a frame of the pool has none', async t => {
  const pool = new FramePool(8, 256)
  const run = new FrameRun(pool)
  const head = headOf(pool)
  run.begin(head, 1)
  const first = head.run
  t.not(first, 0)
  const frame = run.shift()!
  pool.give(frame)
  t.equal(pool.take()!.run, 0)
  run.begin(head, 1)
  t.not(head.run, first)
})

t.test('what has not left is given back', async t => {
  const pool = new FramePool(8, 256)
  const run = new FrameRun(pool)
  run.begin(headOf(pool), 4)
  pool.give(run.shift()!)
  run.abandon()
  t.equal(run.size, 0)
  t.equal(pool.inUse, 1, "the head is its owner's")
})

t.test('a run begins when the last one has left, and is no longer than a datagram', async t => {
  const pool = new FramePool(80, 256)
  const run = new FrameRun(pool)
  const head = headOf(pool)
  for (const packets of [0, RUN_PACKETS_MAX]) t.throws(() => run.begin(head, packets), WeirError)
  run.begin(head, RUN_PACKETS_MAX - 1)
  t.throws(() => run.begin(head, 1), WeirError)
})
