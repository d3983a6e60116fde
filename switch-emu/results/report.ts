/** Makes the result of a run. It is the same for virtual time, overlay and veth. */
import { createHash } from 'node:crypto'
import os from 'node:os'
import { packageVersion } from '../../lib/daemon/package-version.js'
import type { WeirError } from '../../lib/errors.js'
import type { Scenario, ScenarioFlow } from '../../lib/scenario/model/scenario.js'
import { settingsOf } from '../../lib/scenario/model/settings.js'
import { idealFctNs, slowdown, Topology } from '../../lib/scenario/model/topology.js'
import type { InofResult } from '../../lib/scenario/result/inof-result.js'
import type {
  FeedbackResult,
  FlowPathsResult,
  FlowResult,
  LinkResult,
  Machine,
  PortResult,
  RealTimeResult,
  RunResult,
  Series,
  TimelineEntry,
} from '../../lib/scenario/result/result.js'
import { summarise } from '../../lib/scenario/result/summary.js'
import { totalsOf } from '../../lib/scenario/result/totals.js'
import type { Nanos } from '../../lib/time/nanos.js'

/** The outcome of one flow. */
export interface FlowOutcome {
  /** From its start to its last completion. Null if it did not finish. */
  fctNs: Nanos | null
  ackedBytes: number
  retransmittedBytes: number
  spuriousRetransmissions: number
  timeouts: number
  paths?: FlowPathsResult
  refused?: string
  failed?: string
  digestEqual?: boolean
}

/** Returns the members of a flow's result for its error, with which the run continues. */
export function failureOf(error: WeirError | null): Pick<FlowOutcome, 'refused' | 'failed'> {
  if (error === null) return {}
  return error.code === 'WEIR_NOT_ADMITTED' ? { refused: error.message } : { failed: error.message }
}

/** The raw outcome of a run of any kind. */
interface RunOutcome {
  on: RunResult['on']
  /** How long the run took on its own clock, from the traffic's start. */
  durationNs: Nanos
  flows: readonly ScenarioFlow[]
  outcomes: readonly FlowOutcome[]
  ports: readonly PortResult[]
  links?: readonly LinkResult[]
  timeline?: readonly TimelineEntry[]
  inof?: InofResult
  series: Record<string, Series>
  feedback?: FeedbackResult
  realTime?: RealTimeResult
  wallSeconds: number
  events: number
}

/** @param scenario of the run, with the run's seed */
export function makeResult(scenario: Scenario, run: RunOutcome): RunResult {
  const topology = new Topology(scenario)
  const ports = [...run.ports]
  const idealOf = idealTimes(topology, scenario)
  const flows = run.flows.map((flow, i) => flowResult(idealOf(flow), flow, run.outcomes[i]!, run.durationNs))
  const { series } = run
  const summary = summarise({ flows, ports, series })
  const { name, file, text } = scenario
  return {
    version: packageVersion(),
    scenario: { name, file, sha256: createHash('sha256').update(text).digest('hex'), text },
    on: run.on,
    seed: scenario.seed,
    settings: settingsOf(scenario),
    totals: totalsOf(flows, ports),
    flows,
    ports,
    ...(run.links && run.links.length > 0 && { links: [...run.links] }),
    ...(run.timeline && run.timeline.length > 0 && { timeline: [...run.timeline] }),
    ...(run.inof && { inof: run.inof }),
    series,
    ...(run.feedback && { feedback: run.feedback }),
    ...(summary && { summary }),
    ...(run.realTime && { realTime: run.realTime }),
    events: run.events,
    machine: thisMachine(),
    wallSeconds: run.wallSeconds,
  }
}

function thisMachine(): Machine {
  const cpus = os.cpus()
  return {
    node: process.versions.node,
    os: `${os.type()} ${os.release()}`,
    arch: os.arch(),
    cpus: cpus.length,
    cpuModel: cpus[0]?.model ?? 'unknown',
    memoryBytes: os.totalmem(),
  }
}

/** As idealFctNs, worked out once for alike flows that follow each other. */
function idealTimes(topology: Topology, scenario: Scenario): (flow: ScenarioFlow) => Nanos {
  let last: ScenarioFlow | null = null
  let ideal = 0
  return flow => {
    const { from, to, bytes, cc } = flow
    const isAlike = last?.from === from && last.to === to && last.bytes === bytes && last.cc === cc
    if (!isAlike) ideal = idealFctNs(topology, scenario, flow)
    last = flow
    return ideal
  }
}

function flowResult(ideal: Nanos, flow: ScenarioFlow, outcome: FlowOutcome, durationNs: Nanos): FlowResult {
  const lastedNs = outcome.fctNs ?? Math.max(0, durationNs - flow.startNs)
  const result: FlowResult = {
    name: flow.name,
    from: flow.from,
    to: flow.to,
    bytes: flow.bytes,
    startNs: flow.startNs,
    fctNs: outcome.fctNs,
    idealFctNs: ideal,
    slowdown: slowdown(outcome.fctNs, ideal),
    goodputBps: lastedNs > 0 ? (outcome.ackedBytes * 8e9) / lastedNs : null,
    retransmittedBytes: outcome.retransmittedBytes,
    spuriousRetransmissions: outcome.spuriousRetransmissions,
    timeouts: outcome.timeouts,
    ackedBytes: outcome.ackedBytes,
  }
  // Spreads of nothing would make an object several times as large, and there may be ten thousand.
  const { paths, refused, failed, digestEqual } = outcome
  if (paths !== undefined) result.paths = paths
  if (refused !== undefined) result.refused = refused
  if (failed !== undefined) result.failed = failed
  if (digestEqual !== undefined) result.digestEqual = digestEqual
  return result
}
