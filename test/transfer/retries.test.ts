/**
 * Transfers that continue when their connection is lost, by two services over fake Verbs, with real files.
 */
import {
  chmodSync,
  readFileSync,
  statSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { WeirError } from '../../lib/errors.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { SECOND } from '../../lib/time/nanos.js'
import { TransferFailure } from '../../lib/transfer/protocol/failure.js'
import { decodeMessage, encodeMessage, type TransferMessage } from '../../lib/transfer/protocol/messages.js'
import type { TransferService } from '../../lib/transfer/service.js'
import { AttemptRetries, mayPass } from '../../lib/transfer/task/retries.js'
import type { Transfer, TransferResult } from '../../lib/transfer/task/transfer.js'
import { type FakeVerbs, fakePair, type Hook } from '../support/fake-verbs.js'
import { filesIn } from '../support/files-in.js'
import { asOlderPeer } from '../support/older-peer.js'
import { CHUNK, WAYS, type Way } from '../support/transfer-bench.js'
import { checkAllReleased, serviceIn } from '../support/transfer-service.js'

const CHUNKS = 12
const never = new AbortController().signal

interface Bench {
  way: Way
  out: string
  into: string
  content: Buffer
  /** The end that asks for the transfer, and the other one. */
  asks: FakeVerbs
  answers: FakeVerbs
  services: TransferService[]
  asking: TransferService
  run(retries: number, options?: { signal?: AbortSignal; digest?: string }): Promise<TransferResult>
  /** The transfer that `run` began last. */
  transfer(): Transfer
  /** Calls `act` with the number of each operation that moves data, over all connections, from 1 on. */
  onData(act: (n: number, bytes: Uint8Array) => ReturnType<Hook>): void
  /** Operations that have moved data. */
  moved(): number
  /** From now on chunks have no digests. */
  beOlder(): void
}

/** True for the operations that move the file's bytes, and not only a digest. */
function movesData({ opcode, length }: SendWork): boolean {
  return (opcode === WorkOpcode.RDMA_WRITE_WITH_IMM || opcode === WorkOpcode.RDMA_READ) && length > 32
}

async function start(t: Test, way: Way, retryAfterMs = 2): Promise<Bench> {
  const folder = t.testdir({ share: {}, in: {} })
  const [out, into] = [join(folder, 'share'), join(folder, 'in')]
  const content = Buffer.alloc(CHUNKS * CHUNK)
  for (let i = 0; i < content.length; i++) content[i] = (i * 131 + (i >> 8) * 17) & 0xff
  writeFileSync(join(out, 'a'), content)
  const pair = fakePair()
  const services = await Promise.all(pair.map(verbs => serviceIn(folder, verbs, { retryAfterMs })))
  t.teardown(() => Promise.all(services.map(service => service.close(100))))
  const [asks, answers] = pair
  const begun: Transfer[] = []
  let moved = 0
  let act: (n: number, bytes: Uint8Array) => ReturnType<Hook> = () => undefined
  let isOlder = false
  for (const verbs of pair) {
    verbs.hook = (_from, work, bytes) => {
      if (isOlder) asOlderPeer(work, bytes)
      return movesData(work) ? act(++moved, bytes) : undefined
    }
  }
  const asking = services[0]!
  return {
    ...{ way, out, into, content, asks, answers, services, asking },
    run: (retries, { signal = never, digest = 'xxh64' } = {}) => {
      const how = { host: answers.address.toString(), retries, digest }
      const note = (transfer: Transfer) => void begun.push(transfer)
      return way === 'send'
        ? asking.send({ path: join(out, 'a'), ...how }, signal, note)
        : asking.get({ path: 'a', directory: into, ...how }, signal, note)
    },
    transfer: () => begun.at(-1)!,
    onData: heeded => {
      act = heeded
    },
    moved: () => moved,
    beOlder: () => {
      isOlder = true
    },
  }
}

function bothWays(what: string, run: (t: Test, way: Way) => Promise<void>): void {
  for (const way of WAYS) t.test(`${way}: ${what}`, t => run(t as Test, way))
}

/** Waits for the gap between two attempts. */
async function untilWaiting(bench: Bench): Promise<void> {
  while (bench.transfer()?.state !== 'waiting') await sleep(1)
}

/** Calls `act` when the other end has let go of the first attempt, and before the second one connects. */
async function beforeSecondAttempt({ asks, services }: Bench, act: () => void): Promise<void> {
  const goOn = asks.holdConnects(2)
  while (asks.connects < 2 || services[1]!.count > 0) await sleep(1)
  act()
  goOn()
}

/** The unfinished file. */
function partOf({ into }: Bench): string {
  const [name] = filesIn(into)
  return join(into, name!)
}

async function checkReleased(t: Test, { services, asks, answers }: Bench): Promise<void> {
  await checkAllReleased(t, services, asks, answers)
}

bothWays('as long as each attempt brings something, there may be any number of them', async (t, way) => {
  const bench = await start(t, way)
  bench.onData(n => (n % 4 === 0 ? 'break' : undefined))
  const result = await bench.run(1)
  t.same(readFileSync(join(bench.into, 'a')), bench.content)
  t.same(filesIn(bench.into), ['a'])
  t.ok(result.attempts >= 3, `${result.attempts} attempts`)
  t.equal(result.attempts, bench.asks.connects)
  t.match(result, { bytes: CHUNKS * CHUNK, resumedBytes: 0 })
  await checkReleased(t, bench)
})

bothWays(
  'the other end may not know yet that the connection is lost: it ends for the next one',
  async (t, way) => {
    const bench = await start(t, way)
    bench.onData(n => (n === 8 ? 'lose' : undefined))
    const result = await bench.run(1, { digest: 'sha256' })
    t.same(readFileSync(join(bench.into, 'a')), bench.content)
    t.match(result, { attempts: 2, restarts: 0 })
    const again = (bench.moved() - 1) * CHUNK - bench.content.length
    t.ok(
      again <= 4 * CHUNK,
      `went on from where it was: ${again} bytes were moved twice, no more than were in memory`,
    )
    if (way === 'send') t.equal(result.retransmittedBytes, again, 'and those are told')
    await checkReleased(t, bench)
  },
)

bothWays('attempts that bring nothing are bounded, and the first loss is told', async (t, way) => {
  const bench = await start(t, way)
  bench.onData(n => {
    if (n < 6) return undefined
    bench.asks.peer = null
    return 'break'
  })
  await t.rejects(bench.run(2), {
    code: 'WEIR_CONNECTION_LOST',
    message:
      /^fake: broken \(tried again 2 times in a row: nobody answers\): start the transfer again, it goes on/,
  })
  t.equal(bench.asks.connects, 3)
  t.match(filesIn(bench.into), [/^\.a\.weir-partial-/], 'what has arrived is kept')
  await checkReleased(t, bench)

  bench.asks.peer = bench.answers
  bench.onData(() => undefined)
  const result = await bench.run(2)
  t.ok(result.resumedBytes > 0, 'another transfer goes on with it')
  t.equal(result.attempts, 1)
  t.same(readFileSync(join(bench.into, 'a')), bench.content)
})

bothWays(
  'without retries the loss is the end, and a connection that never was is no loss',
  async (t, way) => {
    const bench = await start(t, way)
    bench.onData(n => (n === 6 ? 'break' : undefined))
    await t.rejects(bench.run(0), {
      code: 'WEIR_CONNECTION_LOST',
      message: /^fake: broken: start the transfer again, it goes on where it stopped$/,
    })
    t.equal(bench.asks.connects, 1)
    bench.asks.peer = null
    await t.rejects(bench.run(3), { code: 'WEIR_UNREACHABLE' })
    t.equal(bench.asks.connects, 2)
  },
)

bothWays('a digest that is wrong is tried again, within the retries', async (t, way) => {
  const bench = await start(t, way)
  bench.beOlder()
  const flip = (isFlipped: (n: number) => boolean) =>
    bench.onData((n, bytes) => {
      if (isFlipped(n)) bytes[3]! ^= 1
      return undefined
    })
  flip(() => true)
  await t.rejects(bench.run(0), { code: 'WEIR_DIGEST_MISMATCH' })
  t.equal(bench.asks.connects, 1)
  t.same(filesIn(bench.into), [], 'nothing of it stays')
  const before = bench.moved()
  flip(n => n === before + 7)
  const { attempts, resumedBytes } = await bench.run(3)
  t.same([attempts, resumedBytes], [2, 0])
  t.same(readFileSync(join(bench.into, 'a')), bench.content)
  await checkReleased(t, bench)
})

bothWays('a chunk that is always damaged is tried again from there, within the retries', async (t, way) => {
  const bench = await start(t, way)
  const chunk = bench.content.subarray(6 * CHUNK, 6 * CHUNK + 8)
  let times = 0
  bench.onData((_n, bytes) => {
    if (Buffer.from(bytes).subarray(0, 8).equals(chunk) && ++times <= 6) bytes[3]! ^= 1
    return undefined
  })
  const result = await bench.run(1)
  t.match(result, { attempts: 2, restarts: 0, resumedBytes: 0, damagedChunks: 5 })
  const more = bench.moved() - CHUNKS - 6
  t.ok(more <= 4, `beside those, ${more} chunks moved twice that were in memory as the first attempt ended`)
  t.same(readFileSync(join(bench.into, 'a')), bench.content)
  await checkReleased(t, bench)
  for (const service of bench.services) t.equal(service.damagedChunks, 5, 'both ends count them')
})

bothWays('a refusal is not tried again', async (t, way) => {
  const bench = await start(t, way)
  const first = bench.moved()
  bench.onData(n => {
    if (n !== first + 6) return undefined
    writeFileSync(join(bench.into, 'a'), 'of somebody else')
    return 'break'
  })
  await t.rejects(bench.run(3), { code: 'WEIR_FILE_EXISTS' })
  t.equal(bench.asks.connects, 2, 'nor one that meets a later attempt')
  t.equal(readFileSync(join(bench.into, 'a'), 'utf8'), 'of somebody else')
  await checkReleased(t, bench)
})

bothWays('a file that was modified in between is an error, and nothing of it stays', async (t, way) => {
  const bench = await start(t, way)
  bench.onData(n => {
    if (n !== 6) return undefined
    writeFileSync(join(bench.out, 'a'), Buffer.alloc(CHUNKS * CHUNK, 1))
    utimesSync(join(bench.out, 'a'), 1_700_000_000, 1_700_000_000)
    return 'break'
  })
  await t.rejects(bench.run(3), { code: 'WEIR_TRANSFER_FAILED', message: /was modified .*try again/ })
  t.equal(bench.asks.connects, 2)
  await checkReleased(t, bench)
  t.same(filesIn(bench.into), [])
})

bothWays('of a file that changed and hides it, nothing is mixed: it begins anew', async (t, way) => {
  const bench = await start(t, way)
  bench.beOlder()
  const path = join(bench.out, 'a')
  const other = Buffer.alloc(CHUNKS * CHUNK, 1)
  const { atimeMs, mtimeMs } = statSync(path)
  utimesSync(path, atimeMs / 1000, Math.floor(mtimeMs / 1000))
  const time = statSync(path).mtimeMs
  bench.onData(n => {
    if (n !== 6) return undefined
    writeFileSync(path, other)
    utimesSync(path, atimeMs / 1000, Math.floor(mtimeMs / 1000))
    t.equal(statSync(path).mtimeMs, time)
    return 'break'
  })
  const result = await bench.run(3)
  t.same(readFileSync(join(bench.into, 'a')), other)
  t.match(result, { attempts: 3, restarts: 1, resumedBytes: 0 })
  await checkReleased(t, bench)
  t.same(filesIn(bench.into), ['a'])
})

bothWays(
  'what an earlier transfer has left of another file is found before a byte is moved',
  async (t, way) => {
    const bench = await start(t, way)
    bench.beOlder()
    bench.onData(n => (n === 8 ? 'break' : undefined))
    await t.rejects(bench.run(0))
    await checkReleased(t, bench)
    writeFileSync(partOf(bench), Buffer.alloc(5 * CHUNK, 7))
    const before = bench.moved()
    const result = await bench.run(0)
    t.same(readFileSync(join(bench.into, 'a')), bench.content)
    t.match(result, { attempts: 2, restarts: 1, resumedBytes: 0 })
    t.equal(bench.moved() - before, CHUNKS, 'each chunk once')
  },
)

bothWays(
  'what a killed daemon was writing may have holes: the last chunks are moved again',
  async (t, way) => {
    const bench = await start(t, way)
    bench.onData(n => (n === 8 ? 'break' : undefined))
    await t.rejects(bench.run(0))
    await checkReleased(t, bench)
    const part = partOf(bench)
    const holed = Buffer.from(bench.content.subarray(0, 9 * CHUNK)).fill(0, 7 * CHUNK, 8 * CHUNK)
    writeFileSync(part, holed)
    chmodSync(part, 0o600)
    const before = bench.moved()
    t.match(await bench.run(0), { attempts: 1, restarts: 0, resumedBytes: 6 * CHUNK })
    t.equal(bench.moved() - before, CHUNKS - 6)
    t.same(readFileSync(join(bench.into, 'a')), bench.content)
  },
)

bothWays(
  'what has arrived becomes no less when an attempt goes on, also while it moves again',
  async (t, way) => {
    const bench = await start(t, way)
    const seen: { attempts: number; bytes: number; moved: number }[] = []
    bench.onData(n => {
      const { attempts, deliveredBytes: bytes, movedBytes: moved } = bench.transfer()
      seen.push({ attempts, bytes, moved })
      return n === 9 ? 'break' : undefined
    })
    const running = bench.run(1)
    // As where the rest was on its way to the disk.
    await beforeSecondAttempt(bench, () => truncateSync(partOf(bench), 3 * CHUNK))
    const result = await running
    t.match(result, { attempts: 2, restarts: 0, bytes: CHUNKS * CHUNK })
    const { resumedBytes } = bench.transfer().session.mover
    t.ok(resumedBytes > 0 && resumedBytes <= 3 * CHUNK, `attempt 2 begins at ${resumedBytes}`)
    for (const [i, { bytes, moved }] of seen.slice(1).entries())
      t.ok(bytes >= seen[i]!.bytes && moved >= seen[i]!.moved, `${JSON.stringify(seen.slice(i, i + 2))}`)
    const { deliveredBytes, movedBytes } = bench.transfer()
    t.equal(deliveredBytes, CHUNKS * CHUNK)
    t.ok(movedBytes >= CHUNKS * CHUNK && movedBytes <= CHUNKS * CHUNK + result.retransmittedBytes)
  },
)

bothWays('what had not reached the disk moves again, and the bytes wait for it', async (t, way) => {
  const bench = await start(t, way)
  const again: Pick<Transfer, 'deliveredBytes' | 'movedBytes'>[] = []
  bench.onData(n => {
    const { attempts, deliveredBytes, movedBytes } = bench.transfer()
    if (attempts > 1) again.push({ deliveredBytes, movedBytes })
    return n === 8 ? 'break' : undefined
  })
  const running = bench.run(3)
  let reached = 0
  await beforeSecondAttempt(bench, () => {
    reached = bench.transfer().deliveredBytes
    truncateSync(partOf(bench), 3 * CHUNK)
  })
  t.match(await running, { attempts: 2, restarts: 0, resumedBytes: 0 })
  t.ok(reached > 4 * CHUNK, 'more had arrived')
  t.equal(again[0]!.deliveredBytes, reached)
  for (const [i, { movedBytes }] of again.slice(1).entries()) t.ok(movedBytes >= again[i]!.movedBytes)
  const { deliveredBytes, movedBytes } = bench.transfer()
  t.equal(deliveredBytes, CHUNKS * CHUNK)
  t.equal(movedBytes, CHUNKS * CHUNK + reached - 3 * CHUNK, 'what moves again counts again')
  t.same(readFileSync(join(bench.into, 'a')), bench.content)
})

bothWays('a part that is gone is begun from 0, and that is told', async (t, way) => {
  const bench = await start(t, way)
  const first: number[] = []
  bench.onData(n => {
    const { attempts, deliveredBytes } = bench.transfer()
    if (attempts > 1) first.push(deliveredBytes)
    return n === 8 ? 'break' : undefined
  })
  const running = bench.run(3)
  await beforeSecondAttempt(bench, () => unlinkSync(partOf(bench)))
  t.match(await running, { attempts: 2, restarts: 1, resumedBytes: 0 })
  t.equal(first[0], 0, 'nothing of it is there any more')
  t.same(readFileSync(join(bench.into, 'a')), bench.content)
})

bothWays('cancelled between two attempts: it ends at once', async (t, way) => {
  const bench = await start(t, way, 30_000)
  bench.onData(n => (n === 8 ? 'break' : undefined))
  const cancelled = new AbortController()
  const running = bench.run(3, { signal: cancelled.signal })
  await untilWaiting(bench)
  const { retry, attempts, deliveredBytes } = bench.transfer()
  t.match(retry, { number: 1, most: 3 })
  t.ok(retry!.inNs > 0 && retry!.inNs <= 30 * SECOND)
  t.equal(attempts, 1)
  t.ok(deliveredBytes > 0, 'what had arrived is still told')
  cancelled.abort()
  const left = way === 'send' ? /cancelled; .* keeps what has arrived/ : /cancelled$/
  await t.rejects(running, { code: 'WEIR_CANCELLED', message: left })
  t.equal(bench.asks.connects, 1)
  await checkReleased(t, bench)
  t.equal(filesIn(bench.into).length, way === 'send' ? 1 : 0, 'at this end nothing is left')

  bench.onData(() => 'break')
  const other = bench.run(3)
  while (bench.transfer().state !== 'waiting') await sleep(1)
  t.ok(bench.asking.cancel(bench.transfer().id), 'by its id too')
  await t.rejects(other, { code: 'WEIR_CANCELLED' })
})

bothWays('cancelled while it connects again: whoever has the part that arrived keeps it', async (t, way) => {
  const bench = await start(t, way)
  bench.onData(n => (n === 8 ? 'break' : undefined))
  const cancelled = new AbortController()
  const running = bench.run(3, { signal: cancelled.signal })
  running.catch(() => {})
  await beforeSecondAttempt(bench, () => {
    t.equal(bench.transfer().state, 'connecting')
    cancelled.abort()
  })
  const left = way === 'send' ? /cancelled; .* keeps what has arrived/ : /cancelled$/
  await t.rejects(running, { code: 'WEIR_CANCELLED', message: left })
  await checkReleased(t, bench)
  t.equal(filesIn(bench.into).length, way === 'send' ? 1 : 0)
})

bothWays('a daemon that stops does not wait for the next attempt', async (t, way) => {
  const bench = await start(t, way, 30_000)
  bench.onData(n => (n === 8 ? 'break' : undefined))
  const running = bench.run(3)
  running.catch(() => {})
  await untilWaiting(bench)
  await bench.asking.close(30_000)
  await t.rejects(running, {
    code: 'WEIR_CONNECTION_LOST',
    message: /shutting down: start the transfer again/,
  })
  t.equal(bench.asks.connects, 1)
  await checkReleased(t, bench)
  t.match(filesIn(bench.into), [/^\.a\.weir-partial-/], 'what has arrived is kept')
})

bothWays('the loss of the last word costs no byte', async (t, way) => {
  const bench = await start(t, way)
  const lastWord = way === 'send' ? 'done' : 'commit'
  let lost = 0
  bench.answers.hook = (_from, work, bytes) => {
    if (work.opcode !== WorkOpcode.SEND || decodeMessage(bytes).body !== lastWord || lost > 0)
      return undefined
    lost++
    return 'break'
  }
  const result = await bench.run(1)
  t.equal(lost, 1)
  t.match(result, { attempts: 2, restarts: 0, path: way === 'send' ? 'a' : join(bench.into, 'a') })
  t.same(readFileSync(join(bench.into, 'a')), bench.content)
  t.same(filesIn(bench.into), ['a'])
  if (way === 'send') t.equal(bench.moved(), CHUNKS, 'the file was in its place, and is found there')
  await checkReleased(t, bench)
})

t.test('a file that was delivered and has been changed since is not taken for delivered', async t => {
  const bench = await start(t, 'send')
  bench.answers.hook = (_from, work, bytes) =>
    work.opcode === WorkOpcode.SEND && decodeMessage(bytes).body === 'done' ? 'break' : undefined
  const running = bench.run(1)
  await beforeSecondAttempt(bench, () => writeFileSync(join(bench.into, 'a'), 'changed'))
  await t.rejects(running, { code: 'WEIR_FILE_EXISTS' })
  t.equal(readFileSync(join(bench.into, 'a'), 'utf8'), 'changed')
})

t.test('waits double, up to 30 seconds, and begin anew after progress', async t => {
  const retries = new AttemptRetries(7, SECOND)
  const waits = () => Array.from({ length: 8 }, () => retries.next() / SECOND)
  t.same(waits(), [1, 2, 4, 8, 16, 30, 30, -1 / SECOND])
  t.equal(retries.inRow, 7)
  retries.onProgress()
  t.equal(retries.inRow, 0)
  t.equal(retries.next(), SECOND)
  t.equal(new AttemptRetries(0, SECOND).next(), -1)
  const many = new AttemptRetries(1000, SECOND)
  for (let i = 0; i < 1000; i++) t.ok(many.next() <= 30 * SECOND)
  t.equal(many.next(), -1)
})

t.test('what the next attempt may not meet', async t => {
  const lost = new WeirError('WEIR_CONNECTION_LOST', 'x')
  t.ok(mayPass(lost, false))
  t.ok(mayPass(new TransferFailure('STALLED', 'x'), false))
  t.ok(mayPass(new TransferFailure('SHUTTING_DOWN', 'x'), false))
  const whileItStarts = [
    new WeirError('WEIR_UNREACHABLE', 'does not answer'),
    new WeirError('WEIR_REJECTED', 'nobody listens'),
  ]
  t.ok(mayPass(new TransferFailure('DIGEST_MISMATCH', 'x'), false), 'bytes that were changed on their way')
  for (const full of [new TransferFailure('BUSY', 'x'), new WeirError('WEIR_FULL', 'no connection is free')])
    t.ok(mayPass(full, false), 'a host without a free place')
  for (const error of whileItStarts) {
    t.notOk(mayPass(error, false), `${error.code} without a loss`)
    t.ok(mayPass(error, true), `${error.code} after one`)
  }
  const reasons = ['EXISTS', 'NO_SPACE', 'IO_ERROR', 'CHANGED', 'CANCELLED', 'NOT_FOUND'] as const
  for (const reason of [...reasons, 'NOT_ALLOWED', 'BAD_NAME', 'UNSUPPORTED', 'PROTOCOL'] as const)
    t.notOk(mayPass(new TransferFailure(reason, 'x'), true), reason)
})

t.test('an end that knows nothing of attempts says nothing of them', async t => {
  const said = (message: object) => decodeMessage(encodeMessage(message as TransferMessage))
  const { offer } = said({ offer: { version: 1, name: 'a' } }) as { offer: { transfer: Uint8Array } }
  t.equal(offer.transfer.length, 0)
  const { ready } = said({ ready: { slots: 1, resumeBytes: 7 } }) as { ready: { resumeDigest: Uint8Array } }
  t.equal(ready.resumeDigest.length, 0)
})
