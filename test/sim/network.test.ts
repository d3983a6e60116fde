/** The discrete-event network: times, order, what is lost, and that nothing else is. */
import t from 'tap'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { Agenda } from '../../lib/sim/agenda.js'
import { LinkFaults } from '../../lib/sim/faults.js'
import { Network } from '../../lib/sim/network.js'
import { Random } from '../../lib/sim/random.js'
import type { Observer } from '../../lib/sim/station.js'
import { NEVER } from '../../lib/time/nanos.js'
import { fixedSeed } from '../support/seeds.js'
import { StubNode } from './stub-node.js'

function pair(delayNs = 1000) {
  const pool = new FramePool(1000, 256)
  const network = new Network({ pool })
  const a = new StubNode(pool)
  const b = new StubNode(pool)
  const ids = [network.addNode(a), network.addNode(b)] as const
  network.connect(ids[0], 0, ids[1], 7, delayNs)
  return { pool, network, a, b, ids }
}

t.test(
  'a frame arrives its serialisation and the link delay later, at the port of the other end',
  async t => {
    const { pool, network, a, b, ids } = pair(1000)
    t.equal(network.nextEventNs(), NEVER)
    t.equal(network.step(), false, 'nothing to do')
    a.send(50, 0, 1, 30)
    b.send(60, 7, 2, 5)
    network.kick(ids[0])
    network.kick(ids[1])
    t.equal(network.nextEventNs(), 50)
    t.equal(network.step(), true)
    t.equal(network.now, 50)
    t.equal(network.inFlight, 1)
    t.equal(pool.inUse, 1)
    network.runUntil(5000)
    t.same(b.received, [{ now: 1080, port: 7, tag: 1 }])
    t.same(a.received, [{ now: 1065, port: 0, tag: 2 }])
    t.equal(network.now, 5000, 'time goes on to where it was told to')
    t.equal(network.events, 4)
    t.equal(network.inFlight, 0)
    t.equal(pool.inUse, 0)
  },
)

t.test('runUntil includes its end', async t => {
  const { network, a, b, ids } = pair(1000)
  a.send(0, 0, 1)
  network.kick(ids[0])
  network.runUntil(999)
  t.equal(b.received.length, 0)
  network.runUntil(1000)
  t.equal(b.received.length, 1)
})

t.test('run ends after so many events, at its end, and after the event that halts it', async t => {
  const { network, a, b, ids } = pair(1000)
  for (const at of [0, 10, 20, 30]) a.send(at, 0, at)
  network.kick(ids[0])
  network.run(1000, 3)
  t.same([network.events, network.now], [3, 30], 'at 0 the frame left as the node was kicked')
  network.run(1009, 100)
  t.same([network.events, network.now, b.received.length], [4, 1000, 1], 'the next arrival is at 1010')
  b.onArrival = () => network.halt()
  network.run(5000, 100)
  t.same([network.now, b.received.length], [1010, 2], 'after its event')
  network.run(5000, 1)
  t.same([network.now, b.received.length], [1020, 3], 'and goes on when it is called again')
  b.onArrival = () => {}
  network.run(Number.POSITIVE_INFINITY, 100)
  t.same([network.now, b.received.length], [1030, 4], 'without events it is over')
})

t.test('events at one time run in the order in which nodes and links were added', async t => {
  const pool = new FramePool(100, 256)
  const network = new Network({ pool })
  const log: string[] = []
  const hub = new StubNode(pool)
  hub.onArrival = (now, tag) => log.push(`${tag}@${now}`)
  const hubId = network.addNode(hub)
  const senders = [0, 1, 2, 3].map(n => {
    const node = new StubNode(pool)
    const id = network.addNode(node)
    return { n, node, id }
  })
  // Connected in another order than that in which the nodes were added.
  for (const { n, id } of [...senders].reverse()) network.connect(id, 0, hubId, n, 100)
  for (const { n, node } of senders) node.send(0, 0, n)
  for (const { id } of senders) network.kick(id)
  network.runUntil(100)
  t.same(log, ['3@100', '2@100', '1@100', '0@100'])
})

t.test('a command given late never turns time back', async t => {
  const { network, a, b, ids } = pair(1000)
  network.runUntil(10_000)
  a.send(2000, 0, 1)
  network.kick(ids[0], 2000)
  t.equal(network.now, 10_000)
  network.runUntil(20_000)
  t.same(b.received, [{ now: 11_000, port: 7, tag: 1 }])
  network.kick(ids[0], 30_000)
  t.equal(network.now, 30_000, 'nor does it stay behind')
})

t.test('a frame sent by a port without a link is counted and given back', async t => {
  const { pool, network, a, ids } = pair()
  a.send(0, 1, 1)
  a.send(0, 200, 2)
  network.kick(ids[0])
  t.equal(network.unplugged, 2)
  t.equal(pool.inUse, 0)
})

t.test('a port takes one link; unknown nodes are refused', async t => {
  const { network, ids } = pair()
  t.throws(() => network.connect(ids[0], 0, ids[1], 8, 1), { code: 'WEIR_BAD_ARGUMENT', message: /port 0/ })
  t.throws(() => network.connect(99, 0, ids[1], 9, 1), { code: 'WEIR_BAD_ARGUMENT', message: /99/ })
  network.connect(ids[0], 3, ids[1], 9, 1)
})

t.test('random traffic on a ring: every frame arrives once, at its time, and none is left over', async t => {
  const seed = fixedSeed(t, 5)
  const random = new Random(seed)
  const pool = new FramePool(5000, 256)
  const network = new Network({ pool })
  const nodes = Array.from({ length: 6 }, () => new StubNode(pool))
  const ids = nodes.map(node => network.addNode(node))
  const delays = nodes.map(() => random.below(5000))
  for (const [i, id] of ids.entries()) network.connect(id, 0, ids[(i + 1) % 6]!, 1, delays[i]!)
  const wanted = nodes.map(() => [] as { now: number; port: number; tag: number }[])
  for (let tag = 0; tag < 3000; tag++) {
    const from = random.below(6)
    const at = random.below(1_000_000)
    const took = random.below(100)
    nodes[from]!.send(at, 0, tag, took)
    wanted[(from + 1) % 6]!.push({ now: at + took + delays[from]!, port: 1, tag })
  }
  for (const id of ids) network.kick(id)
  network.runUntil(2_000_000)
  const byTime = (x: { now: number; tag: number }, y: { now: number; tag: number }) =>
    x.now - y.now || x.tag - y.tag
  for (const [i, node] of nodes.entries()) {
    t.ok(
      node.received.every((event, n) => n === 0 || event.now >= node.received[n - 1]!.now),
      'in order of time',
    )
    t.same([...node.received].sort(byTime), wanted[i]!.sort(byTime), `SEED=${seed}, node ${i}`)
  }
  t.equal(pool.inUse, 0)
})

/** Looks at a node at intervals. */
class Looks implements Observer {
  dueNs = 500
  readonly seen: [number, number][] = []
  readonly #node: StubNode

  constructor(node: StubNode) {
    this.#node = node
  }

  lookBefore(endNs: number): void {
    for (; this.dueNs < endNs; this.dueNs += 300) this.seen.push([this.dueNs, this.#node.received.length])
  }
}

/**
 * Six nodes on a ring that answer frames, an agenda that looks at all of them, and a look at each. Returns what each has received, and
 * what was seen.
 */
function ring(seed: number, run: (network: Network) => void) {
  const random = new Random(seed)
  const pool = new FramePool(5000, 256)
  const network = new Network({ pool })
  const nodes = Array.from({ length: 6 }, () => new StubNode(pool))
  const ids = nodes.map(node => network.addNode(node))
  for (const [i, id] of ids.entries()) network.connect(id, 0, ids[(i + 1) % 6]!, 1, 50 + random.below(500))
  for (const [i, node] of nodes.entries()) {
    for (let n = 0; n < 100; n++) node.send(random.below(20_000), 0, 10 * n + i, random.below(100))
    // Each frame goes on around the ring for a while: what a node sends depends on what has reached it.
    node.onArrival = (now, tag) => tag < 5000 && node.send(now + (tag % 7), 0, tag + 500, tag % 11)
  }
  const seen: unknown[] = []
  const agenda = new Agenda()
  const see = (now: number) => {
    seen.push([now, nodes.map(({ received }) => received.length)])
    agenda.add(now + 777, see)
  }
  agenda.add(1000, see)
  const agendaId = network.addNode(agenda)
  const looks = nodes.map(node => new Looks(node))
  for (const [i, look] of looks.entries()) network.watch(ids[i]!, look)
  for (const id of [...ids, agendaId]) network.kick(id)
  run(network)
  for (const look of looks) look.lookBefore(60_001)
  const received = nodes.map(({ received }) => received)
  return { received, seen, looks: looks.map(look => look.seen), events: network.events, inUse: pool.inUse }
}

t.test('nodes that run ahead of others see the same frames at the same times', async t => {
  const seed = fixedSeed(t, 6)
  const inOrder = ring(seed, network => network.runUntil(60_000))
  const ahead = ring(seed, network => {
    while (network.nextEventNs() <= 60_000) network.runAhead(60_000, 100)
  })
  t.same(ahead, inOrder, `SEED=${seed}`)
  t.ok(ahead.seen.length > 50)
  const { received, looks } = inOrder
  const expected = looks.map((seen, i) =>
    seen.map(([at]) => received[i]!.filter(({ now }) => now <= at).length),
  )
  t.same(
    looks.map(seen => seen.map(([, count]) => count)),
    expected,
    'a look finds what has come by its time',
  )
  t.equal(looks[0]!.length, 199)
})

t.test(
  'a node runs ahead by less than the delay of a link, and not past the time of one without links',
  async t => {
    const { network, a, b, ids } = pair(1000)
    const order: string[] = []
    a.onArrival = now => order.push(`a ${now}`)
    b.onArrival = now => order.push(`b ${now}`)
    const agenda = new Agenda()
    agenda.add(1600, now => order.push(`agenda ${now}`))
    const agendaId = network.addNode(agenda)
    for (const at of [0, 400, 800]) {
      a.send(at, 0, 0)
      b.send(at + 1, 7, 0)
    }
    for (const id of [...ids, agendaId]) network.kick(id)
    network.runAhead(1800, 100)
    // Nodes run together from 1 to 1000, then from 1001 to before the agenda's time.
    t.same(order, ['b 1000', 'a 1001', 'a 1401', 'b 1400', 'agenda 1600', 'b 1800'])
  },
)

t.test('faults of one direction leave the other alone', async t => {
  const pool = new FramePool(100, 256)
  const network = new Network({ pool })
  const a = new StubNode(pool)
  const b = new StubNode(pool)
  const ids = [network.addNode(a), network.addNode(b)] as const
  network.connect(ids[0], 0, ids[1], 0, 10, { ab: new LinkFaults({ loss: 1 }, () => 0.5) })
  for (let tag = 0; tag < 20; tag++) {
    a.send(tag, 0, tag)
    b.send(tag, 0, tag)
  }
  network.kick(ids[0])
  network.kick(ids[1])
  network.runUntil(1000)
  t.equal(b.received.length, 0)
  t.equal(a.received.length, 20)
  t.equal(pool.inUse, 0)
})

t.test('a node that names a time between two nanoseconds is a defect', async t => {
  const agenda = new Agenda()
  const network = new Network({ pool: new FramePool(1, 256) })
  const id = network.addNode(agenda)
  agenda.add(10.5, () => {})
  network.kick(id)
  t.throws(() => network.runUntil(20), { code: 'WEIR_INTERNAL', message: /no whole nanosecond/ })
})
