/**
 * Shortest-path routes of a whole network.
 *
 * **Symmetric.** For each bucket of the flow hash every link has a random weight. A flow takes, among all
 * shortest paths, the one with the least sum of weights. A part of a cheapest path is a cheapest path, so
 * every switch can choose its next hop alone. The sum is the same from either end, so both directions take
 * one path in every topology, as FNCC requires (section 3.1). With a separate hash in each switch, that holds
 * only in special topologies.
 *
 * **Not polarised.** The weights of different links are independent, so the choice of one switch says nothing
 * about that of the next.
 */
import type { HostAddress } from '../../../lib/wire/net/address.js'
import { BUCKETS } from './ecmp.js'
import type { ForwardingTable } from './forwarding.js'
import type { Graph, Routes } from './graph.js'
import { mix32 } from './mix32.js'
import { computeTreeRoutes } from './spanning-trees.js'

interface RouteOptions {
  /** Any u32. Another seed makes another choice among the equal paths. */
  seed?: number
  /** Routes follow so many spanning trees. Default: all shortest paths. */
  spanningTrees?: number
}

/** A host, or a switch that packets go to. */
interface RoutedHost {
  name: string
  address: HostAddress
}

/** Adds routes to all hosts to the forwarding tables of all switches, which are given by name. */
export function installRoutes(
  topology: Graph,
  hosts: readonly RoutedHost[],
  tables: ReadonlyMap<string, ForwardingTable>,
  options: RouteOptions = {},
): void {
  const names = hosts.map(host => host.name)
  const { seed, spanningTrees: trees = 0 } = options
  const routes =
    trees > 0 && topology.switchCount > 0
      ? computeTreeRoutes(topology, names, { seed, trees })
      : computeRoutes(topology, names, options)
  for (let node = 0; node < topology.switchCount; node++) {
    const table = tables.get(topology.names[node]!)
    if (table === undefined) continue
    for (const host of hosts) {
      const buckets = routes.egressPorts(node, topology.index(host.name))
      if (buckets !== null) table.setBuckets(host.address, buckets)
    }
  }
}

/** Returns the routes from every switch to the given hosts. */
export function computeRoutes(topology: Graph, hosts: readonly string[], options: RouteOptions = {}): Routes {
  const destinations = new Map<number, Destination>()
  for (const name of hosts) {
    const target = targetOf(topology, topology.index(name))
    if (!destinations.has(target)) destinations.set(target, new Destination(topology, target))
  }
  const weights = new Float64Array(topology.linkCount)
  const costs = new Float64Array(topology.names.length)
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    weighLinks(weights, bucket, options.seed ?? 0)
    for (const destination of destinations.values()) destination.choose(bucket, weights, costs)
  }
  return {
    egressPorts(switchNode, host) {
      // An end of tunnels is a destination, and needs no route to itself.
      if (host === switchNode) return null
      const target = targetOf(topology, host)
      if (target === switchNode) {
        const last = topology.edges(switchNode).find(edge => edge.neighbour === host)!
        return new Uint8Array(BUCKETS).fill(last.port)
      }
      return destinations.get(target)?.egressPorts(switchNode) ?? null
    },
  }
}

/**
 * Returns where paths to a host end: at the switch of its only link, so that all hosts of a switch share the
 * result.
 */
function targetOf(topology: Graph, host: number): number {
  const edges = topology.edges(host)
  return edges.length === 1 && topology.isSwitch(edges[0]!.neighbour) ? edges[0]!.neighbour : host
}

/** Each link gets 44 random bits: sums over 500 links are exact, and two sums are practically never equal. */
function weighLinks(weights: Float64Array, bucket: number, seed: number): void {
  const salt = mix32(mix32(seed) ^ bucket)
  for (let link = 0; link < weights.length; link++) {
    const high = mix32(salt + link)
    weights[link] = high * 0x1000 + (mix32(high ^ salt ^ 0x9e3779b9) >>> 20)
  }
}

/** The shortest paths to one node, as a graph that leads to it, and the choices among them. */
class Destination {
  readonly #target: number
  /** Switches with a path, nearest first. The i-th one has edges #first[i] to #first[i + 1]. */
  readonly #order: number[] = []
  readonly #first: number[] = [0]
  readonly #neighbour: number[] = []
  readonly #link: number[] = []
  readonly #port: number[] = []
  readonly #chosen = new Map<number, Uint8Array>()

  constructor(topology: Graph, target: number) {
    this.#target = target
    const distances = topology.distancesTo(target)
    for (let node = 0; node < topology.switchCount; node++) if (distances[node]! > 0) this.#order.push(node)
    this.#order.sort((a, b) => distances[a]! - distances[b]! || a - b)
    for (const node of this.#order) {
      for (const edge of topology.nextHops(node, distances)) {
        this.#neighbour.push(edge.neighbour)
        this.#link.push(edge.link)
        this.#port.push(edge.port)
      }
      this.#first.push(this.#neighbour.length)
      this.#chosen.set(node, new Uint8Array(BUCKETS))
    }
  }

  choose(bucket: number, weights: Float64Array, costs: Float64Array): void {
    costs[this.#target] = 0
    for (let i = 0; i < this.#order.length; i++) {
      let least = Number.POSITIVE_INFINITY
      let port = 0
      for (let e = this.#first[i]!; e < this.#first[i + 1]!; e++) {
        const cost = costs[this.#neighbour[e]!]! + weights[this.#link[e]!]!
        if (cost < least) {
          least = cost
          port = this.#port[e]!
        }
      }
      costs[this.#order[i]!] = least
      this.#chosen.get(this.#order[i]!)![bucket] = port
    }
  }

  egressPorts(node: number): Uint8Array | null {
    return this.#chosen.get(node) ?? null
  }
}
