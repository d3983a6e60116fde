/**
 * Chunks without their digest: found before they are written, and only they are moved again. Over fake Verbs,
 * with real files, both ways.
 */
import { open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import type { FileStore } from '../../lib/transfer/file/file.js'
import { REPEATS_MAX } from '../../lib/transfer/protocol/chunk-plan.js'
import { type DigestKind, decodeMessage } from '../../lib/transfer/protocol/messages.js'
import { isLong, variants } from '../support/long.js'
import { asOlderPeer } from '../support/older-peer.js'
import { drawnSeed } from '../support/seeds.js'
import { CHUNK, TransferBench, WAYS, type Way } from '../support/transfer-bench.js'

const CHUNKS = 20
const SIZE = (CHUNKS - 1) * CHUNK + 5
/** Random transfers each way. */
const RUNS = isLong ? 24 : 3
const KINDS: readonly DigestKind[] = ['XXH64', 'SHA256']

/** A move: which chunk, for the n-th time, by an operation that carries its bytes and not only the digest. */
interface Move {
  chunk: number
  time: number
  bytes: Uint8Array
}

/** Calls `act` for each move of a chunk. The bytes identify the chunk. */
function onMoves(bench: TransferBench, content: Buffer, act: (move: Move) => 'break' | undefined) {
  const moves: number[] = []
  const starts = new Map<string, number>()
  for (let chunk = 0; chunk * CHUNK < content.length; chunk++)
    starts.set(
      content
        .subarray(chunk * CHUNK)
        .subarray(0, CHUNK)
        .toString('latin1'),
      chunk,
    )
  bench.source.hook = bench.sink.hook = (_from, work, bytes) => {
    if (!movesChunk(work)) return undefined
    const digestBytes = bench.options.digest === 'SHA256' ? 32 : 8
    const chunk = starts.get(
      Buffer.from(bytes)
        .subarray(0, bytes.length - digestBytes)
        .toString('latin1'),
    )
    if (chunk === undefined) throw new Error('bytes that are no chunk')
    moves.push(chunk)
    return act({ chunk, time: moves.filter(other => other === chunk).length, bytes })
  }
  return moves
}

function movesChunk({ opcode, length }: SendWork): boolean {
  const moves = opcode === WorkOpcode.RDMA_WRITE_WITH_IMM || opcode === WorkOpcode.RDMA_READ
  return moves && length !== 8 && length !== 32
}

/** A whole file's content of which no two chunks are equal. */
async function sourceFile(bench: TransferBench): Promise<Buffer> {
  const content = await bench.file('a', SIZE)
  for (let chunk = 0; chunk * CHUNK < SIZE; chunk++) content[chunk * CHUNK] = chunk + 1
  const handle = await open(join(bench.outbox, 'a'), 'r+')
  await handle.write(content, 0, SIZE, 0)
  await handle.close()
  return content
}

function bothWays(what: string, run: (t: Test, way: Way) => Promise<void>): void {
  for (const way of WAYS) t.test(`${way}: ${what}`, t => run(t as Test, way))
}

const cases: [string, number[]][] = [
  ['the first', [0]],
  ['one', [7]],
  ['the last', [CHUNKS - 1]],
  ['several, two of them side by side', [2, 9, 10, 15]],
  ['all', Array.from({ length: CHUNKS }, (_, chunk) => chunk)],
]
for (const [which, damaged] of variants(cases, 3)) {
  bothWays(`a damaged chunk costs a chunk: ${which}`, async (t, way) => {
    for (const digest of KINDS) {
      const bench = await new TransferBench(t, { digest }).start()
      const content = await sourceFile(bench)
      const moves = onMoves(bench, content, ({ chunk, time, bytes }) => {
        if (damaged.includes(chunk) && time === 1) bytes[1]! ^= 4
        return undefined
      })
      const session = await bench.begin(way, 'a')
      const outcome = await session.outcome
      t.same(await bench.delivered('a'), content)
      t.equal(outcome.resumedBytes, 0)
      t.equal(moves.length, CHUNKS + damaged.length, 'each of them once more, and no other')
      t.equal(session.damagedChunks, damaged.length)
      t.equal(bench.passive[0]!.damagedChunks, damaged.length, 'both ends count them')
      t.equal(session.deliveredBytes, SIZE)
      await bench.checkReleased(t)
    }
  })
}

bothWays('a chunk whose digest was damaged comes again too', async (t, way) => {
  const bench = await new TransferBench(t).start()
  const content = await sourceFile(bench)
  const moves = onMoves(bench, content, ({ chunk, time, bytes }) => {
    if (chunk === 5 && time < 3) bytes[bytes.length - 1]! ^= 1
    return undefined
  })
  await bench.run(way, 'a')
  t.same(await bench.delivered('a'), content)
  t.equal(moves.length, CHUNKS + 2)
})

bothWays(
  'a chunk that is always damaged ends the transfer, and what came before it is kept',
  async (t, way) => {
    for (const digest of KINDS) {
      const bench = await new TransferBench(t, { digest }).start()
      const content = await sourceFile(bench)
      const moves = onMoves(bench, content, ({ chunk, bytes }) => {
        if (chunk === 7) bytes[1]! ^= 4
        return undefined
      })
      await t.rejects(bench.run(way, 'a'), {
        code: 'WEIR_DIGEST_MISMATCH',
        message: /bytes 28672 to 32767 of the file were damaged 4 times: they do not have the digest/,
      })
      const { failure } = await bench.passiveOutcome()
      t.ok(failure)
      t.equal(moves.filter(chunk => chunk === 7).length, 4, 'it came four times')
      const [part] = await readdir(bench.inboxPath)
      const kept = await readFile(join(bench.inboxPath, part!))
      t.same(kept, content.subarray(0, 7 * CHUNK), 'only what is right was written')
      await bench.checkReleased(t)
      const later = onMoves(bench, content, () => undefined)
      t.equal((await bench.run(way, 'a')).resumedBytes, 7 * CHUNK)
      t.equal(later.length, CHUNKS - 7, 'the rest alone is moved')
      t.same(await bench.delivered('a'), content)
    }
  },
)

/** Interrupts a transfer after `chunks`, and returns the path of the part. */
async function leavePart(t: Test, bench: TransferBench, content: Buffer, way: Way): Promise<string> {
  onMoves(bench, content, ({ chunk }) => (chunk === 14 ? 'break' : undefined))
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_CONNECTION_LOST' })
  await bench.passiveOutcome()
  const [part] = await readdir(bench.inboxPath)
  return join(bench.inboxPath, part!)
}

async function damage(path: string, ...chunks: number[]): Promise<void> {
  const handle = await open(path, 'r+')
  for (const chunk of chunks) await handle.write(Buffer.of(0xee, 0xee), 0, 2, chunk * CHUNK + 100)
  await handle.close()
}

bothWays('of a part that was left only bad and missing chunks move', async (t, way) => {
  for (const [digest, bad] of [
    ['XXH64', [0]],
    ['SHA256', [3, 4, 8]],
    ['XXH64', [3, 4, 8]],
  ] as const) {
    const bench = await new TransferBench(t, { digest }).start()
    const content = await sourceFile(bench)
    const part = await leavePart(t, bench, content, way)
    const chunks = Math.floor((await stat(part)).size / CHUNK)
    t.ok(chunks > 9, `${chunks} chunks were left`)
    await damage(part, ...bad)
    const moves = onMoves(bench, content, () => undefined)
    const session = await bench.begin(way, 'a')
    const { resumedBytes } = await session.outcome
    t.equal(resumedBytes, (chunks - bad.length) * CHUNK, 'what was moved again is not counted')
    t.same(await bench.delivered('a'), content)
    t.equal(session.damagedChunks, bad.length)
    const expected = [...bad, ...Array.from({ length: CHUNKS - chunks }, (_, i) => chunks + i)]
    t.same(
      [...moves].sort((a, b) => a - b),
      expected,
      'no other one',
    )
    await bench.checkReleased(t)
  }
})

bothWays('a part that ends within a chunk is resumed before that one', async (t, way) => {
  const bench = await new TransferBench(t).start()
  const content = await sourceFile(bench)
  const part = await leavePart(t, bench, content, way)
  const handle = await open(part, 'r+')
  await handle.truncate(6 * CHUNK + 11)
  await handle.close()
  onMoves(bench, content, () => undefined)
  t.equal((await bench.run(way, 'a')).resumedBytes, 6 * CHUNK)
  t.same(await bench.delivered('a'), content)
})

for (const way of variants(WAYS, 1)) {
  t.test(`${way}: a part with too many bad chunks is kept up to the first one too many`, async t => {
    const bench = await new TransferBench(t).start()
    const chunks = REPEATS_MAX + 40
    const content = await bench.file('a', chunks * CHUNK)
    for (let chunk = 0; chunk < chunks; chunk++) content.writeUInt32BE(chunk, chunk * CHUNK)
    await writeFile(join(bench.outbox, 'a'), content)
    let moved = 0
    bench.source.hook = bench.sink.hook = (_from, work) =>
      movesChunk(work) && ++moved === chunks - 3 ? 'break' : undefined
    await t.rejects(bench.run(way, 'a'), { code: 'WEIR_CONNECTION_LOST' })
    await bench.passiveOutcome()
    const [part] = await readdir(bench.inboxPath)
    // The first ten are right, all others are not.
    const bad = Array.from({ length: chunks - 10 }, (_, i) => 10 + i)
    await damage(join(bench.inboxPath, part!), ...bad.slice(0, -20))
    bench.source.hook = bench.sink.hook = () => undefined
    await t.rejects(bench.run(way, 'a'), { message: /more than 1024 chunks .* all from byte 4235264 on/ })
    await bench.passiveOutcome()
    t.equal((await stat(join(bench.inboxPath, part!))).size, (10 + REPEATS_MAX) * CHUNK)
    t.equal((await bench.run(way, 'a')).resumedBytes, (10 + REPEATS_MAX) * CHUNK)
    t.same(await bench.delivered('a'), content)
  })
}

bothWays('what is moved again of a part is as bad: the bound holds there too', async (t, way) => {
  const bench = await new TransferBench(t).start()
  const content = await sourceFile(bench)
  const part = await leavePart(t, bench, content, way)
  await damage(part, 3)
  const moves = onMoves(bench, content, ({ chunk, bytes }) => {
    if (chunk === 3) bytes[1]! ^= 4
    return undefined
  })
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_DIGEST_MISMATCH', message: /were damaged 4 times/ })
  t.same(moves, [3, 3, 3])
  await bench.passiveOutcome()
  onMoves(bench, content, () => undefined)
  await bench.run(way, 'a')
  t.same(await bench.delivered('a'), content)
})

bothWays('damage, losses and parts in any order: the file is right, or there is none', async (t, way) => {
  const random = new Random(drawnSeed(t))
  for (let run = 0; run < RUNS; run++) {
    const bench = await new TransferBench(t, { digest: KINDS[run % 2] }).start()
    const content = await sourceFile(bench)
    const rate = random.below(3) + 2
    let ended = false
    for (let attempt = 0; !ended; attempt++) {
      const breaks = attempt < 4 ? random.below(30) : -1
      let n = 0
      onMoves(bench, content, ({ time, bytes }) => {
        if (n++ === breaks) return 'break'
        // Together with a chunk that was bad in the part, it is found damaged three times at most.
        if (time <= 2 && random.below(rate) === 0) bytes[random.below(bytes.length)]! ^= 1 + random.below(255)
        return undefined
      })
      ended = await bench.run(way, 'a').then(
        () => true,
        ({ code }) => {
          t.equal(code, 'WEIR_CONNECTION_LOST')
          return false
        },
      )
      await bench.passiveOutcome()
      const [part] = await readdir(bench.inboxPath)
      if (!ended && part && random.below(2) === 0 && (await stat(join(bench.inboxPath, part))).size > CHUNK)
        await damage(join(bench.inboxPath, part), 0)
    }
    t.same(await bench.delivered('a'), content, `run ${run}`)
    await bench.checkReleased(t)
  }
})

bothWays('an older peer: a part that was left is resumed where it ends', async (t, way) => {
  const bench = await new TransferBench(t).start()
  const content = await sourceFile(bench)
  await leavePart(t, bench, content, way)
  bench.source.hook = bench.sink.hook = (_from, work, bytes) => {
    asOlderPeer(work, bytes)
    return undefined
  }
  const session = await bench.begin(way, 'a')
  t.ok((await session.outcome).resumedBytes > 9 * CHUNK)
  t.equal(session.damagedChunks, 0)
  t.same(await bench.delivered('a'), content)
})

bothWays('a file with holes: of a bad chunk zeros are written too', async (t, way) => {
  const sparse = (store: FileStore): FileStore => ({
    open: offer => store.open({ ...offer, allocatedBytes: 4096 }),
  })
  const bench = await new TransferBench(t, { store: sparse }).start()
  const content = await sourceFile(bench)
  content.fill(0, 4 * CHUNK + 1, 5 * CHUNK)
  const handle = await open(join(bench.outbox, 'a'), 'r+')
  await handle.write(content, 0, SIZE, 0)
  await handle.close()
  const part = await leavePart(t, bench, content, way)
  await damage(part, 4)
  onMoves(bench, content, () => undefined)
  await bench.run(way, 'a')
  t.same(await bench.delivered('a'), content)
})

bothWays('a file with holes: a bad chunk behind one is moved again', async (t, way) => {
  const sparse = (store: FileStore): FileStore => ({
    open: offer => store.open({ ...offer, allocatedBytes: 4096 }),
  })
  for (const digest of KINDS) {
    const bench = await new TransferBench(t, { store: sparse, digest }).start()
    const content = await bench.file('a', SIZE)
    content.fill(0, 4 * CHUNK, 7 * CHUNK)
    await writeFile(join(bench.outbox, 'a'), content)
    let moves = 0
    bench.source.hook = bench.sink.hook = (_from, work, bytes) => {
      if (movesChunk(work) && moves++ === 7) bytes[1]! ^= 4
      return undefined
    }
    await bench.run(way, 'a')
    t.same(await bench.delivered('a'), content)
    t.equal(bench.passive[0]!.damagedChunks, 1)
  }
})

bothWays('a file that changed is told to have changed, when a chunk is read again', async (t, way) => {
  const bench = await new TransferBench(t).start()
  const content = await sourceFile(bench)
  const path = join(bench.outbox, 'a')
  let isChanged = false
  const before = onMoves(bench, content, ({ chunk, time, bytes }) => {
    if (chunk === CHUNKS - 1 && time === 1) bytes[1]! ^= 4
    return undefined
  })
  const { hook } = bench.source
  bench.source.hook = bench.sink.hook = (from, work, bytes, index, connection) => {
    if (work.opcode === WorkOpcode.SEND && decodeMessage(bytes).body === 'again' && !isChanged) {
      isChanged = true
      void open(path, 'r+').then(async handle => {
        await handle.utimes(1, 1)
        await handle.close()
      })
    }
    return hook(from, work, bytes, index, connection)
  }
  const outcome = await bench.run(way, 'a').then(
    () => null,
    error => error,
  )
  // The change may come too late to be detected.
  if (outcome) t.match(outcome, { code: 'WEIR_TRANSFER_FAILED', message: /was modified while it was sent/ })
  t.ok(before.length >= CHUNKS)
  await bench.passiveOutcome()
  await bench.checkReleased(t)
})
