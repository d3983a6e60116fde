/**
 * Frames that stay the port's (`Node.takeInPlace`): a NIC does with what it expects the same as with frames of its own, to the byte. Anything
 * else it leaves alone.
 */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { NicConfig } from '../../lib/nic/config.js'
import type { PacedPair } from '../../lib/nic/paced/paced-pair.js'
import { type RxEvents, RxPipeline } from '../../lib/nic/rx/rx-pipeline.js'
import { Scheduler } from '../../lib/nic/tx/scheduler.js'
import type { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Random } from '../../lib/sim/random.js'
import * as bth from '../../lib/wire/ib/bth.js'
import * as icrc from '../../lib/wire/ib/icrc.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as udp from '../../lib/wire/net/udp.js'
import { drawnSeed } from '../support/seeds.js'
import { type App, connected, frameName, makePair, memoryOf, type Pair, pattern } from './pair.js'

const seed = drawnSeed(t)

/** As daemons, in virtual time. */
const END: Partial<NicConfig> = {
  carriesAcks: true,
  cc: { name: 'auto', options: {} },
  start: 'careful',
  ackEveryPackets: 16,
  baseRttNs: 10_000,
  ackTimeoutNs: 1_000_000,
}
const BYTES = 4096
/** How many a crowd has. */
const CONNECTIONS = 3
const OPCODES = [
  WorkOpcode.SEND,
  WorkOpcode.SEND_WITH_IMM,
  WorkOpcode.RDMA_WRITE_WITH_IMM,
  WorkOpcode.RDMA_WRITE,
  WorkOpcode.RDMA_READ,
]

interface Exchange {
  inPlace: boolean
  v6: boolean
  messages: number
  seed: number
  /** What happens to a frame on its way. False: it is lost. */
  change: (frame: Frame, random: Random) => boolean
  end?: Partial<NicConfig>
}

/** Both ends answer each message that comes by another one, or by several. Returns all that can be seen of it. */
function exchange({ inPlace, v6, messages, seed, change, end = {} }: Exchange) {
  const ends = { ...END, ...end }
  const pair = makePair({ inPlace, v6, a: ends, b: ends, seed })
  const random = new Random(seed)
  const frames: string[] = []
  const { left, right } = connected(pair)
  pair.tap.watch = (frame, now, fromA) => {
    const passes = change(frame, random)
    frames.push(`${now} ${fromA} ${passes} ${frame.bytes.toString('latin1', 0, frame.length)}`)
    return passes
  }
  const [from, to] = [memoryOf(pair.a, pattern(1, BYTES)), memoryOf(pair.b, pattern(2, BYTES))]
  let posted = 0
  const post = (app: App, now: number) => {
    const [own, peer] = app === left ? [from, to] : [to, from]
    for (let n = random.next() < 0.1 ? 4 : 1; n > 0 && posted < messages; n--) {
      const opcode = random.next() < 0.6 ? WorkOpcode.SEND : OPCODES[random.below(OPCODES.length)]!
      const length = random.next() < 0.8 ? random.below(200) : random.below(BYTES)
      const remote = { remoteAddress: peer.address, rkey: peer.key }
      const work = { id: ++posted, opcode, region: own, offset: 0, length, immediate: posted, ...remote }
      app.connection!.postSend(now, work)
    }
  }
  right.onDone = (now, _connection, { isReceive }) => isReceive && post(right, now)
  left.onDone = (now, _connection, { isReceive }) => isReceive && post(left, now)
  for (let turns = 0; posted < messages && turns < messages; turns++) {
    // The exchange has come to a stop: a READ completes nothing at its peer.
    post(turns % 2 === 0 ? left : right, pair.network.now)
    pair.settle()
  }
  left.connection!.disconnect(pair.network.now)
  pair.settle()
  t.equal(pair.pool.inUse, 0)
  const counters = [pair.a, pair.b].map(nic => JSON.stringify(nic.counters))
  const taken = pair.placed.reduce((sum, end) => sum + end.taken, 0)
  return { frames, logs: [left.log, right.log], counters, taken, posted, pair }
}

/** Whatever the frames meet, nothing differs but how they were handed over. Returns how many were taken in place. */
function expectSame(what: Omit<Exchange, 'inPlace'>): number {
  const [own, placed] = [false, true].map(inPlace => exchange({ ...what, inPlace })) as [Result, Result]
  t.equal(own.posted, what.messages)
  const differs = own.frames.findIndex((frame, i) => frame !== placed.frames[i])
  t.equal(differs, -1, `frame ${differs} of ${own.frames.length}`)
  t.same(placed.logs, own.logs)
  t.same(placed.counters, own.counters)
  t.equal(own.taken, 0)
  return placed.taken
}

type Result = ReturnType<typeof exchange>

t.test('messages and answers leave and arrive as ever', async t => {
  for (const v6 of [false, true]) {
    const taken = expectSame({ v6, messages: 500, seed, change: () => true })
    t.ok(taken > 250, `${taken} in place`)
  }
})

t.test('what is lost, late or damaged is handled as ever', async () => {
  for (let n = 0; n < 6; n++) {
    const change = (frame: Frame, random: Random) => {
      const draw = random.next()
      if (draw < 0.05) return false
      if (draw < 0.15) damage(frame, random)
      return true
    }
    expectSame({ v6: n % 2 === 1, messages: 200, seed: seed + n, change })
  }
})

/** Flips a bit behind the UDP header: most are found by a check, and some are of no meaning. */
function damage({ bytes, length, l4 }: Frame, random: Random): void {
  const from = l4 + udp.BYTES
  const at = from + random.below(length - from)
  bytes[at]! ^= 1 << random.below(8)
}

/** Changes by which a packet stays a good one, but is not what its flow expects. */
const ODD: Record<string, (frame: Frame) => void> = {
  'a CE mark': ({ view, l3 }) => ipv4.setTos(view, l3, ipv4.tos(view, l3) | ipv4.ECN_CE),
  FECN: ({ view, bth: at }) => bth.setFecn(view, at, true),
  BECN: ({ view, bth: at }) => bth.setBecn(view, at, true),
  'another source port': ({ view, l4 }) => udp.setSourcePort(view, l4, 50_000),
  'another sender': ({ view, l3 }) => ipv4.setSource(view, l3, 0x0a000063),
  'another queue pair': ({ view, bth: at }) => bth.setDestQpn(view, at, 0x123456),
  'a limited member': ({ view, bth: at }) => bth.setPartitionKey(view, at, 0x7fff),
  'another partition': ({ view, bth: at }) => bth.setPartitionKey(view, at, 0x1234),
  'another version': ({ view, bth: at }) => bth.setVersion(view, at, 1),
  'a longer pad': ({ view, bth: at }) => bth.setPadCount(view, at, 3),
  'N in the shim': ({ view, shim }) => view.setUint16(shim + 6, 7),
  'an opcode of nobody': ({ view, bth: at }) => bth.setOpcode(view, at, 0x1f),
  'an ACK': ({ view, bth: at }) => bth.setOpcode(view, at, 0x11),
}

t.test('odd packets are left to the general path', async t => {
  for (const [name, make] of Object.entries(ODD)) {
    let odd = 0
    const change = (frame: Frame, random: Random) => {
      if (random.next() > 0.1 || frame.shim < 0 || !frameName(frame).includes('ONLY')) return true
      odd++
      make(frame)
      ipv4.updateChecksum(frame.view, frame.l3)
      icrc.write(frame)
      return true
    }
    expectSame({ v6: false, messages: 100, seed, change })
    t.ok(odd > 0, name)
  }
})

t.test('with a key, with time stamps, or without ICRC', async t => {
  const secret = new Uint8Array(16).fill(3)
  t.equal(expectSame({ v6: false, messages: 100, seed, change: () => true, end: { secret } }), 0)
  const stamped = { cc: { name: 'swift', options: {} } }
  expectSame({ v6: false, messages: 100, seed, change: () => true, end: stamped })
  const bare = { withoutIcrc: true }
  t.ok(expectSame({ v6: false, messages: 100, seed, change: () => true, end: bare }) > 50)
})

t.test('an answer waits for packets of others that were to leave before it', async t => {
  const pair: Pair = makePair({ inPlace: true, a: END, b: END, seed })
  const first = connected(pair)
  pair.b.unlisten(7000)
  const second = connected(pair)
  const apps = [first.left, first.right, second.left, second.right]
  const memories = [memoryOf(pair.a, pattern(1, BYTES)), memoryOf(pair.b, pattern(2, BYTES))]
  const counts = [0, 0, 0, 0]
  for (const [i, app] of apps.entries()) {
    const work = { id: 1, opcode: WorkOpcode.SEND, region: memories[i % 2]!, offset: 0, length: 64 }
    app.onDone = (now, connection, { isReceive }) => {
      if (isReceive && ++counts[i]! <= 100) connection.postSend(now, work)
    }
    if (i % 2 === 0) app.connection!.postSend(pair.network.now, work)
  }
  pair.settle()
  t.same(counts, [100, 101, 100, 101])
  t.ok(pair.placed.every(({ taken }) => taken > 100))
})

/**
 * A hundred messages, each answered by the next one. Returns how many took the scheduler's way, and what passed.
 * @param unreliable both ends have queue pairs that nobody acknowledges
 * @param datagrams before each of its answers, the passive end posts a datagram
 */
function answers({ unreliable = false, datagrams = false }) {
  const pair: Pair = makePair({ inPlace: true, a: END, b: END, seed })
  const { left, right } = connected(pair)
  const memories = [memoryOf(pair.a, pattern(1, BYTES)), memoryOf(pair.b, pattern(2, BYTES))] as const
  const handler = { onCompletion: () => {}, onClosed: () => {} }
  const make = ({ a, b }: Pair) => {
    b.createUnreliablePair(0, a.address, handler, {})
    return [a, b].map(nic => nic.createDatagramPair(0, handler, { qkey: 1 }))
  }
  const [to, from] = unreliable ? make(pair) : []
  const address = pair.b.createAddress(pair.a.address).id
  const work = { id: 1, opcode: WorkOpcode.SEND, offset: 0, length: 64 }
  const postDatagram = (now: number, sender: PacedPair) =>
    sender.postSend(now, { ...work, region: memories[1], to: { address, qpn: to!.id, qkey: 1 } })
  let count = 0
  for (const [i, app] of [left, right].entries())
    app.onDone = (now, connection, { isReceive }) => {
      if (!isReceive || ++count > 100) return
      if (datagrams && app === right) postDatagram(now, from!)
      connection.postSend(now, { ...work, region: memories[i]! })
    }
  pair.passed.length = 0
  const { carried } = Scheduler.prototype
  let scheduled = 0
  Scheduler.prototype.carried = function (flow, now) {
    scheduled++
    carried.call(this, flow, now)
  }
  try {
    left.connection!.postSend(pair.network.now, { ...work, region: memories[0] })
    pair.settle()
  } finally {
    Scheduler.prototype.carried = carried
  }
  return { scheduled, passed: pair.passed }
}

t.test(
  'an answer leaves at once beside queue pairs of the other kinds that have nothing to send',
  async t => {
    const [alone, beside] = [answers({}), answers({ unreliable: true })]
    t.ok(alone.scheduled < 10, `${alone.scheduled} answers had a turn`)
    t.same(beside, alone)
  },
)

t.test('an answer waits for a datagram that may leave', async t => {
  const { scheduled, passed } = answers({ unreliable: true, datagrams: true })
  t.ok(scheduled > 40, `${scheduled} of 50 answers had a turn`)
  const messages = passed.filter(name => !name.endsWith('ACKNOWLEDGE'))
  for (const [i, name] of messages.entries())
    if (name === '<RC_SEND_ONLY') t.equal(messages[i - 1], '<UD_SEND_ONLY')
})

t.test('a message without payload is none by which its sender counts for N', async t => {
  const pair = makePair({ a: END, b: END, seed })
  const { left, right } = connected(pair)
  const memories = [memoryOf(pair.a, pattern(1, BYTES)), memoryOf(pair.b, pattern(2, BYTES))] as const
  const post = (app: App, opcode: WorkOpcode, length: number) => {
    const [region, { address, key }] = app === left ? memories : [memories[1], memories[0]]
    const work = { id: 1, opcode, region, offset: 0, length, remoteAddress: address, rkey: key }
    app.connection!.postSend(pair.network.now, work)
    pair.settle()
  }
  for (const app of [left, right]) post(app, WorkOpcode.SEND, 64)
  const heard: string[] = []
  const events = new Proxy({} as RxEvents, { get: (_, name) => () => heard.push(String(name)) })
  const rx = new RxPipeline(pair.b.address, pair.b.table, events, pair.b.settings)
  for (const [length, calls] of [
    [64, ['onData', 'onExpected']],
    [0, ['onExpected']],
  ] as const) {
    heard.length = 0
    let taken = false
    pair.tap.watch = (frame, now, fromA) => {
      if (!fromA || taken) return true
      frame.l3 = -1
      taken = rx.takeExpected(now, frame)
      // Lost: the requester sends it again.
      return false
    }
    post(left, WorkOpcode.RDMA_WRITE, length)
    t.ok(taken)
    t.same(heard, calls, `${length} bytes`)
  }
})

/**
 * Several connections whose handlers answer, and now and then leave, fail, make another one leave, or post on another one. Returns all that
 * can be seen of it.
 */
function crowd(inPlace: boolean, crowdSeed: number) {
  const ends = { ...END, defects: 'end', onDefect: () => {} } as const
  const pair = makePair({ inPlace, v6: crowdSeed % 2 === 1, a: ends, b: ends, seed: crowdSeed })
  const random = new Random(crowdSeed)
  const memories = [memoryOf(pair.a, pattern(1, BYTES)), memoryOf(pair.b, pattern(2, BYTES))] as const
  const sides: [App[], App[]] = [[], []]
  for (let n = 0; n < CONNECTIONS; n++) {
    const { left, right } = connected(pair)
    pair.b.unlisten(7000)
    sides[0].push(left)
    sides[1].push(right)
  }
  const frames: string[] = []
  pair.tap.watch = (frame, now, fromA) => {
    frames.push(`${now} ${fromA} ${frame.bytes.toString('latin1', 0, frame.length)}`)
    return true
  }
  let posted = 0
  const post = (app: App, region: MemoryRegion, now: number) => {
    for (let n = random.next() < 0.1 ? 5 : 1; n > 0 && app.closed === 0; n--) {
      const length = random.below(200)
      app.connection!.postSend(now, { id: ++posted, opcode: WorkOpcode.SEND, region, offset: 0, length })
    }
  }
  for (const [i, apps] of sides.entries())
    for (const app of apps)
      app.onDone = (now, connection, { isReceive }) => {
        if (app.closed > 0 || posted > 300) return
        const draw = random.next()
        const other = apps[random.below(CONNECTIONS)]!
        if (isReceive && draw > 0.05) post(draw < 0.2 ? other : app, memories[i]!, now)
        if (draw < 0.02) connection.disconnect(now)
        else if (draw < 0.03) throw new Error('the handler fails')
        else if (draw < 0.04 && other.closed === 0) other.connection!.disconnect(now)
      }
  const all = sides.flat()
  for (let turn = 0; turn < 60; turn++) {
    const side = turn % 2
    try {
      post(sides[side]![random.below(CONNECTIONS)]!, memories[side]!, pair.network.now)
    } catch {
      // It is ending.
    }
    pair.settle()
  }
  for (const { closed, connection } of all) if (closed === 0) connection!.disconnect(pair.network.now)
  pair.settle()
  t.same([pair.pool.inUse, pair.a.table.count, pair.b.table.count], [0, 0, 0])
  const counters = [pair.a, pair.b].map(nic => JSON.stringify(nic.counters))
  const seen = { frames, logs: all.map(({ log }) => log), counters }
  return { seen, taken: pair.placed.reduce((sum, end) => sum + end.taken, 0) }
}

t.test('handlers that leave, fail, or post on other connections', async t => {
  let taken = 0
  for (let n = 0; n < 10; n++) {
    const [own, placed] = [crowd(false, seed + n), crowd(true, seed + n)]
    t.ok(JSON.stringify(own.seen) === JSON.stringify(placed.seen), `seed ${seed + n}`)
    taken += placed.taken
  }
  t.ok(taken > 100, `${taken} in place`)
})
