/**
 * A plain RoCEv2 peer whose own handshake lies: extreme and senseless fields of REQ and REP, answers twice and with other words, silence where it
 * is to speak. Host `a` has an honest connection beside it. Whatever the liar says, nothing throws, and its places are free in the end.
 */
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { beginFrame, completeHeaders, prepareHeaders } from '../../lib/nic/tx/headers.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { SECOND } from '../../lib/time/nanos.js'
import * as messages from '../../lib/wire/cm/cm-messages.js'
import * as rej from '../../lib/wire/cm/rej.js'
import * as rep from '../../lib/wire/cm/rep.js'
import * as req from '../../lib/wire/cm/req.js'
import * as aeth from '../../lib/wire/ib/aeth.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { parseMac } from '../../lib/wire/net/mac.js'
import * as udp from '../../lib/wire/net/udp.js'
import { App, connected, frameName, makePair, memoryOf } from '../nic/pair.js'
import { sendMessage, Wiretap, works } from './third-party.js'

const LIAR = HostAddress.parse('10.0.0.9')
const MAC = parseMac('02:00:00:00:00:09')
const LISTENS = 7800
const GUID = 0x66n

interface Said {
  name: string
  bytes: Uint8Array
  opcode: number
  qpn: number
  psn: number
}

/** `a`, which listens, an honest connection of its own, and what it says to the liar. */
class World {
  readonly pair = makePair()
  readonly tap = new Wiretap(this.pair)
  readonly left: App
  readonly right: App
  readonly said: Said[] = []
  readonly apps: App[] = []
  readonly #flowsBefore: number
  #id = 0x7000

  constructor() {
    const { left, right } = connected(this.pair)
    this.left = left
    this.right = right
    const { watch } = this.pair.tap
    this.pair.tap.watch = (frame, now, fromA) => {
      if (!fromA || frame.bytes[frame.l3 + 19] !== 9) return watch(frame, now, fromA)
      this.#hear(frame)
      return false
    }
    this.pair.a.listen(LISTENS, {
      accept: () => {
        const app = new App(this.pair.a)
        this.apps.push(app)
        return app
      },
    })
    this.#flowsBefore = this.flows
  }

  get flows(): number {
    return this.pair.a.table.flows.filter(flow => flow !== null && flow !== undefined).length
  }

  #hear(frame: Frame): void {
    const { view } = frame
    const bytes = Uint8Array.from(frame.bytes.subarray(frame.payload, frame.payload + 256))
    const [opcode, qpn, psn] = [bth.opcode, bth.destQpn, bth.psn].map(read => read(view, frame.bth))
    this.said.push({ name: frameName(frame), bytes, opcode: opcode!, qpn: qpn!, psn: psn! })
  }

  /** The last message of that name. */
  heard(name: string): DataView | null {
    const found = this.said.findLast(each => each.name === name)
    return found === undefined ? null : new DataView(found.bytes.buffer)
  }

  newId(): number {
    return this.#id++
  }

  says(kind: string, ids: [number, number], fields: Record<string, number> = {}, words?: Uint8Array): void {
    sendMessage(this.pair, this.tap, kind, ids, fields, LIAR, GUID, words)
    this.run(1_000_000)
  }

  /** A packet of a reliable connection, of eight bytes, or an acknowledgement. */
  sends(opcode: number, qpn: number, psn: number, isMarked = false): void {
    const { pair } = this
    const frame = pair.pool.take()!
    const at = beginFrame(
      frame,
      prepareHeaders({ from: LIAR, to: pair.a.address, fromMac: MAC, toMac: MAC }, 0xc123),
    )
    bth.write(
      frame.view,
      at,
      new bth.Bth({ opcode, destQpn: qpn, psn, ackRequest: opcode === Opcode.RC_SEND_ONLY }),
    )
    let end = at + bth.BYTES
    if (opcode === Opcode.RC_ACKNOWLEDGE) {
      aeth.write(frame.view, end, aeth.ACK_UNLIMITED, 0)
      end += aeth.BYTES
    } else {
      frame.bytes.set(Buffer.from('greeting'), end)
      end += 8
    }
    frame.length = frame.wireLength = end + icrc.BYTES
    frame.bth = at
    completeHeaders(frame, udp.PORT_ROCE)
    if (isMarked) ipv4.markCe(frame.view, frame.l3)
    icrc.write(frame)
    frame.l3 = -1
    frame.bth = -1
    pair.a.onFrame(pair.network.now, 0, frame)
    this.run(1_000_000)
  }

  run(ns: number): void {
    this.pair.kick()
    this.pair.network.runUntil(this.pair.network.now + ns)
  }

  /** The liar is gone: its connections end, and nothing of them is left. */
  ends(t: Test, what: string): void {
    for (const { connection } of this.apps) connection?.disconnect(this.pair.network.now)
    this.run(4000 * SECOND)
    t.equal(this.flows, this.#flowsBefore, `${what}: no flow is left`)
    t.equal(this.pair.pool.inUse, 0, `${what}: no frame is left`)
    t.equal(this.left.closed, 0)
    t.ok(works(this.pair, this.left, 7), `${what}: the honest connection works`)
  }

  /** An honest request to the same listener is served. */
  serves(t: Test, what: string): void {
    const id = this.newId()
    this.said.length = 0
    this.says('REQ', [id, 0], { port: LISTENS, qpn: 0x500 + (id & 0xff), psn: 5 })
    t.ok(this.heard('REP'), `${what}: the listener answers`)
  }
}

/** The fields that a REQ may have, beyond those that make sense. */
const REQUESTS: [what: string, fields: Record<string, number>, answer: string][] = [
  ['queue pair 0', { qpn: 0 }, 'REJ 5'],
  ['queue pair 1', { qpn: 1 }, 'REJ 5'],
  ['the last queue pair', { qpn: 0xffffff }, 'REP'],
  ['the last PSN', { psn: 0xffffff }, 'REP'],
  ['PSN 0', { psn: 0 }, 'REP'],
  ['path MTU 256', { mtu: 1 }, 'REP'],
  ['path MTU 512', { mtu: 2 }, 'REP'],
  ['no path MTU', { mtu: 0 }, 'REP'],
  ['path MTU 6', { mtu: 6 }, 'REJ 28'],
  ['path MTU 15', { mtu: 15 }, 'REJ 28'],
  ['READs without end', { rr: 255, id: 255 }, 'REP'],
  ['no READs', { rr: 0, id: 0 }, 'REP'],
  ['no repetition', { retry: 0, rnr: 0, retries: 0 }, 'REP'],
  ['timeouts of 0', { timeout: 0, ack: 0 }, 'REP'],
  ['timeouts of hours', { timeout: 31, ack: 31 }, 'REP'],
  ['a shared receive queue', { srq: 1 }, 'REP'],
]

for (const [what, fields, answer] of REQUESTS)
  for (const after of ['RTU', 'data', 'silence'] as const) {
    t.test(`a request with ${what}, then ${after}`, async t => {
      const world = new World()
      const id = world.newId()
      const words = new Uint8Array(56).fill(0xff)
      world.says('REQ', [id, 0], { port: LISTENS, qpn: 0x300, ...fields }, words)
      const [accepted, rejected] = [world.heard('REP'), world.heard('REJ')]
      t.equal(rejected === null ? accepted && 'REP' : `REJ ${rej.reason(rejected, 0)}`, answer)
      if (accepted !== null && after !== 'silence') {
        const { localCommId, localQpn, startingPsn } = rep.read(accepted, 0)
        if (after === 'RTU') world.says('RTU', [id, localCommId])
        world.said.length = 0
        // The PSN that `a` expects.
        world.sends(Opcode.RC_SEND_ONLY, localQpn, startingPsn)
        t.equal(world.said.at(-1)?.name, 'RC_ACKNOWLEDGE', 'it is acknowledged')
        t.same(world.apps[0]!.log, ['created', 'established', 'received greeting'])
        const { connection } = world.apps[0]!
        world.said.length = 0
        const region = memoryOf(world.pair.a, Buffer.alloc(2000))
        const work = { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 2000 }
        t.ok(connection!.postSend(world.pair.network.now, work))
        world.run(1_000_000)
        const sent = world.said.filter(({ opcode }) => opcode <= Opcode.RC_SEND_ONLY)
        t.ok(sent.length > 0)
        t.equal(sent[0]!.psn, fields.psn ?? 600)
        t.equal(sent[0]!.qpn, fields.qpn ?? 0x300)
        world.sends(Opcode.RC_ACKNOWLEDGE, localQpn, ((fields.psn ?? 600) + sent.length - 1) & 0xffffff)
        t.equal(world.apps[0]!.log.at(-1), 'completion 1 SUCCESS')
        world.says('DREQ', [id, localCommId], { qpn: localQpn })
        t.ok(world.heard('DREP'), 'its end is answered')
        t.equal(world.apps[0]!.closed, 1)
      }
      world.serves(t, what)
      world.ends(t, what)
    })
  }

t.test('a request twice with other parameters is the first one', async t => {
  const world = new World()
  const id = world.newId()
  world.says('REQ', [id, 0], { port: LISTENS, qpn: 0x300, psn: 10 })
  const first = rep.read(world.heard('REP')!, 0)
  const others: Record<string, number>[] = [
    { qpn: 0x301 },
    { psn: 99 },
    { mtu: 1 },
    { port: LISTENS + 1 },
    { mtu: 15 },
  ]
  for (const fields of others) world.says('REQ', [id, 0], { port: LISTENS, qpn: 0x300, psn: 10, ...fields })
  t.equal(world.apps.length, 1)
  world.says('RTU', [id, first.localCommId])
  t.same(world.apps[0]!.log, ['created', 'established'])
  for (const fields of others) world.says('REQ', [id, 0], { port: LISTENS, qpn: 0x300, psn: 10, ...fields })
  t.equal(world.apps.length, 1)
  t.equal(world.apps[0]!.closed, 0)
  world.serves(t, 'twice')
  world.ends(t, 'twice')
})

t.test('MRAs without end hold a connection no longer than its REPs may wait', async t => {
  const world = new World()
  const id = world.newId()
  world.says('REQ', [id, 0], { port: LISTENS, qpn: 0x300, timeout: 31 })
  const { localCommId } = rep.read(world.heard('REP')!, 0)
  for (let n = 0; n < 1000; n++) {
    world.says('MRA', [id, localCommId], { of: 1, service: 31 })
    world.says('MRA', [id, 0], { of: 0, service: 31 })
    world.says('MRA', [id, localCommId], { of: n % 4, service: n & 31 })
  }
  world.serves(t, 'MRAs')
  world.ends(t, 'MRAs')
})

/** Answers to a request of `a`'s own. */
const ANSWERS: [what: string, fields: Record<string, number>, end: string][] = [
  ['queue pair 0', { qpn: 0 }, 'refused'],
  ['queue pair 1', { qpn: 1 }, 'refused'],
  ['the last queue pair and PSN', { qpn: 0xffffff, psn: 0xffffff }, 'taken'],
  ['READs without end', { rr: 255, id: 255 }, 'refused'],
  ['no READs', { rr: 0, id: 0 }, 'taken'],
  ['a delay of hours', { ack: 31, rnr: 0 }, 'taken'],
]

for (const [what, fields, end] of ANSWERS)
  t.test(`an answer with ${what}, twice, then another one`, async t => {
    const world = new World()
    const app = new App(world.pair.a)
    world.pair.a.connect(world.pair.network.now, LIAR, 7900, app)
    world.run(1_000_000)
    const asked = req.read(world.heard('REQ')!, 0)
    const id = world.newId()
    const words = new Uint8Array(196).fill(0xff)
    world.says('MRA', [id, asked.localCommId], { of: 0, service: 31 })
    for (let n = 0; n < 2; n++) world.says('REP', [id, asked.localCommId], { qpn: 0x300, ...fields }, words)
    world.says('REP', [id, asked.localCommId], { qpn: 0x444, psn: 77 })
    world.says('REP', [id + 1, asked.localCommId], { qpn: 0x555, psn: 78 })
    world.newId()
    if (end === 'taken') {
      t.ok(app.log.includes('established'))
      const region = memoryOf(world.pair.a, Buffer.alloc(3000))
      world.said.length = 0
      const work = { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 3000 }
      t.ok(app.connection!.postSend(world.pair.network.now, work))
      world.run(1_000_000)
      const sent = world.said.filter(({ opcode }) => opcode <= Opcode.RC_SEND_ONLY)
      t.equal(sent[0]?.qpn, fields.qpn ?? 0x300)
      t.equal(sent[0]?.psn, fields.psn ?? 600)
      t.equal(app.closed, 0)
      app.connection!.disconnect(world.pair.network.now)
    } else {
      t.ok(world.heard('REJ'), 'it is told')
      t.equal(app.closed, 1)
      t.equal(messages.remoteCommId(world.heard('REJ')!, 0), id)
    }
    world.serves(t, what)
    world.ends(t, what)
    t.equal(app.closed, 1)
  })

t.test('packets that come before the answer, marked or not, are answered or dropped', async t => {
  const world = new World()
  const app = new App(world.pair.a)
  world.pair.a.connect(world.pair.network.now, LIAR, 7900, app)
  world.run(1_000_000)
  const asked = req.read(world.heard('REQ')!, 0)
  for (let opcode = Opcode.CNP; opcode <= 0xff; opcode++)
    for (const isMarked of [false, true]) world.sends(opcode, asked.localQpn, 1, isMarked)
  t.ok(
    world.said.some(({ name }) => name === 'NOTIFY'),
    'a probe is answered',
  )
  const id = world.newId()
  world.says('REP', [id, asked.localCommId], { qpn: 0x300 })
  t.ok(app.log.includes('established'))
  app.connection!.disconnect(world.pair.network.now)
  world.serves(t, 'before the answer')
  world.ends(t, 'before the answer')
})
