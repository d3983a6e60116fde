/** Receive queues that queue pairs of a program's Host share: IBA 10.2.9. */
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Host, WorkOpcode } from '../../lib/index.js'
import { Access } from '../../lib/qp/memory/memory.js'
import { Completion } from '../../lib/qp/queues/completion-queue.js'
import { WorkStatus } from '../../lib/qp/queues/work-status.js'
import { open, PORT } from './hosts.js'

const QKEY = 0x0123_4567

const memory = (bytes: number, fill = 0) => new Uint8Array(new SharedArrayBuffer(bytes)).fill(fill)
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'nothing',
    error => error.code,
  )

/** Two hosts, the second with a shared receive queue of 8 and memory for its receives; and a SEND of 100 bytes. */
async function setUp(t: Test) {
  const [here, there] = await Promise.all([open(t), open(t)])
  const sharedReceiveQueue = await there.createSharedReceiveQueue({ depth: 8 })
  const into = await there.register(memory(8192), Access.LOCAL_WRITE | Access.REMOTE_WRITE)
  const from = await here.register(memory(100, 7), Access.LOCAL_WRITE)
  return {
    here,
    there,
    sharedReceiveQueue,
    into,
    post: (id: number) =>
      sharedReceiveQueue.postReceive({ id, region: into, offset: 1024 * id, length: 1024 }),
    work: { id: 1, opcode: WorkOpcode.SEND, region: from, offset: 0, length: 100 },
    completion: new Completion(),
  }
}

async function ucPair(here: Host, there: Host, options: object) {
  const mine = await here.createQueuePair(there.about.address, { type: 'uc' })
  const theirs = await there.createQueuePair(here.about.address, { type: 'uc', ...options })
  return { receiver: await theirs.connect(mine), sender: await mine.connect(theirs) }
}

t.test('connections and datagrams take receives from one queue', async t => {
  const { here, there, sharedReceiveQueue, into, post, work, completion } = await setUp(t)
  const listener = await there.listen(PORT, { sharedReceiveQueue })
  const ends = []
  for (let i = 0; i < 2; i++)
    ends.push(await Promise.all([here.connect(there.about.address, PORT), listener.accept()]))
  const [[sender, receiver], [sender2, receiver2]] = ends as [(typeof ends)[0], (typeof ends)[0]]

  t.throws(() => receiver.postReceive({ id: 1, region: into, offset: 0, length: 10 }), {
    code: 'WEIR_BAD_STATE',
  })
  t.equal(await codeOf(sharedReceiveQueue.close()), 'WEIR_BAD_STATE', 'it is in use')
  // The receives come after the message: RNR NAKs until then.
  sender.postSend(work)
  for (const id of [0, 1, 2]) t.ok(post(id))
  await receiver.next(completion)
  t.same([completion.id, completion.status, completion.byteLength], [0, WorkStatus.SUCCESS, 100])
  t.same(into.bytes.subarray(0, 100), Buffer.alloc(100, 7))
  const low = sharedReceiveQueue.belowLimit(2)
  sender2.postSend(work)
  await receiver2.next(completion)
  t.same([completion.id, completion.qpn], [1, receiver2.qpn])
  t.equal(await low, true)

  // A datagram needs 40 bytes more; a connection that ends leaves the receives to others.
  await sender2.disconnect()
  const pair = await there.createDatagramPair({ qkey: QKEY, sharedReceiveQueue })
  const client = await here.createDatagramPair({ qkey: QKEY })
  const { id: address } = await here.createAddress(there.about.address)
  client.postSend({ ...work, to: { address, qpn: pair.qpn, qkey: QKEY } })
  await pair.next(completion)
  t.same([completion.id, completion.byteLength], [2, 140])

  t.equal(await codeOf(there.createSharedReceiveQueue({ depth: 3 })), 'WEIR_BAD_ARGUMENT')
  t.equal(await codeOf(sharedReceiveQueue.belowLimit(8)), 'WEIR_BAD_ARGUMENT')
  const domain = there.newDomain()
  t.equal(
    await codeOf(there.createDatagramPair({ qkey: QKEY, domain, sharedReceiveQueue })),
    'WEIR_BAD_ARGUMENT',
  )
  t.equal(await sharedReceiveQueue.belowLimit(1), true, 'none is left')
  await sender.disconnect()
  await receiver.closed
  await receiver2.closed
  await pair.close()
  await listener.close()
  await sharedReceiveQueue.close()
  t.notOk(post(3))
})

t.test('unreliable connections take receives from one queue, and drop what finds none', async t => {
  const { here, there, sharedReceiveQueue, into, post, work, completion } = await setUp(t)
  const one = await ucPair(here, there, { sharedReceiveQueue })
  const two = await ucPair(here, there, { sharedReceiveQueue })
  t.throws(() => one.receiver.postReceive({ id: 1, region: into, offset: 0, length: 10 }), {
    code: 'WEIR_BAD_STATE',
  })
  for (const id of [0, 1]) t.ok(post(id))
  for (const [at, { sender, receiver }] of [two, one].entries()) {
    sender.postSend(work)
    t.ok(await receiver.next(completion))
    t.same(
      [completion.id, completion.status, completion.byteLength, completion.qpn],
      [at, WorkStatus.SUCCESS, 100, receiver.qpn],
    )
    t.same(into.bytes.subarray(1024 * at, 1024 * at + 100), Buffer.alloc(100, 7))
  }
  // Nothing acknowledges a message of an unreliable connection. The WRITE behind it shows that it has come.
  one.sender.postSend({ ...work, id: 2 })
  const write = { opcode: WorkOpcode.RDMA_WRITE, remoteAddress: into.address + 8000, rkey: into.key }
  one.sender.postSend({ ...work, ...write, id: 3 })
  while (into.bytes[8099] !== 7) await setImmediate()
  t.ok(post(2))
  one.sender.postSend({ ...work, id: 4, length: 50 })
  t.ok(await one.receiver.next(completion))
  t.same([completion.id, completion.byteLength], [2, 50], 'the first one was dropped')
})

t.test('a limit tells once, and another limit or the end of the queue takes it back', async t => {
  const { here, there, sharedReceiveQueue, post, work, completion } = await setUp(t)
  const { sender, receiver } = await ucPair(here, there, { sharedReceiveQueue })
  for (const id of [0, 1, 2]) t.ok(post(id))
  const replaced = sharedReceiveQueue.belowLimit(1)
  const below = sharedReceiveQueue.belowLimit(3)
  t.equal(await replaced, false, 'the second call sets the limit anew')
  let isBelow = false
  void below.then(() => {
    isBelow = true
  })
  // An answer of the NIC that comes later than one to the limit would.
  await there.register(memory(8), Access.LOCAL_WRITE)
  t.notOk(isBelow, 'three are not fewer than three')
  sender.postSend(work)
  t.ok(await receiver.next(completion))
  t.equal(await below, true)
  for (const wrong of [0, 8, 1.5, Number.NaN])
    t.equal(await codeOf(sharedReceiveQueue.belowLimit(wrong)), 'WEIR_BAD_ARGUMENT', String(wrong))
  const left = sharedReceiveQueue.belowLimit(1)
  await receiver.disconnect()
  await receiver.closed
  await sharedReceiveQueue.close()
  t.equal(await left, false, 'closed')
  t.equal(await sharedReceiveQueue.belowLimit(1), false)
  const waiting = (await there.createSharedReceiveQueue({ depth: 2 })).belowLimit(1)
  t.equal(await waiting, true, 'an empty queue is below every limit')
})

t.test('a shared queue that the program has written over fails its queue pairs, and no other', async t => {
  const { here, there, sharedReceiveQueue, into, post, work, completion } = await setUp(t)
  const listener = await there.listen(PORT, { sharedReceiveQueue })
  const usual = await there.listen(PORT + 1)
  const connect = (port: number, to: typeof listener) =>
    Promise.all([here.connect(there.about.address, port), to.accept()])
  const [sender, receiver] = await connect(PORT, listener)
  const [otherSender, other] = await connect(PORT + 1, usual)
  // Past the checks of postReceive: 1024 bytes from 8000 of 8192 on.
  sharedReceiveQueue.ring.pushReceive({ id: 1, region: into, offset: 8000, length: 1024 })
  t.ok(post(0))
  sender.postSend(work)
  t.ok(await receiver.next(completion))
  t.equal(completion.status, WorkStatus.LOC_PROT_ERR)
  t.ok(await sender.next(completion))
  t.equal(completion.status, WorkStatus.REM_OP_ERR, 'IBA 9.9.6.3: NAK, remote operational error')
  other.postReceive({ id: 5, region: into, offset: 0, length: 100 })
  otherSender.postSend(work)
  t.ok(await other.next(completion))
  t.same([completion.id, completion.status], [5, WorkStatus.SUCCESS])
  t.same(into.bytes.subarray(8000), Buffer.alloc(192), 'nothing was written there')
})

t.test('a shared queue holds as many receives as its depth, wherever they wait', async t => {
  const { here, there, sharedReceiveQueue, post, work, completion } = await setUp(t)
  const { sender, receiver } = await ucPair(here, there, { sharedReceiveQueue })
  const room = () => {
    let posted = 0
    while (posted < 100 && post(posted % 8)) posted++
    return posted
  }
  t.equal(room(), 8)
  const below = sharedReceiveQueue.belowLimit(7)
  // The NIC has looked at them once it answers a later call.
  await there.register(memory(8), Access.LOCAL_WRITE)
  t.equal(room(), 0, 'those that the NIC has read keep their places')
  for (const taken of [1, 2, 3]) {
    for (let i = 0; i < taken; i++) sender.postSend(work)
    for (let i = 0; i < taken; i++) t.ok(await receiver.next(completion))
    t.equal(room(), taken)
  }
  t.equal(await below, true)
})
