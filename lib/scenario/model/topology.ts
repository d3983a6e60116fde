/**
 * Paths through a scenario's network, and the lower bounds that they set: the base RTT and the ideal
 * completion time of a flow.
 */
import { ccAlwaysCollects, ccIsReceiverBased } from '../../cc/catalogue.js'
import { type Nanos, serialisationNs } from '../../time/nanos.js'
import * as reth from '../../wire/ib/reth.js'
import type { Link, Scenario, ScenarioFlow } from './scenario.js'
import { tunnelBytesBetween } from './vtep.js'
import { ackBytes, dataOverheadBytes, leanOverheadBytes } from './wire-sizes.js'

type NetworkShape = Pick<Scenario, 'hosts' | 'switches' | 'links'>

/** One step of a path: out of `node` by `port`, over the link to `peer`. */
export interface PathHop {
  node: string
  port: number
  peer: string
  /** The port of `peer` that the link ends at. */
  peerPort: number
  rateBps: number
  delayNs: Nanos
}

/** Equal-cost paths of one pair that are considered. A fat-tree with k = 16 has 64. */
const PATHS_MAX = 64
/** Pairs whose paths are cached. */
const PAIRS_MAX = 100_000
const UNREACHABLE = 0xffff

/**
 * The shortest paths by number of links. Hosts do not forward. The distances to each destination are computed
 * once.
 */
export class Topology {
  readonly #index = new Map<string, number>()
  /** Ports of each node, by port number. */
  readonly #ports: PathHop[][] = []
  readonly #hostCount: number
  /** Destination → links from each node to it. */
  readonly #distances = new Map<number, Uint16Array>()
  readonly #kinds = new Map<string, PathHop[][]>()

  constructor(network: NetworkShape) {
    this.#hostCount = network.hosts.length
    for (const { name } of [...network.hosts, ...network.switches]) {
      this.#index.set(name, this.#ports.length)
      this.#ports.push([])
    }
    for (const link of network.links) {
      this.#plug(link, link.a, link.b)
      this.#plug(link, link.b, link.a)
    }
  }

  #plug(link: Link, from: Link['a'], to: Link['a']): void {
    const { rateBps, delayNs } = link
    const hop = { node: from.node, port: from.port, peer: to.node, peerPort: to.port, rateBps, delayNs }
    this.#ports[this.#index.get(from.node)!]![from.port] = hop
  }

  get hostNames(): string[] {
    return [...this.#index.keys()].slice(0, this.#hostCount)
  }

  /** The ports of a node in order. Empty if there is no such node. */
  ports(node: string): readonly PathHop[] {
    return this.#ports[this.#index.get(node) ?? -1] ?? []
  }

  /** The number of links between a node and a host. Infinity if there is no path. */
  distance(node: string, host: string): number {
    const links = this.#distancesTo(host)[this.#index.get(node) ?? -1] ?? UNREACHABLE
    return links === UNREACHABLE ? Number.POSITIVE_INFINITY : links
  }

  /** Returns every shortest path, at most 64, those by lower ports first. Empty if there is none. */
  paths(from: string, to: string): PathHop[][] {
    const found: PathHop[][] = []
    if (this.distance(from, to) !== Number.POSITIVE_INFINITY) {
      this.#walk(from, to, this.#distancesTo(to), [], found)
    }
    return found
  }

  /** Returns one shortest path for each combination of rates and delays. The result is cached. */
  pathKinds(from: string, to: string): PathHop[][] {
    const key = `${from} ${to}`
    let kinds = this.#kinds.get(key)
    if (kinds === undefined) {
      const seen = new Set<string>()
      kinds = this.paths(from, to).filter(path => {
        const kind = path.map(hop => `${hop.rateBps} ${hop.delayNs}`).join()
        return !seen.has(kind) && seen.add(kind)
      })
      if (this.#kinds.size === PAIRS_MAX) this.#kinds.clear()
      this.#kinds.set(key, kinds)
    }
    return kinds
  }

  #walk(node: string, to: string, distances: Uint16Array, taken: PathHop[], found: PathHop[][]): void {
    if (found.length === PATHS_MAX) return
    if (node === to) {
      if (taken.length > 0) found.push([...taken])
      return
    }
    for (const hop of this.#next(node, distances)) {
      taken.push(hop)
      this.#walk(hop.peer, to, distances, taken, found)
      taken.pop()
    }
  }

  #next(node: string, distances: Uint16Array): PathHop[] {
    const here = distances[this.#index.get(node) ?? -1] ?? UNREACHABLE
    if (here === UNREACHABLE) return []
    return this.ports(node).filter(hop => distances[this.#index.get(hop.peer)!] === here - 1)
  }

  /** Breadth-first search from the destination, through switches only. */
  #distancesTo(host: string): Uint16Array {
    const target = this.#index.get(host) ?? -1
    let distances = this.#distances.get(target)
    if (distances !== undefined) return distances
    distances = new Uint16Array(this.#ports.length).fill(UNREACHABLE)
    const queue = target === -1 ? [] : [target]
    if (target !== -1) distances[target] = 0
    for (let i = 0; i < queue.length; i++) {
      const node = queue[i]!
      if (node !== target && node < this.#hostCount) continue
      for (const { peer } of this.#ports[node]!) {
        const next = this.#index.get(peer)!
        if (distances[next] !== UNREACHABLE) continue
        distances[next] = distances[node]! + 1
        queue.push(next)
      }
    }
    this.#distances.set(target, distances)
    return distances
  }
}

/**
 * Returns the name of a port in scenario files, series and tables. `s1:s2` names the node and its neighbour.
 * Parallel links are `s1:s2#0`, `s1:s2#1` and so on.
 */
export function portName(topology: Topology, node: string, port: number): string {
  const hop = topology.ports(node)[port]
  if (hop === undefined) return `${node}:${port}`
  const parallel = topology.ports(node).filter(other => other.peer === hop.peer)
  return parallel.length === 1 ? `${node}:${hop.peer}` : `${node}:${hop.peer}#${parallel.indexOf(hop)}`
}

/** Returns the name of a link, from one of its ends: `s1--s2`, or `s1--s2#1` of parallel links. */
export function linkName(topology: Topology, node: string, port: number): string {
  return portName(topology, node, port).replace(':', '--')
}

/**
 * Returns the base RTT (T) of a path: propagation both ways, and the serialisation of one full payload at
 * every hop forwards. As in the HPCC authors' simulator, headers and the acknowledgement's serialisation do
 * not count. Four links of 100 Gbit/s and 1 us with 1000 B have 8.32 us.
 */
export function baseRttNs(path: readonly PathHop[], pathMtu: number): Nanos {
  let total = 0
  for (const hop of path) total += 2 * hop.delayNs + serialisationNs(pathMtu, hop.rateBps)
  return total
}

/**
 * Returns the completion time of a flow that is alone in the network, from the post to the last
 * acknowledgement at the sender, rounded down. Returns 0 if there is no path. It is the exact time of the
 * packets through store-and-forward links at full rate, plus propagation both ways, plus the serialisation of
 * the acknowledgement at every hop back:
 *
 *   T(forward) + sum(2 x delay) + sum(ack bytes x 8 / rate)
 *
 * Packets do not overtake each other, so T(forward) is the longest chain "first packet over links 1..a, the
 * middle packets over links a..c, the last packet over links c..K". With equal links it is `all bytes at the
 * rate + (K - 1) x the last packet`. The first packet carries a RETH (one RDMA WRITE).
 *
 * The result must be a lower bound, so that no flow beats its ideal:
 * - Each packet carries telemetry if the controller needs it. Some encapsulations grow at every switch. The
 * acknowledgement echoes the telemetry.
 * - If not all packets collect telemetry, none is assumed to. If the receiver does not echo all of it, no
 * acknowledgement is assumed to.
 * - If one switch writes no telemetry, none is assumed to.
 * - Packets in a tunnel are longer between their switches.
 * - Of several shortest paths the fastest counts.
 */
export function idealFctNs(topology: Topology, scenario: Scenario, flow: ScenarioFlow): Nanos {
  const { name } = flow.cc ?? scenario.cc
  const int = ccAlwaysCollects(name) ? scenario.int : null
  const { collect, everyPackets, everyBytes, answer, hops, plain } = scenario.telemetry
  const all = collect === 'data' && everyPackets === 1 && everyBytes === 0
  const allWrite = scenario.switches.every(({ telemetry }) => telemetry?.writes !== false)
  const echoed =
    all && allWrite && answer === 'ack' && hops === 'all' && !ccIsReceiverBased(name) ? int : null
  let best = Number.POSITIVE_INFINITY
  const tunnel = tunnelBytesBetween(scenario, flow.from, flow.to)
  for (const path of topology.pathKinds(flow.from, flow.to)) {
    const inTunnel = (link: number) => (link > 0 && link < path.length - 1 ? tunnel : 0)
    // Switches in the middle of a tunnel see no telemetry, and write none.
    const stampedBy = (link: number) => (tunnel === 0 ? link : Math.min(link, 1))
    const overheads = path.map(
      (_, link) =>
        inTunnel(link) +
        (all || int === null
          ? dataOverheadBytes(int, allWrite ? stampedBy(link) : 0)
          : leanOverheadBytes(int, plain)),
    )
    let total = forwardNs(path, flow.bytes, scenario.transport.pathMtu, overheads)
    const back = ackBytes(echoed, tunnel === 0 ? path.length - 1 : 2)
    for (const [link, hop] of path.entries())
      total += 2 * hop.delayNs + ((back + inTunnel(link)) * 8e9) / hop.rateBps
    best = Math.min(best, total)
  }
  return best === Number.POSITIVE_INFINITY ? 0 : Math.floor(best)
}

/** Returns fctNs / idealFctNs, or null for a flow that did not finish. */
export function slowdown(fctNs: Nanos | null, ideal: Nanos): number | null {
  return fctNs === null || ideal <= 0 ? null : fctNs / ideal
}

/**
 * Time from the first bit's departure to the last bit's arrival, without propagation.
 *
 * @param overheads header bytes of a packet on each link
 */
function forwardNs(
  path: readonly PathHop[],
  bytes: number,
  mtu: number,
  overheads: readonly number[],
): number {
  /** Times of a packet with this payload, by link. */
  const times = (payload: number) =>
    path.map(({ rateBps }, link) => ((payload + overheads[link]!) * 8e9) / rateBps)
  const packets = Math.max(1, Math.ceil(bytes / mtu))
  const last = Math.ceil((bytes - (packets - 1) * mtu) / 4) * 4
  if (packets === 1) return sum(times(last + reth.BYTES))
  const firstNs = times(mtu + reth.BYTES)
  const middleNs = times(mtu)
  const lastNs = times(last)
  let longest = 0
  for (let a = 0; a < path.length; a++) {
    const first = sum(firstNs.slice(0, a + 1))
    for (let c = a; c < path.length; c++) {
      const middle = chainNs(middleNs.slice(a, c + 1), packets - 2)
      longest = Math.max(longest, first + middle + sum(lastNs.slice(c)))
    }
  }
  return longest
}

/**
 * Time of the longest chain of `packets` equal packets from the first to the last of these links.
 *
 * @param times of one packet on each link, ns
 */
function chainNs(times: readonly number[], packets: number): number {
  if (packets === 0) return times.length === 1 ? 0 : Number.NEGATIVE_INFINITY
  return sum(times) + (packets - 1) * Math.max(...times)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
