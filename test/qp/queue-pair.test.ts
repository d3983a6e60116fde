/**
 * The queue pair from the NIC's point of view: sequence numbers, bytes in flight, kinds of packets, reports
 * to its observer.
 */
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { type QpConfig, TxKind } from '../../lib/qp/queue-pair.js'
import { Completion } from '../../lib/qp/queues/completion-queue.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Host } from './pipe.js'

const HEADROOM = 54
const PSN = 0xfffffe

function pair(config: Partial<QpConfig>): { a: Host; b: Host; frame: Frame } {
  const [a, b] = [new Host(17, config), new Host(18, config)]
  a.connect(18, PSN, 500)
  b.connect(17, 500, PSN)
  return { a, b, frame: new Frame(0, Buffer.alloc(4608)) }
}

/** Carries packets both ways until none are left. */
function exchange(a: Host, b: Host, frame: Frame): number {
  let packets = 0
  for (let quiet = false; !quiet; ) {
    quiet = true
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      for (let i = 0; i < 64 && from.qp.pollTransmit(0, frame, HEADROOM) !== TxKind.NONE; i++) {
        quiet = false
        packets++
        to.qp.onPacket(0, frame)
      }
    }
  }
  return packets
}

t.test('sequence numbers do not wrap, bytes in flight count payload', async t => {
  const { a, b, frame } = pair({ pathMtu: 256 })
  const local = a.memory.register(Buffer.alloc(1024), 1024, 15)
  const remote = b.memory.register(Buffer.alloc(1024), 1024, 15)
  const common = { region: local, offset: 0, remoteAddress: remote.address, rkey: remote.key }
  a.qp.postSend(0, { id: 1, opcode: WorkOpcode.RDMA_WRITE, length: 600, ...common })
  a.qp.postSend(0, { id: 2, opcode: WorkOpcode.RDMA_READ, length: 600, ...common })
  t.equal(a.qp.peekTransmit(), TxKind.REQUEST)
  t.equal(a.qp.peekTransmit(false), TxKind.NONE)
  const sizes: number[] = []
  for (let i = 0; i < 4; i++) {
    sizes.push(a.qp.nextPayloadBytes())
    t.equal(a.qp.pollTransmit(0, frame, HEADROOM), TxKind.REQUEST)
    t.equal(a.qp.lastTransmittedSeq, PSN + i)
    t.notOk(a.qp.lastTransmittedWasRetransmission)
    t.equal(frame.payloadLength, sizes[i])
    t.equal(frame.bth, HEADROOM)
    t.equal(frame.length, frame.payload + Math.ceil(frame.payloadLength / 4) * 4, 'padded, without ICRC')
    t.equal(frame.wireLength, frame.length)
    b.qp.onPacket(0, frame)
  }
  t.same(sizes, [256, 256, 88, 0])
  t.equal(a.qp.inFlightBytes, 600)
  t.equal(a.qp.sndNxt, PSN + 6)
  t.equal(b.qp.nextReceiveSeq, PSN + 6)
  t.equal(b.qp.peekTransmit(), TxKind.ACK)
  t.equal(b.qp.nextPayloadBytes(), 0)
  exchange(a, b, frame)
  t.equal(a.qp.sndUna, PSN + 6)
  t.equal(a.qp.inFlightBytes, 0)
  t.equal(a.ackedBytes, 600)
  t.same(a.observed, [
    `acked ${PSN + 2} +600`,
    `acked ${PSN + 3} +0`,
    `acked ${PSN + 4} +0`,
    `acked ${PSN + 5} +0`,
  ])
})

t.test('going back is reported, and counted apart', async t => {
  const { a, b, frame } = pair({ pathMtu: 256, ackTimeoutExponent: 1 })
  const local = a.memory.register(Buffer.alloc(1024), 1024, 15)
  const remote = b.memory.register(Buffer.alloc(1024), 1024, 15)
  const common = { region: local, offset: 0, remoteAddress: remote.address, rkey: remote.key }
  a.qp.postSend(0, { id: 1, opcode: WorkOpcode.RDMA_WRITE, length: 1000, ...common })
  while (a.qp.pollTransmit(0, frame, HEADROOM) !== TxKind.NONE) {}
  t.equal(a.qp.nextTimeout(), 8192)
  a.qp.onTimeout(8191)
  t.equal(a.qp.peekTransmit(), TxKind.NONE)
  a.qp.onTimeout(8192)
  t.same(a.observed, ['retransmit 1000 timeout'])
  t.equal(a.qp.inFlightBytes, 0)
  t.equal(a.qp.sndNxt, PSN + 4, 'never goes back')
  a.qp.pollTransmit(8192, frame, HEADROOM)
  t.ok(a.qp.lastTransmittedWasRetransmission)
  t.equal(a.qp.lastTransmittedSeq, PSN)
  t.equal(a.qp.inFlightBytes, 256)
  t.equal(a.qp.counters.retransmittedBytes, 256)
  t.equal(a.qp.counters.requestBytes, 1000)
})

t.test('READ responses and requests take turns', async t => {
  const { a, b, frame } = pair({ pathMtu: 256 })
  const memoryA = a.memory.register(null, 1024, 15)
  const memoryB = b.memory.register(null, 1024, 15)
  const fromA = {
    region: memoryA,
    offset: 0,
    length: 1024,
    remoteAddress: memoryB.address,
    rkey: memoryB.key,
  }
  const fromB = {
    region: memoryB,
    offset: 0,
    length: 1024,
    remoteAddress: memoryA.address,
    rkey: memoryA.key,
  }
  a.qp.postSend(0, { id: 1, opcode: WorkOpcode.RDMA_READ, ...fromA })
  a.qp.pollTransmit(0, frame, HEADROOM)
  b.qp.onPacket(0, frame)
  b.qp.postSend(0, { id: 2, opcode: WorkOpcode.RDMA_WRITE, ...fromB })
  const kinds: TxKind[] = []
  for (let i = 0; i < 4; i++) kinds.push(b.qp.pollTransmit(0, frame, HEADROOM))
  t.same(kinds, [TxKind.RESPONSE, TxKind.REQUEST, TxKind.RESPONSE, TxKind.REQUEST])
  t.equal(b.qp.peekTransmit(false), TxKind.RESPONSE, 'a closed window does not hold responses back')
})

t.test('without storage, lengths and bounds are real and contents are not there', async t => {
  const { a, b, frame } = pair({ pathMtu: 1024 })
  const small = new Frame(0, Buffer.alloc(128))
  const local = a.memory.register(null, 4000, 15)
  const bytes = Buffer.alloc(4000, 7)
  const remote = b.memory.register(bytes, 4000, 15)
  const common = { region: local, offset: 0, remoteAddress: remote.address, rkey: remote.key }
  a.qp.postSend(0, { id: 1, opcode: WorkOpcode.RDMA_WRITE, length: 1023, ...common })
  t.equal(a.qp.pollTransmit(0, small, HEADROOM), TxKind.REQUEST)
  t.equal(small.length, HEADROOM + 12 + 16)
  t.equal(small.wireLength, HEADROOM + 12 + 16 + 1024)
  t.equal(small.payloadLength, 1023)
  b.qp.onPacket(0, small)
  exchange(a, b, frame)
  t.ok(
    bytes.every(byte => byte === 7),
    'nothing was written',
  )
  const completion = new Completion()
  t.ok(a.sendCq.poll(completion))
  t.equal(completion.byteLength, 1023)
})

t.test('messages of 2^31 bytes', async t => {
  const length = 2 ** 31
  for (const opcode of [WorkOpcode.RDMA_WRITE, WorkOpcode.RDMA_READ]) {
    const { a, b, frame } = pair({ pathMtu: 4096, ackEveryPackets: 0, ackRequestEveryPackets: 4096 })
    const local = a.memory.register(null, length, 15)
    const remote = b.memory.register(null, length, 15)
    const common = { region: local, offset: 0, remoteAddress: remote.address, rkey: remote.key }
    a.qp.postSend(0, { id: 1, opcode, length, ...common })
    exchange(a, b, frame)
    const completion = new Completion()
    t.ok(a.sendCq.poll(completion))
    t.equal(completion.status, 0)
    t.equal(completion.byteLength, length)
    t.equal(a.qp.sndUna, PSN + length / 4096)
  }
})

t.test('a READ of half the PSN space (IBA 9.7.1)', async t => {
  const { a, b, frame } = pair({ pathMtu: 256 })
  const length = 2 ** 31
  const local = a.memory.register(null, length, 15)
  const remote = b.memory.register(null, length, 15)
  const common = { region: local, offset: 0, remoteAddress: remote.address, rkey: remote.key }
  a.qp.postSend(0, { id: 1, opcode: WorkOpcode.RDMA_READ, length, ...common })
  a.qp.pollTransmit(0, frame, HEADROOM)
  b.qp.onPacket(0, frame)
  t.equal(b.qp.nextReceiveSeq, PSN + 2 ** 23)
  b.qp.onPacket(0, frame)
  t.equal(b.qp.counters.duplicates, 1, 'its repetition is the oldest PSN that can be told from a new one')
  t.equal(b.qp.counters.outOfSequence, 0)
  for (let i = 0; i < 3; i++) {
    t.equal(b.qp.pollTransmit(0, frame, HEADROOM), TxKind.RESPONSE)
    a.qp.onPacket(0, frame)
  }
  t.equal(a.qp.sndUna, PSN + 3)
})
