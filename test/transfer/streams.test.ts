/** One file over several connections: which carry it, and what becomes of it when some of them fail. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { laneData, READS_LANE, TRANSFER_PORT, WRITES_LANE } from '../../lib/transfer/protocol/messages.js'
import { PrefixCount } from '../../lib/transfer/protocol/prefix-count.js'
import { ReceiverMachine } from '../../lib/transfer/protocol/receiver-machine.js'
import { SenderMachine } from '../../lib/transfer/protocol/sender-machine.js'
import type { TransferService } from '../../lib/transfer/service.js'
import type { TransferResult } from '../../lib/transfer/task/transfer.js'
import { type FakeVerbs, fakePair, type Hook } from '../support/fake-verbs.js'
import { filesIn } from '../support/files-in.js'
import { drawnSeed } from '../support/seeds.js'
import { CHUNK, WAYS, type Way } from '../support/transfer-bench.js'
import { checkAllReleased, serviceIn } from '../support/transfer-service.js'

const CHUNKS = 40
const never = new AbortController().signal

interface Bench {
  content: Buffer
  into: string
  asks: FakeVerbs
  answers: FakeVerbs
  services: TransferService[]
  /** Operations that moved chunks, by the number of their connection. */
  moved: Map<number, number>
  /** Called before each of them. */
  onData(act: (connection: number, n: number, work: SendWork) => ReturnType<Hook>): void
  run(streams: number, retries?: number): Promise<TransferResult>
}

async function start(t: Test, way: Way): Promise<Bench> {
  const folder = t.testdir({ share: {}, in: {}, other: {} })
  const [out, into] = [join(folder, 'share'), join(folder, 'in')]
  const content = Buffer.alloc(CHUNKS * CHUNK + 77)
  for (let i = 0; i < content.length; i++) content[i] = (i * 131 + (i >> 8) * 17) & 0xff
  writeFileSync(join(out, 'a'), content)
  const [asks, answers] = fakePair()
  const services = [
    await serviceIn(folder, asks, { slots: 12 }),
    await serviceIn(folder, answers, { slots: 12 }),
  ]
  t.teardown(() => Promise.all(services.map(service => service.close(100))))
  const moved = new Map<number, number>()
  let act: (connection: number, n: number, work: SendWork) => ReturnType<Hook> = () => undefined
  asks.hook = (_from, work, _bytes, _index, connection) => {
    const { opcode } = work
    if (opcode !== WorkOpcode.RDMA_WRITE_WITH_IMM && opcode !== WorkOpcode.RDMA_READ) return undefined
    const n = (moved.get(connection) ?? 0) + 1
    const verdict = act(connection, n, work)
    if (verdict !== 'later') moved.set(connection, n)
    return verdict
  }
  const how = { host: answers.address.toString() }
  return {
    ...{ content, into, asks, answers, services, moved },
    onData: wanted => {
      act = wanted
    },
    run: (streams, retries = 0) =>
      way === 'send'
        ? services[0]!.send({ path: join(out, 'a'), ...how, streams, retries }, never, () => {})
        : services[0]!.get({ path: 'a', directory: into, ...how, streams, retries }, never, () => {}),
  }
}

async function checkArrived(t: Test, { into, content, services, asks, answers }: Bench): Promise<void> {
  t.ok(content.equals(readFileSync(join(into, 'a'))), 'it is the same')
  t.same(filesIn(into), ['a'], 'nothing else is there')
  await checkAllReleased(t, services, asks, answers)
}

for (const way of WAYS) {
  t.test(`${way}: each of several connections carries a part`, async t => {
    const bench = await start(t as Test, way)
    // Nothing moves before all of them have something to move: the first ones may have carried all by then.
    const ready = new Set<number>()
    bench.onData(connection => (ready.add(connection).size < 4 ? 'later' : undefined))
    const result = await bench.run(4)
    t.match(result, { streams: 4, attempts: 1, bytes: bench.content.length })
    t.equal(bench.asks.connects, 4)
    t.same([...bench.moved.keys()].sort(), [1, 2, 3, 4])
    for (const [connection, chunks] of bench.moved) t.ok(chunks > 0, `${chunks} on connection ${connection}`)
    await checkArrived(t as Test, bench)
  })

  for (const verdict of ['break', 'lose', 'unheard'] as const) {
    t.test(`${way}: a further connection that fails at any chunk (${verdict})`, async t => {
      for (const at of [1, 2, 3, 5, 8]) {
        const bench = await start(t as Test, way)
        bench.onData((connection, n) => (connection === 2 && n === at ? verdict : undefined))
        const result = await bench.run(3)
        t.match(result, { attempts: 1, resumedBytes: 0, streams: 3 }, `chunk ${at}`)
        await checkArrived(t as Test, bench)
      }
    })
  }

  t.test(`${way}: all further connections fail`, async t => {
    const bench = await start(t as Test, way)
    bench.onData((connection, n) => (connection > 1 && n === 2 ? 'lose' : undefined))
    t.match(await bench.run(5), { attempts: 1 })
    await checkArrived(t as Test, bench)
  })

  t.test(`${way}: the first one fails, and the next attempt goes on with as many`, async t => {
    const bench = await start(t as Test, way)
    let lost = false
    bench.onData((connection, n) => {
      if (lost || connection !== 1 || n < 6) return undefined
      lost = true
      return 'break'
    })
    const result = await bench.run(3, 3)
    t.match(result, { attempts: 2, restarts: 0, streams: 3 })
    t.equal(bench.asks.connects, 6)
    await checkArrived(t as Test, bench)
  })

  t.test(`${way}: cancelled amid it`, async t => {
    const bench = await start(t as Test, way)
    const [service] = bench.services as [TransferService]
    bench.onData((connection, n) => {
      if (connection === 2 && n === 3) for (const { id } of service.transfers) service.cancel(id)
      return undefined
    })
    await t.rejects(bench.run(3, 3), { code: 'WEIR_CANCELLED' })
    await checkAllReleased(t as Test, bench.services, bench.asks, bench.answers)
    t.same(filesIn(bench.into), [], 'nothing of it stays')
  })

  t.test(`${way}: a further connection finds no place`, async t => {
    const bench = await start(t as Test, way)
    const listener = bench.answers.listeners.get(TRANSFER_PORT)!
    bench.answers.listeners.set(TRANSFER_PORT, {
      accept: (now, request) => {
        if (request.privateData.length > 1) throw new Error('full')
        return listener.accept(now, request)
      },
    })
    t.match(await bench.run(3), { attempts: 1, streams: 1 })
    await checkArrived(t as Test, bench)
  })
}

for (const way of WAYS)
  t.test(`${way}: a further connection is accepted, and cannot be made`, async t => {
    const bench = await start(t as Test, way)
    const listener = bench.answers.listeners.get(TRANSFER_PORT)!
    let accepted = 0
    bench.answers.listeners.set(TRANSFER_PORT, {
      accept: (now, request) => {
        const handler = listener.accept(now, request)
        if (request.privateData.length === 1 || request.privateData.length === 0) return handler
        accepted++
        throw new Error('no queue pair')
      },
    })
    t.match(await bench.run(3), { attempts: 1, streams: 1 })
    t.equal(accepted, 2)
    await checkArrived(t as Test, bench)
  })

t.test('who does not know the key adds no connection', async t => {
  const bench = await start(t as Test, 'send')
  const listener = bench.answers.listeners.get(TRANSFER_PORT)!
  const remote = bench.asks.address
  const join = (privateData: Uint8Array) => () =>
    listener.accept(0, { remote, udpPort: 4791, port: TRANSFER_PORT, privateData })
  for (const way of [WRITES_LANE, READS_LANE]) {
    t.throws(join(laneData(way, 1, new Uint8Array(14))), { code: 'WEIR_REJECTED' })
    t.throws(join(Uint8Array.of(way)), { code: 'WEIR_REJECTED' })
  }
  let key = new Uint8Array()
  const asked = bench.answers.listeners.get(TRANSFER_PORT)!
  bench.answers.listeners.set(TRANSFER_PORT, {
    accept: (now, request) => {
      if (request.privateData.length > 1) key = request.privateData.slice(2)
      return asked.accept(now, request)
    },
  })
  bench.onData((connection, n) => {
    if (connection !== 1 || n !== 8) return undefined
    t.equal(key.length, 14)
    for (const number of [0, 1, 2, 16, 255])
      t.throws(join(laneData(WRITES_LANE, number, key)), { code: 'WEIR_REJECTED' }, `number ${number}`)
    const other = bench.answers.address
    const data = {
      remote: other,
      udpPort: 4791,
      port: TRANSFER_PORT,
      privateData: laneData(WRITES_LANE, 3, key),
    }
    t.throws(() => listener.accept(0, data), { code: 'WEIR_REJECTED' }, 'another host')
    return undefined
  })
  await bench.run(3)
  t.throws(join(laneData(WRITES_LANE, 3, key)), { code: 'WEIR_REJECTED' }, 'the transfer has ended')
  await checkArrived(t as Test, bench)
})

t.test('numbers that are done with in any order', async t => {
  const seed = drawnSeed(t)
  const random = new Random(seed)
  for (let round = 0; round < 200; round++) {
    const size = 1 + random.below(40)
    const left = Array.from({ length: size }, (_, i) => i)
    const count = new PrefixCount()
    const done = new Set<number>()
    while (left.length > 0) {
      const [number] = left.splice(random.below(left.length), 1) as [number]
      done.add(number)
      if (!count.add(number) || count.add(number)) t.fail(`seed ${seed}: ${number} counts once`)
      let prefix = 0
      while (done.has(prefix)) prefix++
      if (count.count !== prefix || count.beyond !== done.size - prefix || !count.has(number))
        t.fail(`seed ${seed}: ${count.count} of ${prefix}`)
    }
  }
  t.pass(`seed ${seed}`)
})

const file = {
  version: 1,
  name: 'f',
  directory: '',
  size: 10 * CHUNK,
  mode: 0o600,
  mtimeMs: 0,
  digest: 'XXH64',
  overwrite: false,
  ring: null,
  transfer: new Uint8Array(),
  chunkDigests: true,
} as const
const DIGEST = 8

function receiving(hasLanes: boolean): ReceiverMachine {
  const receiver = new ReceiverMachine(CHUNK)
  receiver.onMessage({ body: 'offer', offer: file })
  receiver.onOpened(0, 4, hasLanes)
  return receiver
}

t.test('a receiver takes chunks in any order of those that may come, and each once', async t => {
  const receiver = receiving(true)
  for (const chunk of [2, 0, 3]) t.equal(receiver.onChunk(chunk, CHUNK + DIGEST), chunk)
  t.equal(receiver.chunks.arrived, 1)
  t.equal(receiver.chunks.toWrite, 0)
  t.same(receiver.missingOf({ lane: 1, chunks: [0, 1, 2, 3] }), { lane: 1, chunks: [1] })
  receiver.onChunk(1, CHUNK + DIGEST)
  t.equal(receiver.chunks.arrived, 4)
  t.notOk(receiver.failure)
  for (const [what, chunk, act] of [
    ['twice', 2, (it: ReceiverMachine) => it.onChunk(2, CHUNK + DIGEST)],
    ['without credit', 4, () => {}],
    ['far behind', 2 ** 32 - 1, () => {}],
  ] as const) {
    const other = receiving(true)
    act(other)
    other.onChunk(chunk, CHUNK + DIGEST)
    t.equal(other.failure?.code, 'WEIR_PROTOCOL', what)
  }
  const alone = receiving(false)
  alone.onChunk(1, CHUNK + DIGEST)
  t.equal(alone.failure?.code, 'WEIR_PROTOCOL', 'on one connection they come in order')
  const unasked = receiving(false)
  unasked.onMessage({ body: 'lost', lost: { lane: 1, chunks: [0] } })
  t.equal(unasked.failure?.code, 'WEIR_PROTOCOL', 'there is no further connection')
  const many = receiving(true)
  many.onMessage({ body: 'lost', lost: { lane: 1, chunks: Array.from({ length: 300 }, (_, i) => i) } })
  t.equal(many.failure?.code, 'WEIR_PROTOCOL', 'more than can be under way')
})

t.test('no chunk has come behind the one that ends a file with an open end', async t => {
  const open = (): ReceiverMachine => {
    const receiver = new ReceiverMachine(CHUNK)
    receiver.onMessage({
      body: 'offer',
      offer: { ...file, version: 2, size: 0, chunkDigests: true, openEnd: true },
    })
    receiver.onOpened(0, 4, true)
    return receiver
  }
  const right = open()
  right.onChunk(0, CHUNK + DIGEST)
  right.onChunk(2, 5 + DIGEST)
  right.onChunk(1, CHUNK + DIGEST)
  t.notOk(right.failure)
  t.equal(right.chunks.arrived, 3)
  t.equal(right.chunks.plan!.chunks, 3)
  const wrong = open()
  wrong.onChunk(2, CHUNK + DIGEST)
  t.equal(wrong.onChunk(1, 5 + DIGEST), -1)
  t.equal(wrong.failure?.code, 'WEIR_PROTOCOL')
})

t.test('a sender hands over again what is missing, and commits when all has come', async t => {
  const ready = {
    rkey: 1,
    address: 0,
    chunkBytes: CHUNK,
    slots: 4,
    resumeBytes: 0,
    resumeDigest: new Uint8Array(),
  }
  const sending = () => {
    const sender = new SenderMachine(3 * CHUNK, 20 * (CHUNK + 64), 'h2', DIGEST)
    sender.onOffered()
    sender.onMessage({ body: 'ready', ready: { ...ready, chunkDigests: true, laneKey: new Uint8Array(14) } })
    for (let i = 0; i < 3; i++) {
      sender.chunks.onLoading()
      sender.chunks.onLoaded()
      sender.chunks.onPosted()
    }
    return sender
  }
  const sender = sending()
  t.equal(sender.chunks.toPost, -1)
  t.notOk(sender.chunks.readyToCommit, 'they are under way')
  sender.onCompleted(2)
  t.same(sender.onLaneLost(1, [0, 1]), { lane: 1, chunks: [0, 1] })
  sender.onMessage({ body: 'missing', missing: { lane: 1, chunks: [1] } })
  t.equal(sender.chunks.toPost, 1)
  sender.chunks.onPosted()
  t.equal(sender.chunks.toPost, -1)
  t.notOk(sender.chunks.readyToCommit)
  sender.onCompleted(1)
  t.ok(sender.chunks.readyToCommit)
  for (const missing of [
    { lane: 2, chunks: [] },
    { lane: 1, chunks: [2] },
    { lane: 1, chunks: [0, 0, 1] },
  ]) {
    const other = sending()
    other.onLaneLost(1, [0, 1])
    other.onMessage({ body: 'missing', missing })
    t.equal(other.failure?.code, 'WEIR_PROTOCOL', JSON.stringify(missing))
  }
})
