import t from 'tap'
import { mayBecome, qpStateName } from '../../lib/qp/context/states.js'
import { type QpAttributes, QpState } from '../../lib/qp/queue-pair.js'
import { Completion, CompletionQueue } from '../../lib/qp/queues/completion-queue.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Host, Pipe } from './pipe.js'

const ALL = Object.values(QpState)
/** IBA 10.3.1: besides these, any state goes to RESET and to ERR. */
const WAYS = [
  'RESET INIT',
  'INIT INIT',
  'INIT RTR',
  'RTR RTS',
  'RTS RTS',
  'RTS SQD',
  'SQD SQD',
  'SQD RTS',
  'SQE RTS',
]

t.test('the transitions of the standard and no others', async t => {
  for (const from of ALL) {
    for (const to of ALL) {
      const way = `${qpStateName(from)} ${qpStateName(to)}`
      const allowed = WAYS.includes(way) || to === QpState.RESET || to === QpState.ERR
      t.equal(mayBecome(from, to), allowed, way)
    }
  }
})

t.test('modify says what is wrong', async t => {
  const { qp } = new Host(5)
  t.throws(() => qp.modify(0, QpState.RTS), {
    code: 'WEIR_BAD_STATE',
    message: /RESET cannot become RTS.*INIT/,
  })
  qp.modify(0, QpState.INIT)
  t.throws(() => qp.modify(0, QpState.RTR, { remoteQpn: 6 }), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /receivePsn/,
  })
  const wrong: QpAttributes = { remoteQpn: 6, receivePsn: 0x1000000 }
  t.throws(() => qp.modify(0, QpState.RTR, wrong), { code: 'WEIR_BAD_ARGUMENT', message: /receivePsn/ })
  t.equal(qp.state, QpState.INIT)
  qp.modify(0, QpState.RTR, { remoteQpn: 6, receivePsn: 1, pathMtu: 2048 })
  t.throws(() => qp.modify(0, QpState.RTS), { code: 'WEIR_BAD_ARGUMENT', message: /sendPsn/ })
  t.throws(() => qp.modify(0, QpState.RTS, { sendPsn: 1, pathMtu: 256 }), {
    message: /pathMtu cannot change/,
  })
  qp.modify(0, QpState.RTS, { sendPsn: 0xfffffe })
  t.equal(qp.sndNxt, 0xfffffe)
  // IBA 11.2.4.2: with RTR its peer, and the peer's first PSN, are fixed.
  for (const late of [{ remoteQpn: 7 }, { receivePsn: 5 }]) {
    t.throws(() => qp.modify(0, QpState.RTS, late), { message: /cannot change on the way to RTS/ })
  }
  t.equal(qp.remoteQpn, 6)
  t.equal(qp.pathMtu, 2048)
})

t.test('what modify refuses changes nothing', async t => {
  const host = new Host(5)
  host.connect(6, 0, 0)
  const { qp } = host
  t.throws(() => qp.modify(0, QpState.RTS, { initiatorDepth: 0, pathMtu: 256 }), { message: /pathMtu/ })
  const region = host.memory.register(null, 64, 15)
  const remote = { remoteAddress: 0, rkey: 1 }
  t.ok(qp.postSend(0, { id: 1, opcode: WorkOpcode.RDMA_READ, region, offset: 0, length: 1, ...remote }))
})

t.test('posting is allowed where the table says', async t => {
  const host = new Host(5)
  const region = host.memory.register(null, 64, 15)
  const send = { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 1 }
  const receive = { id: 2, region, offset: 0, length: 1 }
  t.throws(() => host.qp.postReceive(receive), { code: 'WEIR_BAD_STATE' })
  host.qp.modify(0, QpState.INIT)
  t.ok(host.qp.postReceive(receive))
  t.throws(() => host.qp.postSend(0, send), { code: 'WEIR_BAD_STATE' })
  host.qp.modify(0, QpState.RTR, { remoteQpn: 6, receivePsn: 1 })
  t.throws(() => host.qp.postSend(0, send), { code: 'WEIR_BAD_STATE' })
  host.qp.modify(0, QpState.RTS, { sendPsn: 1 })
  t.ok(host.qp.postSend(0, send))
})

t.test('RESET forgets work without completions, and the queue pair can be used again', async t => {
  const host = new Host(5, { sendQueueDepth: 2, receiveQueueDepth: 2 })
  const region = host.memory.register(null, 64, 15)
  const completion = new Completion()
  for (let round = 0; round < 3; round++) {
    host.connect(6, 10, 20)
    for (let i = 0; i < 2; i++) {
      t.ok(host.qp.postSend(0, { id: i, opcode: WorkOpcode.SEND, region, offset: 0, length: 1 }))
      t.ok(host.qp.postReceive({ id: i, region, offset: 0, length: 1 }))
    }
    t.notOk(host.qp.postSend(0, { id: 9, opcode: WorkOpcode.SEND, region, offset: 0, length: 1 }))
    host.qp.modify(0, QpState.RESET)
    t.notOk(host.sendCq.poll(completion))
    t.notOk(host.receiveCq.poll(completion))
    t.equal(host.sendCq.reserved + host.receiveCq.reserved, 0)
    t.equal(host.qp.sendPending + host.qp.receivePending, 0)
  }
})

t.test('a full completion queue refuses posts instead of losing completions', async t => {
  const host = new Host(5, { sendCq: new CompletionQueue(1) })
  const region = host.memory.register(null, 64, 15)
  host.connect(6, 10, 20)
  t.ok(host.qp.postSend(0, { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 1 }))
  t.notOk(host.qp.postSend(0, { id: 2, opcode: WorkOpcode.SEND, region, offset: 0, length: 1 }))
})

t.test('a queue pair that is used again has forgotten the round trips of the connection before', async t => {
  const config = { retransmitTimeoutLeastNs: 1000 }
  const [a, b] = [new Host(5, config), new Host(6, config)]
  const faults = { loss: 0, duplicate: 0, reorder: 0, delayNs: 1000, pause: 0 }
  const pipe = new Pipe(a, b, faults, () => 0.5)
  const [from, to] = [a, b].map(host => host.memory.register(null, 64, 15))
  const firstNs: number[] = []
  for (let round = 0; round < 2; round++) {
    a.connect(6, 1000 - 500 * round, 20)
    b.connect(5, 20, 1000 - 500 * round)
    for (let id = 0; id < 4; id++) {
      b.qp.postReceive({ id, region: to!, offset: 0, length: 1 })
      a.qp.postSend(0, { id, opcode: WorkOpcode.SEND, region: from!, offset: 0, length: 1 })
      pipe.step()
      if (id === 0) firstNs.push(a.qp.nextTimeout() - pipe.now)
      while (pipe.step()) {}
    }
    t.equal(a.qp.inFlightBytes, 0)
    for (const host of [a, b]) host.qp.modify(pipe.now, QpState.RESET)
  }
  t.equal(firstNs[1], firstNs[0])
})
