/** Mistakes of an application, full queues, and ends with work outstanding. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { WeirError } from '../../lib/errors.js'
import { HostedConnection } from '../../lib/host/hosted-connection.js'
import { Queues } from '../../lib/host/queues.js'
import { Access, Completion, Host, type SendWork, WorkOpcode } from '../../lib/index.js'
import type { Connection } from '../../lib/nic/types.js'
import { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { scratch } from '../support/daemon-process.js'
import { long, usual, variants } from '../support/long.js'
import { loopbackAddress } from '../support/loopback.js'
import { brief, connected, connectedBetween, memory, next, open, PORT } from './hosts.js'

const { SEND, RDMA_WRITE, RDMA_READ, FETCH_AND_ADD } = WorkOpcode

/**
 * Posts until `count` requests have been taken, however long the NIC's thread needs, and continues for a
 * while.
 */
async function fill(post: () => boolean, count: number): Promise<void> {
  let taken = 0
  for (let more = 0; more < 5; await new Promise(resolve => setTimeout(resolve, 20))) {
    while (post()) taken++
    if (taken >= count) more++
  }
}

// Tests share hosts, because starting one costs more than most tests. At most these two live at a time: each
// waits on a thread of Node's pool, which has four and loads modules too.
usual('on two hosts', async t => {
  const usual = await Promise.all([open(t), open(t)])

  t.test('queue pairs that programs connect: they take each other, and end connected or not', async t => {
    const [a, b] = usual
    const [one, other] = await Promise.all([
      a.createQueuePair(b.about.address),
      b.createQueuePair(a.about.address),
    ])
    const missing = undefined as unknown as { qpn: number; psn: number }
    await t.rejects(one.connect(missing), { code: 'WEIR_BAD_ARGUMENT', message: /qpn, psn/ })
    const [connection] = await Promise.all([one.connect(other), other.connect(one)])
    t.equal(connection.remote, b.about.address)
    await Promise.all([one.close(), other.close()])
    t.equal(await connection.closed, null)
    t.equal(await next(connection), 'closed')
    const alone = await a.createQueuePair(b.about.address)
    await alone.connection.disconnect()
    t.equal(await alone.connection.closed, null)
  })

  t.test('memory that cannot be registered', async t => {
    const [host] = usual
    const wrong: [unknown, number, RegExp][] = [
      [new Uint8Array(10), 1, /must be a SharedArrayBuffer/],
      [Buffer.alloc(10), 1, /must be a SharedArrayBuffer/],
      [new ArrayBuffer(10), 1, /must be a SharedArrayBuffer/],
      [new Float64Array(new SharedArrayBuffer(80)), 1, /must be a SharedArrayBuffer or a Uint8Array/],
      [new SharedArrayBuffer(10), 16, /access is a sum of Access/],
      [new SharedArrayBuffer(10), -1, /access is a sum of Access/],
    ]
    for (const [bytes, access, message] of wrong) {
      await t.rejects(host.register(bytes as Uint8Array, access), { code: 'WEIR_BAD_ARGUMENT', message })
    }
    const shared = new SharedArrayBuffer(100)
    const part = await host.register(new Uint8Array(shared, 10, 20), Access.LOCAL_WRITE)
    t.equal(part.length, 20)
    await host.deregister(part)
    await host.deregister(part)
    t.notOk(part.valid)
  })

  t.test('work that makes no sense is refused before it is posted', async t => {
    const { a, b, ab } = await connectedBetween(usual)
    const { region } = await memory(a, 100)
    const foreign = (await memory(b, 100)).region
    const gone = (await memory(a, 100)).region
    await a.deregister(gone)
    const good: SendWork = { id: 1, opcode: SEND, region, offset: 0, length: 100 }
    const wrong: [Partial<SendWork>, RegExp][] = [
      [{ offset: 1 }, /outside its region of 100 bytes/],
      [{ offset: -1, length: 5 }, /outside its region/],
      [{ offset: 0.5, length: 5 }, /outside its region/],
      [{ length: 2 ** 40 }, /length is 0 to/],
      [{ opcode: 77 as never }, /opcode is one of WorkOpcode/],
      [{ opcode: RDMA_WRITE }, /remoteAddress/],
      [{ opcode: FETCH_AND_ADD, remoteAddress: 0, rkey: 1 }, /length of an atomic/],
      [{ region: foreign }, /the region is none of this host/],
      [{ region: gone }, /the region is none of this host/],
      [{ region: undefined as unknown as MemoryRegion }, /the region is none of this host/],
    ]
    for (const [change, message] of wrong) {
      t.throws(() => ab.postSend({ ...good, ...change }), { code: 'WEIR_BAD_ARGUMENT', message })
    }
    t.throws(() => ab.postReceive({ id: 1, region, offset: 90, length: 11 }), { code: 'WEIR_BAD_ARGUMENT' })
    t.throws(() => ab.postReceive({ id: 1, region: foreign, offset: 0, length: 1 }), {
      code: 'WEIR_BAD_ARGUMENT',
    })
    t.notOk(ab.poll(new Completion()), 'nothing of it was posted')
  })

  t.test('what a peer does not allow fails the connection, and the rest is flushed', async t => {
    const { a, b, ab, ba } = await connectedBetween(usual)
    const { region } = await memory(a, 100)
    const readOnly = (await memory(b, 100, Access.REMOTE_READ)).region
    const remote = { remoteAddress: readOnly.address, rkey: readOnly.key }
    const work: SendWork = { id: 1, opcode: RDMA_READ, region, offset: 0, length: 100, ...remote }
    t.ok(ab.postSend(work))
    t.equal(await next(ab), '1 SUCCESS 100')
    t.ok(ab.postSend({ ...work, id: 2, remoteAddress: readOnly.address + 1 }))
    t.ok(ab.postSend({ ...work, id: 3 }))
    // The refusal and the disconnect after it arrive by two sockets, and the second may be read first.
    const second = await next(ab)
    t.match(second, /^2 (REM_ACCESS_ERR|WR_FLUSH_ERR) 0$/)
    t.equal(await next(ab), '3 WR_FLUSH_ERR 0')
    const error = await ab.closed
    if (second.includes('REM_ACCESS_ERR')) {
      t.match(error, { code: 'WEIR_CONNECTION_LOST', message: /REM_ACCESS_ERR/ })
    }
    t.equal(await next(ab), 'closed')
    t.notOk(ab.postSend(work), 'it has ended')
    t.notOk(ab.postReceive({ id: 4, region, offset: 0, length: 1 }))
    await ba.closed
    await ab.disconnect()
    await t.rejects(ab.stats(), { code: 'WEIR_BAD_STATE' })
  })

  t.test('memory that is taken away while work is posted', async t => {
    const { a, ab } = await connectedBetween(usual)
    const { region } = await memory(a, 100)
    // The loop takes both in one turn: the region goes first.
    const deregistered = a.deregister(region)
    t.throws(() => ab.postSend({ id: 1, opcode: SEND, region, offset: 0, length: 10 }), {
      code: 'WEIR_BAD_ARGUMENT',
    })
    await deregistered
    const other = (await memory(a, 100)).region
    t.ok(ab.postReceive({ id: 2, region: other, offset: 0, length: 10 }))
    await a.deregister(other)
    await ab.disconnect()
    t.equal(await next(ab), '2 WR_FLUSH_ERR 0')
  })

  t.test('connecting and listening that cannot be', async t => {
    const [a, b] = usual
    await t.rejects(a.connect(b.about.address, PORT), { code: 'WEIR_REJECTED' }, 'nobody listens')
    await t.rejects(a.connect('nonsense', PORT), { code: 'WEIR_BAD_ARGUMENT' })
    await t.rejects(a.connect(b.about.address, PORT, { pathMtu: 1500 }), { code: 'WEIR_BAD_ARGUMENT' })
    await t.rejects(a.connect(b.about.address, PORT, { cc: { name: 'none', options: {} } }), {
      code: 'WEIR_BAD_ARGUMENT',
    })
    const aborted = AbortSignal.timeout(100)
    await t.rejects(a.connect(loopbackAddress(), PORT, { signal: aborted }), { code: 'WEIR_CANCELLED' })
    const listener = await b.listen(PORT, { backlog: 2 })
    await t.rejects(b.listen(PORT), { code: 'WEIR_BAD_STATE' })
    await t.rejects(b.listen(0), { code: 'WEIR_BAD_ARGUMENT' })
    await t.rejects(b.listen(PORT + 1, { backlog: 0 }), { code: 'WEIR_BAD_ARGUMENT' })
    await t.rejects(b.listen(PORT + 1, { privateData: new Uint8Array(81) }), { code: 'WEIR_BAD_ARGUMENT' })
    const waiting = [await a.connect(b.about.address, PORT), await a.connect(b.about.address, PORT)]
    await t.rejects(a.connect(b.about.address, PORT), {
      code: 'WEIR_FULL',
      message: /2 connections wait/,
    })
    const taken = await listener.accept()
    const third = await a.connect(b.about.address, PORT)
    await Promise.all([listener.accept(), listener.accept()])
    const refused = t.rejects(listener.accept(), { code: 'WEIR_BAD_STATE', message: /port 7471 is closed/ })
    await listener.close()
    await refused
    await t.rejects(a.connect(b.about.address, PORT), { code: 'WEIR_REJECTED' })
    t.ok([...waiting, third].every(({ remote }) => remote === b.about.address))
    await taken.disconnect()
    await b.listen(PORT)
  })
})

long('on two hosts with short queues', async t => {
  const depth = 4
  const narrow = await Promise.all([open(t, { queueDepth: depth }), open(t, { queueDepth: depth })])

  t.test('full queues push back, and lose nothing', async t => {
    const { a, b, ab, ba } = await connectedBetween(narrow)
    const [ma, mb] = [await memory(a, 4096), await memory(b, 4096)]
    // The peer has posted no receive: nothing completes. 4 in the queue pair, 4 in the shared queue.
    let posted = 0
    const send16 = () =>
      ab.postSend({ id: posted, opcode: SEND, region: ma.region, offset: 0, length: 16 }) && posted++ >= 0
    await fill(send16, 2 * depth)
    t.equal(posted, 2 * depth)
    // The same for receives: an application that takes no completions only stops the NIC from taking work.
    let received = 0
    const total = 100
    const seen: string[] = []
    const completion = new Completion()
    const receive = async () => {
      for (let next = 0; received < total; ) {
        while (next < total && ba.postReceive({ id: next, region: mb.region, offset: 0, length: 16 })) next++
        t.ok(await ba.next(completion))
        t.equal(brief(completion), `${received} SUCCESS 16`)
        received++
      }
    }
    const send = async () => {
      for (let completed = 0; completed < total; completed++) {
        const isThere = await ab.next(completion2)
        t.ok(isThere)
        seen.push(brief(completion2))
        while (
          posted < total &&
          ab.postSend({ id: posted, opcode: SEND, region: ma.region, offset: 0, length: 16 })
        )
          posted++
      }
    }
    const completion2 = new Completion()
    await Promise.all([receive(), send()])
    t.same(
      seen,
      Array.from({ length: total }, (_, i) => `${i} SUCCESS 16`),
      'in order, each once',
    )
  })

  t.test('completions that nobody takes stop the sender, for as long as that', async t => {
    const { a, b, ab } = await connectedBetween(narrow)
    const [ma, mb] = [await memory(a, 64), await memory(b, 64)]
    const remote = { remoteAddress: mb.region.address, rkey: mb.region.key }
    const post = (id: number) =>
      ab.postSend({ id, opcode: RDMA_WRITE, region: ma.region, offset: 0, length: 8, ...remote })
    let posted = 0
    // All places for completions, and the queue itself.
    await fill(() => post(posted) && posted++ >= 0, 2 * depth + depth)
    t.equal(posted, 2 * depth + depth)
    for (let i = 0; i < posted; i++) t.equal(await next(ab), `${i} SUCCESS 8`)
    t.ok(post(99))
    t.equal(await next(ab), '99 SUCCESS 8')
  })
})

long('closed with work outstanding: all of it comes back', async t => {
  const depth = 8
  const { a, b, ab, ba } = await connected(t, { queueDepth: depth })
  const [ma, mb] = [await memory(a, 64), await memory(b, 64)]
  let sends = 0
  const send8 = () =>
    ab.postSend({ id: sends, opcode: SEND, region: ma.region, offset: 0, length: 8, signaled: false }) &&
    sends++ >= 0
  await fill(send8, 2 * depth)
  for (let i = 0; i < 3; i++) t.ok(ab.postReceive({ id: 100 + i, region: ma.region, offset: 0, length: 8 }))
  const waiting = next(ba)
  await a.close()
  t.equal(await ab.closed, null)
  t.equal(await ba.closed, null, 'the peer is told')
  t.equal(await waiting, 'closed')
  const got: string[] = []
  const completion = new Completion()
  while (ab.poll(completion)) got.push(brief(completion))
  const expected = [...Array.from({ length: sends }, (_, i) => i), 100, 101, 102]
  t.same(
    got.sort((x, y) => Number.parseInt(x, 10) - Number.parseInt(y, 10)),
    expected.map(id => `${id} WR_FLUSH_ERR 0`),
  )
  t.notOk(ma.region.valid)
  await t.rejects(a.register(new SharedArrayBuffer(8), 1), { code: 'WEIR_BAD_STATE' })
  await t.rejects(a.connect(b.about.address, PORT), { code: 'WEIR_BAD_STATE' })
  await a.close()
  t.ok(mb.region.valid)
  // The address is free again.
  const again = await open(t, { address: a.about.address })
  t.equal(again.about.address, a.about.address)
})

t.test('options that cannot be leave no thread behind', async t => {
  const address = loopbackAddress()
  const wrong = [
    { address: 'nonsense' },
    { address, io: 'telegraph' },
    { address, queueDepth: 100 },
    { address: '192.0.2.1' },
    { address, queueDepth: 65_536 },
    { address, lineRateBps: 1 },
  ]
  for (const options of variants(wrong, 3)) {
    await t.rejects(Host.open(options), { code: 'WEIR_BAD_ARGUMENT' }, JSON.stringify(options))
  }
  const host = await open(t, { address })
  await t.rejects(Host.open({ address }), { code: 'WEIR_BAD_ARGUMENT' }, 'the address is taken')
  await host.close()
})

usual('queues that somebody has written over end their connection', async t => {
  const queues = Queues.make(4)
  const region = new MemoryRegion(7, 0, 10, null, 0)
  const ends: (Error | null)[] = []
  const events = {
    created: () => {},
    established: () => {},
    completions: () => {},
    closed: (_: HostedConnection, error: Error | null) => void ends.push(error),
  }
  const hosted = new HostedConnection(1, () => region, events, 0)
  hosted.open(queues)
  let posts = 0
  const connection = {
    established: true,
    remote: '10.0.0.1',
    postSend() {
      posts++
      throw new WeirError('WEIR_BAD_ARGUMENT', 'outside its region')
    },
    disconnect: (now: number) => hosted.onClosed(now, connection, null),
  } as unknown as Connection
  hosted.onCreated(0, connection)
  queues.sends.pushSend({ id: 1, opcode: SEND, region, offset: 0, length: 1 })
  hosted.take(1)
  hosted.take(2)
  t.equal(posts, 1)
  t.equal(ends.length, 1)
  t.match(ends[0], { code: 'WEIR_BAD_STATE', message: /written over: outside its region/ })
})

usual('a defect of the NIC ends every connection, and is reported', async t => {
  const trigger = join(await scratch(t), 'now')
  const index = new URL('../../lib/index.js', import.meta.url)
  const [x, y] = [loopbackAddress(), loopbackAddress()]
  const program = `
    import { Host } from '${index}'
    const defects = []
    const onDefect = error => defects.push(error.message)
    const [a, b] = [await Host.open({ address: '${x}', onDefect }), await Host.open({ address: '${y}', onDefect })]
    const listener = await b.listen(7471)
    const [ab, ba] = await Promise.all([a.connect('${y}', 7471), listener.accept()])
    process.stdout.write('up')
    const errors = await Promise.all([ab.closed, ba.closed])
    await Promise.all([a.close(), b.close()])
    process.stdout.write(JSON.stringify({ defects, errors: errors.map(error => error?.code) }))
  `
  const injector = new URL('../daemon/host-defect.js', import.meta.url)
  const file = join(await scratch(t), 'program.mjs')
  writeFileSync(file, program)
  const env = { ...process.env, WEIR_TEST_DEFECT: 'uncaught', WEIR_TEST_TRIGGER: trigger }
  const child = spawn(process.execPath, [`--import=${injector}`, file], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout.on('data', piece => {
    out += piece
    if (out === 'up') writeFileSync(trigger, '')
  })
  const [code] = await once(child, 'close')
  t.equal(code, 0)
  const { defects, errors } = JSON.parse(out.slice(2))
  t.equal(defects.length, 2)
  for (const text of defects) t.match(text, /the thread of the NIC has ended: an injected defect/)
  t.same(errors, ['WEIR_CONNECTION_LOST', 'WEIR_CONNECTION_LOST'])
})
