/** The static routes of a scenario: permanent ones, and those that change while the traffic runs. */
import { assert } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { Node } from '../../lib/frame/node.js'
import type { StaticRoute } from '../../lib/scenario/model/scenario.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import type { HostAddress } from '../../lib/wire/net/address.js'
import type { ForwardingTable } from '../core/forwarding/forwarding.js'

/**
 * What routes are set in: the tables of all switches, with the shortest paths, and the addresses of all
 * hosts.
 */
interface StaticRouteContext {
  tables: ReadonlyMap<string, ForwardingTable>
  addresses: ReadonlyMap<string, HostAddress>
  /** Decides which flow takes which parallel link. */
  seed: number
}

interface Change {
  atNs: Nanos
  begins: boolean
  route: TemporaryRoute
}

/** A node of the network without links, which only waits for the times at which routes change. */
export class StaticRoutes implements Node {
  readonly #permanent: readonly StaticRoute[]
  readonly #temporary: readonly TemporaryRoute[]
  readonly #context: StaticRouteContext
  /** In the order of their times. At equal times, ends come first. */
  readonly #changes: Change[]
  #startNs: Nanos = NEVER
  #next = 0

  /** Sets the permanent routes. */
  constructor(routes: readonly StaticRoute[], context: StaticRouteContext) {
    this.#context = context
    this.#permanent = routes.filter(({ startNs }) => startNs === undefined)
    this.#temporary = routes
      .filter(({ startNs }) => startNs !== undefined)
      .map(route => new TemporaryRoute(route, context))
    this.#changes = this.#temporary
      .flatMap(route => route.changes())
      .sort((a, b) => a.atNs - b.atNs || Number(a.begins) - Number(b.begins))
    this.afterReroute()
  }

  /** The shortest paths have been set again: static routes override them again. */
  afterReroute(): void {
    for (const route of this.#permanent) setRoute(route, this.#context)
    for (const route of this.#temporary) route.afterReroute()
  }

  /** The traffic starts at `now`: the times of routes count from there. */
  start(now: Nanos): void {
    for (const route of this.#temporary) route.end()
    this.#startNs = now
    this.#next = 0
  }

  nextTimeout(): Nanos {
    const next = this.#changes[this.#next]
    return next === undefined ? NEVER : this.#startNs + next.atNs
  }

  onTimeout(now: Nanos): void {
    while (this.nextTimeout() <= now) {
      const { begins, route } = this.#changes[this.#next++]!
      if (begins) route.begin()
      else route.end()
    }
  }

  onFrame(_now: Nanos, _port: number, _frame: Frame): void {
    assert(false, 'a frame came to the static routes')
  }

  pollTransmit(_now: Nanos): Frame | null {
    return null
  }
}

function setRoute(route: StaticRoute, { tables, addresses, seed }: StaticRouteContext): void {
  tables.get(route.switch)!.set(addresses.get(route.to)!, route.ports, seed)
}

/** A route that holds for a time. Its end may be never. */
class TemporaryRoute {
  readonly #route: StaticRoute
  readonly #context: StaticRouteContext
  readonly #table: ForwardingTable
  readonly #address: HostAddress
  /** What holds without it. */
  #usual: Uint8Array | null = null
  #holds = false

  constructor(route: StaticRoute, context: StaticRouteContext) {
    this.#route = route
    this.#context = context
    this.#table = context.tables.get(route.switch)!
    this.#address = context.addresses.get(route.to)!
  }

  changes(): Change[] {
    const { startNs = NEVER, endNs = NEVER } = this.#route
    return [
      { atNs: startNs, begins: true, route: this },
      { atNs: endNs, begins: false, route: this },
    ]
  }

  afterReroute(): void {
    this.#usual = this.#table.buckets(this.#address)
    assert(this.#usual !== null, `${this.#route.switch} has no path to ${this.#route.to}`)
    if (this.#holds) setRoute(this.#route, this.#context)
  }

  begin(): void {
    this.#holds = true
    setRoute(this.#route, this.#context)
  }

  end(): void {
    this.#holds = false
    this.#table.setBuckets(this.#address, this.#usual!)
  }
}
