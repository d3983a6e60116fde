/** Files with holes on the wire: of chunks of zeros the digest moves alone, and all else is as with other files. */
import { closeSync, openSync, readFileSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import { GetterMachine } from '../../lib/transfer/protocol/getter-machine.js'
import type { Ready, TransferMessage } from '../../lib/transfer/protocol/messages.js'
import { decodeMessage } from '../../lib/transfer/protocol/messages.js'
import { scratch } from '../support/daemon-process.js'
import { drawnSeed } from '../support/seeds.js'
import { CHUNK, TransferBench, WAYS, type Way } from '../support/transfer-bench.js'
import { realHost } from './real-host.js'

const DIGEST = 8

/** A file whose chunks hold data where `hasData` says so, at a place of theirs, and end in `tail` bytes. */
function makeSparse(path: string, hasData: readonly boolean[], tail = 0): void {
  const fd = openSync(path, 'w')
  for (const [i, has] of hasData.entries())
    if (has) writeSync(fd, `data ${i}`, i * CHUNK + ((i * 997) % (CHUNK - 10)))
  closeSync(fd)
  truncateSync(path, hasData.length * CHUNK + tail)
}

/** Lengths of the operations that move chunks. */
function lengthsOf(bench: TransferBench): number[] {
  const lengths: number[] = []
  bench.source.hook = bench.sink.hook = (_from, { opcode, length }: SendWork) => {
    if (opcode === WorkOpcode.RDMA_WRITE_WITH_IMM || opcode === WorkOpcode.RDMA_READ) lengths.push(length)
    return undefined
  }
  return lengths
}

function bothWays(what: string, run: (t: Test, way: Way) => Promise<void>): void {
  for (const way of WAYS) t.test(`${way}: ${what}`, t => run(t as unknown as Test, way))
}

bothWays('chunks of zeros do not move', async (t, way) => {
  const hasData = [true, false, false, true, false, false, false, false, true, false]
  for (const tail of [0, 100]) {
    const bench = await new TransferBench(t).start()
    makeSparse(join(bench.outbox, 'a'), hasData, tail)
    const lengths = lengthsOf(bench)
    const outcome = await bench.run(way, 'a')
    t.equal(outcome.bytes, 10 * CHUNK + tail)
    const due = hasData.map(has => (has ? CHUNK : 0) + DIGEST)
    t.same(lengths, tail === 0 ? due : [...due, DIGEST])
    t.same(await bench.delivered('a'), readFileSync(join(bench.outbox, 'a')))
    const { blocks } = statSync(join(bench.inboxPath, 'a'))
    t.ok(blocks * 512 <= 3 * CHUNK, `${blocks} blocks`)
    await bench.checkReleased(t)
  }
})

bothWays('zeros that are no holes move', async (t, way) => {
  const bench = await new TransferBench(t).start()
  makeSparse(join(bench.outbox, 'a'), [])
  const fd = openSync(join(bench.outbox, 'a'), 'w')
  writeSync(fd, Buffer.alloc(4 * CHUNK))
  closeSync(fd)
  const lengths = lengthsOf(bench)
  await bench.run(way, 'a')
  t.same(
    lengths,
    [1, 2, 3, 4].map(() => CHUNK + DIGEST),
  )
})

bothWays('a damaged digest of zeros: the chunk comes whole', async (t, way) => {
  const bench = await new TransferBench(t).start()
  makeSparse(join(bench.outbox, 'a'), [true, false, false, true])
  let damaged = 0
  bench.source.hook = bench.sink.hook = (_from, work, bytes) => {
    const moves = work.opcode === WorkOpcode.RDMA_WRITE_WITH_IMM || work.opcode === WorkOpcode.RDMA_READ
    if (moves && work.length === DIGEST && damaged++ === 0) bytes[0]! ^= 1
    return undefined
  }
  const session = await bench.begin(way, 'a')
  t.match(await session.outcome, { damagedChunks: 1 })
  t.same(await bench.delivered('a'), readFileSync(join(bench.outbox, 'a')))
})

bothWays('an older host at the other end: all moves', async (t, way) => {
  const bench = await new TransferBench(t).start()
  makeSparse(join(bench.outbox, 'a'), [true, false, false, true])
  const lengths: number[] = []
  bench.source.hook = bench.sink.hook = (_from, work, bytes) => {
    if (work.opcode === WorkOpcode.RDMA_WRITE_WITH_IMM || work.opcode === WorkOpcode.RDMA_READ)
      lengths.push(work.length)
    if (work.opcode === WorkOpcode.SEND && decodeMessage(bytes).body === 'ready') withoutZeros(t, bytes)
    return undefined
  }
  await bench.run(way, 'a')
  t.same(
    lengths,
    [1, 2, 3, 4].map(() => CHUNK + DIGEST),
  )
  t.same(await bench.delivered('a'), readFileSync(join(bench.outbox, 'a')))
})

/** Ready.zeros_alone = true in its encoded form, which is the last field. */
function withoutZeros(t: Test, bytes: Uint8Array): void {
  const at = Buffer.from(bytes).lastIndexOf(Buffer.of(0x40, 1))
  bytes[at + 1] = 0
  const message = decodeMessage(bytes) as { ready: Ready }
  t.notOk(message.ready.zerosAlone)
}

bothWays('an attempt goes on in the middle of a hole', async (t, way) => {
  const random = new Random(drawnSeed(t))
  for (let round = 0; round < 10; round++) {
    const bench = await new TransferBench(t).start()
    const hasData = Array.from({ length: 24 }, () => random.next() < 0.3)
    makeSparse(join(bench.outbox, 'a'), hasData, Math.floor(random.next() * CHUNK))
    const last = 1 + Math.floor(random.next() * 22)
    let moved = 0
    bench.source.hook = bench.sink.hook = (_from, { opcode }) => {
      const moves = opcode === WorkOpcode.RDMA_WRITE_WITH_IMM || opcode === WorkOpcode.RDMA_READ
      return moves && ++moved === last ? 'break' : undefined
    }
    await t.rejects(bench.run(way, 'a'), { code: 'WEIR_CONNECTION_LOST' })
    for (const session of bench.passive) await session.outcome
    bench.source.hook = bench.sink.hook = () => undefined
    await bench.run(way, 'a', { overwrite: true })
    t.same(await bench.delivered('a'), readFileSync(join(bench.outbox, 'a')), `lost at ${last}`)
  }
})

t.test('a server that says zeros of what it has not filled', async t => {
  const getter = () => {
    const machine = new GetterMachine('XXH64', 'h1')
    machine.onAsked()
    const offer = {
      version: 1,
      name: 'a',
      directory: '',
      size: 100 * CHUNK,
      mode: 0,
      mtimeMs: 0,
      digest: 'XXH64' as const,
      overwrite: false,
      ring: { rkey: 1, address: 0, bytes: 1e6 },
      transfer: new Uint8Array(),
      chunkDigests: true,
    }
    machine.onMessage({ body: 'offer', offer })
    machine.onOpened(0, CHUNK, 4)
    return machine
  }
  const filled = (chunks: number, zeros: number[]): TransferMessage => ({
    body: 'filled',
    filled: { chunks, zeros, path: null },
  })
  const good = getter()
  good.onMessage(filled(2, [1]))
  t.equal(good.failure, null)
  t.equal(good.pieceToRead()!.length, CHUNK + DIGEST)
  for (const zeros of [[2], [-1], [2 ** 32 - 1], [0, 1, 1], [NaN]]) {
    const machine = getter()
    machine.onMessage(filled(2, zeros))
    t.match(machine.failure, { code: 'WEIR_PROTOCOL' }, `${zeros}`)
  }
})

t.test('in trees, both ways, between real hosts', async t => {
  const folder = await scratch(t)
  const clean = { loss: 0, duplication: 0, reorder: 0 }
  const a = await realHost(t, join(folder, 'a'), 23_800, 1, clean)
  const b = await realHost(t, join(folder, 'b'), 23_800, 2, clean)
  const size = 200_000_000
  const share = join(folder, 'a', 'share')
  for (const name of ['first', 'second']) {
    const fd = openSync(join(share, name), 'w')
    for (const at of [1000, 5_000_000, 70_000_000]) writeSync(fd, name, at)
    closeSync(fd)
    truncateSync(join(share, name), size)
  }
  const never = new AbortController().signal
  const where = { host: b.address }
  await a.transfers.sendTree({ roots: [{ path: share, name: 'sent' }], ...where }, never, () => {})
  const to = join(folder, 'b', 'to')
  await b.transfers.getTree({ paths: ['.'], host: a.address, directory: to }, never, () => {})
  for (const there of [join(folder, 'b', 'in', 'sent'), to])
    for (const name of ['first', 'second']) {
      t.ok(readFileSync(join(there, name)).equals(readFileSync(join(share, name))), name)
      t.ok(statSync(join(there, name)).blocks * 512 < 1e6)
    }
})
