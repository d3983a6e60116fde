/** How a flow's priority, its DSCP and the switches' maps depend on each other. */
import type { NodePlaces, Problems } from './problems.js'
import type { Scenario, ScenarioFlow, ScenarioSwitch, Workload } from './scenario.js'

/**
 * Priority of flows that name none, and of the hosts' own packets. By convention it is the lossless class.
 */
export const DEFAULT_PRIORITY = 3
const PRIORITIES = 8
const DSCPS = 64

/** The priority of a class selector is its number (RFC 2474, section 4.2.2). */
const BY_SELECTORS: Readonly<Record<number, number>> = Object.fromEntries(
  Array.from({ length: DSCPS }, (_, dscp) => [dscp, dscp >>> 3]),
)
const SELECTORS = Array.from({ length: PRIORITIES }, (_, priority) => 8 * priority)

/** Priority of every DSCP at a switch: its map, or by default that of its class selector. */
export function dscpMap(sw: Pick<ScenarioSwitch, 'dscpToTc'>): Readonly<Record<number, number>> {
  return sw.dscpToTc ?? BY_SELECTORS
}

/**
 * DSCP by which a host sends each priority, among those that its switch maps to this priority. The class
 * selector (8 x the priority) is preferred, then the lowest DSCP. Null: the switch maps no DSCP to this
 * priority.
 */
function dscpsOfPriorities(
  scenario: Pick<Scenario, 'switches' | 'links'>,
  host: string,
): readonly (number | null)[] {
  const map = dscpMap(switchOf(scenario, host) ?? {})
  if (map === BY_SELECTORS) return SELECTORS
  return Array.from({ length: PRIORITIES }, (_, priority) => {
    const leads = (dscp: number) => (map[dscp] ?? 0) === priority
    if (leads(8 * priority)) return 8 * priority
    const lowest = Array.from({ length: DSCPS }, (_, dscp) => dscp).find(leads)
    return lowest ?? null
  })
}

/** The same for a NIC. Here each priority has a DSCP, also where no flow uses the priority. */
export function hostDscps(scenario: Pick<Scenario, 'switches' | 'links'>, host: string): number[] {
  return dscpsOfPriorities(scenario, host).map((dscp, priority) => dscp ?? 8 * priority)
}

/** Reports flows with a priority to which their host's switch maps no DSCP. */
export function checkPriorities(
  problems: Problems,
  scenario: Pick<Scenario, 'switches' | 'links'> & { places: NodePlaces },
  traffic: { flows: readonly ScenarioFlow[]; workloads: readonly Workload[] },
): void {
  if (scenario.switches.every(sw => sw.dscpToTc === undefined)) return
  const known = new Map<string, readonly (number | null)[]>()
  const look = (host: string, priority: number, flow: string) => {
    const dscps = known.get(host) ?? dscpsOfPriorities(scenario, host)
    known.set(host, dscps)
    if (dscps[priority] !== null) return
    const path = [...scenario.places.get(switchOf(scenario, host)!.name)!, 'dscpToTc']
    problems.at(path, `no DSCP leads to priority ${priority}, which ${flow} has; map one to it`)
  }
  for (const { from, to, priority, name } of traffic.flows) {
    for (const host of [from, to]) look(host, priority, name)
  }
  for (const { hosts, priority, name } of traffic.workloads) {
    for (const host of hosts) look(host, priority, name)
  }
}

function switchOf(scenario: Pick<Scenario, 'switches' | 'links'>, host: string): ScenarioSwitch | undefined {
  const link = scenario.links.find(({ a, b }) => a.node === host || b.node === host)
  const peer = link === undefined ? undefined : link.a.node === host ? link.b.node : link.a.node
  return scenario.switches.find(({ name }) => name === peer)
}
