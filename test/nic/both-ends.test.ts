/** Connections between two NICs of one program: made and freed without packets. */
import t from 'tap'
import { WeirError } from '../../lib/errors.js'
import { introduce, NearVerbs, part } from '../../lib/nic/both-ends.js'
import type { NicConfig } from '../../lib/nic/config.js'
import type { NicConnection } from '../../lib/nic/connect/nic-connection.js'
import type { Connection, ConnectionHandler, ConnectOptions } from '../../lib/nic/types.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import { App, connected, makePair, memoryOf, type Pair, PORT, pattern } from './pair.js'

const T_NS = 5000

/** Two ends that know T, so that nothing is measured. */
function pairThatKnowsT(): Pair {
  return makePair({ a: { baseRttNs: T_NS }, b: { baseRttNs: T_NS } })
}

function introduced(pair: Pair, now = pair.network.now) {
  const left = new App(pair.a)
  const right = new App(pair.b, Buffer.from('words of b'))
  pair.b.listen(PORT, { accept: () => right })
  pair.a.connect(now, pair.b.address, PORT, left, { privateData: Buffer.from('words of a') })
  introduce(now, pair.a, pair.b, 1234)
  return { left, right }
}

const flowOf = (app: App) => (app.connection as NicConnection).flow

t.test('two NICs agree without a packet on what they agree on with packets', async t => {
  const pair = pairThatKnowsT()
  const { left, right } = introduced(pair)
  t.same(left.log, ['created', 'established'])
  t.same(right.log, ['created', 'established'])
  const byPackets = connected(pairThatKnowsT())
  for (const [one, other] of [
    [left, byPackets.left],
    [right, byPackets.right],
  ] as const) {
    const { rttNs, ...stats } = one.connection!.stats
    const { rttNs: _, ...expected } = other.connection!.stats
    t.same(stats, { ...expected, sourcePort: stats.sourcePort })
    t.equal(one.connection!.pathMtu, other.connection!.pathMtu)
    t.equal(flowOf(one).handshake.roundTripNs, 1234, 'as the network would have measured it')
    t.equal(rttNs, one === right ? 1234 : 0)
  }
  t.match(Buffer.from(left.connection!.peerPrivateData).toString('latin1'), /^words of b/)
  t.same(pair.passed, [])
  pair.settle()
  t.same(pair.passed, [], 'nothing is owed afterwards')

  const bytes = pattern(1, 5000)
  const sent = memoryOf(pair.a, bytes)
  const work = { id: 7, opcode: WorkOpcode.SEND, region: sent, offset: 0, length: 5000 }
  t.ok(left.connection!.postSend(pair.network.now, work))
  t.ok(pair.until(() => left.log.includes('completion 7 SUCCESS')))
  t.ok(right.log.includes(`received ${bytes.toString('latin1')}`))
})

t.test('datagrams to others stay where they are', async t => {
  const pair = pairThatKnowsT()
  pair.a.connect(pair.network.now, HostAddress.parse('10.0.0.9'), PORT, new App(pair.a))
  pair.a.connect(pair.network.now, HostAddress.parse('10.0.0.8'), PORT, new App(pair.a))
  const { left } = introduced(pair)
  t.ok(left.log.includes('established'))
  const destinations: string[] = []
  pair.tap.watch = frame => {
    destinations.push(HostAddress.fromIpv4(ipv4.destination(frame.view, frame.l3)).toString())
    return false
  }
  pair.kick()
  pair.network.runUntil(pair.network.now + 10_000)
  t.same(destinations, ['10.0.0.9', '10.0.0.8'])
})

t.test('a refusal reaches the active side without a packet', async t => {
  const pair = makePair()
  const left = new App(pair.a)
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  introduce(pair.network.now, pair.a, pair.b, 0)
  t.equal(left.error?.code, 'WEIR_REJECTED')
  t.same(pair.passed, [])
})

t.test('both ends are freed once nothing of the connection is on its way', async t => {
  const pair = pairThatKnowsT()
  const { left, right } = introduced(pair)
  const { a, b, network } = pair
  const flow = flowOf(left)
  const region = memoryOf(a, pattern(2, 3000))
  left.connection!.postSend(network.now, { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 3000 })
  t.notOk(part(network.now, a, b, flow), 'it has work')
  t.ok(pair.until(() => right.log.some(line => line.startsWith('received'))))
  t.notOk(part(network.now, a, b, flow), 'the acknowledgement is on its way')
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.notOk(part(network.now, a, b, flow), 'N counts the flow for two round trips')
  network.runUntil(network.now + 10 * T_NS)
  const passed = pair.passed.length
  // The receiver looks for flows whose time is over as packets come.
  const another = introducedToo(pair)
  another.connection!.postSend(network.now, { id: 2, opcode: WorkOpcode.SEND, region, offset: 0, length: 1 })
  t.ok(pair.until(() => another.log.includes('completion 2 SUCCESS')))
  t.ok(part(network.now, a, b, flow))
  t.equal(a.table.find(flow.qpn), null)
  t.equal(a.table.count, 1)
  t.equal(b.table.count, 1)
  t.same([left.closed, right.closed], [1, 1])
  t.equal(left.error, null)
  t.notOk(part(network.now, a, b, flow), 'once')
  pair.settle()
  t.ok(
    pair.passed.slice(passed).every(name => /SEND_ONLY|ACKNOWLEDGE/.test(name)),
    `${pair.passed}`,
  )
  t.equal(pair.pool.inUse, 0)
})

/** Another connection, to the listener that is there. */
function introducedToo(pair: Pair): App {
  const left = new App(pair.a)
  pair.b.unlisten(PORT)
  pair.b.listen(PORT, { accept: () => new App(pair.b) })
  pair.a.connect(pair.network.now, pair.b.address, PORT, left)
  introduce(pair.network.now, pair.a, pair.b, 0)
  return left
}

t.test('a connection that has lost a packet is not freed: what is on its way is not known', async t => {
  const pair = pairThatKnowsT()
  const { left } = introduced(pair)
  const { a, b, network } = pair
  let dropped = false
  const watch = pair.tap.watch
  pair.tap.watch = (frame, now, fromA) => {
    const passes = dropped || !fromA
    dropped = true
    return passes && watch(frame, now, fromA)
  }
  const region = memoryOf(a, pattern(3, 100))
  left.connection!.postSend(network.now, { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 100 })
  t.ok(pair.until(() => left.log.includes('completion 1 SUCCESS')))
  t.ok(dropped)
  pair.settle()
  t.notOk(part(network.now, a, b, flowOf(left)))
  t.equal(a.table.count, 1)
})

// ---- Without messages

/** What takes the most words. */
const AT_LENGTH: Partial<NicConfig> = {
  cc: { name: 'dcqcn', options: {} },
  ackEveryPackets: 20_000,
  packetBytesMax: 1500,
  carriesAcks: true,
  withoutIcrc: true,
}

/** What two hosts may differ in that they speak of at connect. */
const DIFFERENCES: readonly {
  a?: Partial<NicConfig>
  b?: Partial<NicConfig>
  v6?: boolean
  connect?: ConnectOptions
}[] = [
  {},
  { v6: true },
  { a: { pathMtu: 4096 }, b: { pathMtu: 256 } },
  { a: { recovery: 'goBackN' } },
  { b: { recovery: 'goBackN', takesRuns: false } },
  { a: { ackEveryPackets: 1 }, b: { ackEveryPackets: 16 } },
  { a: { receiveBudgetBytes: 100_000 }, b: { receiveBudgetBytes: 30_000 } },
  { a: { receiveBudgetBytes: 50e6 }, b: { receiveBudgetBytes: 20e6 } },
  // A REQ without room for the budget of the whole host.
  { a: { ...AT_LENGTH, receiveBudgetBytes: 50e6 }, b: { ...AT_LENGTH, receiveBudgetBytes: 50e6 } },
  { a: { cc: { name: 'cubic', options: {} } }, b: { seesMarks: false, seesHops: false } },
  { a: { cc: { name: 'rx-hpcc', options: {} } } },
  { connect: { cc: { name: 'fixed-window', options: {} }, priority: 5, sourcePort: 0xcafe, pathMtu: 512 } },
  { a: { retryCount: 2, rnrRetry: 3, ackTimeoutNs: 1e6 }, b: { retryCount: 5, ackTimeoutNs: 1e9 } },
  {
    a: { cm: { peerTimeoutExponentMax: 8 } },
    b: { cm: { targetAckDelayExponent: 25, responseTimeoutExponent: 3 } },
  },
  { connect: { privateData: Uint8Array.of(1, 2, 3) } },
]

/** A value that says all of itself. */
const isPlain = (value: unknown): boolean =>
  value === null || typeof value !== 'object' || value instanceof Uint8Array || Array.isArray(value)

/** What a part of a flow shows of itself: its fields and getters. The build has made the names of private fields plain: they begin with $. */
function shown(part: object): Record<string, unknown> {
  const getters = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(part)))
    .filter(([, { get }]) => get !== undefined)
    .map(([name]) => name)
  const fields = Object.keys(part).filter(name => !name.startsWith('$'))
  const values = [...getters, ...fields].map(name => [name, Reflect.get(part, name)])
  return Object.fromEntries(values.filter(([, value]) => isPlain(value)))
}

/**
 * All that an end knows. Only hosts with keys look at the words of the request again, and only who gets no answer at what had been refused
 * before; and no connection manager knows ends that have agreed without messages.
 */
function known(app: App) {
  const { peer, path, receiver, sender, handshake, ending, stats, qp, plausibility } = flowOf(app)
  const { request, reply, refusedBefore, joinedQpn, ...shaken } = shown(handshake)
  const { hostShare } = sender.congestion
  const { filledPayload, withoutIcrc, carriesAcks } = peer
  const ways = { filledPayload, withoutIcrc, carriesAcks }
  const parts = {
    peer,
    ...ways,
    path,
    receiver,
    ending,
    stats,
    plausibility,
    hostShare,
    telemetry: sender.telemetry,
  }
  const all = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, shown(part)]))
  return { ...all, handshake: shaken, qp: shown(qp), log: app.log }
}

function joined(pair: Pair, connect?: ConnectOptions) {
  const left = new App(pair.a)
  const right = new App(pair.b, Buffer.from('words of b'))
  pair.b.listen(PORT, { accept: () => right })
  new NearVerbs(pair.a, pair.b, 1234).connect(pair.network.now, pair.b.address, PORT, left, connect)
  return { left, right }
}

t.test('two NICs agree without messages on what they agree on by messages', async t => {
  for (const { connect, ...difference } of DIFFERENCES) {
    const options = {
      ...difference,
      a: { baseRttNs: T_NS, ...difference.a },
      b: { baseRttNs: T_NS, ...difference.b },
    }
    const [one, other] = [makePair(options), makePair(options)]
    const near = joined(one, connect)
    const left = new App(other.a)
    const right = new App(other.b, Buffer.from('words of b'))
    other.b.listen(PORT, { accept: () => right })
    other.a.connect(other.network.now, other.b.address, PORT, left, connect)
    introduce(other.network.now, other.a, other.b, 1234)
    const name = JSON.stringify({ ...difference, connect })
    t.same(near.left.log, ['created', 'established'], name)
    t.same(known(near.left), known(left), name)
    t.same(known(near.right), known(right), name)
    t.equal(one.a.counters.cm.sent + one.b.counters.cm.sent, 0, 'no message was written')
    for (const [pair, app] of [
      [one, near.left],
      [other, left],
    ] as const)
      app.connection!.disconnect(pair.network.now)
    one.settle()
    other.settle()
    t.ok(one.passed.includes('>DREQ') && one.passed.includes('<DREP'), `${name}: they part by messages`)
    t.same(one.passed, other.passed, name)
    t.same([near.left.log, near.right.log], [left.log, right.log], name)
  }
})

t.test('the passive end of a connection without messages leaves by one', async t => {
  const pair = pairThatKnowsT()
  const { left, right } = joined(pair)
  right.connection!.disconnect(pair.network.now)
  pair.settle()
  t.same(pair.passed, ['<DREQ', '>DREP'])
  t.same([left.closed, right.closed], [1, 1])
  t.same([left.error, right.error], [null, null])
  t.equal(pair.a.table.count + pair.b.table.count, 0)
})

t.test(
  'ends of a connection without messages leave in the middle of work as those of one with messages',
  async t => {
    const leave = (make: (pair: Pair) => ReturnType<typeof joined>, leavers: string, afterNs: number) => {
      const pair = pairThatKnowsT()
      const { left, right } = make(pair)
      pair.settle()
      const region = memoryOf(pair.a, pattern(2, 8000))
      for (let id = 1; id < 8; id++) {
        const work = { id, opcode: WorkOpcode.SEND, region, offset: 0, length: 8000 }
        left.connection!.postSend(pair.network.now, work)
      }
      pair.kick()
      pair.network.runUntil(pair.network.now + afterNs)
      if (leavers !== 'right') left.connection!.disconnect(pair.network.now)
      if (leavers !== 'left') right.connection!.disconnect(pair.network.now)
      pair.settle()
      const held = [pair.a.table.count, pair.b.table.count, pair.pool.inUse]
      return [left.log, right.log, left.error, right.error, pair.passed, held]
    }
    for (const leavers of ['left', 'right', 'both'])
      for (const afterNs of [0, 500, 3000, 20_000, 100_000]) {
        const found = leave(pair => joined(pair), leavers, afterNs)
        t.same(found, leave(introduced, leavers, afterNs), `${leavers} after ${afterNs} ns`)
        t.same(found.at(-1), [0, 0, 0])
      }
  },
)

t.test('without room at a connection manager nobody hears of an end that leaves', async t => {
  for (const leaver of ['left', 'right'] as const) {
    const cm = { connectionsMax: 1, pendingRequestsMax: 1 }
    const pair = makePair({ a: { baseRttNs: T_NS, cm }, b: { baseRttNs: T_NS } })
    const byPackets = connected(pair)
    pair.b.unlisten(PORT)
    const { left, right } = joined(pair)
    pair.passed.length = 0
    const [leaving, staying] = leaver === 'left' ? [left, right] : [right, left]
    leaving.connection!.disconnect(pair.network.now)
    t.equal(leaving.closed, 0, 'it waits for an answer')
    pair.settle()
    t.same([leaving.closed, leaving.error, staying.closed], [1, null, 0])
    staying.connection!.disconnect(pair.network.now)
    pair.settle()
    t.same([staying.closed, staying.error], [1, null])
    t.same(pair.passed, [])
    t.equal(byPackets.left.closed, 0, 'the connection that had the room is there')
    byPackets.left.connection!.disconnect(pair.network.now)
    pair.settle()
    t.equal(pair.a.table.count + pair.b.table.count, 0)
  }
})

t.test('an end of a connection without messages that must not do another thing tells its peer', async t => {
  for (const broken of ['left', 'right'] as const) {
    const ends = { defects: 'end', baseRttNs: T_NS } as const
    const pair = makePair({ a: ends, b: ends })
    const made = joined(pair)
    const [other, nic] = broken === 'left' ? [made.right, pair.b] : [made.left, pair.a]
    const fail = () => {
      throw new Error('broken by the test')
    }
    Object.assign(flowOf(made[broken]).qp, { onPacket: fail, modify: fail })
    const work = {
      id: 1,
      opcode: WorkOpcode.SEND,
      region: memoryOf(nic, pattern(2, 100)),
      offset: 0,
      length: 100,
    }
    other.connection!.postSend(pair.network.now, work)
    pair.settle()
    t.same([made.left.closed, made.right.closed], [1, 1], broken)
    t.match(made[broken].error, { code: 'WEIR_INTERNAL', message: 'broken by the test' })
    t.match(other.error, { code: 'WEIR_CONNECTION_LOST', message: /broken by the test/ })
    t.same(
      pair.passed.filter(name => /DRE[QP]/.test(name)),
      broken === 'left' ? ['>DREQ', '<DREP'] : ['<DREQ', '>DREP'],
    )
    t.equal(pair.a.table.count + pair.b.table.count, 0)
  }
})

t.test('where T is given, the passive end has a controller once it sends', async t => {
  const pair = pairThatKnowsT()
  const { right } = joined(pair)
  const { stats } = right.connection!
  t.match(stats, { controller: '', baseRttNs: T_NS })
  const region = memoryOf(pair.b, pattern(4, 3000))
  right.connection!.postSend(pair.network.now, {
    id: 1,
    opcode: WorkOpcode.SEND,
    region,
    offset: 0,
    length: 3000,
  })
  t.match(stats, { controller: 'hpcc', baseRttNs: T_NS })
  t.ok(pair.until(() => right.log.includes('completion 1 SUCCESS')))
})

t.test('where messages have to be written, they are handed over', async t => {
  const secret = new Uint8Array(32).fill(7)
  const pair = makePair({ a: { secret, baseRttNs: T_NS }, b: { secret, baseRttNs: T_NS } })
  const { left, right } = joined(pair)
  t.same(
    [left.log, right.log],
    [
      ['created', 'established'],
      ['created', 'established'],
    ],
  )
  t.ok(pair.a.counters.cm.sent > 0)
  t.not(flowOf(left).peer.guard, null, 'both have proved that they have the key')
  t.same(pair.passed, [])

  const nobody = makePair()
  const refused = new App(nobody.a)
  new NearVerbs(nobody.a, nobody.b, 0).connect(nobody.network.now, nobody.b.address, PORT, refused)
  t.equal(refused.error?.code, 'WEIR_REJECTED')
})

t.test('a listener that refuses, and a handler that leaves, leave nothing behind', async t => {
  const refusing = pairThatKnowsT()
  const refused = new App(refusing.a)
  refusing.b.listen(PORT, {
    accept: () => {
      throw new WeirError('WEIR_FULL', 'no more today')
    },
  })
  new NearVerbs(refusing.a, refusing.b, 0).connect(refusing.network.now, refusing.b.address, PORT, refused)
  t.equal(refused.error?.code, 'WEIR_FULL')
  t.match(refused.error?.message, /refused the connection: no more today/)
  t.equal(refused.closed, 1)
  t.same([refusing.a.table.count, refusing.b.table.count], [0, 0])

  const pair = pairThatKnowsT()
  const left = new App(pair.a)
  const right = new App(pair.b)
  pair.b.listen(PORT, {
    accept: () => ({
      onCreated: (now, connection) => connection.disconnect(now),
      onEstablished: () => right.log.push('established'),
      onCompletion: () => {},
      onClosed: () => right.log.push('closed'),
    }),
  })
  new NearVerbs(pair.a, pair.b, 0).connect(pair.network.now, pair.b.address, PORT, left)
  t.equal(left.error?.code, 'WEIR_REJECTED')
  t.same(right.log, ['closed'])
  t.same([pair.a.table.count, pair.b.table.count], [0, 0])
  pair.settle()
  t.same(pair.passed, [])
})

t.test('who leaves in a handler of the active end is not established afterwards', async t => {
  const early = pairThatKnowsT()
  const left = new App(early.a)
  const { onCreated } = left
  left.onCreated = (now, connection) => {
    onCreated.call(left, now, connection)
    connection.disconnect(now)
  }
  early.b.listen(PORT, { accept: () => t.fail('nobody asks') as never })
  new NearVerbs(early.a, early.b, 0).connect(early.network.now, early.b.address, PORT, left)
  t.same(left.log, ['created', 'closed'])
  t.equal(early.a.table.count + early.b.table.count, 0)

  const late = pairThatKnowsT()
  const active = new App(late.a)
  const passive = new App(late.b)
  active.onReady = now => passive.connection!.disconnect(now)
  late.b.listen(PORT, { accept: () => passive })
  new NearVerbs(late.a, late.b, 0).connect(late.network.now, late.b.address, PORT, active)
  late.settle()
  t.same(active.log, ['created', 'established', 'closed'])
  t.same(passive.log, ['created', 'closed'])
  t.equal(late.a.table.count + late.b.table.count, 0)
})

/** Two connections, one after the other, of which only the second is whole: `broken` throws when it hears that the first is established. */
function withBroken(broken: 'left' | 'right', connect: (pair: Pair, left: App) => void) {
  const ends = { defects: 'end', baseRttNs: T_NS } as const
  const pair = makePair({ a: ends, b: ends })
  const made = [0, 1].map(n => {
    const [left, right] = [new App(pair.a), new App(pair.b)]
    if (n === 0)
      ({ left, right })[broken].onReady = () => {
        throw new Error('broken by the test')
      }
    pair.b.unlisten(PORT)
    pair.b.listen(PORT, { accept: () => right })
    connect(pair, left)
    return { left, right }
  })
  pair.settle()
  const logs = made.map(({ left, right }) => [left.log, right.log, left.error?.message, right.error?.message])
  const { a, b } = pair
  return { logs, left: [a.table.count, b.table.count], defects: [a.counters.defects, b.counters.defects] }
}

t.test('an end that fails as it is established: both hear it, as by packets', async t => {
  for (const broken of ['left', 'right'] as const) {
    const near = withBroken(broken, ({ a, b, network }, left) =>
      new NearVerbs(a, b, 0).connect(network.now, b.address, PORT, left),
    )
    const byPackets = withBroken(broken, ({ a, b, network, until }, left) => {
      a.connect(network.now, b.address, PORT, left)
      until(() => left.log.includes('established'))
    })
    t.same(near, byPackets, broken)
    for (const log of near.logs[0]!.slice(0, 2))
      t.same((log as string[]).filter(line => line.startsWith('closed')).length, 1, `${broken}: ${log}`)
    t.same(near.defects, broken === 'left' ? [1, 0] : [0, 1])
    t.same(near.left, [1, 1], 'the other connection is there')
  }
})

// ---- Connections that are like one before

/** An application's end that does nothing when its connection is created, and so leaves it to be like another one. */
class Quiet implements ConnectionHandler {
  readonly log: string[] = []
  readonly words: Uint8Array | undefined
  connection: Connection | null = null

  constructor(words?: Uint8Array) {
    this.words = words
  }

  acceptData(): Uint8Array {
    return this.words ?? new Uint8Array(0)
  }

  onEstablished(_now: number, connection: Connection): void {
    this.connection = connection
    this.log.push('established')
  }

  onCompletion(): void {
    this.log.push('completion')
  }

  onClosed(_now: number, _connection: Connection, error: WeirError | null): void {
    this.log.push(error === null ? 'closed' : `closed ${error.code}`)
  }
}

/** The same, but for a handler that may do something then. */
class Busy extends Quiet {
  onCreated(): void {}
}

/** Whatever of the hosts is not of the flow. */
const OF_HOSTS = new Set([
  'handler',
  '$owner',
  'memory',
  'reorderPool',
  '$pool',
  'readRoom',
  'domain',
  'isSettled',
])

/** The way to the first value in which two objects differ, with all that they are made of; '' = they are alike. */
function firstDifference(one: unknown, other: unknown, way: string, seen: Set<unknown>): string {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null)
    return typeof one === 'function' || Object.is(one, other)
      ? ''
      : `${way}: ${String(one)}, ${String(other)}`
  if (seen.has(one)) return ''
  seen.add(one)
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return `${way}: of two classes`
  if (ArrayBuffer.isView(one))
    return Buffer.from((one as Uint8Array).buffer).equals(Buffer.from((other as Uint8Array).buffer))
      ? ''
      : way
  const names = Object.keys(one)
  if (names.join() !== Object.keys(other).join()) return `${way}: ${names}, ${Object.keys(other)}`
  for (const name of names) {
    if (OF_HOSTS.has(name)) continue
    const found = firstDifference(Reflect.get(one, name), Reflect.get(other, name), `${way}.${name}`, seen)
    if (found !== '') return found
  }
  return ''
}

function joinedBy(pair: Pair, left: Quiet, connect: ConnectOptions | undefined, words: string) {
  const right = new Quiet(Buffer.from(words))
  pair.b.unlisten(PORT)
  pair.b.listen(PORT, { accept: () => right })
  new NearVerbs(pair.a, pair.b, 1234).connect(pair.network.now, pair.b.address, PORT, left, connect)
  return { left, right }
}

const flowIn = ({ connection }: Quiet) => (connection as NicConnection).flow

t.test('a connection like one before is as if it had been worked out', async t => {
  for (const { connect, ...difference } of DIFFERENCES) {
    const options = {
      ...difference,
      a: { baseRttNs: T_NS, ...difference.a },
      b: { baseRttNs: T_NS, ...difference.b },
    }
    const name = JSON.stringify({ ...difference, connect })
    const [one, other] = [makePair(options), makePair(options)]
    for (const pair of [one, other]) joinedBy(pair, new Quiet(), connect, 'words of b')
    const asked = connect === undefined ? undefined : { ...connect, sourcePort: 0xc0de }
    const alike = joinedBy(one, new Quiet(), asked, 'other words')
    const workedOut = joinedBy(other, new Busy(), asked, 'other words')
    t.same([alike.left.log, alike.right.log], [['established'], ['established']], name)
    t.equal(flowIn(alike.left).qp.isSettled, connect?.privateData === undefined, `${name}: it is alike`)
    t.notOk(flowIn(workedOut.left).qp.isSettled, name)
    for (const end of ['left', 'right'] as const) {
      const [alikeFlow, flow] = [flowIn(alike[end]), flowIn(workedOut[end])]
      t.equal(firstDifference(alikeFlow, flow, end, new Set()), '', name)
    }
    for (const [pair, { left }] of [
      [one, alike],
      [other, workedOut],
    ] as const) {
      const region = memoryOf(pair.a, pattern(4, 3000))
      const work = { id: 1, opcode: WorkOpcode.SEND, region, offset: 0, length: 0 }
      left.connection!.postSend(pair.network.now, work)
      left.connection!.disconnect(pair.network.now)
      pair.settle()
    }
    t.same(one.passed, other.passed, name)
    t.same([alike.left.log, alike.right.log], [workedOut.left.log, workedOut.right.log], name)
  }
})

t.test('a connection that asks for something else is worked out', async t => {
  const cc = { name: 'hpcc', options: {} }
  for (const [before, now] of [
    [{}, { pathMtu: 512 }],
    [{}, { priority: 1 }],
    [{ cc }, { cc: { name: 'dctcp', options: {} } }],
    [{}, { baseRttNs: 2 * T_NS }],
    [{}, { telemetry: { everyPackets: 4 } }],
    [{}, { paths: {} }],
    [{}, { privateData: Uint8Array.of(1) }],
  ] satisfies [ConnectOptions, ConnectOptions][]) {
    const pair = pairThatKnowsT()
    joinedBy(pair, new Quiet(), before, 'words')
    const { left } = joinedBy(pair, new Quiet(), now, 'words')
    t.notOk(flowIn(left).qp.isSettled, JSON.stringify(now))
    t.same(left.log, ['established'])
  }
})

t.test('whoever changes options in place hears that they count for connections made before', async t => {
  const cc = { name: 'hpcc', options: { eta: 0.9 } }
  const telemetry = { everyPackets: 4 }
  const pair = pairThatKnowsT()
  const { left } = joinedBy(pair, new Quiet(), { cc, telemetry }, 'words')
  for (const change of [
    () => (cc.options.eta = 0.8),
    () => (cc.options = { eta: 0.8 }),
    () => (cc.name = 'dctcp'),
    () => (telemetry.everyPackets = 1),
  ])
    t.throws(change, TypeError)
  const { left: other } = joinedBy(
    pair,
    new Quiet(),
    { cc: { ...cc, options: { eta: 0.8 } }, telemetry },
    'words',
  )
  t.same([left.log, other.log], [['established'], ['established']])
  t.notOk(flowIn(other).qp.isSettled, 'other objects ask for something else')
  const refused = { everyPackets: 0 }
  t.throws(() => joinedBy(pair, new Quiet(), { telemetry: refused }, 'words'), { code: 'WEIR_BAD_ARGUMENT' })
  t.notOk(Object.isFrozen(refused), 'what is refused may be mended')
})

t.test('options of a connection like one before are checked, and its listener may refuse it', async t => {
  const pair = pairThatKnowsT()
  joinedBy(pair, new Quiet(), undefined, 'words')
  t.throws(() => joinedBy(pair, new Quiet(), { sourcePort: 80 }, 'words'), { code: 'WEIR_BAD_ARGUMENT' })
  pair.b.unlisten(PORT)
  pair.b.listen(PORT, {
    accept: () => {
      throw new WeirError('WEIR_FULL', 'no more today')
    },
  })
  const left = new Quiet()
  new NearVerbs(pair.a, pair.b, 0).connect(pair.network.now, pair.b.address, PORT, left)
  t.same(left.log, ['closed WEIR_FULL'])
  t.same([pair.a.table.count, pair.b.table.count], [1, 1])
})

t.test('a listener whose words are too long has not accepted, as by packets', async t => {
  const tooLong = 'x'.repeat(200)
  const byPackets = makePair()
  const [active, passive] = [new Quiet(), new Quiet(Buffer.from(tooLong))]
  byPackets.b.listen(PORT, { accept: () => passive })
  byPackets.a.connect(byPackets.network.now, byPackets.b.address, PORT, active)
  introduce(byPackets.network.now, byPackets.a, byPackets.b, 0)
  t.same([active.log, passive.log], [['closed WEIR_REJECTED'], ['closed WEIR_BAD_ARGUMENT']])
  for (const before of [0, 1]) {
    const pair = pairThatKnowsT()
    for (let n = 0; n < before; n++) joinedBy(pair, new Quiet(), undefined, 'words')
    const { left, right } = joinedBy(pair, new Quiet(), undefined, tooLong)
    t.same([left.log, right.log], [active.log, passive.log], `${before} before`)
    t.same([pair.a.table.count, pair.b.table.count], [before, before])
  }
})
