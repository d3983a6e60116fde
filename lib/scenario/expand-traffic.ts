import { WeirError } from '../errors.js'
import { Random } from '../sim/random.js'
import type { Flow, Scenario, Workload } from './scenario.js'
import { meanSize, sizeAt } from './size-distribution.js'

/** Flows of one run. */
const FLOWS_MAX = 1_000_000

/**
 * All flows of a run in order of their start: those that the scenario lists, and those of its workloads drawn
 * by seed. The same scenario and seed always give the same flows.
 *
 * @param seed for every workload. Without it each goes by its own seed or else the scenario's.
 * Throws WEIR_BAD_SCENARIO if there would be more than a million flows.
 */
export function expandTraffic(scenario: Scenario, seed?: number): Flow[] {
  const flows = [...scenario.flows]
  const linkRates = hostLinkRates(scenario)
  for (const [i, workload] of scenario.workloads.entries()) {
    const random = new Random(seed ?? workload.seed ?? scenario.seed).fork(`workload ${i}`)
    drawWorkload(scenario, workload, linkRates, random, flows)
  }
  return flows.sort(compareFlows)
}

/**
 * Every host starts flows by a Poisson process of its own. Its rate is such that the mean payload is `load` of the
 * host's link: load x rate / (8 x mean size) flows a second. The receiver is any of the others, each equally likely.
 */
function drawWorkload(
  scenario: Scenario,
  workload: Workload,
  linkRates: ReadonlyMap<string, number>,
  random: Random,
  into: Flow[],
): void {
  const mean = meanSize(workload.distribution)
  const gapOf = (host: string) => (mean * 8e9) / (workload.load * linkRates.get(host)!)
  const expected = workload.hosts.reduce((sum, host) => sum + workload.durationNs / gapOf(host), 0)
  if (expected > FLOWS_MAX) throw tooMany(scenario, workload)
  const drawn: Flow[] = []
  for (const [i, from] of workload.hosts.entries()) {
    const own = random.fork(from)
    const gapNs = gapOf(from)
    for (let at = own.exponential(gapNs); at < workload.durationNs; at += own.exponential(gapNs)) {
      const other = own.below(workload.hosts.length - 1)
      const to = workload.hosts[other < i ? other : other + 1]!
      const bytes = Math.max(1, Math.round(sizeAt(workload.distribution, own.next())))
      if (into.length + drawn.length >= FLOWS_MAX) throw tooMany(scenario, workload)
      drawn.push({
        name: '',
        from,
        to,
        bytes,
        startNs: workload.startNs + Math.floor(at),
        ...(workload.cc && { cc: workload.cc }),
        priority: workload.priority,
      })
    }
  }
  drawn.sort(compareFlows)
  for (const [i, flow] of drawn.entries()) {
    flow.name = `${workload.name}.${i}`
    into.push(flow)
  }
}

/** By start; flows that start together keep the order they are in (sorting is stable). */
function compareFlows(a: Flow, b: Flow): number {
  return a.startNs - b.startNs
}

function hostLinkRates(scenario: Scenario): Map<string, number> {
  const hosts = new Set(scenario.hosts.map(host => host.name))
  const rates = new Map<string, number>()
  for (const { a, b, rateBps } of scenario.links) {
    for (const { node } of [a, b]) if (hosts.has(node)) rates.set(node, rateBps)
  }
  return rates
}

function tooMany(scenario: Scenario, workload: Workload): WeirError {
  return new WeirError(
    'WEIR_BAD_SCENARIO',
    `${scenario.file}: the workload ${workload.name} makes more than ${FLOWS_MAX} flows; lower its load or duration`,
  )
}
