/**
 * A third party against an established connection: messages of the connection manager in the name of its
 * peer, and from an address of its own. Each test says how many packets the attacker sends.
 */
import t, { type Test } from 'tap'
import { encodeRejection } from '../../lib/cm/weir-private-data.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { NEVER, SECOND } from '../../lib/time/nanos.js'
import * as messages from '../../lib/wire/cm/cm-messages.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { App, connected, makePair, memoryOf, type PairOptions, PORT } from '../nic/pair.js'
import { usual, variants } from '../support/long.js'
import { type Knowledge, send, sendMessage, Wiretap, works } from './third-party.js'

const PEER = HostAddress.parse('10.0.0.2')
const THIRD = HostAddress.parse('10.0.0.3')
const KINDS = ['REQ', 'REP', 'RTU', 'REJ', 'MRA', 'DREQ', 'DREP']
const SECRET = Buffer.from('correct horse battery staple')

function attacked(options: PairOptions = {}) {
  const pair = makePair(options)
  const tap = new Wiretap(pair)
  const { left, right } = connected(pair)
  return { pair, tap, left, right, known: tap.knowledge }
}

/** Fields with which a message of that kind could end the connection of `known`. */
function fieldsOf(kind: string, known: Knowledge): Record<string, number> {
  if (kind === 'REQ' || kind === 'REP') return { qpn: known.bQpn }
  if (kind === 'DREQ') return { qpn: known.aQpn }
  return {}
}

/** Returns true if neither end has seen an end, and the connection carries data. */
function lives(t: Test, { pair, left, right }: ReturnType<typeof attacked>, what: string): void {
  t.ok(works(pair, left, 7), `${what}: data`)
  t.same([left.closed, right.closed], [0, 0], `${what}: no end`)
  t.equal(pair.pool.inUse, 0)
}

for (const kind of KINDS) {
  t.test(`${kind} from a third address that knows both ids, QPNs and GUIDs: 20 packets`, async t => {
    const world = attacked()
    const { pair, tap, known } = world
    for (let n = 0; n < 10; n++) {
      const own = kind === 'REQ' ? 0x5000 + n : known.bId
      sendMessage(pair, tap, kind, [own, known.aId], fieldsOf(kind, known), THIRD, known.bGuid)
      sendMessage(
        pair,
        tap,
        kind,
        [own, known.aId],
        { ...fieldsOf(kind, known), reason: 4, of: 1 },
        THIRD,
        known.bGuid,
      )
    }
    // A REQ from that address opens a connection of its own, which nobody accepts twice.
    lives(t, world, kind)
    const { wrongSource, unknown } = pair.a.counters.cm
    if (kind !== 'REQ') t.equal(wrongSource + unknown, 20, 'all are counted')
    t.equal(pair.a.counters.cm.challenges, 0)
  })

  t.test(
    `${kind} in the peer's name that knows the GUID, but guesses ids and QPNs: 3000 packets`,
    async t => {
      const world = attacked()
      const { pair, tap, known } = world
      for (let n = 0; n < 1000; n++) {
        const guess = 0x1000_0000 + n
        const fields = { ...fieldsOf(kind, known), qpn: 2 + n }
        sendMessage(pair, tap, kind, [guess, guess], fields, PEER, known.bGuid)
        sendMessage(pair, tap, kind, [guess, known.aId], fields, PEER, known.bGuid)
        sendMessage(pair, tap, kind, [known.bId, guess], { ...fields, reason: 4 }, PEER, known.bGuid)
      }
      lives(t, world, kind)
      t.equal(pair.a.counters.cm.challenges, 0)
    },
  )
}

for (const kind of variants(['REQ', 'RTU', 'MRA', 'DREP'], 1)) {
  t.test(
    `${kind} in the peer's name, by who has seen all: the peer is asked and answers, 10 packets`,
    async t => {
      const world = attacked()
      const { pair, tap, known } = world
      for (let n = 0; n < 10; n++) {
        const own = kind === 'REQ' ? 0x5000 + n : known.bId
        sendMessage(pair, tap, kind, [own, known.aId], fieldsOf(kind, known), PEER, known.bGuid)
      }
      pair.settle()
      lives(t, world, kind)
      t.equal(pair.a.counters.cm.challenges, kind === 'REQ' ? 1 : 0)
    },
  )
}

usual(
  "a REP in the peer's name to another request, with the connection's queue pair: it is asked",
  async t => {
    const world = attacked()
    const { pair, tap, known } = world
    const other = new App(pair.a)
    pair.b.unlisten(PORT)
    const swallowed: Uint8Array[] = []
    const { watch } = pair.tap
    pair.tap.watch = (frame, now, fromA) => {
      const goesOn = watch(frame, now, fromA)
      if (pair.passed.at(-1) !== '>REQ') return goesOn
      swallowed.push(Uint8Array.from(frame.bytes.subarray(frame.payload, frame.payload + 256)))
      return false
    }
    pair.a.connect(pair.network.now, pair.b.address, PORT, other)
    pair.until(() => swallowed.length > 0)
    const asked = messages.localCommId(new DataView(swallowed[0]!.buffer), 0)
    sendMessage(pair, tap, 'REP', [0x6000, asked], { qpn: known.bQpn }, PEER, known.bGuid)
    t.equal(pair.a.counters.cm.challenges, 1)
    lives(t, world, 'REP')
  },
)

usual('a peer that has forgotten the connection does not answer: it ends after 8 s', async t => {
  const world = attacked()
  const { pair, tap, left, known } = world
  const from = pair.network.now
  pair.tap.watch = frame => {
    if (bth.destQpn(frame.view, frame.bth) === known.bQpn)
      t.ok(
        bth.migrationRequest(frame.view, frame.bth),
        'a question says Migrated, as all packets of a queue pair',
      )
    return false
  }
  sendMessage(pair, tap, 'REQ', [0x5000, 0], { qpn: known.bQpn }, PEER, known.bGuid)
  t.ok(pair.until(() => left.closed > 0))
  t.equal(left.error?.code, 'WEIR_CONNECTION_LOST')
  t.match(left.error?.message, /stale/)
  t.ok(pair.network.now - from >= 8 * SECOND)
  t.equal(pair.a.counters.cm.challenges, 8)
})

usual('with a key, a REQ without its proof has no effect, and only what is authentic answers', async t => {
  const world = attacked({ a: { secret: SECRET }, b: { secret: SECRET } })
  const { pair, tap, known } = world
  sendMessage(pair, tap, 'REQ', [0x5000, 0], { qpn: known.bQpn }, PEER, known.bGuid)
  pair.settle()
  t.equal(pair.a.counters.cm.challenges, 0)
  lives(t, world, 'REQ')
})

for (const kind of variants(['REJ', 'DREQ'], 1)) {
  t.test(`with a key, ${kind} in the peer's name by who has seen all has no effect: 40 packets`, async t => {
    const keys = { a: { secret: SECRET }, b: { secret: SECRET } }
    const world = attacked(keys)
    const { pair, tap, known, left } = world
    const another = attacked({ ...keys, seed: 2 })
    another.right.connection!.disconnect(another.pair.network.now)
    another.pair.settle()
    const seen = another.tap.frames.get('<DREQ')!
    const recorded = seen.subarray(seen.length - 4 - 220, seen.length - 4).subarray(0, 100)
    for (const words of [new Uint8Array(0), recorded, guess(), new Uint8Array(100).fill(0xff)]) {
      for (let n = 0; n < 10; n++) {
        const fields = { ...fieldsOf(kind, known), reason: [4, 10, 28][n % 3]!, of: 2 }
        sendMessage(pair, tap, kind, [known.bId, known.aId], fields, PEER, known.bGuid, words)
      }
    }
    lives(t, world, kind)
    t.equal(pair.a.counters.cm.unprovenEnds, 40)
    left.connection!.disconnect(pair.network.now)
    pair.settle()
    t.equal(pair.b.counters.cm.unprovenEnds, 0, 'the ends themselves prove that they leave')
    t.same([left.closed, left.error, world.right.closed, world.right.error], [1, null, 1, null])
  })

  t.test(
    `without a key, one ${kind} by who has seen all ends the connection, as docs/security.md says`,
    async t => {
      const { pair, tap, known, left } = attacked()
      const fields = { ...fieldsOf(kind, known), reason: 4, of: 2 }
      sendMessage(pair, tap, kind, [known.bId, known.aId], fields, PEER, known.bGuid)
      pair.settle()
      t.equal(left.closed, 1)
    },
  )
}

usual('with a key, an end that gives up says why and proves who it is', async t => {
  const { pair, left, right } = attacked({ a: { secret: SECRET }, b: { secret: SECRET } })
  const { connection } = right
  const work = { id: 1, opcode: WorkOpcode.RDMA_WRITE, region: memoryOf(pair.b, Buffer.alloc(8)) }
  connection!.postSend(pair.network.now, { ...work, offset: 0, length: 8, remoteAddress: 0, rkey: 1 })
  t.ok(pair.until(() => left.closed > 0 && right.closed > 0))
  t.match(left.error?.message, /gave the connection up|access|refused/i)
  t.equal(pair.a.counters.cm.unprovenEnds + pair.b.counters.cm.unprovenEnds, 0)
})

/** A proof of zeros, in the form that a Weir host sends. */
function guess(): Uint8Array {
  return encodeRejection({ code: '', message: '', proof: new Uint8Array(8) })
}

usual('a challenge leaves no deadline behind once it is answered', async t => {
  const { pair, tap, known } = attacked()
  sendMessage(pair, tap, 'REQ', [0x5000, 0], { qpn: known.bQpn }, PEER, known.bGuid)
  pair.settle()
  t.equal(pair.a.nextTimeout(), NEVER)
})

usual('GUIDs and QPNs do not follow from the address, nor from one another', async t => {
  const guids = new Set<bigint>()
  const steps = new Set<number>()
  for (let seed = 1; seed <= 20; seed++) {
    const pair = makePair({ seed })
    guids.add(pair.b.table.names.guid)
    const [first, second] = [pair.b.table.reserve().qpn, pair.b.table.reserve().qpn]
    steps.add(second - first)
  }
  t.equal(guids.size, 20)
  t.ok(steps.size > 18, `${steps.size} different steps from one QPN to the next`)
})

usual(
  "a switch's response is no answer to the question: packets of it each second do not keep a connection",
  async t => {
    const world = attacked({ b: { telemetry: { answer: 'notify' } } })
    const { pair, tap, left, known } = world
    t.ok(works(pair, left, 1))
    const template = tap.frames.get('<NOTIFY')!
    let taken = 0
    const refused = () => pair.a.counters.rx.wrongSource + pair.a.counters.rx.unknownQpn
    pair.tap.watch = () => false
    sendMessage(pair, tap, 'REQ', [0x5000, 0], { qpn: known.bQpn }, PEER, known.bGuid)
    for (let n = 0; n < 30 && left.closed === 0; n++) {
      const wrong = refused()
      send(pair, pair.a, template, ({ view, bth: at }) => view.setUint8(at, Opcode.DIRECT_NOTIFY))
      taken += refused() === wrong ? 1 : 0
      const until = pair.network.now + 0.3 * SECOND
      pair.until(() => pair.network.now >= until || left.closed > 0)
    }
    t.ok(taken >= 5, 'they are of this connection')
    t.ok(pair.until(() => left.closed > 0))
    t.match(left.error?.message, /stale/)
  },
)
