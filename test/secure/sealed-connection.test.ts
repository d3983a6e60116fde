/** A sealed connection between two NICs: an application notices nothing, and records use little memory. */
import t from 'tap'
import type { Nic } from '../../lib/nic/nic.js'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { Access } from '../../lib/qp/memory/memory.js'
import { type Completion, workStatusName } from '../../lib/qp/queues/completion-queue.js'
import { type SendWork, WorkOpcode } from '../../lib/qp/queues/work.js'
import { NoiseHandshake } from '../../lib/secure/noise.js'
import { SealedVerbs } from '../../lib/secure/sealed-verbs.js'
import { newKeyPair } from '../../lib/secure/x25519.js'
import { makePair, memoryOf, type Pair, PORT, pattern, refusal } from '../nic/pair.js'

const SEALED_PORT = PORT + 100

/** Notes what completes, as in `sent 1 SUCCESS 100`. */
class Noting implements ConnectionHandler {
  readonly log: string[] = []
  connection: Connection | null = null
  isEstablished = false
  ended = ''
  readonly #onCreated: (connection: Connection) => void
  onDone: (now: number, completion: Completion) => void = () => {}

  constructor(onCreated: (connection: Connection) => void = () => {}) {
    this.#onCreated = onCreated
  }

  onCreated(_now: number, connection: Connection): void {
    this.connection = connection
    this.#onCreated(connection)
  }

  onEstablished(): void {
    this.isEstablished = true
  }

  onCompletion(now: number, _connection: Connection, completion: Completion): void {
    const { id, isReceive, status, byteLength } = completion
    const bytes = workStatusName(status) === 'SUCCESS' ? ` ${byteLength}` : ''
    this.log.push(`${isReceive ? 'received' : 'sent'} ${id} ${workStatusName(status)}${bytes}`)
    this.onDone(now, completion)
  }

  onClosed(_now: number, _connection: Connection, error: { code: string } | null): void {
    this.ended = error?.code ?? 'closed'
  }
}

function sealed(nic: Nic): SealedVerbs {
  return new SealedVerbs(nic, {
    staticKey: newKeyPair(),
    psk: new Uint8Array(32),
    hasSecret: true,
    known: null,
    acceptsNew: false,
    clear: { check: () => false } as never,
    permissionOf: () => 'send',
  })
}

interface World extends Pair {
  left: Noting
  right: Noting
  /** Where messages to `right` go, a slot each. */
  inbox: Buffer
}

/** @param receives of `right`, of `bytes` each */
function connected(receives: number, bytes: number): World {
  const pair = makePair()
  const inbox = Buffer.alloc(receives * bytes)
  const left = new Noting()
  const right = new Noting(connection => {
    const region = pair.b.memory.register(inbox, inbox.length, Access.LOCAL_WRITE)
    for (let id = 0; id < receives; id++)
      connection.postReceive({ id, region, offset: id * bytes, length: bytes })
  })
  sealed(pair.b).listen(PORT, { accept: () => right })
  sealed(pair.a).connect(pair.network.now, pair.b.address, PORT, left)
  if (!pair.until(() => left.isEstablished && right.isEstablished)) throw new Error('not established')
  return { ...pair, left, right, inbox }
}

function send(
  { a, left, network, kick }: World,
  id: number,
  bytes: Buffer,
  more: Partial<SendWork> = {},
): boolean {
  const work = {
    id,
    opcode: WorkOpcode.SEND,
    region: memoryOf(a, bytes),
    offset: 0,
    length: bytes.length,
    ...more,
  }
  const isPosted = left.connection!.postSend(network.now, work)
  kick()
  return isPosted
}

t.test('many long messages take the memory of a few', async t => {
  const [count, length] = [100, 200_000]
  const w = connected(count, length)
  const bytes = pattern(1, length)
  const before = [w.a.memory.size, w.b.memory.size]
  const region = memoryOf(w.a, bytes)
  let posted = 0
  const fill = (now: number) => {
    while (posted < count) {
      const work = { id: posted, opcode: WorkOpcode.SEND, region, offset: 0, length }
      if (!w.left.connection!.postSend(now, work)) return
      posted++
    }
  }
  w.left.onDone = fill
  fill(w.network.now)
  t.ok(posted > 10 && posted < count, `${posted} wait`)
  t.ok(w.until(() => w.right.log.length === count && w.left.log.length === count))
  t.same(
    w.left.log,
    Array.from({ length: count }, (_, id) => `sent ${id} SUCCESS ${length}`),
  )
  t.same(
    w.right.log,
    Array.from({ length: count }, (_, id) => `received ${id} SUCCESS ${length}`),
  )
  for (let id = 0; id < count; id++)
    if (!w.inbox.subarray(id * length, (id + 1) * length).equals(bytes)) t.fail(`${id}`)
  const slots = [w.a.memory.size - before[0]!, w.b.memory.size - before[1]!]
  t.ok(slots[0]! <= 40 && slots[1]! <= 4, `${slots} regions`)
})

t.test('kinds of messages, pieces, and unsignaled ones', async t => {
  const w = connected(8, 1000)
  const invalidated = w.b.memory.register(Buffer.alloc(8), 8, Access.REMOTE_READ)
  const seen: Completion[] = []
  w.right.onDone = (_now, { hasImmediate, immediate, invalidatedKey }) =>
    seen.push({ hasImmediate, immediate, invalidatedKey } as Completion)
  send(w, 0, Buffer.from('plain'), { signaled: false })
  send(w, 1, Buffer.from('word'), { opcode: WorkOpcode.SEND_WITH_IMM, immediate: 0xffffffff })
  send(w, 2, Buffer.from('key'), { opcode: WorkOpcode.SEND_WITH_INV, invalidateKey: invalidated.key })
  const more = [{ region: memoryOf(w.a, Buffer.from('of two')), offset: 3, length: 3 }]
  send(w, 3, Buffer.from('one '), { more })
  send(w, 4, Buffer.alloc(0))
  t.ok(w.until(() => w.right.log.length === 5 && w.left.log.length === 4))
  t.same(w.right.log, [
    'received 0 SUCCESS 5',
    'received 1 SUCCESS 4',
    'received 2 SUCCESS 3',
    'received 3 SUCCESS 7',
    'received 4 SUCCESS 0',
  ])
  t.same(
    w.left.log,
    [1, 2, 3, 4].map((id, i) => `sent ${id} SUCCESS ${[4, 3, 7, 0][i]}`),
  )
  t.match(seen, [
    { hasImmediate: false },
    { hasImmediate: true, immediate: 0xffffffff },
    { invalidatedKey: invalidated.key },
  ])
  t.notOk(invalidated.valid)
  t.match(w.inbox.toString('latin1', 3000, 3007), 'one two')
})

t.test('what makes no sense is refused, and memory that is gone is neither read nor written', async t => {
  const w = connected(2, 100)
  const region = memoryOf(w.a, Buffer.alloc(10))
  const work = { id: 0, opcode: WorkOpcode.SEND, region, offset: 5, length: 6 }
  const post = (more: Partial<SendWork>) => w.left.connection!.postSend(w.network.now, { ...work, ...more })
  t.match(
    refusal(() => post({}), 'WEIR_BAD_ARGUMENT'),
    'outside its region',
  )
  t.match(
    refusal(() => post({ opcode: 99 as never }), 'WEIR_BAD_ARGUMENT'),
    'opcode',
  )
  const receive = { id: 9, region, offset: 11, length: 0 }
  t.match(
    refusal(() => w.left.connection!.postReceive(receive), 'WEIR_BAD_ARGUMENT'),
    'outside its region',
  )
  w.a.memory.deregister(region)
  t.ok(post({ length: 5 }))
  w.kick()
  t.ok(w.until(() => w.left.ended !== '' && w.right.ended !== ''))
  t.same(w.left.log, ['sent 0 LOC_PROT_ERR'])
  t.same(w.right.log, ['received 0 WR_FLUSH_ERR', 'received 1 WR_FLUSH_ERR'])
})

t.test('all work completes once when the connection ends', async t => {
  const w = connected(3, 100)
  for (let id = 0; id < 6; id++) send(w, id, Buffer.from('a message'), { signaled: id !== 1 })
  t.ok(w.until(() => w.right.log.length === 3 && w.left.log.length === 2))
  const posted = [6, 7, 8].filter(id => send(w, id, Buffer.alloc(2_000_000)))
  w.left.connection!.disconnect(w.network.now)
  t.ok(w.until(() => w.left.ended !== '' && w.right.ended !== ''))
  const ids = w.left.log.map(line => Number(line.split(' ')[1]))
  t.same(ids, [0, 2, 3, 4, 5, ...posted], 'the unsignaled one that has succeeded is not shown')
  t.same(w.right.log.length, 3)
  t.same(w.left.log.filter(line => line.includes('SUCCESS')).length, 2)
  t.notOk(send(w, 9, Buffer.alloc(1)), 'nothing more is taken')
})

t.test("messages that come before the handshake is done are nobody's", async t => {
  const pair = makePair()
  const inbox = Buffer.alloc(400)
  const right = new Noting(connection => {
    const region = pair.b.memory.register(inbox, inbox.length, Access.LOCAL_WRITE)
    for (let id = 0; id < 4; id++) connection.postReceive({ id, region, offset: id * 100, length: 100 })
  })
  sealed(pair.b).listen(PORT, { accept: () => right })
  const noise = new NoiseHandshake({
    isInitiator: true,
    staticKey: newKeyPair(),
    psk: new Uint8Array(32),
    prologue: Buffer.from('another prologue'),
  })
  const attacker = new Noting()
  const first = Buffer.from(noise.write(new Uint8Array(0))!)
  attacker.onEstablished = () => {
    for (const [id, bytes] of [first, Buffer.alloc(64), Buffer.alloc(80), Buffer.alloc(90)].entries()) {
      const region = memoryOf(pair.a, bytes)
      attacker.connection!.postSend(pair.network.now, {
        id,
        opcode: WorkOpcode.SEND,
        region,
        offset: 0,
        length: bytes.length,
      })
    }
  }
  pair.a.connect(pair.network.now, pair.b.address, SEALED_PORT, attacker)
  t.ok(pair.until(() => right.ended !== ''))
  t.same(
    right.log.filter(line => !line.includes('WR_FLUSH_ERR')),
    [],
  )
  t.ok(inbox.every(byte => byte === 0))
})
