/**
 * Routes over spanning trees: the second way of FNCC (section 3.1, figure 6) to take data and acknowledgements along one path. A tree has
 * one path between two nodes, which is that of both directions. Each bucket of the flow hash belongs to one of the trees.
 *
 * A tree is grown breadth first from a switch of its own, so its paths are short near that switch, and may be longer than the shortest
 * elsewhere. No tree has a loop, so pauses cannot close a circle within one.
 */
import { BUCKETS } from './ecmp.js'
import type { Graph, Routes } from './graph.js'
import { mix32 } from './mix32.js'

const NO_PORT = -1

/** Returns the routes from every switch to the given hosts. @param trees number of trees, 1 or more */
export function computeTreeRoutes(
  topology: Graph,
  hosts: readonly string[],
  { seed = 0, trees }: { seed?: number; trees: number },
): Routes {
  const roots = shuffled(topology.switchCount, seed)
  const grown = Array.from({ length: trees }, (_, k) => {
    const first = k % roots.length
    return new SpanningTree(
      topology,
      [...roots.slice(first), ...roots.slice(0, first)],
      mix32(mix32(seed) + k),
    )
  })
  const nexts = new Map(
    hosts.map(name => {
      const host = topology.index(name)
      return [host, grown.map(tree => tree.nextPorts(host))]
    }),
  )
  return {
    egressPorts(switchNode, host) {
      const ports = nexts.get(host)!.map(next => next[switchNode]!)
      if (ports.includes(NO_PORT)) return null
      return Uint8Array.from({ length: BUCKETS }, (_, bucket) => ports[bucket % trees]!)
    },
  }
}

/** One tree for each part of the network that hangs together. */
class SpanningTree {
  readonly #topology: Graph
  /** By node: links of the tree. */
  readonly #links: Set<number>[]

  /** @param roots all switches: the first is the root of its part */
  constructor(topology: Graph, roots: readonly number[], salt: number) {
    this.#topology = topology
    this.#links = topology.names.map(() => new Set<number>())
    const reached = new Set<number>()
    for (const root of roots) if (!reached.has(root)) this.#grow(root, reached, salt)
  }

  #grow(root: number, reached: Set<number>, salt: number): void {
    reached.add(root)
    const order = [root]
    for (const node of order) {
      if (!this.#topology.isSwitch(node)) continue
      const edges = [...this.#topology.edges(node)]
      edges.sort((a, b) => mix32(salt + a.link) - mix32(salt + b.link))
      for (const { neighbour, link } of edges) {
        if (reached.has(neighbour)) continue
        reached.add(neighbour)
        order.push(neighbour)
        this.#links[node]!.add(link)
        this.#links[neighbour]!.add(link)
      }
    }
  }

  /** By node: the port towards `target`, or NO_PORT. */
  nextPorts(target: number): Int16Array {
    const ports = new Int16Array(this.#topology.names.length).fill(NO_PORT)
    const order = [{ node: target, from: NO_PORT }]
    for (const { node, from } of order) {
      for (const { neighbour, link } of this.#topology.edges(node)) {
        if (link === from || !this.#links[node]!.has(link)) continue
        ports[neighbour] = this.#topology.edges(neighbour).find(edge => edge.link === link)!.port
        order.push({ node: neighbour, from: link })
      }
    }
    return ports
  }
}

/** The numbers below `count`, in an order that the seed decides. */
function shuffled(count: number, seed: number): number[] {
  const keys = Array.from({ length: count }, (_, i) => mix32(mix32(seed) ^ i))
  return keys.map((_, i) => i).sort((a, b) => keys[a]! - keys[b]!)
}
