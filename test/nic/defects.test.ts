/** A defect in the work of one connection ends that connection, not the NIC. What the assertions detect. */
import t from 'tap'
import type { CongestionControl } from '../../lib/cc/congestion-control.js'
import { ConnectionManager } from '../../lib/cm/connection-manager.js'
import { WeirError } from '../../lib/errors.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { CongestionModule } from '../../lib/nic/feedback/congestion-module.js'
import { newConnectionStats } from '../../lib/nic/feedback/connection-stats.js'
import type { Flow } from '../../lib/nic/flow/flow.js'
import type { Nic } from '../../lib/nic/nic.js'
import { QpSettings } from '../../lib/qp/context/config.js'
import { QpContext } from '../../lib/qp/context/context.js'
import { MemoryTable } from '../../lib/qp/memory/memory.js'
import type { QueuePair } from '../../lib/qp/queue-pair.js'
import { CompletionQueue } from '../../lib/qp/queues/completion-queue.js'
import { ReorderBuffer, ReorderPool } from '../../lib/qp/queues/reorder-buffer.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Outbound } from '../../lib/qp/recovery/outbound.js'
import { EgressQueue } from '../../switch-emu/core/queueing/egress-queue.js'
import { SharedBuffer } from '../../switch-emu/core/queueing/shared-buffer.js'
import { App, connected, makePair, type Pair, PORT, RECEIVES, refusal } from './pair.js'
import { clean, completions, post } from './refusals.js'

/** Where the defect is: in the queue pair's handling of a packet, in its turn to send, or in its deadline. */
const PLACES = ['onPacket', 'transmit', 'onTimeout'] as const

const flowsOf = (nic: Nic): Flow[] => nic.table.flows.filter(flow => flow !== null)

/**
 * Fails as an assertion does. By itself: without assertions a queue pair that does nothing instead would be asked for ever, at one
 * virtual time.
 */
function fail(words = 'broken by the test'): never {
  throw new WeirError('WEIR_INTERNAL', words)
}

/** The queue pair shows a defect when next called there, and ever after. */
function breakAt(qp: QueuePair, place: (typeof PLACES)[number]): void {
  qp[place] = () => fail()
}

/** Two connections from a to b. */
function twoConnections(pair: Pair): { broken: App; whole: App; qp: QueuePair } {
  const { left: broken } = connected(pair)
  const [{ qp }] = flowsOf(pair.a) as [Flow]
  const whole = new App(pair.a)
  pair.a.connect(pair.network.now, pair.b.address, PORT, whole)
  pair.until(() => whole.log.includes('established'))
  return { broken, whole, qp }
}

for (const place of PLACES) {
  t.test(`a defect in ${place} ends its connection, and the other one goes on`, async t => {
    const pair = makePair({ a: { defects: 'end' } })
    const { broken, whole, qp } = twoConnections(pair)
    breakAt(qp, place)
    // A missing answer makes a deadline pass.
    if (place === 'onTimeout') pair.tap.watch = () => false
    post(pair, broken, 1, WorkOpcode.SEND)
    t.ok(
      pair.until(() => broken.closed === 1),
      'it ends',
    )
    t.equal(broken.error?.code, 'WEIR_INTERNAL')
    t.match(broken.error?.message, 'broken by the test')
    t.ok(pair.a.counters.defects >= 1, `${pair.a.counters.defects} were counted`)
    t.equal(pair.b.counters.defects, 0)
    pair.tap.watch = () => true
    post(pair, whole, 2, WorkOpcode.SEND)
    t.ok(
      pair.until(() => completions(whole).length === 1),
      'the other one carries on',
    )
    t.same(completions(whole), ['completion 2 SUCCESS'])
    whole.connection!.disconnect(pair.network.now)
    clean(t, pair)
  })
}

t.test('a defect in a packet of Weir ends its connection, and the other one goes on', async t => {
  const pair = makePair({ a: { defects: 'end' } })
  const { broken, whole } = twoConnections(pair)
  const [flow] = flowsOf(pair.a) as [Flow]
  Object.defineProperty(flow.peer, 'takesRuns', { get: () => fail() })
  pair.a.challenge(flow)
  t.ok(
    pair.until(() => broken.closed === 1),
    'it ends',
  )
  t.match(broken.error?.message, 'broken by the test')
  post(pair, whole, 2, WorkOpcode.SEND)
  t.ok(
    pair.until(() => completions(whole).length === 1),
    'the other one carries on',
  )
  whole.connection!.disconnect(pair.network.now)
  clean(t, pair)
})

t.test('a defect that shows again in the flush keeps no connection from its end', async t => {
  const pair = makePair({ a: { defects: 'end' } })
  const { broken, whole, qp } = twoConnections(pair)
  post(pair, broken, 1, WorkOpcode.SEND)
  breakAt(qp, 'onPacket')
  qp.modify = () => fail('broken once more')
  t.ok(
    pair.until(() => broken.closed === 1),
    'it ends',
  )
  t.match(broken.error?.message, 'broken by the test')
  t.equal(pair.a.counters.defects, 2)
  whole.connection!.disconnect(pair.network.now)
  clean(t, pair)
})

t.test('a defect ends a connection too that its application has left', async t => {
  const pair = makePair({ a: { defects: 'end' } })
  const { broken, whole, qp } = twoConnections(pair)
  const deadline = pair.network.now + 1000
  qp.nextTimeout = () => deadline
  Object.defineProperty(qp, 'hasRefused', { get: () => true })
  breakAt(qp, 'onTimeout')
  broken.connection!.disconnect(pair.network.now)
  t.equal(broken.closed, 0, 'it waits')
  t.ok(
    pair.until(() => broken.closed === 1),
    'it ends',
  )
  t.equal(broken.error?.code, 'WEIR_INTERNAL')
  whole.connection!.disconnect(pair.network.now)
  clean(t, pair)
})

const HANDLERS = ['onCompletion', 'onEstablished', 'onClosed'] as const

for (const handler of HANDLERS) {
  t.test(`a defect in ${handler} of a handler ends its connection, and the other one goes on`, async t => {
    const defects: unknown[] = []
    const pair = makePair({ a: { defects: 'end', onDefect: defect => defects.push(defect) } })
    const { left: whole } = connected(pair)
    const broken = new App(pair.a)
    const heard = { completions: 0, closed: 0 }
    broken.onCompletion = () => {
      heard.completions++
      if (handler === 'onCompletion') fail()
    }
    broken.onClosed = () => {
      heard.closed++
      if (handler === 'onClosed') fail()
    }
    if (handler === 'onEstablished') broken.onReady = () => fail()
    pair.a.connect(pair.network.now, pair.b.address, PORT, broken)
    t.ok(
      pair.until(() => broken.log.includes('established')),
      'it is established',
    )
    if (handler === 'onCompletion') for (const id of [1, 2, 3]) post(pair, broken, id, WorkOpcode.SEND)
    if (handler === 'onClosed') broken.connection!.disconnect(pair.network.now)
    t.ok(
      pair.until(() => heard.closed === 1),
      'it ends',
    )
    if (handler === 'onCompletion') t.equal(heard.completions, 3 + RECEIVES, 'it heard of all its work, once')
    t.equal(pair.a.counters.defects, defects.length)
    t.ok(defects.length > 0, `${defects.length} were counted`)
    for (const defect of defects) t.match(defect, { code: 'WEIR_INTERNAL', message: 'broken by the test' })
    post(pair, whole, 2, WorkOpcode.SEND)
    t.ok(
      pair.until(() => completions(whole).length === 1),
      'the other one carries on',
    )
    whole.connection!.disconnect(pair.network.now)
    clean(t, pair)
    t.equal(heard.closed, 1)
  })
}

t.test('whoever hears of defects throws: that counts as one more, and nothing else ends', async t => {
  const heard: unknown[] = []
  const onDefect = (defect: unknown) => {
    heard.push(defect)
    throw new Error('the hearer is broken too')
  }
  const pair = makePair({ a: { defects: 'end', onDefect } })
  const { broken, whole, qp } = twoConnections(pair)
  const { onPacket } = qp
  qp.onPacket = () => {
    qp.onPacket = onPacket
    return fail()
  }
  post(pair, broken, 1, WorkOpcode.SEND)
  t.ok(
    pair.until(() => broken.closed === 1),
    'it ends',
  )
  t.match(broken.error?.message, 'broken by the test')
  t.match(heard, [{ code: 'WEIR_INTERNAL' }])
  t.equal(pair.a.counters.defects, 2)
  post(pair, whole, 2, WorkOpcode.SEND)
  t.ok(
    pair.until(() => completions(whole).length === 1),
    'the other one carries on',
  )
  whole.connection!.disconnect(pair.network.now)
  clean(t, pair)
})

/** A request of a to b, of whose handlers `taking` is the passive one. */
function request(pair: Pair, taking: App, accept = () => taking): App {
  const asking = new App(pair.a)
  pair.b.listen(PORT, { accept })
  pair.a.connect(pair.network.now, pair.b.address, PORT, asking)
  pair.settle()
  return asking
}

for (const handler of ['accept', 'onCreated', 'acceptData'] as const) {
  t.test(`a defect in ${handler} of the passive end refuses the request, and is counted`, async t => {
    const defects: unknown[] = []
    const pair = makePair({ b: { defects: 'end', onDefect: defect => defects.push(defect) } })
    const taking = new App(pair.b)
    if (handler !== 'accept') taking[handler] = () => fail()
    const asking = request(pair, taking, handler === 'accept' ? () => fail() : undefined)
    t.match(asking.error, { code: 'WEIR_REJECTED' })
    t.match(defects, [{ code: 'WEIR_INTERNAL', message: 'broken by the test' }])
    t.equal(pair.b.counters.defects, 1)
    clean(t, pair)
  })
}

t.test('a passive end that refuses a request has no defect', async t => {
  const pair = makePair({ b: { defects: 'end' } })
  const asking = request(pair, new App(pair.b), () => {
    throw new WeirError('WEIR_FULL', 'enough')
  })
  t.match(asking.error, { code: 'WEIR_FULL' })
  t.equal(pair.b.counters.defects, 0)
  clean(t, pair)
})

t.test('a defect in onCreated of the active end: connect throws it, and no connection is left', async t => {
  const pair = makePair({ a: { defects: 'end' } })
  const { left } = connected(pair)
  const broken = new App(pair.a)
  broken.onCreated = (_now, connection) => {
    broken.connection = connection
    throw new Error('broken by the test')
  }
  const connect = () => pair.a.connect(pair.network.now, pair.b.address, PORT, broken)
  t.throws(connect, { message: 'broken by the test' })
  pair.settle()
  t.same(broken.log, [])
  t.equal(flowsOf(pair.a).length, 1)
  t.equal(flowsOf(pair.b).length, 1)
  t.equal(broken.connection!.established, false)
  left.connection!.disconnect(pair.network.now)
  clean(t, pair)
})

/** Methods of the connection manager in which a defect shows, and what their caller is doing. */
const MANAGER_PLACES = [
  ['onMad', 'a datagram'],
  ['pollTransmit', 'a datagram that leaves'],
  ['onTimeout', 'a deadline'],
] as const

/** A connection from a to b, and the connection manager of a. */
function managed(pair: Pair): { whole: App; manager: ConnectionManager } {
  const { prototype } = ConnectionManager
  const { connect } = prototype
  let manager: ConnectionManager | null = null
  prototype.connect = function (...args) {
    manager = this
    return connect.apply(this, args)
  }
  try {
    const { left: whole } = connected(pair)
    return { whole, manager: manager! }
  } finally {
    prototype.connect = connect
  }
}

for (const [place, what] of MANAGER_PLACES) {
  t.test(
    `a defect of the connection manager at ${what}: connections go on, and new ones are made`,
    async t => {
      const pair = makePair({ a: { defects: 'end' } })
      const { whole, manager } = managed(pair)
      let failures = 0
      manager[place] = () => {
        delete (manager as Partial<ConnectionManager>)[place]
        failures++
        return fail()
      }
      const asking = new App(pair.a)
      pair.a.connect(pair.network.now, pair.b.address, PORT, asking)
      // Without an answer a deadline passes.
      if (place === 'onTimeout') pair.tap.watch = () => failures > 0
      const ended = () => asking.closed === 1 || asking.log.includes('established')
      t.ok(pair.until(ended), 'the request ends, or is repeated and succeeds')
      t.equal(failures, 1)
      t.equal(pair.a.counters.defects, 1)
      if (place === 'onTimeout') t.match(asking.error, { code: 'WEIR_INTERNAL' })
      post(pair, whole, 2, WorkOpcode.SEND)
      t.ok(
        pair.until(() => completions(whole).length === 1),
        'the other connection carries on',
      )
      const later = new App(pair.a)
      pair.a.connect(pair.network.now, pair.b.address, PORT, later)
      t.ok(
        pair.until(() => later.log.includes('established')),
        'a new one is made',
      )
      for (const app of [whole, later, asking]) app.connection?.disconnect(pair.network.now)
      clean(t, pair)
    },
  )
}

t.test('a defect that shows in a frame of no connection drops the frame', async t => {
  const pair = makePair({ b: { defects: 'end' } })
  const { left } = connected(pair)
  const find = pair.b.table.find
  pair.b.table.find = () => {
    pair.b.table.find = find
    return fail()
  }
  post(pair, left, 1, WorkOpcode.SEND)
  t.ok(
    pair.until(() => completions(left).length === 1),
    'the packet is retransmitted',
  )
  t.same(completions(left), ['completion 1 SUCCESS'])
  t.equal(pair.b.counters.defects, 1)
  left.connection!.disconnect(pair.network.now)
  clean(t, pair)
})

t.test('by default a defect stops whoever drives the NIC', async t => {
  const pair = makePair()
  const { left } = connected(pair)
  breakAt(flowsOf(pair.a)[0]!.qp, 'onPacket')
  const run = () => {
    post(pair, left, 1, WorkOpcode.SEND)
    pair.settle()
  }
  t.match(refusal(run, 'WEIR_INTERNAL'), 'broken by the test')
})

t.test('assertions: what each sees', async t => {
  const pool = new FramePool(4, 512)
  const frame = () => {
    const taken = pool.take()!
    taken.length = taken.wireLength = 100
    return taken
  }
  const fails = (call: () => unknown, what: string) => t.match(refusal(call, 'WEIR_INTERNAL'), what)

  const queue = new EgressQueue(1000, 4)
  const given = frame()
  pool.give(given)
  fails(() => queue.push(given), 'nobody owns')
  const grown = frame()
  queue.push(grown)
  grown.wireLength = 101
  fails(() => queue.shift(), 'not those of its frames')

  const buffer = new SharedBuffer(1000)
  buffer.update(900)
  fails(() => buffer.remove(901), 'more removed than admitted')
  fails(() => buffer.update(1002), 'more admitted than it has')

  const kept = new ReorderBuffer(new ReorderPool(4, 512), 4, 8)
  kept.put(10, grown)
  fails(() => kept.check(11), 'whose turn has passed')
  fails(() => kept.put(10, grown), 'in the place of another')
  fails(() => kept.check(2), 'more is kept than it may')

  for (const [window, rate] of [
    [Number.NaN, 1e9],
    [0, 1e9],
    [1000, Number.NaN],
  ]) {
    const control = {
      name: 'broken',
      windowBytes: () => window,
      rateBps: () => rate,
      observed: [],
      observe() {},
    }
    const follower = { onWindow() {}, onBaseRtt() {} }
    const module = new CongestionModule(newConnectionStats(), { payloadMax: 1024 }, 1e9, follower)
    module.attach({ baseRttNs: 0 } as QueuePair)
    fails(() => module.begin(control as unknown as CongestionControl, 1000), 'lets nothing out')
  }
})

const NOBODY = {
  onAcked() {},
  onRetransmit() {},
  onSpurious() {},
  onAnswersTaken() {},
  onUnanswered: () => false,
  onError() {},
}

t.test('assertions: a requester that has lost count of its PSNs', async t => {
  const config = {
    qpn: 2,
    sendCq: new CompletionQueue(16),
    receiveCq: new CompletionQueue(16),
    memory: new MemoryTable(16, () => 1),
    reorderPool: new ReorderPool(4, 512),
    initiatorDepth: 4,
  }
  for (const [field, what] of [
    ['sendSeq', 'outside of what was sent'],
    ['sndNxt', 'outside of what was sent'],
    ['inFlightBytes', 'without packets'],
    ['responsesAwaited', 'than were granted'],
  ] as const) {
    const context = new QpContext(new QpSettings(config), NOBODY)
    const outbound = new Outbound(context)
    outbound.start(100)
    outbound.check()
    outbound[field] -= 1
    t.match(
      refusal(() => outbound.check(), 'WEIR_INTERNAL'),
      what,
      field,
    )
  }
})
