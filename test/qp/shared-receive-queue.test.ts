/** Receives that queue pairs share: IBA 10.2.9. */
import t from 'tap'
import { Frame } from '../../lib/frame/frame.js'
import { TxKind } from '../../lib/qp/queue-pair.js'
import { Completion } from '../../lib/qp/queues/completion-queue.js'
import { SharedReceiveQueue } from '../../lib/qp/queues/shared-receive-queue.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { WorkStatus } from '../../lib/qp/queues/work-status.js'
import { Host } from './pipe.js'

const HEADROOM = 54

/** A sender of 600 bytes, that is 3 packets, and a receiver with a shared receive queue. */
function pair(shared: SharedReceiveQueue, qpn: number) {
  const a = new Host(qpn, { pathMtu: 256 })
  const b = new Host(qpn + 1, { pathMtu: 256, receiveSource: shared })
  a.connect(qpn + 1, 100, 200)
  b.connect(qpn, 200, 100)
  const region = a.memory.register(Buffer.alloc(600, qpn), 600, 15)
  const frame = new Frame(0, Buffer.alloc(4608))
  return {
    a,
    b,
    send: () => a.qp.postSend(0, { id: 9, opcode: WorkOpcode.SEND, region, offset: 0, length: 600 }),
    /** One packet to the receiver; false: none was to be sent. */
    step: (): boolean => {
      if (a.qp.pollTransmit(0, frame, HEADROOM) === TxKind.NONE) return false
      b.qp.onPacket(0, frame)
      return true
    },
  }
}

function setUp() {
  const shared = new SharedReceiveQueue(4, 0)
  const owner = new Host(1000)
  const into = owner.memory.register(Buffer.alloc(4000), 4000, 15)
  const post = (id: number) => shared.post({ id, region: into, offset: 1000 * (id % 4), length: 1000 })
  return { shared, into, post }
}

const completed = ({ b }: { b: Host }) => {
  const completion = new Completion()
  const found: [number, number, number][] = []
  while (b.receiveCq.poll(completion)) found.push([completion.id, completion.status, completion.qpn])
  return found
}

t.test('the first packet of a message takes the oldest receive, whichever queue pair it is for', async t => {
  const { shared, into, post } = setUp()
  const [one, two] = [pair(shared, 20), pair(shared, 30)]
  for (const id of [0, 1, 2]) t.ok(post(id))
  one.send()
  two.send()
  one.step()
  t.equal(shared.count, 2, 'taken before the message is whole')
  for (let i = 0; i < 3; i++) two.step()
  one.step()
  one.step()
  t.equal(shared.count, 1)
  t.same(completed(two), [[1, WorkStatus.SUCCESS, 31]])
  t.same(completed(one), [[0, WorkStatus.SUCCESS, 21]])
  t.same(into.backing!.bytes.subarray(0, 600), Buffer.alloc(600, 20))
  t.same(into.backing!.bytes.subarray(1000, 1600), Buffer.alloc(600, 30))
})

t.test('without a receive the peer is not ready, and an own one cannot be posted', async t => {
  const { shared, into, post } = setUp()
  const one = pair(shared, 20)
  one.send()
  one.step()
  const frame = new Frame(0, Buffer.alloc(4608))
  t.equal(one.b.qp.pollTransmit(0, frame, HEADROOM), TxKind.ACK)
  t.equal(
    frame.view.getUint8(HEADROOM + 12) >>> 5,
    1,
    'RNR NAK: the high three bits of the syndrome are 001 (IBA 9.7.5.2.8)',
  )
  t.equal(one.b.receiveCq.reserved, 0, 'no place is kept')
  t.throws(() => one.b.qp.postReceive({ id: 1, region: into, offset: 0, length: 10 }), {
    code: 'WEIR_BAD_STATE',
  })
  for (const id of [0, 1, 2, 3]) t.ok(post(id))
  t.notOk(post(4), 'its depth bounds it')
})

t.test('a queue pair in error flushes what it has taken, and leaves the others', async t => {
  const { shared, post } = setUp()
  const [one, two] = [pair(shared, 20), pair(shared, 30)]
  post(0)
  post(1)
  one.send()
  one.step()
  one.b.qp.modify(0, 6)
  t.same(completed(one), [[0, WorkStatus.WR_FLUSH_ERR, 21]])
  two.send()
  while (two.step()) if (shared.count === 0 && two.b.receiveCq.pending > 0) break
  t.same(completed(two), [[1, WorkStatus.SUCCESS, 31]])
})

t.test('the limit event comes once, when fewer are left', async t => {
  const { shared, into, post } = setUp()
  const one = pair(shared, 20)
  for (const id of [0, 1, 2]) post(id)
  let events = 0
  shared.arm(2, () => events++)
  const seen: number[] = []
  for (let n = 0; n < 3; n++) {
    one.send()
    for (let i = 0; i < 3; i++) one.step()
    seen.push(events)
  }
  t.same(seen, [0, 1, 1])
  shared.arm(1, () => events++)
  t.equal(events, 2, 'at once, if there are fewer already')
  t.throws(() => shared.arm(5, () => {}), { code: 'WEIR_BAD_ARGUMENT' })
  t.throws(() => new SharedReceiveQueue(0, 0), { code: 'WEIR_BAD_ARGUMENT' })
  t.throws(() => new SharedReceiveQueue(4, 1).post({ id: 1, region: into, offset: 0, length: 1 }), {
    code: 'WEIR_BAD_ARGUMENT',
  })
})
