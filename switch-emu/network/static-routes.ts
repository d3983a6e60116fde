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
  apply(): void
}

/** A node of the network without links, which only waits for the times at which routes change. */
export class StaticRoutes implements Node {
  /** In the order of their times. At equal times, ends come first. */
  readonly #changes: Change[]
  #startNs: Nanos = NEVER
  #next = 0

  /** Sets the permanent routes. */
  constructor(routes: readonly StaticRoute[], context: StaticRouteContext) {
    for (const route of routes) if (route.startNs === undefined) setRoute(route, context)
    this.#changes = routes
      .flatMap(route => changesOf(route, context))
      .sort((a, b) => a.atNs - b.atNs || Number(a.begins) - Number(b.begins))
  }

  /** The traffic starts at `now`: the times of routes count from there. */
  start(now: Nanos): void {
    for (const change of this.#changes) if (!change.begins) change.apply()
    this.#startNs = now
    this.#next = 0
  }

  nextTimeout(): Nanos {
    const next = this.#changes[this.#next]
    return next === undefined ? NEVER : this.#startNs + next.atNs
  }

  onTimeout(now: Nanos): void {
    while (this.nextTimeout() <= now) this.#changes[this.#next++]!.apply()
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

/** Returns the beginning and the end of a temporary route. Its end may be never. */
function changesOf(route: StaticRoute, context: StaticRouteContext): Change[] {
  const { startNs, endNs = NEVER } = route
  if (startNs === undefined) return []
  const table = context.tables.get(route.switch)!
  const address = context.addresses.get(route.to)!
  const usual = table.buckets(address)
  assert(usual !== null, `${route.switch} has no path to ${route.to}`)
  return [
    { atNs: startNs, begins: true, apply: () => setRoute(route, context) },
    { atNs: endNs, begins: false, apply: () => table.setBuckets(address, usual) },
  ]
}
