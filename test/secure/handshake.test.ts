/** The passive end of a handshake before it knows who is there: whatever comes, no application hears of it, and nothing is left over. */
import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { Connection, ConnectionHandler } from '../../lib/nic/types.js'
import { MemoryTable } from '../../lib/qp/memory/memory.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { NoiseHandshake } from '../../lib/secure/noise.js'
import { SealedVerbs } from '../../lib/secure/sealed-verbs.js'
import { newKeyPair } from '../../lib/secure/x25519.js'
import { SECOND } from '../../lib/time/nanos.js'
import { fakePair } from '../support/fake-verbs.js'

const PORT = 7
const SEALED = 107
const NOTHING = new Uint8Array(0)
/** As lib/secure/sealed-verbs.ts has them. */
const AT_A_TIME = 256
const DEADLINE_NS = 10 * SECOND

/** An attacker, and the host that it reaches, whose application counts what it hears. */
function world() {
  const [attacker, host] = fakePair()
  const heard = { established: 0, completions: 0, closed: [] as (string | undefined)[] }
  const handler: ConnectionHandler = {
    onEstablished: () => heard.established++,
    onCompletion: () => heard.completions++,
    onClosed: (_now, _connection, error) => heard.closed.push(error?.code),
  }
  const sealed = new SealedVerbs(host, {
    staticKey: newKeyPair(),
    psk: new Uint8Array(32),
    hasSecret: false,
    known: null,
    acceptsNew: false,
    clear: { check: () => false } as never,
    permissionOf: () => 'send',
  })
  sealed.listen(PORT, { accept: () => handler })
  return { attacker, host, sealed, heard }
}

type World = ReturnType<typeof world>

/** Connects and sends these messages. */
async function attack({ attacker, host }: World, messages: readonly Uint8Array[]): Promise<Connection> {
  const handler: ConnectionHandler = {
    onEstablished: (now, connection) => {
      for (const [id, message] of messages.entries()) {
        const region = attacker.memory.register(Buffer.from(message), message.length, 0)
        const work = { id, opcode: WorkOpcode.SEND, region, offset: 0, length: message.length }
        connection.postSend(now, work)
      }
    },
    onCompletion: () => {},
    onClosed: () => {},
  }
  const connection = attacker.connect(0, host.address, SEALED, handler)
  for (let i = 0; i < 30; i++) await turn()
  return connection
}

/** A right first message of the protocol. */
function firstMessage(prologue: string): Buffer {
  const noise = new NoiseHandshake({
    isInitiator: true,
    staticKey: newKeyPair(),
    psk: new Uint8Array(32),
    prologue: Buffer.from(prologue),
  })
  return noise.write(NOTHING)!
}

t.test('wrong first messages, and too long ones', async t => {
  const first = firstMessage(`weir sealed 1 ${PORT} 0 0 `)
  const cases: [string, Uint8Array[]][] = [
    ['nothing', [NOTHING]],
    ['one byte', [Uint8Array.of(1)]],
    ['too short by one', [randomBytes(47)]],
    ['a key of small order', [new Uint8Array(48)]],
    ['as long as a slot', [randomBytes(320)]],
    ['longer than a slot', [randomBytes(400)]],
    ['a right one, then what is none', [first, randomBytes(64)]],
    ['a right one, twice', [first, first]],
    ['three messages at once', [first, first, first]],
  ]
  for (const [what, messages] of cases) {
    const w = world()
    await attack(w, messages)
    t.match(w.heard, { established: 0, completions: 0 }, what)
    t.equal(w.heard.closed.length, 1, `${what}: it has ended`)
    t.match(w.sealed.counters, { sealed: 0, refused: 1 }, what)
    t.equal(w.host.memory.size, 0, `${what}: no memory is left`)
    t.equal(w.host.open, 0, what)
  }
})

t.test('silence: a deadline, and a bound on handshakes under way', async t => {
  const w = world()
  for (let i = 0; i < 40; i++)
    await attack(w, i % 2 === 0 ? [] : [firstMessage(`weir sealed 1 ${PORT} 0 0 `)])
  t.equal(w.host.open, 40)
  w.sealed.tick(DEADLINE_NS - 1)
  for (let i = 0; i < 5; i++) await turn()
  t.equal(w.host.open, 40)
  w.sealed.tick(DEADLINE_NS)
  for (let i = 0; i < 5; i++) await turn()
  t.match(w.heard, { established: 0, completions: 0, closed: Array(40).fill('WEIR_UNREACHABLE') })
  t.same([w.host.open, w.host.memory.size, w.sealed.counters.refused], [0, 0, 40])
})

t.test('beyond the bound the oldest handshake ends', async t => {
  const w = world()
  let key = 1
  Object.assign(w.host, { memory: new MemoryTable(2 * AT_A_TIME, () => key++) })
  for (let i = 0; i < AT_A_TIME + 20; i++) {
    w.attacker.connect(0, w.host.address, SEALED, {
      onEstablished: () => {},
      onCompletion: () => {},
      onClosed: () => {},
    })
  }
  for (let i = 0; i < 30; i++) await turn()
  t.equal(w.host.open, AT_A_TIME, 'the others have ended')
  w.sealed.tick(DEADLINE_NS)
  for (let i = 0; i < 5; i++) await turn()
  t.equal(w.heard.established, 0)
  t.same([w.host.open, w.host.memory.size], [0, 0])
})
