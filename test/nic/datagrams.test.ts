/** Datagram queue pairs of two NICs: IBA 9.8.3 and 10.2.5, and Linux's layout of the GRH of IPv4. */
import t from 'tap'
import type { Nic } from '../../lib/nic/nic.js'
import type { DatagramPair } from '../../lib/nic/paced/datagram-pair.js'
import type { PacedHandler, PacedPair } from '../../lib/nic/paced/paced-pair.js'
import type { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { Completion, workStatusName } from '../../lib/qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as deth from '../../lib/wire/ib/deth.js'
import * as grh from '../../lib/wire/ib/grh.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { connected, makePair, memoryOf, type Pair, type PairOptions, pattern, refusal } from './pair.js'

const QKEY = 0x1122_3344
const RECEIVES = 4
const RECEIVE_BYTES = 2048

/** A program with a datagram queue pair: it posts receives, and keeps completions. */
class Party implements PacedHandler {
  readonly done: Completion[] = []
  readonly pair: DatagramPair
  readonly memory: MemoryRegion
  closed = 0

  constructor(nic: Nic, qkey = QKEY, receives = RECEIVES, bytes = RECEIVE_BYTES) {
    this.memory = memoryOf(nic, Buffer.alloc(RECEIVES * RECEIVE_BYTES))
    this.pair = nic.createDatagramPair(0, this, { qkey })
    for (let id = 0; id < receives; id++)
      this.pair.postReceive({ id, region: this.memory, offset: id * RECEIVE_BYTES, length: bytes })
  }

  onCompletion(_now: number, _pair: PacedPair, completion: Completion): void {
    const kept = new Completion()
    kept.copyFrom(completion)
    this.done.push(kept)
  }

  onClosed(): void {
    this.closed++
  }

  /** The whole of receive `id`. */
  received(id: number, length: number): Buffer {
    return this.memory.buffer!.subarray(id * RECEIVE_BYTES, id * RECEIVE_BYTES + length)
  }
}

function world(options: PairOptions = {}) {
  const pair = makePair(options)
  return { pair, left: new Party(pair.a), right: new Party(pair.b), to: pair.a.createAddress(pair.b.address) }
}

function send(pair: Pair, from: Party, data: MemoryRegion, work: Partial<SendWork>): boolean {
  const whole = { id: 7, opcode: WorkOpcode.SEND, region: data, offset: 0, length: data.length }
  return from.pair.postSend(pair.network.now, { ...whole, ...work })
}

for (const v6 of [false, true])
  t.test(`a datagram arrives behind its GRH, ${v6 ? 'IPv6' : 'IPv4'}`, async t => {
    const { pair, left, right, to } = world({ v6 })
    const data = memoryOf(pair.a, pattern(1, 333))
    const target = { address: to.id, qpn: right.pair.id, qkey: QKEY }
    const with32 = { opcode: WorkOpcode.SEND_WITH_IMM, immediate: 0xdead_beef, solicited: true }
    t.ok(send(pair, left, data, { to: target }))
    t.ok(send(pair, left, data, { id: 8, to: target, ...with32 }))
    t.ok(pair.until(() => right.done.length === 2))
    t.same(
      left.done.map(({ id, status, byteLength }) => [id, status, byteLength]),
      [
        [7, 0, 333],
        [8, 0, 333],
      ],
    )
    const [first, second] = right.done as [Completion, Completion]
    t.same(
      [first.byteLength, first.sourceQpn, first.hasImmediate, first.solicited],
      [373, left.pair.id, false, false],
    )
    t.same([second.hasImmediate, second.immediate, second.solicited], [true, 0xdead_beef, true])
    const bytes = right.received(0, 373)
    t.ok(bytes.subarray(grh.BYTES).equals(data.buffer!))
    t.ok(grh.source(bytes).equals(pair.a.address))
    if (v6) t.same([bytes[0]! >>> 4, bytes.readUInt16BE(4), bytes[6]], [6, 8 + 12 + 8 + 333 + 3 + 4, 17])
    else {
      // Linux: 20 bytes of zeros, then the IPv4 header.
      t.ok(bytes.subarray(0, 20).equals(Buffer.alloc(20)))
      t.same([bytes[20], bytes.readUInt16BE(22), bytes[29]], [0x45, 20 + 8 + 12 + 8 + 333 + 3 + 4, 17])
      t.same([...bytes.subarray(32, 40)], [10, 0, 0, 1, 10, 0, 0, 2])
    }
    t.equal(pair.pool.inUse, 0)
  })

t.test('nobody has agreed on datagrams without ICRC, also where connections have none', async t => {
  const without = { withoutIcrc: true }
  const { pair, left, right, to } = world({ a: without, b: without })
  let datagrams = 0
  pair.tap.watch = frame => {
    if (++datagrams === 1) frame.view.setUint32(frame.length - icrc.BYTES, 0)
    return true
  }
  const data = memoryOf(pair.a, pattern(1, 60))
  const target = { address: to.id, qpn: right.pair.id, qkey: QKEY }
  t.ok(send(pair, left, data, { to: target }) && send(pair, left, data, { id: 8, to: target }))
  pair.settle()
  t.equal(datagrams, 2)
  t.equal(right.done.length, 1, 'the one with an ICRC')
  t.equal(pair.b.counters.rx.badIcrc, 1)
})

t.test('whatever does not fit is dropped and counted, and the sender does not learn of it', async t => {
  const { pair, left, to } = world()
  const right = new Party(pair.b, QKEY, 1, 100)
  const data = memoryOf(pair.a, pattern(1, 61))
  const target = { address: to.id, qpn: right.pair.id, qkey: QKEY }
  send(pair, left, data, { to: { ...target, qkey: QKEY + 1 } })
  send(pair, left, data, { to: target })
  send(pair, left, data, { to: target, length: 60 })
  send(pair, left, data, { to: target, length: 10 })
  send(pair, left, data, { to: { ...target, qpn: 0x999 } })
  pair.settle()
  t.equal(left.done.length, 5)
  t.ok(left.done.every(({ status }) => status === 0))
  const { droppedQkey, droppedNoRoom, droppedNoReceive, received } = pair.b.counters.datagram
  t.same([droppedQkey, droppedNoRoom, droppedNoReceive, received], [1, 1, 1, 1])
  t.equal(pair.b.counters.rx.unknownQpn, 1)
  t.equal(right.done[0]!.byteLength, 100)
})

t.test('a receive whose memory is gone fails, and the next one takes the datagram', async t => {
  const { pair, left, right, to } = world()
  const data = memoryOf(pair.a, pattern(1, 50))
  const target = { address: to.id, qpn: right.pair.id, qkey: QKEY }
  const other = memoryOf(pair.b, Buffer.alloc(500))
  right.pair.postReceive({ id: 9, region: other, offset: 0, length: 500 })
  pair.b.memory.deregister(right.memory)
  send(pair, left, data, { to: target })
  pair.settle()
  t.same(
    right.done.map(({ id, status }) => [id, workStatusName(status)]),
    [...Array.from({ length: RECEIVES }, (_, id) => [id, 'LOC_PROT_ERR']), [9, 'SUCCESS']],
  )
  t.ok(other.buffer!.subarray(grh.BYTES, grh.BYTES + 50).equals(data.buffer!))
  send(pair, left, data, { to: target })
  pair.settle()
  t.equal(pair.b.counters.datagram.droppedNoReceive, 1)
})

t.test('a path MTU is one of the five, and at most the host has it', async t => {
  const { pair, left } = world({ a: { pathMtu: 1024 } })
  for (const pathMtu of [0, -1, 257, 1.5, Number.NaN, 8192, '1024' as unknown as number])
    refusal(() => pair.a.createDatagramPair(0, left, { qkey: QKEY, pathMtu }), 'WEIR_BAD_ARGUMENT')
  t.same(
    [256, 4096].map(pathMtu => pair.a.createDatagramPair(0, left, { qkey: QKEY, pathMtu }).qp.pathMtu),
    [256, 1024],
  )
})

t.test('a Q_Key whose highest bit is set stands for that of the sending queue pair (IBA 10.2.5)', async t => {
  const { pair, left, right, to } = world()
  const data = memoryOf(pair.a, pattern(1, 8))
  let onWire = 0
  pair.tap.watch = frame => {
    onWire = deth.qkey(frame.view, frame.bth + bth.BYTES)
    return true
  }
  send(pair, left, data, { to: { address: to.id, qpn: right.pair.id, qkey: 0x8000_0000 } })
  t.ok(pair.until(() => right.done.length === 1))
  t.equal(onWire, QKEY)
  t.match(
    refusal(() => pair.a.createDatagramPair(0, left, { qkey: 0x8000_0000 }), 'WEIR_BAD_ARGUMENT'),
    /31 bits/,
  )
})

t.test('what cannot be is refused', async t => {
  const { pair, left, to } = world({ a: { pathMtu: 1024 } })
  const data = memoryOf(pair.a, Buffer.alloc(2000))
  const target = { address: to.id, qpn: 5, qkey: QKEY }
  const post = (work: Partial<SendWork>) => () => send(pair, left, data, { to: target, length: 10, ...work })
  t.match(refusal(post({ length: 1025 }), 'WEIR_BAD_ARGUMENT'), /one packet, of 1024 bytes at most, not 1025/)
  t.match(refusal(post({ opcode: WorkOpcode.RDMA_WRITE }), 'WEIR_BAD_ARGUMENT'), /SEND or SEND_WITH_IMM/)
  t.match(refusal(post({ to: { ...target, qpn: 1 << 24 } }), 'WEIR_BAD_ARGUMENT'), /24 bits/)
  t.match(refusal(post({ offset: 1999 }), 'WEIR_BAD_ARGUMENT'), /outside its region/)
  for (const group of ['224.0.0.1', '239.1.2.3', '255.255.255.255'])
    refusal(() => pair.a.createAddress(HostAddress.parse(group)), 'WEIR_UNSUPPORTED')
  refusal(() => makePair({ v6: true }).a.createAddress(HostAddress.parse('ff02::1')), 'WEIR_UNSUPPORTED')
  refusal(() => pair.a.createAddress(HostAddress.parse('fd00::1')), 'WEIR_BAD_ARGUMENT')
  pair.a.destroyAddress(to.id)
  post({})()
  pair.settle()
  t.same(
    left.done.map(({ status }) => workStatusName(status)),
    ['LOC_QP_OP_ERR'],
  )
})

t.test('an end flushes its work; a datagram for it has no queue pair any more', async t => {
  const { pair, left, right, to } = world()
  right.pair.disconnect(pair.network.now)
  right.pair.disconnect(pair.network.now)
  t.same(
    right.done.map(({ status }) => workStatusName(status)),
    new Array(RECEIVES).fill('WR_FLUSH_ERR'),
  )
  t.equal(right.closed, 1)
  t.notOk(right.pair.postReceive({ id: 1, region: right.memory, offset: 0, length: 50 }))
  send(pair, left, memoryOf(pair.a, Buffer.alloc(9)), {
    to: { address: to.id, qpn: right.pair.id, qkey: QKEY },
  })
  pair.settle()
  t.equal(pair.b.counters.rx.unknownQpn, 1)
})

t.test('datagrams take a quarter of the line rate at most, and connections go on beside them', async t => {
  const { pair, left, right, to } = world({ poolSize: 4000 })
  const ends = connected(pair)
  const data = memoryOf(pair.a, pattern(2, 1024))
  const target = { address: to.id, qpn: right.pair.id, qkey: QKEY }
  let bytes = 0
  pair.tap.watch = frame => {
    if (bth.destQpn(frame.view, frame.bth) === right.pair.id) bytes += frame.wireLength
    return true
  }
  left.onCompletion = () => send(pair, left, data, { to: target })
  for (let n = 0; n < 16; n++) send(pair, left, data, { to: target })
  const sink = memoryOf(pair.b, Buffer.alloc(1 << 20))
  const big = memoryOf(pair.a, pattern(4, 1 << 20))
  const all = { offset: 0, length: 1 << 20, remoteAddress: sink.address, rkey: sink.key }
  const { now } = pair.network
  ends.left.connection!.postSend(now, { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: big, ...all })
  pair.kick()
  pair.network.runUntil(now + 4 * MILLISECOND)
  const share = (8 * bytes) / (10e9 * 4e-3)
  t.ok(share > 0.24 && share < 0.251, `${share} of the line rate`)
  t.ok(
    ends.left.log.includes('completion 1 SUCCESS') && sink.buffer!.equals(big.buffer!),
    'the WRITE is whole',
  )
})
