/**
 * Paths through a scenario's network, and what the emptiness of the network makes possible on them: the base
 * RTT and the ideal completion time of a flow.
 */
import { ccAlwaysCollects, ccIsReceiverBased } from '../../cc/catalogue.js'
import { type Nanos, serialisationNs } from '../../time/nanos.js'
import * as reth from '../../wire/ib/reth.js'
import type { Link, Scenario, ScenarioFlow } from './scenario.js'
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

/** Equal-cost paths of one pair that are looked at; a k=16 fat-tree has 64. */
const PATHS_MAX = 64
/** Pairs whose paths are remembered. */
const PAIRS_MAX = 100_000
const UNREACHABLE = 0xffff

/** Shortest paths by number of links; hosts do not forward. Distances are worked out once for each destination. */
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

  /** The ports of a node in order; empty for one that is not there. */
  ports(node: string): readonly PathHop[] {
    return this.#ports[this.#index.get(node) ?? -1] ?? []
  }

  /** Number of links between a node and a host, Infinity without a path. */
  distance(node: string, host: string): number {
    const links = this.#distancesTo(host)[this.#index.get(node) ?? -1] ?? UNREACHABLE
    return links === UNREACHABLE ? Number.POSITIVE_INFINITY : links
  }

  /** Every shortest path (at most 64), those by lower ports first; empty if there is none. */
  paths(from: string, to: string): PathHop[][] {
    const found: PathHop[][] = []
    if (this.distance(from, to) !== Number.POSITIVE_INFINITY) {
      this.#walk(from, to, this.#distancesTo(to), [], found)
    }
    return found
  }

  /** The shortest paths that differ in rates or delays, one of each kind. Remembered. */
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

  /** Breadth first from the destination, through switches only. */
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
 * What people call a port: `s1:s2`, the node and its neighbour; `s1:s2#1` for the second of parallel links
 * (the first is `s1:s2#0`). Scenario files, series and tables use it.
 */
export function portName(topology: Topology, node: string, port: number): string {
  const hop = topology.ports(node)[port]
  if (hop === undefined) return `${node}:${port}`
  const parallel = topology.ports(node).filter(other => other.peer === hop.peer)
  return parallel.length === 1 ? `${node}:${hop.peer}` : `${node}:${hop.peer}#${parallel.indexOf(hop)}`
}

/**
 * T of a path: out and back by propagation, and one full payload serialised at every hop out. Headers and the
 * acknowledgement's own time do not count, as in the HPCC authors' simulator: 4 links of 100 Gbit/s and
 * 1 us with 1000 B make 8.32 us.
 */
export function baseRttNs(path: readonly PathHop[], pathMtu: number): Nanos {
  let total = 0
  for (const hop of path) total += 2 * hop.delayNs + serialisationNs(pathMtu, hop.rateBps)
  return total
}

/**
 * Completion time of a flow alone in the network, from the post to the last acknowledgement at the sender,
 * rounded down; 0 if there is no path. It is the exact pipeline of packets through store-and-forward links at
 * full rate, plus propagation both ways, plus the acknowledgement's serialisation at every hop back:
 *
 *   T(forward) + sum(2 x delay) + sum(ack bytes x 8 / rate)
 *
 * Packets pass the links in order, so T(forward) is the longest chain "first packet over links 1..a, the
 * middle packets over links a..c, the last packet over links c..K"; with equal links it is
 * `all bytes at the rate + (K - 1) x the last packet`. The first packet carries a RETH (one RDMA WRITE); each carries
 * telemetry if the controller asks for it, which some encapsulations make longer at every switch, and the acknowledgement
 * echoes it; where not all packets collect, all are taken for such that do not, and where less is echoed, none. Where some switch
 * writes no telemetry, none is taken to write any. Of several shortest paths the fastest counts. So no flow beats its ideal.
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
  for (const path of topology.pathKinds(flow.from, flow.to)) {
    const overheads = path.map((_, switches) =>
      all || int === null ? dataOverheadBytes(int, allWrite ? switches : 0) : leanOverheadBytes(int, plain),
    )
    let total = forwardNs(path, flow.bytes, scenario.transport.pathMtu, overheads)
    const back = ackBytes(echoed, path.length - 1)
    for (const hop of path) total += 2 * hop.delayNs + (back * 8e9) / hop.rateBps
    best = Math.min(best, total)
  }
  return best === Number.POSITIVE_INFINITY ? 0 : Math.floor(best)
}

/** fctNs / idealFctNs, or null for a flow that did not finish. */
export function slowdown(fctNs: Nanos | null, ideal: Nanos): number | null {
  return fctNs === null || ideal <= 0 ? null : fctNs / ideal
}

/**
 * Time from the first bit's departure to the last bit's arrival, without propagation.
 *
 * @param overheads of a packet, by link
 */
function forwardNs(
  path: readonly PathHop[],
  bytes: number,
  mtu: number,
  overheads: readonly number[],
): number {
  /** Times of a packet with so much payload, by link. */
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

/** The longest chain of `packets` equal packets from the first to the last of these links, by the time on each. */
function chainNs(times: readonly number[], packets: number): number {
  if (packets === 0) return times.length === 1 ? 0 : Number.NEGATIVE_INFINITY
  return sum(times) + (packets - 1) * Math.max(...times)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
