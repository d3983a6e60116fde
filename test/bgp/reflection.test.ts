/** Speakers and reflectors in virtual time: RFC 4456 (reflection), 4724 (graceful restart), 4271, section 6.8 (collisions). */
import t from 'tap'
import { prefixKey } from '../../lib/wire/bgp/prefix.js'
import { BgpNet, MS, SECOND } from './net.js'

const HOST = prefixKey(0x0a000001, 32)
const OTHER = prefixKey(0x0a000002, 32)
const [R1, R2, C1, C2] = ['10.255.1.1', '10.255.1.2', '10.255.0.1', '10.255.0.2']
const CLUSTER = 0x0aff0100

/** Two reflectors of one cluster, two clients; what each restart time is. */
function cluster(restartSeconds = 120): BgpNet {
  const net = new BgpNet()
  for (const address of [R1, R2]) {
    const neighbours = [C1, C2].map(client => ({ address: client, passive: true, client: true }))
    net.add(address, { clusterId: CLUSTER, neighbours, restartSeconds })
  }
  for (const address of [C1, C2]) net.add(address, { neighbours: [{ address: R1 }, { address: R2 }] })
  net.runFor(100 * MS)
  return net
}

const announce = (net: BgpNet, address: string, prefix = HOST) =>
  net.speakers.get(address)!.announce(net.now, prefix, {
    nextHop: 1,
    largeCommunities: [{ global: 65_000, local1: 1, local2: 7 }],
  })

t.test('a route of one client reaches the other, and says by whom', async t => {
  const net = cluster()
  t.equal(net.state(C1, 0), 'established')
  t.equal(net.state(C1, 1), 'established')
  announce(net, C1)
  // Two hops of 1 ms.
  net.runFor(2 * MS - 1)
  t.same(net.prefixes(C2), [])
  net.runFor(1)
  t.same(net.prefixes(C2), [HOST])
  t.match(net.known.get(C2)!.get(HOST), {
    originatorId: 0x0aff0001,
    clusterList: [CLUSTER],
    localPref: 100,
    largeCommunities: [{ global: 65_000, local1: 1, local2: 7 }],
  })
  t.same(net.known.get(C1)!.get(HOST)!.originatorId, 0, 'its own route stays its own')
  net.speakers.get(C1)!.withdraw(net.now, HOST)
  net.runFor(2 * MS)
  t.same(net.prefixes(C2), [])
  t.same([...net.speakers.get(R1)!.routes()], [])
})

t.test('a reflector with more than its clients: who hears what (section 6)', async t => {
  const net = new BgpNet()
  const [a, b] = ['10.0.1.1', '10.0.1.2']
  const client = { passive: true, client: true }
  net.add(R1, {
    neighbours: [
      { address: C1, ...client },
      { address: C2, ...client },
      { address: a, passive: true },
      { address: b, passive: true },
    ],
  })
  for (const address of [C1, C2, a, b]) net.add(address, { neighbours: [{ address: R1 }] })
  net.runFor(100 * MS)
  announce(net, a)
  announce(net, C1, OTHER)
  net.runFor(10 * MS)
  t.same(net.prefixes(C2), [HOST, OTHER], 'a client: all')
  t.same(net.prefixes(b), [OTHER], 'others: routes of clients')
  t.same(net.prefixes(a), [HOST, OTHER])
})

t.test('reflectors of one cluster refuse each other, others pass on', async t => {
  for (const [clusterId, known] of [
    [CLUSTER, []],
    [undefined, [HOST]],
  ] as const) {
    const net = new BgpNet()
    net.add(R1, { clusterId, neighbours: [{ address: C1, passive: true, client: true }, { address: R2 }] })
    net.add(R2, { clusterId, neighbours: [{ address: R1 }, { address: C2, passive: true, client: true }] })
    net.add(C1, { neighbours: [{ address: R1 }] })
    net.add(C2, { neighbours: [{ address: R2 }] })
    net.runFor(3 * SECOND)
    announce(net, C1)
    net.runFor(10 * MS)
    t.same(net.prefixes(R2), known)
    t.same(net.prefixes(C2), known)
    if (known.length > 0) t.equal(net.known.get(C2)!.get(HOST)!.clusterList.length, 2)
  }
})

t.test('both ends connect at once: one connection stays (section 6.8)', async t => {
  const net = new BgpNet()
  net.add(R1, { neighbours: [{ address: R2 }] })
  net.add(R2, { neighbours: [{ address: R1 }] })
  net.runFor(5 * SECOND)
  t.equal(net.state(R1), 'established')
  t.equal(net.state(R2), 'established')
  t.equal(net.speakers.get(R1)!.neighbours[0]!.sessions.length, 1)
  const [near] = net.speakers.get(R1)!.neighbours[0]!.sessions
  const [far] = net.speakers.get(R2)!.neighbours[0]!.sessions
  t.notOk(near!.outgoing, 'the connection of the higher identifier')
  t.ok(far!.outgoing)
  t.equal(net.speakers.get(R1)!.status()[0]!.sessions, 1)
})

t.test('a reflector dies: nothing is lost, and a departure afterwards is heard', async t => {
  const net = cluster()
  announce(net, C1)
  announce(net, C2, OTHER)
  net.runFor(10 * MS)
  let changes = 0
  const seen = net.known.get(C2)!
  const remove = seen.delete.bind(seen)
  seen.delete = prefix => {
    changes++
    return remove(prefix)
  }
  net.network.kill(net.now, R1)
  net.runFor(10 * MS)
  t.same(net.prefixes(C2), [HOST, OTHER])
  t.equal(changes, 0, 'no route was away for a moment')
  t.not(net.state(C2, 0), 'established')
  net.speakers.get(C1)!.withdraw(net.now, HOST)
  net.runFor(2 * MS)
  t.same(net.prefixes(C2), [OTHER], 'the stale route of the dead reflector does not keep it')
  net.runFor(200 * SECOND)
  t.same(net.prefixes(C2), [OTHER])
  t.equal(net.speakers.get(C2)!.status()[0]!.stale, 0)
})

t.test('both reflectors die: their routes stay for the restart time (RFC 4724)', async t => {
  const net = cluster(5)
  announce(net, C1)
  net.runFor(10 * MS)
  net.network.kill(net.now, R1)
  net.network.kill(net.now, R2)
  net.runFor(4 * SECOND)
  t.same(net.prefixes(C2), [HOST])
  // One comes back with all it needs: the route stays, fresh.
  const neighbours = [C1, C2].map(client => ({ address: client, passive: true, client: true }))
  net.add(R1, { clusterId: CLUSTER, neighbours, restartSeconds: 5 })
  net.runFor(20 * SECOND)
  t.same(net.prefixes(C2), [HOST])
  t.match(net.speakers.get(C2)!.status()[0], { state: 'established', stale: 0, sessions: 2 })
  net.network.kill(net.now, R1)
  net.runFor(6 * SECOND)
  t.same(net.prefixes(C2), [], 'nobody came back in time')
})

t.test('a client that dies takes its routes with it at once', async t => {
  const net = cluster()
  announce(net, C1)
  net.runFor(10 * MS)
  net.network.kill(net.now, C1)
  net.runFor(2 * MS)
  t.same(net.prefixes(C2), [])
})

t.test('a path that swallows all bytes: the hold timer of 3 s', async t => {
  const net = cluster()
  announce(net, C1)
  net.runFor(10 * MS)
  net.cut(C1, R1)
  net.cut(C1, R2)
  net.runFor(1900 * MS)
  t.same(net.prefixes(C2), [HOST])
  net.runFor(1200 * MS)
  t.same(net.prefixes(C2), [])
  net.mend(C1, R1)
  net.mend(C1, R2)
  net.runFor(5 * SECOND)
  t.same(net.prefixes(C2), [HOST])
})

t.test('a speaker that stops says so: no graceful restart', async t => {
  const net = cluster()
  announce(net, C1)
  net.runFor(10 * MS)
  for (const reflector of [R1, R2]) net.speakers.get(reflector)!.stop(net.now)
  net.runFor(1 * MS)
  t.same(net.prefixes(C2), [])
  t.match(net.speakers.get(C2)!.status()[0]!.lastEnd, 'cease 6/2')
})

t.test('3,000 routes through a window of 64 KiB', async t => {
  const net = cluster()
  for (let i = 0; i < 3000; i++) announce(net, C1, prefixKey(0x0b000000 + i, 32))
  net.runFor(10 * SECOND)
  t.equal(net.known.get(C2)!.size, 3000)
  net.network.kill(net.now, C1)
  net.runFor(SECOND)
  t.equal(net.known.get(C2)!.size, 0)
})

t.test('arguments', async t => {
  const net = new BgpNet()
  t.throws(() => net.add(R1, { neighbours: [], holdSeconds: 2 }), { code: 'WEIR_BAD_ARGUMENT' })
  const many = Array.from({ length: 400 }, (_, i) => ({ global: 65_000, local1: 1, local2: i }))
  t.throws(() => cluster().speakers.get(C1)!.announce(0, HOST, { nextHop: 1, largeCommunities: many }), {
    code: 'WEIR_FULL',
  })
})
