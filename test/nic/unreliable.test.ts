/** Unreliable connections of two NICs: IBA 9.8.2 (messages, PSNs) and 9.9.3 (classes D and D1: dropped in silence). */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { Nic } from '../../lib/nic/nic.js'
import type { PacedHandler, PacedPair } from '../../lib/nic/paced/paced-pair.js'
import type { UnreliablePair } from '../../lib/nic/paced/unreliable-pair.js'
import { Access, type MemoryRegion } from '../../lib/qp/memory/memory.js'
import { Completion, ReceiveOpcode, WorkStatus } from '../../lib/qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { frameName, makePair, memoryOf, type Pair, type PairOptions, pattern, refusal } from './pair.js'

const MTU = 1024
const RECEIVE_BYTES = 4096
const RECEIVES = 4

/** A program with an unreliable connection: it posts receives, and keeps completions. */
class Party implements PacedHandler {
  readonly done: Completion[] = []
  readonly pair: UnreliablePair
  readonly memory: MemoryRegion
  closed = 0

  constructor(nic: Nic, remote: HostAddress, receives = RECEIVES) {
    const access = Access.LOCAL_WRITE | Access.REMOTE_WRITE
    this.memory = nic.memory.register(
      Buffer.alloc(RECEIVES * RECEIVE_BYTES),
      RECEIVES * RECEIVE_BYTES,
      access,
    )
    this.pair = nic.createUnreliablePair(0, remote, this, { pathMtu: MTU })
    for (let id = 0; id < receives; id++) this.postReceive(id)
  }

  postReceive(id: number): void {
    this.pair.postReceive({ id, region: this.memory, offset: id * RECEIVE_BYTES, length: RECEIVE_BYTES })
  }

  onCompletion(_now: number, _pair: PacedPair, completion: Completion): void {
    const kept = new Completion()
    kept.copyFrom(completion)
    this.done.push(kept)
  }

  onClosed(): void {
    this.closed++
  }

  bytes(at: number, length: number): Buffer {
    return this.memory.buffer!.subarray(at, at + length)
  }
}

interface World {
  pair: Pair
  left: Party
  right: Party
  data: MemoryRegion
}

/** `lost`: which of the packets from left to right, from 0 on, are lost. */
function world(
  lost: (n: number, name: string) => boolean = () => false,
  options: PairOptions & { receives?: number } = {},
): World {
  const { receives, ...rest } = options
  const pair = makePair(rest)
  const left = new Party(pair.a, pair.b.address)
  const right = new Party(pair.b, pair.a.address, receives)
  left.pair.connect(right.pair.id)
  right.pair.connect(left.pair.id)
  let n = 0
  pair.tap.watch = (frame, _now, fromA) => !(fromA && lost(n++, frameName(frame)))
  return { pair, left, right, data: memoryOf(pair.a, pattern(1, 10_000)) }
}

function post({ pair, left, data }: World, work: Partial<SendWork>): boolean {
  const whole = { id: 7, opcode: WorkOpcode.SEND, region: data, offset: 0, length: 100 }
  return left.pair.postSend(pair.network.now, { ...whole, ...work })
}

function settle({ pair }: World): void {
  pair.kick()
  pair.network.runUntil(pair.network.now + 10 * MILLISECOND)
}

for (const v6 of [false, true])
  t.test(
    `SENDs and WRITEs of several packets, with immediate and without, ${v6 ? 'IPv6' : 'IPv4'}`,
    async t => {
      const names: string[] = []
      const here = world((_, name) => names.push(name) === 0, { v6 })
      const { left, right, data } = here
      const to = { remoteAddress: right.memory.address + 3 * RECEIVE_BYTES, rkey: right.memory.key }
      post(here, { length: 3000 })
      post(here, { opcode: WorkOpcode.SEND_WITH_IMM, immediate: 0xdead_beef, length: 0, solicited: true })
      post(here, { opcode: WorkOpcode.RDMA_WRITE, length: 2048, offset: 5000, ...to })
      post(here, { opcode: WorkOpcode.RDMA_WRITE_WITH_IMM, immediate: 5, length: 1025, id: 8, ...to })
      settle(here)
      t.same(
        left.done.map(({ id, status }) => [id, status]),
        [7, 7, 7, 8].map(id => [id, WorkStatus.SUCCESS]),
      )
      t.same(names, [
        'UC_SEND_FIRST',
        'UC_SEND_MIDDLE',
        'UC_SEND_LAST',
        'UC_SEND_ONLY_WITH_IMM',
        'UC_RDMA_WRITE_FIRST',
        'UC_RDMA_WRITE_LAST',
        'UC_RDMA_WRITE_FIRST',
        'UC_RDMA_WRITE_LAST_WITH_IMM',
      ])
      t.same(
        right.done.map(({ id, opcode, byteLength, hasImmediate, immediate, solicited }) => [
          id,
          opcode,
          byteLength,
          hasImmediate && immediate,
          solicited,
        ]),
        [
          [0, ReceiveOpcode.RECV, 3000, false, false],
          [1, ReceiveOpcode.RECV, 0, 0xdead_beef, true],
          [2, ReceiveOpcode.RECV_RDMA_WITH_IMM, 1025, 5, false],
        ],
      )
      t.ok(right.bytes(0, 3000).equals(data.buffer!.subarray(0, 3000)))
      const written = right.bytes(3 * RECEIVE_BYTES, 2048)
      t.ok(written.subarray(0, 1025).equals(data.buffer!.subarray(0, 1025)))
      t.ok(written.subarray(1025).equals(data.buffer!.subarray(6025, 7048)))
    },
  )

t.test(
  'a message of which any packet is lost does not arrive, and the next one takes its receive',
  async t => {
    for (const [missing, dropped] of [
      [0, 2],
      [1, 1],
      [2, 0],
    ] as const) {
      const here = world(n => n === missing)
      const { left, right, data } = here
      post(here, { length: 3000 })
      post(here, { length: 2500, offset: 3000, id: 8 })
      settle(here)
      t.same(
        left.done.map(({ id, status }) => [id, status]),
        [
          [7, WorkStatus.SUCCESS],
          [8, WorkStatus.SUCCESS],
        ],
        'its sender does not learn of it',
      )
      t.same(
        right.done.map(({ id, byteLength }) => [id, byteLength]),
        [[0, 2500]],
        `packet ${missing}`,
      )
      t.ok(right.bytes(0, 2500).equals(data.buffer!.subarray(3000, 5500)))
      t.equal(here.pair.b.counters.unreliable.droppedSequence, dropped)
    }
  },
)

t.test('a WRITE with immediate of which a packet is lost tells nobody', async t => {
  for (const missing of [0, 1]) {
    const here = world(n => n === missing)
    const { right } = here
    const to = { remoteAddress: right.memory.address, rkey: right.memory.key }
    post(here, { opcode: WorkOpcode.RDMA_WRITE_WITH_IMM, immediate: 5, length: 2000, ...to })
    settle(here)
    t.same(right.done, [])
  }
})

t.test('a packet that comes twice, or late, is of no message; the PSN may jump between messages', async t => {
  const here = world()
  const { pair, right } = here
  const kept: Buffer[] = []
  pair.tap.watch = frame => {
    kept.push(Buffer.from(frame.bytes.subarray(0, frame.length)))
    return true
  }
  post(here, { length: 3000 })
  settle(here)
  const { received, droppedSequence } = pair.b.counters.unreliable
  t.same([received, droppedSequence, kept.length], [1, 0, 3])
  // The middle and the end once more: the message has ended.
  for (const bytes of kept.slice(1)) deliver(here, bytes)
  t.equal(pair.b.counters.unreliable.droppedSequence, 2)
  // All of it once more is a message: nothing says that it is old (IBA 9.8.2.2).
  for (const bytes of kept) deliver(here, bytes)
  t.same(
    right.done.map(({ byteLength }) => byteLength),
    [3000, 3000],
  )
})

function deliver({ pair }: World, bytes: Buffer): void {
  const frame = pair.pool.take()!
  frame.bytes.set(bytes)
  frame.length = bytes.length
  frame.wireLength = bytes.length
  pair.b.onFrame(pair.network.now, 0, frame)
}

t.test('what the memory does not allow is dropped, and the connection lives', async t => {
  const here = world()
  const { pair, right, left } = here
  const { memory } = right
  const into = { opcode: WorkOpcode.RDMA_WRITE, rkey: memory.key, remoteAddress: memory.address }
  const readOnly = memoryOf(pair.b, Buffer.alloc(100))
  readOnly.access = Access.LOCAL_WRITE | Access.REMOTE_READ
  for (const wrong of [
    { rkey: (memory.key ^ 1) >>> 0 },
    { remoteAddress: memory.address + memory.length - 99 },
    { remoteAddress: memory.address - 1 },
    { remoteAddress: readOnly.address, rkey: readOnly.key },
  ])
    post(here, { ...into, ...wrong })
  settle(here)
  t.equal(pair.b.counters.unreliable.droppedAccess, 4)
  t.ok(right.bytes(0, 4 * RECEIVE_BYTES).every(byte => byte === 0))
  // IBA 9.4.3: of no bytes neither key nor address counts.
  post(here, { ...into, rkey: 1, remoteAddress: 0, length: 0 })
  post(here, { length: 5000 })
  post(here, { length: 50 })
  settle(here)
  const { droppedNoRoom, received } = pair.b.counters.unreliable
  t.same([droppedNoRoom, received], [1, 2], 'a SEND longer than its receive is dropped')
  t.same([right.done.map(({ byteLength }) => byteLength), right.closed, left.closed], [[50], 0, 0])
})

t.test('without a receive a message is dropped; receives whose memory is gone fail', async t => {
  const here = world(undefined, { receives: 0 })
  const { pair, right } = here
  post(here, { length: 2000 })
  post(here, { opcode: WorkOpcode.RDMA_WRITE_WITH_IMM, immediate: 1, length: 0, remoteAddress: 0, rkey: 0 })
  settle(here)
  t.equal(pair.b.counters.unreliable.droppedNoReceive, 2)
  const gone = memoryOf(pair.b, Buffer.alloc(100))
  right.pair.postReceive({ id: 9, region: gone, offset: 0, length: 100 })
  right.postReceive(1)
  pair.b.memory.deregister(gone)
  post(here, {})
  settle(here)
  t.same(
    right.done.map(({ id, status }) => [id, status]),
    [
      [9, WorkStatus.LOC_PROT_ERR],
      [1, WorkStatus.SUCCESS],
    ],
  )
})

t.test('packets of another host, and of other services, do not count', async t => {
  const here = world()
  const { pair, right, left } = here
  let change: (frame: Frame) => void = () => {}
  pair.tap.watch = frame => {
    change(frame)
    return true
  }
  const { qp } = right.pair
  for (const [what, opcode, other] of [
    ['a SEND of the reliable service', Opcode.RC_SEND_ONLY, 1],
    ['a CNP is for queue pairs of all services (IBA A17.9.3)', Opcode.CNP, 1],
    ['what a switch sends is of no service', Opcode.DIRECT_NOTIFY, 1],
    ['a datagram', Opcode.UD_SEND_ONLY, 2],
  ] as const) {
    change = frame => {
      frame.bytes[frame.bth] = opcode
      icrc.write(frame)
    }
    const before = pair.b.counters.unreliable.droppedOpcode
    post(here, {})
    settle(here)
    t.equal(right.done.length, 0)
    t.equal(pair.b.counters.unreliable.droppedOpcode, before + 1)
    t.equal(qp.otherService, other, what)
    t.equal(qp.receivedPackets, 0)
  }
  const other = new Party(pair.a, HostAddress.parse('10.0.0.77'))
  other.pair.connect(right.pair.id)
  const stranger = pair.b.createUnreliablePair(0, HostAddress.parse('10.0.0.77'), right, {})
  stranger.connect(left.pair.id)
  left.pair.qp.connect(stranger.id)
  change = () => {}
  const dropped = pair.b.counters.unreliable.droppedOpcode
  post(here, {})
  settle(here)
  t.equal(pair.b.counters.unreliable.droppedOpcode, dropped + 1, 'of another host')
  t.equal(right.done.length, 0)
})

t.test('memory that is gone fails its work, and what the peer has had of it is dropped', async t => {
  const here = world()
  const { pair, left, right } = here
  const brief = memoryOf(pair.a, Buffer.alloc(8192))
  let packets = 0
  pair.tap.watch = () => {
    if (++packets === 2) pair.a.memory.deregister(brief)
    return true
  }
  post(here, { region: brief, length: 4000 })
  post(here, { id: 8 })
  settle(here)
  t.same(
    left.done.map(({ id, status }) => [id, status]),
    [
      [7, WorkStatus.LOC_PROT_ERR],
      [8, WorkStatus.SUCCESS],
    ],
  )
  t.same(
    right.done.map(({ id, byteLength }) => [id, byteLength]),
    [[0, 100]],
  )
})

t.test('what it does not do is refused, and its end flushes', async t => {
  const here = world()
  const { pair, left } = here
  for (const opcode of [WorkOpcode.RDMA_READ, WorkOpcode.FETCH_AND_ADD, WorkOpcode.SEND_WITH_INV])
    t.equal(
      refusal(
        () =>
          post(here, { opcode, length: 8, remoteAddress: 0, rkey: 1, compareOrAdd: 1n, invalidateKey: 1 }),
        'WEIR_BAD_ARGUMENT',
      ).length > 0,
      true,
    )
  refusal(() => left.pair.connect(5), 'WEIR_BAD_STATE')
  const early = pair.a.createUnreliablePair(0, pair.b.address, left, {})
  t.equal(
    early.postSend(0, { id: 1, opcode: WorkOpcode.SEND, region: here.data, offset: 0, length: 1 }),
    false,
  )
  refusal(() => early.connect(2 ** 24), 'WEIR_BAD_ARGUMENT')
  refusal(() => pair.a.createUnreliablePair(0, pair.b.address, left, { pathMtu: 1000 }), 'WEIR_BAD_ARGUMENT')
  refusal(
    () =>
      makePair({ a: { secret: Buffer.alloc(32, 1) } }).a.createUnreliablePair(0, pair.b.address, left, {}),
    'WEIR_UNSUPPORTED',
  )
  for (let n = 0; n < 3; n++) post(here, { id: n, length: 10_000 })
  left.pair.disconnect(pair.network.now)
  left.pair.disconnect(pair.network.now)
  t.equal(left.closed, 1)
  const flushed = left.done.filter(({ status }) => status === WorkStatus.WR_FLUSH_ERR)
  t.equal(flushed.length, 3 + RECEIVES)
  t.equal(post(here, {}), false)
  settle(here)
  t.equal(pair.pool.inUse, 0)
})
