/** Flows whose path may have failed: they leave it for one that is whole, stay on one that is whole, and are not led back by their peer. */
import t, { type Test } from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import type { MemoryRegion } from '../../lib/qp/memory/memory.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import { MICROSECOND } from '../../lib/time/nanos.js'
import * as mad from '../../lib/wire/cm/mad.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { Opcode } from '../../lib/wire/ib/opcode.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import * as udp from '../../lib/wire/net/udp.js'
import { preparedPort } from '../support/prepared-port.js'
import { drawnSeed } from '../support/seeds.js'
import { type App, connected, makePair, memoryOf, type Pair, type PairOptions, pattern } from './pair.js'

const BYTES = 2_000_000

/** That end of the pair begins to write so many bytes. */
function write(pair: Pair, app: App, from: MemoryRegion, to: MemoryRegion, length = BYTES, id = 2): void {
  const remote = { remoteAddress: to.address, rkey: to.key }
  const work = { opcode: WorkOpcode.RDMA_WRITE, id, region: from, offset: 0, length, ...remote }
  app.connection!.postSend(pair.network.now, work)
  pair.kick()
}

/** Whether that frame is the last one before another link fails. */
type Last = (frame: Frame, now: number, fromA: boolean, used: number) => boolean

/**
 * `a` writes BYTES to `b`. At its hundredth frame a link fails: `isDead` says which source ports lead along it, or along one of the `failures`
 * that there have been so far.
 */
function cut(
  t: Test,
  isDead: (port: number, used: number, failures: number) => boolean,
  options: PairOptions = {},
  isLast: Last = () => false,
) {
  const seed = drawnSeed(t)
  const one = { failover: true, retryCount: 2 }
  const pair = makePair({ seed, a: one, b: one, ...options })
  const { left, right } = connected(pair)
  const [atLeft, atRight] = [memoryOf(pair.a, pattern(seed, BYTES)), memoryOf(pair.b, Buffer.alloc(BYTES))]
  // Both ends have sent data, so each knows the other's port.
  write(pair, right, atRight, atLeft, 10_000, 1)
  t.ok(pair.until(() => right.log.includes('completion 1 SUCCESS')))
  let [frames, used, cutNs, backNs, failures] = [0, 0, 0, 0, 0]
  const fail = (now: number) => {
    failures++
    pair.a.linkFailed(now)
    pair.b.linkFailed(now)
    pair.kick()
  }
  pair.tap.watch = (frame, now, fromA) => {
    const port = udp.sourcePort(frame.view, frame.l4)
    const isData = fromA && bth.opcode(frame.view, frame.bth) <= Opcode.RC_RDMA_WRITE_ONLY
    if (isData && ++frames === 100) {
      used = port
      cutNs = now
      fail(now)
    }
    const lost = used !== 0 && isDead(port, used, failures)
    if (used !== 0 && !lost && isLast(frame, now, fromA, used)) fail(now)
    if (isData && !lost && used !== 0 && backNs === 0 && port !== used) backNs = now
    return !lost
  }
  write(pair, left, atLeft, atRight)
  t.ok(pair.until(() => left.log.includes('completion 2 SUCCESS') || left.closed > 0))
  t.ok(left.log.includes('completion 2 SUCCESS'), left.log.join(' '))

  t.ok(atLeft.buffer!.equals(atRight.buffer!), 'whole')
  return { pair, gapNs: backNs - cutNs, stats: left.connection!.stats }
}

t.test('a flow leaves its failed path at once, and for good', async t => {
  const { pair, gapNs, stats } = cut(t, (port, used) => port === used)
  t.equal(pair.a.counters.failover.moves, 1)
  t.equal(stats.pathMoves, 1)
  t.ok(stats.pathProbes >= 2 && stats.pathProbes <= 8, `${stats.pathProbes} probes`)
  // Two links of 1 us each way: its own path has twice the round trip of the first answer.
  t.ok(gapNs < 100 * MICROSECOND, `${gapNs} ns`)
})

t.test('where one of two paths is dead, a flow finds the other', async t => {
  for (let n = 0; n < 20; n++) {
    const { pair, gapNs } = cut(t, (port, used) => (port & 1) === (used & 1))
    t.equal(pair.a.counters.failover.moves, 1)
    // One race of 128 meets none of the live ports, and another one follows after 1 ms.
    t.ok(gapNs < 12_000 * MICROSECOND, `${gapNs} ns`)
  }
})

t.test('what was answered before a second link failed is no proof that the path is whole', async t => {
  const isAnswer = (frame: Frame) => bth.opcode(frame.view, frame.bth) === Opcode.PATH_ANSWER
  let answers = 0
  // The first failure is of another path. The second one is of the flow's own, just after the answer to its own probe has passed.
  const { pair, gapNs } = cut(
    t,
    (port, used, failures) => failures > 1 && port === used,
    {},
    (frame, _now, fromA, used) =>
      !fromA && isAnswer(frame) && udp.sourcePort(frame.view, frame.l4) === used && ++answers === 1,
  )
  t.equal(answers > 0, true, 'its own probe was answered')
  t.same(pair.a.counters.failover.notices, 2)
  t.equal(pair.a.counters.failover.moves, 1)
  t.ok(gapNs < 200 * MICROSECOND, `${gapNs} ns`)
})

t.test('notices that follow each other closely put no race off', async t => {
  const one = { failover: true, retryCount: 7 }
  const pair = makePair({ seed: drawnSeed(t), a: one, b: one })
  const { left } = connected(pair)
  const [from, to] = [memoryOf(pair.a, Buffer.alloc(BYTES)), memoryOf(pair.b, Buffer.alloc(BYTES))]
  pair.tap.watch = () => false
  write(pair, left, from, to)
  const races: number[] = []
  for (let n = 0; n < 20; n++) {
    pair.a.linkFailed(pair.network.now)
    pair.kick()
    pair.network.runUntil(pair.network.now + 500 * MICROSECOND)
    races.push(pair.a.counters.failover.races)
  }
  // Nothing is answered, and a race is over after a silence of 1 ms.
  t.ok(races.at(-1)! >= 8 && races.at(-1)! <= 11, races.join(' '))
})

t.test('handshakes leave from their usual port once links are up again', async t => {
  const pair = makePair({ a: { failover: true } })
  const to = HostAddress.parse('10.0.0.2')
  const ports = () =>
    new Set(Array.from({ length: 50 }, () => preparedPort(pair.a.headers.forManagement(to))))
  t.same([...ports()], [mad.UDP_SOURCE_PORT])
  pair.a.linkFailed(pair.network.now)
  t.ok(ports().size > 10)
  pair.a.linksMended()
  t.same([...ports()], [mad.UDP_SOURCE_PORT])
})

t.test('a flow whose path is whole stays', async t => {
  const { pair, stats } = cut(t, () => false)
  t.equal(pair.a.counters.failover.moves, 0)
  t.equal(stats.retransmittedBytes, 0)
  t.equal(pair.pool.inUse, 0)
})

t.test('a new connection finds the live one of two paths, for its handshake and for its data', async t => {
  const one = { failover: true }
  // By chance all repetitions of a handshake may meet the dead path: fixed seeds.
  for (const seed of [1, 2, 3, 4]) {
    const pair = makePair({ seed, a: one, b: one })
    pair.a.linkFailed(pair.network.now)
    pair.b.linkFailed(pair.network.now)
    // Handshakes usually have an even port.
    t.equal(mad.UDP_SOURCE_PORT & 1, 0)
    pair.tap.watch = frame => (udp.sourcePort(frame.view, frame.l4) & 1) === 1
    const { left } = connected(pair)
    const [from, to] = [memoryOf(pair.a, pattern(seed, BYTES)), memoryOf(pair.b, Buffer.alloc(BYTES))]
    write(pair, left, from, to)
    t.ok(pair.until(() => left.log.includes('completion 2 SUCCESS') || left.closed > 0))
    t.ok(to.buffer!.equals(from.buffer!), left.log.join(' '))
  }
})

t.test('a host with one source port stays, and says so to nobody', async t => {
  const one = { failover: true, retryCount: 2, sourcePorts: [50_000] }
  const { pair, stats } = cut(t, () => false, { a: one, b: one })
  t.same(pair.a.counters.failover, { notices: 1, moves: 0, races: 0 })
  t.equal(stats.pathProbes, 0)
})
