/** A defect that shows in the work of one connection ends that connection, not the NIC; and what the assertions see. */
import t from 'tap'
import type { CongestionControl } from '../../lib/cc/congestion-control.js'
import { assert } from '../../lib/errors.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { CongestionModule } from '../../lib/nic/feedback/congestion-module.js'
import { newConnectionStats } from '../../lib/nic/feedback/connection-stats.js'
import type { Flow } from '../../lib/nic/flow/flow.js'
import type { Nic } from '../../lib/nic/nic.js'
import { settingsOf } from '../../lib/qp/context/config.js'
import { QpContext } from '../../lib/qp/context/context.js'
import { MemoryTable } from '../../lib/qp/memory/memory.js'
import type { QueuePair } from '../../lib/qp/queue-pair.js'
import { CompletionQueue } from '../../lib/qp/queues/completion-queue.js'
import { ReorderBuffer, ReorderPool } from '../../lib/qp/queues/reorder-buffer.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { Outbound } from '../../lib/qp/recovery/outbound.js'
import { EgressQueue } from '../../switch-emu/core/queueing/egress-queue.js'
import { SharedBuffer } from '../../switch-emu/core/queueing/shared-buffer.js'
import { App, connected, makePair, type Pair, PORT, refusal } from './pair.js'
import { clean, completions, post } from './refusals.js'

/** Where the defect is: in what the queue pair does with a packet, with its turn to send, or with its deadline. */
const PLACES = ['onPacket', 'pollTransmit', 'onTimeout'] as const

const flowsOf = (nic: Nic): Flow[] => nic.table.flows.filter(flow => flow !== null)

/** The queue pair fails an assertion when next called there, and ever after. */
function breakAt(qp: QueuePair, place: (typeof PLACES)[number]): void {
  qp[place] = () => assert(false, 'broken by the test') as never
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
    // An answer that does not come makes a deadline pass.
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
  Object.defineProperty(flow.peer, 'takesRuns', { get: () => assert(false, 'broken by the test') })
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
  qp.modify = () => assert(false, 'broken once more') as never
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

  const buffer = new SharedBuffer(1000, 2)
  buffer.update(0, 0, 1, 900)
  fails(() => buffer.update(0, 0, 1, 200), 'more admitted than it has')
  fails(() => buffer.remove(0, 1, 1, 100), 'more removed than admitted')

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
    const module = new CongestionModule(newConnectionStats(), { pathMtu: 1024 }, 1e9, follower)
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
    const context = new QpContext(settingsOf(config), NOBODY)
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
