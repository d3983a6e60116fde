/** Whole transfers over fake Verbs, with real files: rules for both sent and fetched files. */
import { truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, readdir, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { WeirError } from '../../lib/errors.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import type { Hook } from '../support/fake-verbs.js'
import { asOlderPeer } from '../support/older-peer.js'
import {
  asIfDense,
  CHUNK,
  fullDisk,
  SLOTS,
  TransferBench,
  WAYS,
  type Way,
} from '../support/transfer-bench.js'

/** True for the operations that move the file's bytes, and not only a digest. */
function movesData({ opcode, length }: SendWork): boolean {
  return (opcode === WorkOpcode.RDMA_WRITE_WITH_IMM || opcode === WorkOpcode.RDMA_READ) && length > 32
}

/** Calls `act` with the number of each operation that moves data, from 1 on, and does what it returns. */
function onData(
  bench: TransferBench,
  act: (n: number, bytes: Uint8Array) => ReturnType<Hook>,
  isOlder = false,
): void {
  let n = 0
  bench.source.hook = bench.sink.hook = (_from, work, bytes) => {
    if (isOlder) asOlderPeer(work, bytes)
    return movesData(work) ? act(++n, bytes) : undefined
  }
}

function letPass(bench: TransferBench): void {
  bench.source.hook = bench.sink.hook = () => undefined
}

function bothWays(what: string, run: (t: typeof import('tap').t, way: Way) => Promise<void>): void {
  for (const way of WAYS) t.test(`${way}: ${what}`, t => run(t as typeof import('tap').t, way))
}

for (const size of [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, CHUNK * SLOTS, CHUNK * SLOTS * 5 + 77]) {
  bothWays(`a file of ${size} bytes arrives with its mode and time`, async (t, way) => {
    const bench = await new TransferBench(t).start()
    const content = await bench.file('a.bin', size)
    await chmod(join(bench.outbox, 'a.bin'), 0o640)
    await utimes(join(bench.outbox, 'a.bin'), 1_600_000_000, 1_600_000_000.25)
    const session = await bench.begin(way, 'a.bin')
    const outcome = await session.outcome
    t.match(outcome, { path: way === 'send' ? 'a.bin' : join(bench.inboxPath, 'a.bin'), bytes: size })
    t.match(session, { sizeBytes: size, deliveredBytes: size, name: 'a.bin', state: 'done' })
    t.same(await bench.delivered('a.bin'), content)
    const there = await stat(join(bench.inboxPath, 'a.bin'))
    t.equal(there.mode & 0o777, 0o640)
    t.equal(there.mtimeMs, 1_600_000_000_250)
    t.same(await readdir(bench.inboxPath), ['a.bin'])
    t.same(await bench.passiveOutcome(), { path: 'a.bin', bytes: size, failure: null })
    await bench.checkReleased(t)
  })
}

bothWays('the digest that is reported is the one of the file, of either kind', async (t, way) => {
  const known = {
    XXH64: 'ef46db3751d8e999',
    SHA256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  } as const
  for (const digest of ['XXH64', 'SHA256'] as const) {
    const bench = await new TransferBench(t, { digest }).start()
    await bench.file('empty', 0)
    const outcome = await bench.run(way, 'empty', { overwrite: true })
    t.equal(outcome.digestKind, digest)
    t.equal(Buffer.from(outcome.digest).toString('hex'), known[digest])
  }
})

bothWays('a file that is there is replaced only when asked', async (t, way) => {
  const bench = await new TransferBench(t).start()
  const content = await bench.file('a', 5000)
  await writeFile(join(bench.inboxPath, 'a'), 'old')
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_FILE_EXISTS', message: /--overwrite/ })
  t.equal(String(await bench.delivered('a')), 'old')
  await bench.run(way, 'a', { overwrite: true })
  t.same(await bench.delivered('a'), content)
  await mkdir(join(bench.inboxPath, 'folder'))
  const onto = await bench.begin(way, 'a', { as: 'folder', overwrite: true })
  await t.rejects(onto.outcome, { code: 'WEIR_FILE_EXISTS' })
  await bench.checkReleased(t)
})

bothWays('a file that appears meanwhile is not replaced', async (t, way) => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', CHUNK * 8)
  onData(bench, n => {
    if (n === 6) writeFileSync(join(bench.inboxPath, 'a'), 'mine')
    return undefined
  })
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_FILE_EXISTS' })
  t.equal(String(await bench.delivered('a')), 'mine')
  await bench.passiveOutcome()
  t.same(await readdir(bench.inboxPath), ['a'])
})

bothWays('a transfer that was cut is resumed where it stopped, digest included', async (t, way) => {
  const bench = await new TransferBench(t).start()
  const content = await bench.file('a', CHUNK * 20 + 5)
  onData(bench, n => (n === 10 ? 'break' : undefined))
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_CONNECTION_LOST' })
  t.equal((await bench.passiveOutcome()).failure?.code, 'WEIR_CONNECTION_LOST')
  await bench.checkReleased(t)
  letPass(bench)
  const outcome = await bench.run(way, 'a')
  t.ok(outcome.resumedBytes > 0 && outcome.resumedBytes % CHUNK === 0, `resumed at ${outcome.resumedBytes}`)
  t.same(await bench.delivered('a'), content)
  t.same(await readdir(bench.inboxPath), ['a'])
  await bench.checkReleased(t)
})

bothWays('what one way has left, the other goes on with', async (t, way) => {
  const bench = await new TransferBench(t).start()
  const content = await bench.file('a', CHUNK * 20 + 5)
  onData(bench, n => (n === 10 ? 'break' : undefined))
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_CONNECTION_LOST' })
  await bench.passiveOutcome()
  letPass(bench)
  t.ok((await bench.run(way === 'send' ? 'get' : 'send', 'a')).resumedBytes > 0)
  t.same(await bench.delivered('a'), content)
})

bothWays('what was left of another file is not taken for this one: the digest tells', async (t, way) => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', CHUNK * 6)
  onData(bench, n => (n === 5 ? 'break' : undefined))
  await t.rejects(bench.run(way, 'a'))
  await bench.passiveOutcome()
  onData(bench, () => undefined, true)
  const [partial] = await readdir(bench.inboxPath)
  await writeFile(join(bench.inboxPath, partial!), Buffer.alloc(CHUNK, 1))
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_DIGEST_MISMATCH' })
  await bench.passiveOutcome()
  t.same(await readdir(bench.inboxPath), [], 'so the next attempt begins anew')
  await bench.run(way, 'a')
})

bothWays('an older peer: a byte that changes on the way is found', async (t, way) => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', CHUNK * 6)
  const flip = (n: number, bytes: Uint8Array) => {
    if (n === 4) bytes[17]! ^= 0x20
    return undefined
  }
  onData(bench, flip, true)
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_DIGEST_MISMATCH' })
  const { failure, path } = await bench.passiveOutcome()
  t.equal(path, '')
  t.equal(failure?.code, way === 'send' ? 'WEIR_DIGEST_MISMATCH' : 'WEIR_CANCELLED')
  t.same(await readdir(bench.inboxPath), [])
  await bench.checkReleased(t)
})

bothWays('a connection that breaks at any operation leaves nothing behind', async (t, way) => {
  for (let at = 0; ; at++) {
    const bench = await new TransferBench(t).start()
    const content = await bench.file('a', CHUNK * 7 + 9)
    let index = 0
    bench.source.hook = bench.sink.hook = () => (index++ === at ? 'break' : undefined)
    const error = await bench.run(way, 'a', { overwrite: true }).then(
      () => null,
      error => error as WeirError,
    )
    await bench.checkReleased(t)
    const over = index <= at
    if (error) t.equal(error.code, 'WEIR_CONNECTION_LOST', `operation ${at}`)
    // A getter has its file before it sends Done, which may be lost.
    else t.ok(over || way === 'get', `delivered in spite of operation ${at}`)
    if (!error) t.same(await bench.delivered('a'), content)
    if (over) {
      t.ok(at > 12, `broken at each of ${at} operations`)
      return
    }
    letPass(bench)
    await bench.run(way, 'a', { overwrite: true })
    t.same(await bench.delivered('a'), content, 'the second attempt delivers')
  }
})

bothWays('cancelling ends both ends and removes the temporary file', async (t, way) => {
  for (const who of ['the end that began', 'the other end']) {
    const bench = await new TransferBench(t).start()
    await bench.file('a', CHUNK * 50)
    const session = await bench.begin(way, 'a')
    onData(bench, n => {
      if (n === 10) (who === 'the other end' ? bench.passive[0]! : session).cancel('enough')
      return undefined
    })
    const message = who === 'the other end' ? /h[12]: enough/ : /^enough/
    await t.rejects(session.outcome, { code: 'WEIR_CANCELLED', message }, who)
    t.equal((await bench.passiveOutcome()).failure?.code, 'WEIR_CANCELLED')
    t.same(await readdir(bench.inboxPath), [])
    await bench.checkReleased(t)
  }
})

bothWays(
  'a daemon that stops, at either end, leaves what has arrived for another attempt',
  async (t, way) => {
    for (const who of ['the end that began', 'the other end']) {
      const bench = await new TransferBench(t).start()
      const content = await bench.file('a', CHUNK * 50)
      const session = await bench.begin(way, 'a')
      onData(bench, n => {
        if (n === 20) (who === 'the other end' ? bench.passive[0]! : session).interrupt('the daemon stops')
        return undefined
      })
      await t.rejects(session.outcome, { code: 'WEIR_CONNECTION_LOST', message: /the daemon stops/ }, who)
      const { failure } = await bench.passiveOutcome()
      t.match(failure, { code: 'WEIR_CONNECTION_LOST', message: /the daemon stops/ }, who)
      t.match(await readdir(bench.inboxPath), [/^\.a\.weir-partial-/])
      await bench.checkReleased(t)
      letPass(bench)
      t.ok((await bench.run(way, 'a')).resumedBytes > 0, 'which goes on from there')
      t.same(await bench.delivered('a'), content)
      t.same(await readdir(bench.inboxPath), ['a'])
    }
  },
)

bothWays('a daemon that stops before there is a connection', async (t, way) => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', 10)
  const session = await bench.begin(way, 'a')
  session.interrupt('the daemon stops')
  await t.rejects(session.outcome, { code: 'WEIR_CONNECTION_LOST' })
  await bench.checkReleased(t)
})

bothWays('cancelled before there is a connection', async (t, way) => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', 10)
  const session = await bench.begin(way, 'a')
  session.cancel('enough')
  await t.rejects(session.outcome, { code: 'WEIR_CANCELLED' })
  await bench.checkReleased(t)
})

bothWays('cancelled before it starts: it makes no connection', async (t, way) => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', 10)
  const session = await bench.begin(way, 'a', { start: false })
  session.cancel('enough')
  session.start()
  await t.rejects(session.outcome, { code: 'WEIR_CANCELLED' })
  t.equal(bench.source.connects + bench.sink.connects, 0)
  await bench.checkReleased(t)
})

bothWays('a file that changes meanwhile is not delivered', async (t, way) => {
  const changes = {
    'becomes shorter': (path: string) => truncateSync(path, CHUNK),
    'is touched': (path: string) => utimesSync(path, 1, 1),
  }
  for (const [how, change] of Object.entries(changes)) {
    const bench = await new TransferBench(t).start()
    await bench.file('a', CHUNK * 50)
    onData(bench, n => {
      if (n === 6) change(join(bench.outbox, 'a'))
      return undefined
    })
    const expected = { code: 'WEIR_TRANSFER_FAILED', message: /while it was sent/ }
    await t.rejects(bench.run(way, 'a'), expected, how)
    await bench.passiveOutcome()
    t.same(await readdir(bench.inboxPath), [])
    await bench.checkReleased(t)
  }
})

bothWays('a disk that fills up is reported as such', async (t, way) => {
  const bench = await new TransferBench(t, { store: store => fullDisk(store, 10 * CHUNK) }).start()
  await bench.file('a', CHUNK * 50)
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_NO_SPACE', message: /disk is full/ })
  await bench.passiveOutcome()
  t.same(await readdir(bench.inboxPath), [])
  await bench.checkReleased(t)
})

bothWays('a file greater than the disk is refused before a byte is sent', async (t, way) => {
  const bench = await new TransferBench(t, { store: asIfDense }).start()
  await bench.file('a', 1)
  await truncate(join(bench.outbox, 'a'), 2 ** 42)
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_NO_SPACE' })
  t.same(await readdir(bench.inboxPath), [])
  await bench.checkReleased(t)
})

bothWays('one name is received once at a time, and rings are bounded at both ends', async (t, way) => {
  const bench = await new TransferBench(t).start()
  for (const name of ['a', 'b', 'c']) await bench.file(name, CHUNK * 3)
  const holds = new Promise<void>(resolve => {
    onData(bench, () => {
      resolve()
      return 'hold'
    })
  })
  const first = await bench.begin(way, 'a')
  await holds
  const second = await bench.begin(way, 'b', { as: 'a' })
  await t.rejects(second.outcome, { code: 'WEIR_FULL', message: /being received already/ })
  const third = await bench.begin(way, 'c')
  await t.rejects(bench.begin(way, 'b'), { code: 'WEIR_FULL', message: /being (sent|fetched) already/ })
  for (const session of [first, third]) {
    session.cancel('end of test')
    await t.rejects(session.outcome, { code: 'WEIR_CANCELLED' })
  }
  await bench.checkReleased(t)
})

bothWays('an end whose chunks are too great for the other is left alone', async (t, way) => {
  const bench = await new TransferBench(t, { chunkBytes: CHUNK * SLOTS * 2 }).start()
  await bench.file('a', 10)
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_REJECTED', message: /chunks of 32768/ })
  await bench.checkReleased(t)
})

bothWays('nobody there, nobody listening', async (t, way) => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', 10)
  for (const verbs of [bench.source, bench.sink]) verbs.listeners.clear()
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_REJECTED' })
  bench.source.peer = bench.sink.peer = null
  await t.rejects(bench.run(way, 'a'), { code: 'WEIR_UNREACHABLE' })
  await bench.checkReleased(t)
})
