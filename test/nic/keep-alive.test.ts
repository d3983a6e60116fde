/** A peer that says nothing more is noticed within the keep-alive time, also by a connection that has nothing to do. */
import t from 'tap'
import type { Frame } from '../../lib/frame/frame.js'
import { SECOND } from '../../lib/time/nanos.js'
import * as bth from '../../lib/wire/ib/bth.js'
import { takeWordsOut } from '../support/plain-peer.js'
import { intoCnp } from './into-cnp.js'
import { App, connected, frameName, makePair, type Pair, type PairOptions, PORT } from './pair.js'

const KEEP = { keepAliveNs: 10 * SECOND }

/** An idle connection; packets of those ends are lost from `at` on. When each end is gone, 0 = it lives. */
function idle(options: PairOptions, silent: { a?: boolean; b?: boolean }, plain = false) {
  const pair = makePair(options)
  let questions = 0
  let probes = 0
  let isSilent = false
  pair.tap.watch = (frame, _now, fromA) => {
    if (plain) takeWordsOut(frame)
    const name = frameName(frame)
    if (name === 'RC_RDMA_WRITE_ONLY') questions++
    if (name === 'PROBE') probes++
    return !(isSilent && silent[fromA ? 'a' : 'b'])
  }
  const { left, right } = connected(pair)
  pair.network.runUntil(pair.network.now + 60 * SECOND)
  const before = questions
  const [livedA, livedB] = [left.closed === 0, right.closed === 0]
  isSilent = true
  const from = pair.network.now
  const gone = { a: 0, b: 0 }
  while (pair.network.now < from + 60 * SECOND) {
    pair.network.runUntil(pair.network.now + SECOND / 10)
    if (left.closed > 0) gone.a ||= pair.network.now - from
    if (right.closed > 0) gone.b ||= pair.network.now - from
  }
  return { pair, left, right, gone, lived: livedA && livedB, questions: before, probes }
}

t.test('an idle connection lives on: the peer is asked, and answers', async t => {
  for (const plain of [false, true]) {
    const { gone, lived, questions, pair } = idle({ a: KEEP, b: plain ? {} : KEEP }, {}, plain)
    t.ok(lived)
    t.same(gone, { a: 0, b: 0 })
    // One question each 5 s keeps both ends content.
    t.ok(questions >= 11 && questions <= 26, `${questions} questions in a minute`)
    t.equal(pair.a.table.count, 1)
  }
})

t.test('both ends notice that nothing comes any more, and their places are free', async t => {
  const { gone, left, right, pair } = idle({ a: KEEP, b: KEEP }, { a: true, b: true })
  for (const end of ['a', 'b'] as const) {
    t.ok(gone[end] > 4 * SECOND && gone[end] <= 10.2 * SECOND, `${end}: ${gone[end] / SECOND} s`)
  }
  for (const { error } of [left, right]) {
    t.match(error, {
      code: 'WEIR_CONNECTION_LOST',
      message: /nothing has come from there for 10 ?s, although it was asked/,
    })
  }
  pair.settle()
  t.same([pair.a.table.count, pair.b.table.count, pair.pool.inUse], [0, 0, 0])
})

t.test('one end that is not heard: the other one notices and says so', async t => {
  const { gone, left, right } = idle({ a: KEEP, b: KEEP }, { a: true })
  t.ok(gone.b > 0 && gone.b <= 10.2 * SECOND)
  t.equal(right.error?.code, 'WEIR_CONNECTION_LOST')
  t.equal(left.closed, 1)
})

t.test(
  'CNPs without a tag keep no connection alive: switches send some in the name of the receiver',
  async t => {
    for (const secret of [undefined, Buffer.alloc(32, 3)]) {
      const key = secret && { secret }
      const pair = makePair({ a: { ...KEEP, ...key }, b: { ...key } })
      const { left } = connected(pair)
      const from = pair.network.now
      let cnps = 0
      pair.tap.watch = (frame, _now, fromA) => {
        if (fromA) return true
        intoCnp(frame)
        cnps++
        return true
      }
      pair.network.runUntil(from + 10.2 * SECOND)
      t.ok(cnps > 1, `${cnps} CNPs`)
      t.equal(pair.a.counters.rx.badIcrc ?? 0, 0)
      t.match(left.error, { code: 'WEIR_CONNECTION_LOST' })
    }
  },
)

t.test('the answer to a question is no reason to measure the path', async t => {
  const measuring = { ...KEEP, baseRttWindowNs: 10 * SECOND }
  const { questions, probes } = idle({ a: measuring, b: measuring }, {})
  t.ok(questions >= 11)
  t.equal(probes, 5, 'those of the beginning')
})

t.test('without a keep-alive time nobody asks, and nobody notices', async t => {
  const { gone, questions } = idle({}, { a: true, b: true })
  t.same([gone, questions], [{ a: 0, b: 0 }, 0])
})

/** Connections of a pair of hosts that have nothing to do, and when each end of `a` has heard that its peer is gone. */
class Idle {
  readonly pair: Pair
  readonly ends: App[] = []
  readonly goneNs: (number | null)[] = []
  /** Questions that have passed so far. */
  questions = 0
  /** Whether a frame is lost. */
  loses: (frame: Frame) => boolean = () => false

  constructor(count: number, plain = false) {
    this.pair = makePair({ a: KEEP })
    this.pair.b.listen(PORT, { accept: () => new App(this.pair.b) })
    this.pair.tap.watch = frame => {
      if (plain) takeWordsOut(frame)
      if (frameName(frame) === 'RC_RDMA_WRITE_ONLY') this.questions++
      return !this.loses(frame)
    }
    for (let i = 0; i < count; i++) this.connect()
  }

  connect(): void {
    const { pair } = this
    const end = new App(pair.a)
    pair.a.connect(pair.network.now, pair.b.address, PORT, end)
    if (!pair.until(() => end.log.includes('established'))) throw new Error(`${end.log}`)
    this.ends.push(end)
    this.goneNs.push(null)
  }

  run(seconds: number): void {
    const { network } = this.pair
    for (const endNs = network.now + seconds * SECOND; network.now < endNs; ) {
      network.runUntil(network.now + SECOND / 10)
      this.ends.forEach((end, i) => {
        if (end.closed > 0) this.goneNs[i] ??= network.now
      })
    }
  }

  /** Frames between these connections of `a` and their peers are lost from now on, but for those of the connection manager. Returns when. */
  lose(some: readonly number[]): number {
    const { network, a } = this.pair
    const connections = some.map(i => this.ends[i]!.connection!)
    const flows = a.table.flows.filter(flow => flow !== null && connections.includes(flow.connection))
    const lost = new Set(flows.flatMap(flow => [flow!.qpn, flow!.qp.remoteQpn]))
    this.loses = frame => lost.has(bth.destQpn(frame.view, frame.bth))
    return network.now
  }
}

t.test('one of many connections to a Weir host asks for all', async t => {
  const idle = new Idle(20)
  idle.run(90)
  t.ok(idle.questions >= 16 && idle.questions <= 19, `${idle.questions} questions in 90 s`)
  // Each by itself once in 100 s.
  idle.run(120)
  t.ok(idle.questions >= 40 + 2 * 19 && idle.questions <= 45 + 2 * 19, `${idle.questions} questions in 210 s`)
  t.ok(idle.goneNs.every(ns => ns === null))
})

t.test('each of many connections to another host asks for itself', async t => {
  const idle = new Idle(20, true)
  idle.run(60)
  t.ok(idle.questions >= 20 * 11, `${idle.questions} questions`)
})

t.test('a host that says nothing more is gone for all of its connections in time', async t => {
  for (const plain of [false, true]) {
    const idle = new Idle(20, plain)
    idle.run(44)
    idle.loses = () => true
    const from = idle.pair.network.now
    idle.run(30)
    const took = idle.goneNs.map(ns => ns! - from)
    t.ok(
      took.every(ns => ns > 0 && ns <= 10.2 * SECOND),
      `${took.map(ns => ns / SECOND)}`,
    )
    t.match(idle.ends[19]!.error, { code: 'WEIR_CONNECTION_LOST' })
  }
})

t.test('a process that was started again does not hide that older connections are gone', async t => {
  const idle = new Idle(20)
  idle.run(44)
  const from = idle.lose(Array.from({ length: 20 }, (_, i) => i))
  idle.connect()
  idle.run(30)
  const took = idle.goneNs.slice(0, 20).map(ns => ns! - from)
  t.ok(
    took.every(ns => ns > 0 && ns <= 10.2 * SECOND),
    `${took.map(ns => ns / SECOND)}`,
  )
  t.equal(idle.goneNs[20], null)
  const { questions } = idle
  idle.run(60)
  t.ok(idle.questions - questions >= 5, 'the new connection asks for itself')
})

t.test('a connection that the peer has lost alone is noticed, later, and the others live on', async t => {
  for (const lost of [0, 7]) {
    const idle = new Idle(20)
    idle.run(44)
    const from = idle.lose([lost])
    idle.run(30)
    // The oldest one asks all the time; another one after ten keep-alive times.
    if (lost === 0) t.ok(idle.goneNs[0]! - from <= 10.2 * SECOND)
    else t.equal(idle.goneNs[7], null)
    idle.run(90)
    t.ok(idle.goneNs[lost]! - from <= 106 * SECOND)
    t.same(idle.goneNs.filter(ns => ns !== null).length, 1)
  }
})

t.test('where the connection that asks for all ends, the next one asks', async t => {
  const idle = new Idle(3)
  idle.run(12)
  for (const i of [0, 1]) {
    const { pair, ends } = idle
    ends[i]!.connection!.disconnect(pair.network.now)
    pair.kick()
    idle.run(3)
  }
  const from = idle.pair.network.now
  idle.loses = () => true
  idle.run(30)
  t.ok(idle.goneNs[2]! - from <= 10.2 * SECOND)
})
