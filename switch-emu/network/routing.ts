/** The routes of a network: shortest paths, static routes, and what replaces them when links go down. */
import { assert } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { Node } from '../../lib/frame/node.js'
import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { Graph } from '../core/forwarding/graph.js'
import { installRoutes } from '../core/forwarding/routes.js'
import type { Switch } from '../core/switch.js'
import { StaticRoutes } from './static-routes.js'

/** Changes that wait to be noticed. With more, the last two are noticed together. */
const DUE_MAX = 1024

/**
 * A node of the network without links. `reroute` of a scenario stands for a routing protocol: so long after a link has gone down
 * or come up, every switch has the shortest paths of the links that are up then. Flows on other paths keep theirs. A switch
 * without another path to a host keeps the old one, whose port drops. Without `reroute` routes stay.
 */
export class Routing implements Node {
  readonly staticRoutes: StaticRoutes
  readonly #scenario: Scenario
  readonly #switches: readonly Switch[]
  readonly #targets: readonly RoutedNode[]
  readonly #down = new Set<number>()
  /** When routes are computed again, in order. */
  readonly #dueNs: Nanos[] = []

  constructor(scenario: Scenario, switches: readonly Switch[]) {
    this.#scenario = scenario
    this.#switches = switches
    this.#targets = targetsOf(scenario)
    this.#install()
    const addresses = new Map(this.#targets.map(({ name, address }) => [name, address]))
    const tables = new Map(switches.map(sw => [sw.name, sw.routes]))
    this.staticRoutes = new StaticRoutes(scenario.routes ?? [], {
      tables,
      addresses,
      seed: scenario.hashSeed,
    })
  }

  onLink(now: Nanos, link: number, isUp: boolean): void {
    if (isUp) this.#down.delete(link)
    else this.#down.add(link)
    const { rerouteNs } = this.#scenario
    const atNs = rerouteNs === undefined ? NEVER : now + rerouteNs
    // Links that change at one time are noticed at one time.
    if (atNs === NEVER || this.#dueNs.at(-1) === atNs) return
    if (this.#dueNs.length === DUE_MAX) this.#dueNs.pop()
    this.#dueNs.push(atNs)
  }

  nextTimeout(): Nanos {
    return this.#dueNs[0] ?? NEVER
  }

  onTimeout(now: Nanos): void {
    if (this.nextTimeout() > now) return
    while (this.nextTimeout() <= now) this.#dueNs.shift()
    this.#install()
    this.staticRoutes.afterReroute()
  }

  onFrame(_now: Nanos, _port: number, _frame: Frame): void {
    assert(false, 'a frame came to the routing')
  }

  pollTransmit(_now: Nanos): Frame | null {
    return null
  }

  /** Sets shortest paths, or those of spanning trees, over the links that are up. */
  #install(): void {
    const { switches, hosts, links, hashSeed: seed, spanningTrees } = this.#scenario
    const topology = new Graph({
      switches: switches.map(sw => sw.name),
      hosts: hosts.map(host => host.name),
      links,
      down: this.#down,
    })
    const tables = new Map(this.#switches.map(sw => [sw.name, sw.routes]))
    installRoutes(topology, this.#targets, tables, { seed, spanningTrees })
  }
}

interface RoutedNode {
  name: string
  address: HostAddress
}

/** Whom the network has routes to: hosts, but in place of those behind ends of tunnels the ends. */
function targetsOf({ hosts, switches, vtep = [] }: Scenario): RoutedNode[] {
  const ends = vtep.flatMap(network => network.ends)
  const inside = new Set(ends.flatMap(end => end.hosts))
  const plain = hosts.filter(({ name }) => !inside.has(name))
  const names = new Set(switches.map(({ name }) => name))
  const own = new Map(ends.filter(({ node }) => names.has(node)).map(({ node, address }) => [node, address]))
  return [...plain, ...[...own].map(([name, address]) => ({ name, address }))].map(({ name, address }) => ({
    name,
    address: HostAddress.parse(address),
  }))
}
