import type { Scenario, ScenarioFlow } from '../../lib/scenario/model/scenario.js'
import { type PathHop, Topology } from '../../lib/scenario/model/topology.js'

/**
 * Returns the rate, bit/s, that the traffic would have on an empty machine. The flows that the file lists
 * share every link evenly (max-min fair), each on the first of its shortest paths, as if all of them ran at
 * the same time. It is an upper bound if some end before others begin. Workloads add their load.
 */
export function demandBps(scenario: Scenario): number {
  const topology = new Topology(scenario)
  const offered = scenario.workloads.map(
    ({ load, hosts }) => load * sum(hosts.map(host => topology.ports(host)[0]?.rateBps ?? 0)),
  )
  return fairRates(topology, scenario.flows) + sum(offered)
}

/**
 * Progressive filling: the link that leaves the least to each of its flows determines their rates, then the
 * next one.
 */
function fairRates(topology: Topology, flows: readonly ScenarioFlow[]): number {
  const left = new Map<string, number>()
  let open = flows.map(({ from, to }) => {
    const path = topology.pathKinds(from, to)[0] ?? []
    for (const hop of path) left.set(linkName(hop), hop.rateBps)
    return path.map(linkName)
  })
  let total = 0
  while (open.length > 0) {
    const { link, eachBps } = tightest(open, left)
    if (link === null) break
    for (const path of open.filter(links => links.includes(link))) {
      total += eachBps
      for (const name of path) left.set(name, left.get(name)! - eachBps)
    }
    open = open.filter(links => !links.includes(link))
  }
  return total
}

function tightest(paths: readonly string[][], left: ReadonlyMap<string, number>) {
  const flows = new Map<string, number>()
  for (const links of paths) for (const link of links) flows.set(link, (flows.get(link) ?? 0) + 1)
  let found: { link: string | null; eachBps: number } = { link: null, eachBps: Number.POSITIVE_INFINITY }
  for (const [link, count] of flows) {
    const eachBps = left.get(link)! / count
    if (eachBps < found.eachBps) found = { link, eachBps }
  }
  return found
}

function linkName({ node, port }: PathHop): string {
  return `${node}:${port}`
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
