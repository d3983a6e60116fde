import t from 'tap'
import type { Random } from '../../lib/sim/random.js'
import { BUCKETS } from '../../switch-emu/core/forwarding/ecmp.js'
import { Graph, type GraphOptions, type Routes } from '../../switch-emu/core/forwarding/graph.js'
import { computeRoutes } from '../../switch-emu/core/forwarding/routes.js'
import { computeTreeRoutes } from '../../switch-emu/core/forwarding/spanning-trees.js'
import { fatTree, seeded } from './helpers.js'

/** Switches joined at random, parallel links among them, and a host or two at some. */
function randomTopology(random: Random): GraphOptions {
  const count = 2 + random.below(9)
  const switches = Array.from({ length: count }, (_, i) => `s${i}`)
  const ports = new Map<string, number>()
  const end = (node: string) => {
    const port = ports.get(node) ?? 0
    ports.set(node, port + 1)
    return { node, port }
  }
  const links: GraphOptions['links'][number][] = []
  for (let i = random.below(3 * count); i >= 0; i--) {
    const a = random.below(count)
    const b = random.below(count)
    if (a !== b) links.push({ a: end(`s${a}`), b: end(`s${b}`) })
  }
  const hosts = Array.from({ length: 2 + random.below(6) }, (_, i) => `h${i}`)
  for (const host of hosts) links.push({ a: end(host), b: end(`s${random.below(count)}`) })
  // A host with two links joins nothing: paths do not lead through it.
  if (random.below(2) === 0) {
    hosts.push('m')
    links.push({ a: end('m'), b: end('s0') }, { a: end('m'), b: end(`s${count - 1}`) })
  }
  return { switches, hosts, links }
}

/** Links between all pairs of nodes by Floyd and Warshall, never through a host. */
function bruteForce(topology: Graph): number[][] {
  const n = topology.names.length
  const far = Array.from({ length: n }, (_, a) =>
    Array.from({ length: n }, (_, b) => (a === b ? 0 : Number.POSITIVE_INFINITY)),
  )
  for (let a = 0; a < n; a++) for (const { neighbour } of topology.edges(a)) far[a]![neighbour] = 1
  for (let via = 0; via < topology.switchCount; via++) {
    for (let a = 0; a < n; a++) {
      for (let b = 0; b < n; b++) far[a]![b] = Math.min(far[a]![b]!, far[a]![via]! + far[via]![b]!)
    }
  }
  return far
}

/** Links that a flow of this bucket takes from one host to another, or null if there is no path. */
function pathOf(topology: Graph, routes: Routes, from: number, to: number, bucket: number): number[] | null {
  const first = topology.edges(from)[0]!
  const path = [first.link]
  let node = first.neighbour
  while (node !== to) {
    const ports = routes.egressPorts(node, to)
    if (ports === null) return null
    const edge = topology.edges(node).find(e => e.port === ports[bucket])!
    path.push(edge.link)
    node = edge.neighbour
    if (path.length > topology.names.length) throw new Error(`a loop from ${from} to ${to}`)
  }
  return path
}

t.test('distances and next hops are those of brute force, on random graphs', async t => {
  const random = seeded(t, 31)
  let unreachable = 0
  for (let round = 0; round < 60; round++) {
    const topology = new Graph(randomTopology(random))
    const far = bruteForce(topology)
    for (let target = 0; target < topology.names.length; target++) {
      const distances = topology.distancesTo(target)
      for (let node = 0; node < topology.names.length; node++) {
        const expected = far[node]![target]!
        if (expected === Number.POSITIVE_INFINITY) unreachable++
        if ((distances[node] === -1 ? Number.POSITIVE_INFINITY : distances[node]) !== expected) {
          return t.fail(`round ${round}: ${node} to ${target} is ${distances[node]}, not ${expected}`)
        }
        const isNext = (neighbour: number) =>
          expected !== Number.POSITIVE_INFINITY &&
          (neighbour === target || topology.isSwitch(neighbour)) &&
          1 + far[neighbour]![target]! === expected
        const ports = topology.edges(node).flatMap(e => (isNext(e.neighbour) ? [e.port] : []))
        const got = topology.nextHops(node, distances).map(e => e.port)
        if (got.join() !== ports.join())
          return t.fail(`round ${round}: ${node} to ${target} by ${got}, not ${ports}`)
      }
    }
  }
  t.ok(unreachable > 0, 'the graphs include some that are not connected')
})

t.test('paths are shortest, and the way back is the way there, link by link, on random graphs', async t => {
  const random = seeded(t, 32)
  let forked = 0
  for (let round = 0; round < 40; round++) {
    const options = randomTopology(random)
    const topology = new Graph(options)
    const far = bruteForce(topology)
    const routes = computeRoutes(topology, options.hosts, { seed: random.u32() })
    const ends = topology.names.length - (options.hosts.includes('m') ? 1 : 0)
    for (let a = topology.switchCount; a < ends; a++) {
      for (let b = a + 1; b < ends; b++) {
        const paths = new Set<string>()
        for (let bucket = 0; bucket < BUCKETS; bucket += 7) {
          const there = pathOf(topology, routes, a, b, bucket)
          const back = pathOf(topology, routes, b, a, bucket)
          if (there === null || back === null) {
            if (there !== back || far[a]![b] !== Number.POSITIVE_INFINITY) t.fail(`no path from ${a} to ${b}`)
            break
          }
          if (there.length !== far[a]![b]) t.fail(`${a} to ${b}: ${there.length} links, not ${far[a]![b]}`)
          if (there.join() !== back.reverse().join())
            t.fail(`${a} to ${b}, bucket ${bucket}: ${there} but ${back}`)
          paths.add(there.join())
        }
        if (paths.size > 1) forked++
      }
    }
  }
  t.ok(forked > 50, `${forked} pairs had a choice`)
})

t.test('fat-tree k=4: all four paths between pods are used, evenly and symmetrically', async t => {
  const options = fatTree(4)
  const topology = new Graph(options)
  t.equal(topology.switchCount, 20)
  t.equal(options.hosts.length, 16)
  t.equal(topology.linkCount, 48)
  const routes = computeRoutes(topology, options.hosts, { seed: 1 })
  for (const [from, to, paths] of [
    ['h0', 'h1', 1],
    ['h0', 'h2', 2],
    ['h0', 'h15', 4],
    ['h5', 'h9', 4],
  ] as const) {
    const counts = new Map<string, number>()
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const there = pathOf(topology, routes, topology.index(from), topology.index(to), bucket)!
      const back = pathOf(topology, routes, topology.index(to), topology.index(from), bucket)!
      if (there.join() !== back.reverse().join()) return t.fail(`${from} and ${to}, bucket ${bucket}`)
      counts.set(there.join(), (counts.get(there.join()) ?? 0) + 1)
    }
    t.equal(counts.size, paths, `${from} to ${to}`)
    const expected = BUCKETS / paths
    const chiSquare = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
    // 3 degrees of freedom: 16.3 is passed once in a thousand seeds.
    t.ok(chiSquare < 16.3, `${[...counts.values()].join(' ')}`)
  }
})

t.test(
  'not polarised: of the flows that an edge switch sends to one aggregation switch, all cores get some',
  async t => {
    const options = fatTree(8)
    const topology = new Graph(options)
    const routes = computeRoutes(topology, ['h0', 'h127'], { seed: 5 })
    const up = routes.egressPorts(topology.index('e0.0'), topology.index('h127'))!
    const counts = new Array<number>(16).fill(0)
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const aggregation = up[bucket]! - 4
      const core =
        routes.egressPorts(topology.index(`a0.${aggregation}`), topology.index('h127'))![bucket]! - 4
      counts[aggregation * 4 + core]!++
    }
    const expected = BUCKETS / 16
    const chiSquare = counts.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
    t.ok(chiSquare < 37.7, `chi-square ${chiSquare.toFixed(1)} of 15 degrees of freedom: ${counts.join(' ')}`)
  },
)

t.test(
  'spanning trees: one path for both directions, no loop within a tree, several paths over all',
  async t => {
    const random = seeded(t, 33)
    let forked = 0
    for (let round = 0; round < 30; round++) {
      const options = round === 0 ? fatTree(4) : randomTopology(random)
      const topology = new Graph(options)
      const far = bruteForce(topology)
      const trees = 1 + random.below(6)
      const routes = computeTreeRoutes(topology, options.hosts, { seed: random.u32(), trees })
      const ends = topology.names.length - (options.hosts.includes('m') ? 1 : 0)
      for (let tree = 0; tree < trees; tree++) {
        const used = new Set<number>()
        for (let a = topology.switchCount; a < ends; a++) {
          for (let b = a + 1; b < ends; b++) {
            const there = pathOf(topology, routes, a, b, tree)
            const back = pathOf(topology, routes, b, a, tree)
            const reachable = far[a]![b] !== Number.POSITIVE_INFINITY
            if (reachable !== (there !== null) || reachable !== (back !== null)) t.fail(`${a} to ${b}`)
            if (there === null || back === null) continue
            if (there.join() !== [...back].reverse().join()) t.fail(`${a} to ${b}: ${there} but ${back}`)
            // The next bucket of this tree has the same path.
            if (pathOf(topology, routes, a, b, tree + trees)!.join() !== there.join()) t.fail('another path')
            for (const link of there) used.add(link)
            if (trees > 1 && pathOf(topology, routes, a, b, (tree + 1) % trees)!.join() !== there.join())
              forked++
          }
        }
        // A forest: fewer links than nodes.
        t.ok(used.size < topology.names.length, `${used.size} links of ${topology.names.length} nodes`)
      }
    }
    t.ok(forked > 50, `${forked} pairs had a choice`)
  },
)

t.test('the seed decides the choice, and repeats it', async t => {
  const options = fatTree(4)
  const topology = new Graph(options)
  const choice = (seed: number) =>
    computeRoutes(topology, ['h15'], { seed }).egressPorts(topology.index('e0.0'), topology.index('h15'))
  t.same(choice(3), choice(3))
  t.notSame(choice(3), choice(4))
})

t.test('a wrong topology is refused with a reason', async t => {
  const link = (a: string, ap: number, b: string, bp: number) => ({
    a: { node: a, port: ap },
    b: { node: b, port: bp },
  })
  const build =
    (links: GraphOptions['links'], hosts = ['h1']) =>
    () =>
      new Graph({ switches: ['s1', 's2'], hosts, links })
  t.throws(build([link('s1', 0, 's3', 0)]), {
    code: 'WEIR_BAD_ARGUMENT',
    message: /no node s3; there are s1, s2, h1/,
  })
  t.throws(build([link('s1', 0, 's2', 0), link('s1', 0, 'h1', 0)]), { message: /port 0 of s1 has two links/ })
  t.throws(build([link('s1', 0, 's1', 1)]), { message: /connects s1 with itself/ })
  t.throws(build([link('s1', -1, 's2', 1)]), { message: /no port -1/ })
  t.throws(build([], ['s1']), { message: /s1 is used twice/ })
})
