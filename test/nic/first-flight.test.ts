/** The end of the first flight is lost: no round trip has been measured, so the peer is asked before anything is sent twice. */
import t from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { MILLISECOND } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { connected, makePair, memoryOf, pattern } from './pair.js'

const MTU = 1024
const PACKETS = 8
/** Longer than the flight takes to leave: nothing is timed. */
const DELAY_NS = 50_000
const RTT_NS = 4 * DELAY_NS
/** The least probe timeout, before a round trip is known. */
const FIRST_TIMEOUT_NS = MILLISECOND

/** Writes PACKETS packets; loses data packets and questions by their place in the order in which they leave, from 0. */
function write(lost: { data?: readonly number[]; questions?: readonly number[] }) {
  const pair = makePair({ a: { baseRttNs: RTT_NS, pathMtu: MTU }, delayNs: DELAY_NS })
  const { left } = connected(pair)
  const bytes = pattern(1, PACKETS * MTU)
  const [source, target] = [memoryOf(pair.a, bytes), memoryOf(pair.b, Buffer.alloc(bytes.length))]
  const seen = { data: 0, questions: 0 }
  pair.tap.watch = ({ view, bth: at, payloadLength }, _now, fromA) => {
    if (!fromA || bth.opcode(view, at) > Opcode.RC_RDMA_WRITE_ONLY_WITH_IMM) return true
    const kind = payloadLength === 0 ? 'questions' : 'data'
    const place = seen[kind]++
    return !lost[kind]?.includes(place)
  }
  const beganNs = pair.network.now
  const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: source, offset: 0, length: bytes.length }
  left.connection!.postSend(beganNs, { ...work, remoteAddress: target.address, rkey: target.key })
  const done = pair.until(() => left.log.includes('completion 1 SUCCESS'))
  const tookNs = pair.network.now - beganNs
  pair.settle()
  const { retransmittedBytes, spuriousBytes, timeouts } = left.connection!.stats
  return {
    exact: done && target.buffer!.equals(bytes),
    tookNs,
    ...seen,
    retransmittedBytes,
    spuriousBytes,
    timeouts,
    inUse: pair.pool.inUse,
  }
}

t.test('nothing lost: no question', async t => {
  t.match(write({}), { exact: true, data: PACKETS, questions: 0, retransmittedBytes: 0 })
})

t.test('the last packet lost: one question, and then that packet alone', async t => {
  const { tookNs, ...seen } = write({ data: [PACKETS - 1] })
  t.match(seen, { exact: true, data: PACKETS + 1, questions: 1, retransmittedBytes: MTU, spuriousBytes: 0 })
  t.match(seen, { timeouts: 0, inUse: 0 })
  // The question and its answer, the reordering window, the probe and its answer.
  t.ok(tookNs < FIRST_TIMEOUT_NS + 2.5 * RTT_NS, `${tookNs} ns`)
})

t.test('all of it lost, and the first question as well', async t => {
  const all = [...Array(PACKETS).keys()]
  const { tookNs, ...seen } = write({ data: all, questions: [0] })
  t.match(seen, { exact: true, data: 2 * PACKETS, questions: 2, spuriousBytes: 0, timeouts: 0 })
  // The second question leaves after twice the time. Its round trip counts from the first one, as nobody knows which was lost.
  t.ok(tookNs < 3 * FIRST_TIMEOUT_NS + 4 * (2 * FIRST_TIMEOUT_NS + RTT_NS), `${tookNs} ns`)
})

t.test('the answer is late: nothing is sent twice', async t => {
  const pair = makePair({ a: { baseRttNs: RTT_NS, pathMtu: MTU }, delayNs: 2 * MILLISECOND })
  const { left } = connected(pair)
  const bytes = pattern(1, PACKETS * MTU)
  const [source, target] = [memoryOf(pair.a, bytes), memoryOf(pair.b, Buffer.alloc(bytes.length))]
  const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: source, offset: 0, length: bytes.length }
  left.connection!.postSend(pair.network.now, { ...work, remoteAddress: target.address, rkey: target.key })
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  pair.settle()
  const { retransmittedBytes, spuriousBytes, timeouts } = left.connection!.stats
  t.same(
    { retransmittedBytes, spuriousBytes, timeouts },
    { retransmittedBytes: 0, spuriousBytes: 0, timeouts: 0 },
  )
})

t.test('a question was lost: packets that later arrive twice are counted all the same', async t => {
  const pair = makePair({ a: { baseRttNs: RTT_NS, pathMtu: MTU }, delayNs: DELAY_NS })
  const { left } = connected(pair)
  const { connection } = left
  const [source, target] = [memoryOf(pair.a, pattern(1, MTU)), memoryOf(pair.b, Buffer.alloc(MTU))]
  const remote = { remoteAddress: target.address, rkey: target.key }
  let lost = (_opcode: number, _isQuestion: boolean, _fromA: boolean) => false
  pair.tap.watch = ({ view, bth: at, payloadLength }, _now, fromA) =>
    !lost(bth.opcode(view, at), payloadLength === 0, fromA)
  const write = (id: number) => {
    const work = { id, opcode: WorkOpcode.RDMA_WRITE, region: source, offset: 0, length: MTU, ...remote }
    connection!.postSend(pair.network.now, work)
    t.ok(pair.until(() => left.log.includes(`completion ${id} SUCCESS`)))
    pair.settle()
  }
  // The first packet is lost, and so is the first question about it.
  let packets = 0
  let questions = 0
  lost = (opcode, isQuestion, fromA) =>
    fromA && opcode === Opcode.RC_RDMA_WRITE_ONLY && (isQuestion ? questions++ : packets++) === 0
  write(1)
  t.same([packets, questions], [2, 2])
  write(2)
  t.equal(connection!.stats.spuriousBytes, 0)
  // The acknowledgement is lost: the tail probe is needless.
  let acks = 0
  lost = (opcode, _isQuestion, fromA) => !fromA && opcode === Opcode.RC_ACKNOWLEDGE && acks++ === 0
  write(3)
  t.equal(connection!.stats.spuriousBytes, MTU)
})
