/** Packets that follow the head of a run. */
import t, { type Test } from 'tap'
import { WeirError } from '../../lib/errors.js'
import { Backing } from '../../lib/frame/backing.js'
import type { Frame } from '../../lib/frame/frame.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { FrameRun, followerOf, RUN_PACKETS_MAX } from '../../lib/frame/frame-run.js'
import { transfer } from '../nic/pair.js'

const PAYLOAD_AT = 58
const PAYLOAD_BYTES = 100
const OFFSET = 8

const memory = new Backing(Uint8Array.from({ length: 1000 }, (_, i) => i * 7))

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

/** A run whose packets have the words 100, 101… at their BTH, and the ICRCs 200, 201… */
function written(pool: FramePool, gathers: boolean, packets: number, payloads = memory) {
  const run = new FrameRun(pool, gathers)
  const head = headOf(pool)
  run.begin(head, packets, payloads, OFFSET)
  for (let i = 0; i < packets; i++) {
    run.view.setInt32(run.bthAt(i), 100 + i)
    run.view.setInt32(run.icrcAt(i), 200 + i)
  }
  return { run, head }
}

function checkFollower(t: Test, frame: Frame, head: Frame, i: number): void {
  t.same(frame.bytes.subarray(0, 46), head.bytes.subarray(0, 46))
  t.equal(frame.view.getInt32(46), 100 + i)
  t.same(frame.bytes.subarray(50, PAYLOAD_AT), head.bytes.subarray(50, PAYLOAD_AT))
  const from = OFFSET + i * PAYLOAD_BYTES
  t.same([...frame.payloadBytes()], [...memory.bytes.subarray(from, from + PAYLOAD_BYTES)])
  t.equal(frame.view.getInt32(PAYLOAD_AT + PAYLOAD_BYTES), 200 + i)
  for (const name of ['l3', 'l4', 'bth', 'payload', 'payloadLength', 'length', 'wireLength'] as const)
    t.equal(frame[name], head[name], name)
  t.equal(frame.udpPort, 4000)
  t.equal(frame.alone, true)
}

for (const gathers of [false, true]) {
  t.test(`one by one, payloads ${gathers ? 'where they lie' : 'in slots'}`, async t => {
    const pool = new FramePool(8, 256)
    const { run, head } = written(pool, gathers, 3)
    t.equal(run.size, 3)
    t.equal(pool.inUse, 2, 'the head, and one slot for what is behind it')
    for (let i = 0; i < 3; i++) {
      const frame = run.shift()!
      t.equal(frame.outside !== null, gathers)
      checkFollower(t, frame, head, i)
      pool.give(frame)
    }
    t.equal(run.shift(), null)
    t.equal(pool.inUse, 1)
  })
}

t.test('whole: what is behind the head leaves and comes back with it', async t => {
  const pool = new FramePool(8, 256)
  const { run, head } = written(pool, true, 4)
  run.handOver(head)
  t.equal(run.size, 0)
  t.equal(head.followers, 4)
  for (let i = 0; i < 4; i++) {
    const frame = followerOf(head.behind!, i, pool)!
    checkFollower(t, frame, head, i)
    pool.give(frame)
  }
  pool.give(head)
  t.equal(pool.inUse, 0)
  const next = pool.take()!
  t.same([next.behind, next.followers], [null, 0])
})

t.test('a packet for which there is no frame waits', async t => {
  const pool = new FramePool(2, 256)
  const { run, head } = written(pool, false, 2)
  t.equal(run.shift(), null)
  t.equal(run.size, 2)
  pool.give(head)
  t.equal(run.shift()!.view.getInt32(46), 100)
})

t.test('what has not left is given back', async t => {
  const pool = new FramePool(8, 256)
  const { run } = written(pool, true, 4)
  pool.give(run.shift()!)
  run.abandon()
  t.equal(run.size, 0)
  t.equal(pool.inUse, 1, "the head is its owner's")
})

for (const gathers of [false, true]) {
  t.test(`whose payloads are transferred is lost, ${gathers ? 'where they lie' : 'in slots'}`, async t => {
    const pool = new FramePool(8, 256)
    const payloads = new Backing(new Uint8Array(1000))
    const { run, head } = written(pool, gathers, 3, payloads)
    transfer(payloads.bytes)
    t.equal(run.shift(), null)
    t.equal(run.size, 0)
    pool.give(head)
    t.equal(pool.inUse, 0)
  })
}

t.test('a run begins when the last one has left, and has room in a slot and in a datagram', async t => {
  const pool = new FramePool(80)
  const run = new FrameRun(pool, true)
  const head = headOf(pool)
  t.equal(run.room(head), RUN_PACKETS_MAX - 1)
  for (const packets of [0, RUN_PACKETS_MAX]) t.throws(() => run.begin(head, packets, memory, 0), WeirError)
  run.begin(head, RUN_PACKETS_MAX - 1, memory, 0)
  t.throws(() => run.begin(head, 1, memory, 0), WeirError)
  const short = new FrameRun(new FramePool(80, 256), true)
  t.equal(short.room(headOf(new FramePool(1, 256))), 9, 'records of 20 bytes behind 60 of headers')
  head.length = head.wireLength = PAYLOAD_AT + 4096 + 4
  t.equal(run.room(head), 14, '15 packets of 4,116 bytes are less than 65,487')
})
