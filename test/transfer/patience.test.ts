/** What happens when the other end is silent. The test has its own clock. */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { SECOND } from '../../lib/time/nanos.js'
import type { FileSink, FileSource, FileStore, ListedTree } from '../../lib/transfer/file/file.js'
import { RingPool } from '../../lib/transfer/mover/ring-pool.js'
import { ringBytesOf } from '../../lib/transfer/protocol/chunk-plan.js'
import { createDigest } from '../../lib/transfer/protocol/digest.js'
import {
  decodeMessage,
  FETCH_PRIVATE_DATA,
  GET_PRIVATE_DATA,
  TRANSFER_PORT,
  TREE_PRIVATE_DATA,
  type TransferMessage,
} from '../../lib/transfer/protocol/messages.js'
import { TreeList } from '../../lib/transfer/protocol/tree-list.js'
import { wishMessages } from '../../lib/transfer/protocol/wishes.js'
import type { ActiveSession } from '../../lib/transfer/session/active-session.js'
import {
  newGetSession,
  newReceiveSession,
  newSendSession,
  newServeSession,
  newTreeReceiveSession,
  newTreeServeSession,
} from '../../lib/transfer/session/new-session.js'
import type { PassiveSession } from '../../lib/transfer/session/passive-session.js'
import { type FakeVerbs, fakePair } from '../support/fake-verbs.js'

const CHUNK = 4096

/** A file that does not exist. */
const source = (size: number): FileSource => ({
  name: 'a',
  size,
  allocatedBytes: 0,
  mode: 0o644,
  mtimeMs: 0,
  mtimeNanos: 0,
  mayBeHole: () => false,
  read: async into => void into.fill(1),
  verifyUnchanged: async () => {},
  close: async () => {},
})

/** Counts how sinks end. */
class CountingStore implements FileStore {
  readonly ends: string[] = []
  async open(): Promise<FileSink> {
    const end = (how: string) => async () => void this.ends.push(how)
    return {
      resumeBytes: 0,
      write: async () => {},
      readBack: async () => {},
      commit: async () => 'a',
      keep: end('keep'),
      discard: end('discard'),
    }
  }
}

class Clock {
  ns = 0
  now = () => this.ns
  at = (ns: number) => {
    this.ns = ns
    return ns
  }
  wake = () => {}
}

/** Waits until nothing is under way. */
async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await turn()
}

/** A peer that says nothing. */
const mute: ConnectionHandler = {
  onEstablished() {},
  onCompletion() {},
  onClosed() {},
  onCreated: takeMessages,
}

/** Messages that an end sends from now on. */
function listenTo(verbs: FakeVerbs): TransferMessage[] {
  const seen: TransferMessage[] = []
  verbs.hook = (_from, work, bytes) => {
    if (work.opcode === WorkOpcode.SEND) seen.push(decodeMessage(bytes))
    return undefined
  }
  return seen
}

/** In a silence the session sends a Ping after 5 seconds, and not another one at once. */
async function checkPings(
  t: Test,
  session: { tick(now: number): void },
  clock: Clock,
  verbs: FakeVerbs,
): Promise<void> {
  const seen = listenTo(verbs)
  session.tick(clock.at(4 * SECOND))
  await settle()
  t.same(seen, [])
  session.tick(clock.at(6 * SECOND))
  session.tick(clock.ns)
  await settle()
  t.same(
    seen.map(message => message.body),
    ['ping'],
  )
}

interface Receiving {
  sender: FakeVerbs
  receiver: FakeVerbs
  clock: Clock
  store: CountingStore
  session: () => PassiveSession
}

function receiving(): Receiving {
  const [sender, receiver] = fakePair()
  const clock = new Clock()
  sender.now = receiver.now = clock.now
  const store = new CountingStore()
  let session: PassiveSession
  receiver.listen(TRANSFER_PORT, {
    accept: () => {
      const rings = new RingPool(ringBytesOf(CHUNK, 4), 1)
      session = newReceiveSession({
        verbs: receiver,
        time: clock,
        rings,
        store,
        chunkBytes: CHUNK,
        slots: 4,
      })
      return session
    },
  })
  return { sender, receiver, clock, store, session: () => session }
}

async function sending(
  t: Test,
  { sender, receiver, clock }: Receiving,
  chunks: number,
): Promise<ActiveSession> {
  const session = newSendSession({
    verbs: sender,
    time: clock,
    rings: new RingPool(ringBytesOf(CHUNK, 4), 1),
    remote: receiver.address,
    peer: 'h2',
    source: source(chunks * CHUNK),
    digest: createDigest('XXH64'),
    name: 'a',
    directory: '',
    overwrite: false,
  })
  session.outcome.catch(() => {})
  session.start()
  t.teardown(() => session.cancel('end of test'))
  return session
}

t.test('a peer that connects and offers nothing gets an error, and is disconnected', async t => {
  const both = receiving()
  const seen = listenTo(both.receiver)
  both.sender.connect(0, both.receiver.address, TRANSFER_PORT, mute)
  await settle()
  const session = both.session()
  session.tick(both.clock.at(9 * SECOND))
  await settle()
  t.equal(session.state, 'waiting')
  session.tick(both.clock.at(11 * SECOND))
  await settle()
  t.match(seen.at(-1), { body: 'refuse', refuse: { reason: 'STALLED' } })
  t.equal(both.receiver.open, 1, 'it may disconnect by itself')
  session.tick(both.clock.at(14 * SECOND))
  const { failure } = await session.outcome
  t.equal(failure?.code, 'WEIR_CONNECTION_LOST')
  t.equal(both.receiver.open + both.sender.open, 0)
  t.equal(both.receiver.memory.size, 0)
})

t.test('a sender that stops in the middle keeps what it has sent, for later', async t => {
  const both = receiving()
  await sending(t, both, 9)
  both.sender.hook = (_from, work) => (work.immediate === 3 ? 'hold' : undefined)
  await settle()
  const session = both.session()
  t.equal(session.deliveredBytes, 3 * CHUNK)
  session.tick(both.clock.at(599 * SECOND))
  await settle()
  t.equal(session.state, 'receiving')
  session.tick(both.clock.at(601 * SECOND))
  await settle()
  t.match(await session.outcome, { failure: { code: 'WEIR_CONNECTION_LOST' } })
  t.same(both.store.ends, ['keep'])
})

t.test('in a silence both ends ping: only so a peer that has died is found', async t => {
  const both = receiving()
  const session = await sending(t, both, 9)
  // A receiver whose disk is busy: no credit comes, and nothing may be sent.
  both.receiver.hook = (_from, work, bytes) =>
    work.opcode === WorkOpcode.SEND && decodeMessage(bytes).body === 'credit' ? 'hold' : undefined
  await settle()
  await checkPings(t, session, both.clock, both.sender)
  both.sender.hook = () => 'break'
  session.tick(both.clock.at(12 * SECOND))
  await t.rejects(session.outcome, { code: 'WEIR_CONNECTION_LOST' })
  await settle()
  t.same(both.store.ends, ['keep'])

  const quiet = receiving()
  const other = await sending(t, quiet, 9)
  quiet.sender.hook = (_from, work) => (work.opcode === WorkOpcode.RDMA_WRITE_WITH_IMM ? 'hold' : undefined)
  await settle()
  await checkPings(t, quiet.session(), quiet.clock, quiet.receiver)
  other.cancel('end')
})

interface Serving {
  server: FakeVerbs
  getter: FakeVerbs
  clock: Clock
  store: CountingStore
  session: () => PassiveSession
}

function serving(chunks: number): Serving {
  const [getter, server] = fakePair()
  const clock = new Clock()
  getter.now = server.now = clock.now
  let session: PassiveSession
  server.listen(TRANSFER_PORT, {
    accept: () => {
      const files = { open: async () => source(chunks * CHUNK) }
      session = newServeSession({
        verbs: server,
        time: clock,
        rings: new RingPool(ringBytesOf(CHUNK, 4), 1),
        files,
      })
      return session
    },
  })
  return { server, getter, clock, store: new CountingStore(), session: () => session }
}

function getting(t: Test, { server, getter, clock, store }: Serving): ActiveSession {
  const session = newGetSession({
    slots: 4,
    verbs: getter,
    time: clock,
    rings: new RingPool(ringBytesOf(CHUNK, 4), 1),
    remote: server.address,
    peer: 'h1',
    store,
    path: 'a',
    name: 'a',
    digestKind: 'XXH64',
    overwrite: false,
    chunkBytes: CHUNK,
  })
  session.outcome.catch(() => {})
  session.start()
  t.teardown(() => session.cancel('end of test'))
  return session
}

t.test('a peer that connects and asks for nothing gets an error, and is disconnected', async t => {
  const both = serving(9)
  const seen = listenTo(both.server)
  both.getter.connect(0, both.server.address, TRANSFER_PORT, mute, { privateData: GET_PRIVATE_DATA })
  await settle()
  const session = both.session()
  session.tick(both.clock.at(11 * SECOND))
  await settle()
  t.match(seen.at(-1), { body: 'refuse', refuse: { reason: 'STALLED' } })
  session.tick(both.clock.at(14 * SECOND))
  t.equal((await session.outcome).failure?.code, 'WEIR_CONNECTION_LOST')
  t.equal(both.getter.open + both.server.open, 0)
  t.equal(both.server.memory.size, 0)
})

t.test(
  'a getter that stops reading does not hold the server for ever; one that reads slowly may',
  async t => {
    const both = serving(9)
    const fetching = getting(t, both)
    let reads = 0
    both.getter.hook = (_from, work) =>
      work.opcode === WorkOpcode.RDMA_READ && ++reads > 3 ? 'hold' : undefined
    await settle()
    t.equal(fetching.deliveredBytes, 3 * CHUNK)
    const session = both.session()
    session.tick(both.clock.at(599 * SECOND))
    await settle()
    t.equal(session.state, 'streaming')
    session.tick(both.clock.at(601 * SECOND))
    await settle()
    t.match(await session.outcome, { path: '', failure: { code: 'WEIR_CONNECTION_LOST' } })
    await t.rejects(fetching.outcome, { code: 'WEIR_CONNECTION_LOST', message: /h1: .*silent/ })
    t.same(both.store.ends, ['keep'], 'what has come is kept for later')
  },
)

t.test('fetched: in a silence both ends ping, and one that has died is found', async t => {
  const both = serving(9)
  const fetching = getting(t, both)
  // A server whose disk is busy: it announces nothing, and nothing may be read.
  both.server.hook = (_from, work, bytes) =>
    work.opcode === WorkOpcode.SEND && decodeMessage(bytes).body === 'filled' ? 'hold' : undefined
  await settle()
  await checkPings(t, fetching, both.clock, both.getter)
  both.getter.hook = () => 'break'
  fetching.tick(both.clock.at(12 * SECOND))
  await t.rejects(fetching.outcome, { code: 'WEIR_CONNECTION_LOST' })
  t.equal((await both.session().outcome).failure?.code, 'WEIR_CONNECTION_LOST')
  t.same(both.store.ends, ['keep'])

  const quiet = serving(9)
  getting(t, quiet)
  quiet.getter.hook = (_from, work) => (work.opcode === WorkOpcode.RDMA_READ ? 'hold' : undefined)
  await settle()
  await checkPings(t, quiet.session(), quiet.clock, quiet.server)
})

/** A list that grows for as long as the test wants. */
class GrowingTree implements ListedTree {
  readonly list = new TreeList()
  readonly skipped = 0
  isWhole = false
  end: () => void = () => {}
  more = () =>
    new Promise<void>(resolve => {
      this.end = () => {
        this.isWhole = true
        resolve()
      }
    })
  stop() {}
  openFile = () => Promise.reject(new Error('nobody wants it'))
  openQuickly = () => {
    throw new Error('nobody wants it')
  }
}

t.test('a getter has its time to answer after a list that took longer than that', async t => {
  const [getter, server] = fakePair()
  const clock = new Clock()
  getter.now = server.now = clock.now
  const tree = new GrowingTree()
  const files = { open: () => Promise.reject(new Error('a tree was asked for')), list: async () => tree }
  const rings = new RingPool(ringBytesOf(CHUNK, 4), 1)
  const session = newTreeServeSession({ verbs: server, time: clock, rings, files })
  server.listen(TRANSFER_PORT, { accept: () => session })
  getter.connect(0, server.address, TRANSFER_PORT, mute, { privateData: FETCH_PRIVATE_DATA })
  await settle()
  const wishes = { paths: ['tree'], exclude: [], include: [], skipLinks: false, checksum: null }
  for (const wish of wishMessages(wishes, new Uint8Array()))
    session.mover.onMessage(clock.ns, { body: 'wish', wish })
  session.advance()
  await settle()
  session.tick(clock.at(700 * SECOND))
  await settle()
  t.match([session.state, session.hasAsked], ['listing', true], 'it keeps its place while it waits')
  tree.end()
  await settle()
  t.equal(session.state, 'listed')
  session.tick(clock.at((700 + 3599) * SECOND))
  await settle()
  t.equal(session.state, 'listed')
  session.tick(clock.at((700 + 3601) * SECOND))
  await settle()
  t.equal(session.state, 'failed')
  session.tick(clock.at((700 + 3604) * SECOND))
  t.match((await session.outcome).failure, { code: 'WEIR_CONNECTION_LOST' })
})

t.test(
  'a sender has its time for the next entries of a list, which may have digests of long files',
  async t => {
    const [sender, receiver] = fakePair()
    const clock = new Clock()
    sender.now = receiver.now = clock.now
    const trees = { treePlace: () => assert.fail('nothing is compared yet') }
    const rings = new RingPool(ringBytesOf(CHUNK, 4), 1)
    const config = {
      verbs: receiver,
      time: clock,
      rings,
      trees,
      allowsDeletion: false,
      chunkBytes: CHUNK,
      slots: 4,
    }
    const session = newTreeReceiveSession(config)
    receiver.listen(TRANSFER_PORT, { accept: () => session })
    sender.connect(0, receiver.address, TRANSFER_PORT, mute, { privateData: TREE_PRIVATE_DATA })
    await settle()
    const tree = { version: 1, directory: '', overwrite: false, transfer: new Uint8Array() }
    session.mover.onMessage(clock.ns, { body: 'tree', tree })
    session.tick(clock.at(3599 * SECOND))
    await settle()
    t.equal(session.state, 'listing')
    session.tick(clock.at(3601 * SECOND))
    await settle()
    t.equal(session.state, 'failed')
    session.tick(clock.at(3604 * SECOND))
    t.match((await session.outcome).failure, { code: 'WEIR_CONNECTION_LOST' })
  },
)

t.test('fetched: a credit that waits for an earlier one when the getter is done is not missed', async t => {
  const both = serving(3)
  await getting(t, both).outcome
  t.equal((await both.session().outcome).failure, null)
})

t.test('a host that shuts down does not wait for who has left, and was not heard', async t => {
  const both = receiving()
  const { sender, receiver } = both
  sender.leavesUnheard = true
  const active = await sending(t, both, 3)
  await active.outcome
  await settle()
  const session = both.session()
  t.same([sender.open, receiver.open, session.state], [0, 1, 'done'], 'the other end waits')
  session.interrupt('the daemon stops')
  await settle()
  t.equal(receiver.open, 0, 'and no longer, although no time has passed')
  t.equal((await session.outcome).failure, null, 'the transfer is what it was')
  t.equal(receiver.memory.size, 0)
})

t.test('a host that shuts down waits until its last message has arrived', async t => {
  const both = receiving()
  const active = await sending(t, both, 3)
  both.receiver.hook = (_from, work, bytes) =>
    work.opcode === WorkOpcode.SEND && decodeMessage(bytes).body === 'done' ? 'hold' : undefined
  await settle()
  const session = both.session()
  t.equal(session.state, 'done')
  session.interrupt('the daemon stops')
  await settle()
  t.equal(both.receiver.open, 1, 'the sender does not know yet that its file is there')
  t.equal(active.state === 'done', false)
  session.tick(both.clock.at(3 * SECOND))
  await settle()
  t.equal(both.receiver.open, 0, 'for so long')
})

/** What a peer that has no session needs to receive messages. */
function takeMessages(_now: number, connection: Connection): void {
  const memory = Buffer.alloc(4096)
  const region = (connection as unknown as { verbs: FakeVerbs }).verbs.memory.register(memory, 4096, 1)
  for (let id = 0; id < 4; id++) connection.postReceive({ id, region, offset: 0, length: 4096 })
}

t.test('a receiver that falls silent after Ready does not keep its sender waiting without limit', async t => {
  const both = receiving()
  const session = await sending(t, both, 9)
  both.receiver.hook = (_from, work, bytes) =>
    work.opcode === WorkOpcode.SEND && decodeMessage(bytes).body !== 'ready' ? 'hold' : undefined
  await settle()
  t.equal(session.state, 'streaming')
  session.tick(both.clock.at(599 * SECOND))
  await settle()
  t.equal(session.state, 'streaming')
  session.tick(both.clock.at(601 * SECOND))
  await t.rejects(session.outcome, { code: 'WEIR_CONNECTION_LOST', message: /h2 was silent for too long/ })
})

t.test('a receiver that only pings is silent as well', async t => {
  const both = receiving()
  const session = await sending(t, both, 9)
  both.receiver.hook = (_from, work, bytes) => {
    const { body = '' } = work.opcode === WorkOpcode.SEND ? decodeMessage(bytes) : {}
    return body === 'credit' ? 'hold' : undefined
  }
  await settle()
  for (let at = 100; at <= 600; at += 100) {
    session.tick(both.clock.at(at * SECOND))
    await settle()
  }
  session.tick(both.clock.at(601 * SECOND))
  await t.rejects(session.outcome, { code: 'WEIR_CONNECTION_LOST', message: /silent/ })
})
