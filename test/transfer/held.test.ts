/** A file that another transfer has open: who waits for it, who is refused, and who is never ended. */
import t, { type Test } from 'tap'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { SECOND } from '../../lib/time/nanos.js'
import type { FileStore } from '../../lib/transfer/file/file.js'
import { Challenge } from '../../lib/transfer/protocol/challenge.js'
import { decodeMessage } from '../../lib/transfer/protocol/messages.js'
import type { Hook } from '../support/fake-verbs.js'
import { filesIn } from '../support/files-in.js'
import { asOlderPeer } from '../support/older-peer.js'
import { CHUNK, TransferBench, WAYS, type Way } from '../support/transfer-bench.js'

const CHUNKS = 12

function bothWays(what: string, run: (t: Test, way: Way) => Promise<void>): void {
  for (const way of WAYS) t.test(`${way}: ${what}`, t => run(t as Test, way))
}

/** A disk that takes until `open` to close its first file. */
function slowToClose() {
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  let isFirst = true
  const store = (inner: FileStore): FileStore => ({
    open: async (offer, user) => {
      const sink = await inner.open(offer, user)
      if (!isFirst) return sink
      isFirst = false
      const discard = sink.discard.bind(sink)
      sink.discard = async () => {
        await opened
        await discard()
      }
      return sink
    },
  })
  return { store, open }
}

/**
 * Delays what the first transfer moves, from its n-th chunk on. Resolves when that is about to move.
 *
 * @param onMessage the verdict on messages of the sink
 */
function holdFirst(
  bench: TransferBench,
  n = 1,
  onMessage: (body: string) => ReturnType<Hook> = () => undefined,
): Promise<void> {
  let first: number | undefined
  let moved = 0
  return new Promise(resolve => {
    bench.source.hook = bench.sink.hook = (from, { opcode, length, rkey }, bytes) => {
      if (opcode === WorkOpcode.SEND)
        return from === bench.sink ? onMessage(decodeMessage(bytes).body ?? '') : undefined
      first ??= rkey
      if (rkey !== first || length <= 32 || ++moved < n) return undefined
      resolve()
      return 'hold'
    }
  })
}

/** Resolves when the receiver has asked a sender to wait. */
function heldSaid(bench: TransferBench): Promise<void> {
  return new Promise(resolve => {
    bench.sink.hook = (_from, work, bytes) => {
      if (work.opcode === WorkOpcode.SEND && decodeMessage(bytes).body === 'held') resolve()
      return undefined
    }
  })
}

bothWays('a transfer that is ending is waited for', async (t, way) => {
  const disk = slowToClose()
  const bench = await new TransferBench(t, { store: disk.store }).start()
  const content = await bench.file('a', CHUNKS * CHUNK)
  const holds = holdFirst(bench)
  const first = await bench.begin(way, 'a')
  await holds
  first.cancel('by the test')
  if (way === 'send') await t.rejects(first.outcome, { code: 'WEIR_CANCELLED' })
  const second = await bench.begin(way, 'a')
  while (second.state !== 'held') await new Promise(setImmediate)
  disk.open()
  t.match(await second.outcome, { bytes: content.length })
  t.same(await bench.delivered('a'), content)
  await first.outcome.catch(() => {})
  await bench.checkReleased(t)
})

t.test('a sender that no longer answers: the next one goes on with what has arrived', async t => {
  const bench = await new TransferBench(t).start()
  const content = await bench.file('a', CHUNKS * CHUNK)
  let asked = 0
  // The transport gives up when it has asked often enough.
  const holds = holdFirst(bench, 6, body => (body === 'ping' && ++asked === 1 ? 'lose' : undefined))
  const first = await bench.send('a')
  await holds
  const second = await bench.send('a')
  const { bytes, resumedBytes } = await second.outcome
  t.equal(asked, 1, 'the first one was asked')
  t.equal(bytes, content.length)
  t.ok(resumedBytes > 0, `${resumedBytes} bytes had arrived`)
  t.same(await bench.delivered('a'), content)
  first.cancel('end of test')
  await first.outcome.catch(() => {})
  await bench.checkReleased(t)
})

t.test('a slow sender that answers keeps its file, however often others ask', async t => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', CHUNKS * CHUNK)
  const holds = holdFirst(bench)
  const first = await bench.send('a')
  await holds
  for (let i = 0; i < 3; i++) {
    const other = await bench.send('a')
    await t.rejects(other.outcome, { code: 'WEIR_FULL', message: /being received already/ })
    t.equal(first.state, 'streaming')
  }
  first.cancel('end of test')
  await t.rejects(first.outcome, { code: 'WEIR_CANCELLED' })
  await bench.checkReleased(t)
})

t.test('who is cancelled while it waits leaves what the other one keeps', async t => {
  const bench = await new TransferBench(t).start()
  await bench.file('a', CHUNKS * CHUNK)
  let onAsked = () => {}
  const asked = new Promise<void>(resolve => {
    onAsked = resolve
  })
  const holds = holdFirst(bench, 6, body => {
    if (body !== 'ping') return undefined
    onAsked()
    return 'hold'
  })
  const first = await bench.send('a')
  await holds
  const second = await bench.send('a')
  await asked
  second.cancel('by the test')
  await t.rejects(second.outcome, { code: 'WEIR_CANCELLED' })
  bench.passive[0]!.supersede()
  await t.rejects(first.outcome, { code: 'WEIR_CONNECTION_LOST' })
  await bench.checkReleased(t)
  t.match(filesIn(bench.inboxPath), [/^\.a\.weir-partial-/])
})

t.test('an older sender waits too, and gets no message', async t => {
  const disk = slowToClose()
  const bench = await new TransferBench(t, { store: disk.store }).start()
  const content = await bench.file('a', CHUNKS * CHUNK)
  const holds = holdFirst(bench)
  const first = await bench.send('a')
  await holds
  first.cancel('by the test')
  await t.rejects(first.outcome, { code: 'WEIR_CANCELLED' })
  let isTold = false
  void heldSaid(bench).then(() => {
    isTold = true
  })
  bench.source.hook = (_from, work, bytes) => void asOlderPeer(work, bytes)
  const second = await bench.send('a')
  while (second.state !== 'offered') await new Promise(setImmediate)
  disk.open()
  await second.outcome
  t.notOk(isTold)
  t.same(await bench.delivered('a'), content)
  await bench.checkReleased(t)
})

t.test('a peer of whom nobody knows after 30 s counts as alive', async t => {
  const challenge = new Challenge()
  const answers: boolean[] = []
  void challenge.begin(0).then(isThere => answers.push(isThere))
  void challenge.begin(20 * SECOND).then(isThere => answers.push(isThere))
  challenge.tick(29 * SECOND)
  await new Promise(setImmediate)
  t.same(answers, [])
  challenge.tick(30 * SECOND)
  await new Promise(setImmediate)
  t.same(answers, [true, true])
  const gone = challenge.begin(40 * SECOND)
  challenge.answer(false)
  t.equal(await gone, false)
})
