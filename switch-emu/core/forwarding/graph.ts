import { WeirError } from '../../../lib/errors.js'

export interface GraphEnd {
  node: string
  port: number
}

interface GraphLink {
  a: GraphEnd
  b: GraphEnd
}

export interface GraphOptions {
  switches: readonly string[]
  hosts: readonly string[]
  links: readonly GraphLink[]
  /** Links, by index, that lead nowhere now. The others keep their numbers. Default: none. */
  down?: ReadonlySet<number>
}

/** A link as seen from one of its nodes. */
interface Edge {
  /** The node's port. */
  port: number
  /** Index of the node at the other end. */
  neighbour: number
  /** Index of the link, the same at both ends. */
  link: number
}

/** The egress port of each bucket, for every switch and host. */
export interface Routes {
  /** BUCKETS port numbers, or null if there is no path. */
  egressPorts(switchNode: number, host: number): Uint8Array | null
}

/**
 * The topology: an undirected graph of switches and hosts. Nodes are numbered in the given order, switches
 * first. Only switches forward, so no path leads through a host.
 */
export class Graph {
  readonly names: readonly string[]
  readonly switchCount: number
  readonly linkCount: number
  readonly #indexOf = new Map<string, number>()
  readonly #edges: Edge[][]

  constructor(options: GraphOptions) {
    this.names = [...options.switches, ...options.hosts]
    this.switchCount = options.switches.length
    this.linkCount = options.links.length
    for (const [index, name] of this.names.entries()) {
      if (this.#indexOf.has(name)) throw bad(`the name ${name} is used twice; name every node differently`)
      this.#indexOf.set(name, index)
    }
    this.#edges = this.names.map(() => [])
    for (const [link, { a, b }] of options.links.entries()) {
      if (options.down?.has(link)) continue
      const from = this.index(a.node)
      const to = this.index(b.node)
      if (from === to) throw bad(`link ${link} connects ${a.node} with itself`)
      this.#addEdge(from, a.port, to, link)
      this.#addEdge(to, b.port, from, link)
    }
    for (const edges of this.#edges) edges.sort((x, y) => x.port - y.port)
  }

  /** Returns the index of a node. Throws WEIR_BAD_ARGUMENT if there is none of that name. */
  index(name: string): number {
    const index = this.#indexOf.get(name)
    if (index === undefined) throw bad(`there is no node ${name}; there are ${this.names.join(', ')}`)
    return index
  }

  isSwitch(node: number): boolean {
    return node < this.switchCount
  }

  /** Returns the links of a node, by port number. */
  edges(node: number): readonly Edge[] {
    return this.#edges[node]!
  }

  /** Returns the number of links on a shortest path from each node to `target`; -1 = unreachable. */
  distancesTo(target: number): Int32Array {
    const distances = new Int32Array(this.names.length).fill(-1)
    distances[target] = 0
    const order = [target]
    for (let i = 0; i < order.length; i++) {
      const node = order[i]!
      if (node !== target && !this.isSwitch(node)) continue
      for (const { neighbour } of this.#edges[node]!) {
        if (distances[neighbour] !== -1) continue
        distances[neighbour] = distances[node]! + 1
        order.push(neighbour)
      }
    }
    return distances
  }

  /**
   * Returns the edges of `node` with which a shortest path begins, by port number.
   *
   * @param distances result of `distancesTo`
   */
  nextHops(node: number, distances: Int32Array): Edge[] {
    const nearer = distances[node]! - 1
    return this.#edges[node]!.filter(
      edge =>
        nearer >= 0 &&
        distances[edge.neighbour] === nearer &&
        (nearer === 0 || this.isSwitch(edge.neighbour)),
    )
  }

  #addEdge(from: number, port: number, neighbour: number, link: number): void {
    if (!Number.isInteger(port) || port < 0)
      throw bad(`link ${link}: ${this.names[from]} has no port ${port}`)
    const edges = this.#edges[from]!
    if (edges.some(edge => edge.port === port)) {
      throw bad(`port ${port} of ${this.names[from]} has two links; give each link a port of its own`)
    }
    edges.push({ port, neighbour, link })
  }
}

function bad(what: string): WeirError {
  return new WeirError('WEIR_BAD_ARGUMENT', `topology: ${what}`)
}
