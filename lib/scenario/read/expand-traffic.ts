import { assert } from '../../errors.js'
import { Random } from '../../sim/random.js'
import type { Nanos } from '../../time/nanos.js'
import type { DocumentPath, Problems } from '../model/problems.js'
import type { Scenario, ScenarioFlow, Workload } from '../model/scenario.js'
import { meanSize, sizeAt } from '../model/size-distribution.js'

/** Flows that a run may have, by expectation. */
const FLOWS_MAX = 1_000_000
/** Flows that may be drawn. Draws differ from the expectation by a few thousand. */
const DRAWN_MAX = 2 * FLOWS_MAX
/**
 * Flows that one host may send and receive, by expectation. A NIC has 65,534 connections, and draws may
 * exceed the expectation by a few hundred.
 */
const FLOWS_OF_A_HOST_MAX = 60_000

/**
 * Reports traffic with too many flows for a run or for one host.
 *
 * @param places of the workloads in the file, by name
 */
export function checkFlowCount(
  problems: Problems,
  scenario: Scenario,
  places: ReadonlyMap<string, DocumentPath>,
): void {
  const ofHost = new Map<string, number>()
  /** Returns the first of these hosts that would have too many flows with `flowsMore` in addition. */
  const firstFull = (hosts: readonly string[], flowsMore: (host: string) => number) =>
    hosts.find(host => {
      ofHost.set(host, (ofHost.get(host) ?? 0) + flowsMore(host))
      return ofHost.get(host)! > FLOWS_OF_A_HOST_MAX
    })
  const report = (path: DocumentPath, host: string, mend: string) =>
    problems.at(path, `${host} would send and receive more than ${FLOWS_OF_A_HOST_MAX} flows; ${mend}`)
  for (const { from, to } of scenario.flows) {
    const full = firstFull([from, to], () => 1)
    if (full === undefined) continue
    report(['traffic'], full, 'lower count or repeat')
    return
  }
  const linkRates = hostLinkRates(scenario)
  let flows = scenario.flows.length
  for (const workload of scenario.workloads) {
    const { name, hosts } = workload
    const path = places.get(name)!
    const expected = expectedFlows(workload, linkRates)
    flows += expected
    // Receivers are drawn evenly.
    const received = expected / hosts.length
    const full = firstFull(hosts, host => flowsFrom(workload, linkRates.get(host)!) + received)
    if (flows > FLOWS_MAX) {
      const what = `with the workload ${name} the run has more than ${FLOWS_MAX} flows`
      problems.at(path, `${what}; lower its load or duration`)
    } else if (full !== undefined) report(path, full, 'lower load or duration')
    if (problems.count > 0) return
  }
}

function expectedFlows(workload: Workload, linkRates: ReadonlyMap<string, number>): number {
  return workload.hosts.reduce((sum, host) => sum + flowsFrom(workload, linkRates.get(host)!), 0)
}

function flowsFrom(workload: Workload, linkRateBps: number): number {
  return workload.durationNs / meanGapNs(workload, linkRateBps)
}

/** Mean time between two flows of one host. */
function meanGapNs({ load, distribution }: Workload, linkRateBps: number): Nanos {
  return (meanSize(distribution) * 8e9) / (load * linkRateBps)
}

/**
 * Returns all flows of a run in order of their start: those that the scenario lists, and those of its
 * workloads, drawn by seed. The same scenario always gives the same flows.
 */
export function expandTraffic(scenario: Scenario): ScenarioFlow[] {
  const flows = [...scenario.flows]
  const linkRates = hostLinkRates(scenario)
  for (const [i, workload] of scenario.workloads.entries()) {
    const random = new Random(workload.seed ?? scenario.seed).fork(`workload ${i}`)
    drawWorkload(workload, linkRates, random, flows)
  }
  return flows.sort(compareFlows)
}

/**
 * Every host starts flows by a Poisson process of its own, so that its mean payload is `load` of its link:
 * load x rate / (8 x mean size) flows a second. Each of the other hosts is equally likely to be the receiver.
 */
function drawWorkload(
  workload: Workload,
  linkRates: ReadonlyMap<string, number>,
  random: Random,
  into: ScenarioFlow[],
): void {
  const drawn: ScenarioFlow[] = []
  for (const [i, from] of workload.hosts.entries()) {
    const own = random.fork(from)
    const gapNs = meanGapNs(workload, linkRates.get(from)!)
    for (let at = own.exponential(gapNs); at < workload.durationNs; at += own.exponential(gapNs)) {
      const other = own.below(workload.hosts.length - 1)
      const to = workload.hosts[other < i ? other : other + 1]!
      const bytes = Math.max(1, Math.round(sizeAt(workload.distribution, own.next())))
      assert(into.length + drawn.length < DRAWN_MAX, 'a workload was not checked when its file was read')
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

/** Orders flows by start. Flows that start together keep their order, because sorting is stable. */
function compareFlows(a: ScenarioFlow, b: ScenarioFlow): number {
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
