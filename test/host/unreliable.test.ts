/** Unreliable connections of a program's Host. */
import t, { type Test } from 'tap'
import { type Host, WorkOpcode } from '../../lib/index.js'
import { Access } from '../../lib/qp/memory/memory.js'
import { Completion } from '../../lib/qp/queues/completion-queue.js'
import { open } from './hosts.js'

const memory = (bytes: number) => new Uint8Array(new SharedArrayBuffer(bytes))

async function hosts(t: Test): Promise<[Host, Host, string, string]> {
  const [here, there] = await Promise.all([open(t), open(t)])
  return [here, there, here.about.address, there.about.address]
}

t.test('two programs tell each other their numbers, and a message and a WRITE arrive', async t => {
  const [here, there, ours, others] = await hosts(t)
  const access = Access.LOCAL_WRITE | Access.REMOTE_WRITE
  const out = await here.register(memory(20_000).fill(7), access)
  const into = await there.register(memory(20_000), access)
  const receives = [0, 1].map(id => ({ id, region: into, offset: 0, length: 10_000 }))
  const mine = await here.createQueuePair(others, { type: 'uc', pathMtu: 1024 })
  const theirs = await there.createQueuePair(ours, { type: 'uc', pathMtu: 1024, receives })
  // Before it is connected a send waits.
  const send = { id: 3, opcode: WorkOpcode.SEND, region: out, offset: 0, length: 5000 }
  t.ok(mine.connection.postSend(send))
  const receiving = await theirs.connect(mine)
  const sending = await mine.connect(theirs)
  t.same([sending.remote, sending.pathMtu, sending.qpn], [others, 1024, mine.qpn])
  const done = new Completion()
  t.ok(await receiving.next(done))
  t.same([done.id, done.byteLength, done.qpn], [0, 5000, theirs.qpn])
  t.ok(into.bytes.subarray(0, 5000).every(byte => byte === 7))
  const write = { opcode: WorkOpcode.RDMA_WRITE_WITH_IMM, offset: 0, length: 3000, immediate: 9 }
  const target = { remoteAddress: into.address + 10_000, rkey: into.key }
  t.ok(sending.postSend({ id: 4, region: out, ...write, ...target }))
  t.ok(await receiving.next(done))
  t.same([done.id, done.byteLength, done.immediate], [1, 3000, 9])
  t.ok(into.bytes.subarray(10_000, 13_000).every(byte => byte === 7))
  for (const id of [3, 4]) {
    t.ok(await sending.next(done))
    t.same([done.id, done.status], [id, 0])
  }
  await mine.close()
  t.equal(await sending.closed, null)
  t.equal(sending.postSend(send), false)
  await theirs.connection.disconnect()
})

t.test('what makes no sense is refused', async t => {
  const [here, , , others] = await hosts(t)
  const refusal = (call: () => Promise<unknown>) =>
    call().then(
      () => 'nothing',
      error => error.code,
    )
  const pair = await here.createQueuePair(others, { type: 'uc' })
  const region = await here.register(memory(100), Access.LOCAL_WRITE)
  const read = { id: 1, opcode: WorkOpcode.RDMA_READ, region, offset: 0, length: 100 }
  t.throws(() => pair.connection.postSend({ ...read, remoteAddress: 0, rkey: 1 }), {
    code: 'WEIR_BAD_ARGUMENT',
  })
  for (const qpn of [0, 1, 2 ** 24])
    t.equal(await refusal(() => pair.connect({ qpn, psn: 0 })), 'WEIR_BAD_ARGUMENT')
  t.equal(await refusal(() => pair.connect(undefined as never)), 'WEIR_BAD_ARGUMENT')
  await pair.connect({ qpn: 5, psn: 0 })
  t.equal(await refusal(() => pair.connect({ qpn: 5, psn: 0 })), 'WEIR_BAD_STATE')
  t.equal(await refusal(() => here.createQueuePair(others, { type: 'rd' } as never)), 'WEIR_BAD_ARGUMENT')
  t.equal(await refusal(() => here.createQueuePair('::1', { type: 'uc' })), 'WEIR_BAD_ARGUMENT')
  t.equal(
    await refusal(() => here.createQueuePair(others, { type: 'uc', pathMtu: 1000 })),
    'WEIR_BAD_ARGUMENT',
  )
})
