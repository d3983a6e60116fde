/**
 * Static routes of a scenario file. They override the shortest paths, permanently or for a time. A temporary
 * forwarding loop, as during the convergence of routing, is an example.
 */

import { offer } from '../../offer.js'
import { show } from '../../options/read-value.js'
import { expandNames } from '../model/names.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { StaticRoute } from '../model/scenario.js'
import type { PathHop, Topology } from '../model/topology.js'
import type { VtepNetwork } from '../model/vtep.js'
import { checkShape } from '../schema/check-shape.js'
import { routeSchema } from '../schema/network.js'
import { resolvePeer } from './ports.js'

/** Routes that a file may have. A range of hosts counts as one for each host. */
const ROUTES_MAX = 65_536

/** What routes are checked against. `topology` is null when the network has problems of its own. */
interface RouteContext {
  problems: Problems
  topology: Topology | null
  hostNames: readonly string[]
  switchNames: readonly string[]
  vtep: readonly VtepNetwork[]
}

export function resolveRoutes(context: RouteContext, value: unknown): StaticRoute[] {
  if (value === undefined) return []
  const { problems } = context
  if (!Array.isArray(value)) {
    problems.at(['routes'], `routes is a list ([{switch: s1, to: h3, via: s2}]), not ${show(value)}`)
    return []
  }
  const routes: StaticRoute[] = []
  /** Routes by switch and host. */
  const known = new Map<string, StaticRoute[]>()
  for (const [i, item] of value.entries()) {
    const path = ['routes', i]
    for (const route of resolveRoute(context, path, item)) {
      const key = `${route.switch} ${route.to}`
      const others = known.get(key) ?? []
      if (others.some(other => overlap(other, route))) {
        problems.at(path, `${route.switch} has another route to ${route.to} at the same time; leave out one`)
      } else if (routes.length === ROUTES_MAX) {
        problems.at(path, `more than ${ROUTES_MAX} routes`)
        return routes
      } else {
        known.set(key, [...others, route])
        routes.push(route)
      }
    }
  }
  return routes
}

/** Returns one route for each host that the entry names. */
function resolveRoute(context: RouteContext, path: DocumentPath, item: unknown): StaticRoute[] {
  const { problems, topology, switchNames } = context
  const shape = checkShape(problems, path, routeSchema, item, 'a route')
  if (shape === null || topology === null) return []
  const { switch: name, start, duration } = shape
  if (duration !== undefined && start === undefined) {
    problems.at([...path, 'duration'], 'a route that ends needs a start (start: 10ms)')
  }
  if (name === undefined || shape.to === undefined) return []
  if (!switchNames.includes(name)) {
    problems.at([...path, 'switch'], `no switch is called '${name}'; there are ${offer(name, switchNames)}`)
    return []
  }
  const hosts = resolveHosts(context, [...path, 'to'], shape.to)
  const hops = resolveVia(problems, [...path, 'via'], name, shape.via, topology)
  const ports = hops.map(hop => hop.port)
  const times = {
    ...(start !== undefined && { startNs: start }),
    ...(start !== undefined && duration !== undefined && { endNs: start + duration }),
  }
  return hosts
    .filter(to => mayPass(context, path, name, to, hops))
    .map(to => ({ switch: name, to, ports, ...times }))
}

function resolveHosts(
  { problems, hostNames, switchNames, vtep }: RouteContext,
  path: DocumentPath,
  text: string,
): string[] {
  const names = expandNames(text)
  if ('wrong' in names) {
    problems.at(path, names.wrong)
    return []
  }
  const ends = vtep.flatMap(network => network.ends)
  return names.filter(name => {
    const end = ends.find(({ hosts }) => hosts.includes(name))
    if (end !== undefined) {
      problems.at(path, `${name} is behind ${end.node}, an end of tunnels; name ${end.node}`)
      return false
    }
    if (hostNames.includes(name)) return true
    if (switchNames.includes(name) && ends.some(({ node }) => node === name)) return true
    problems.at(path, `no host is called '${name}'; there are ${offer(name, hostNames)}`)
    return false
  })
}

function resolveVia(
  problems: Problems,
  path: DocumentPath,
  name: string,
  via: unknown,
  topology: Topology,
): PathHop[] {
  if (typeof via === 'string' || typeof via === 'number')
    return resolvePeer(problems, path, name, String(via), topology)
  problems.at(path, `via is a neighbour of ${name} (s2, or s2#1 of parallel links), not ${show(via ?? null)}`)
  return []
}

/** Checks that a route leads to a switch from which the host can be reached, or to the host itself. */
function mayPass(
  context: RouteContext,
  path: DocumentPath,
  name: string,
  to: string,
  hops: readonly PathHop[],
): boolean {
  const { problems, topology, hostNames } = context
  if (hops.length === 0) return false
  if (name === to) {
    problems.at([...path, 'to'], `${to} needs no route to itself`)
    return false
  }
  const host = hops.find(hop => hop.peer !== to && hostNames.includes(hop.peer))
  if (host !== undefined) {
    problems.at([...path, 'via'], `${host.peer} is a host and does not forward; name a switch`)
    return false
  }
  if (topology?.distance(name, to) === Number.POSITIVE_INFINITY) {
    problems.at(path, `${to} cannot be reached from ${name} by any path`)
    return false
  }
  return true
}

/** Returns true if both routes hold at the same time. A temporary route overrides a permanent one. */
function overlap(a: StaticRoute, b: StaticRoute): boolean {
  if ((a.startNs === undefined) !== (b.startNs === undefined)) return false
  const forEver = Number.POSITIVE_INFINITY
  return (a.startNs ?? 0) < (b.endNs ?? forEver) && (b.startNs ?? 0) < (a.endNs ?? forEver)
}
