/** From what a run left behind to its result: the same for virtual time, the overlay and veth. */
import type { WeirError } from '../lib/errors.js'
import {
  type FeedbackResult,
  type FlowPathsResult,
  type FlowResult,
  type PortResult,
  type RunResult,
  type Series,
  summarise,
} from '../lib/scenario/result.js'
import type { Flow, Scenario } from '../lib/scenario/scenario.js'
import { idealFctNs, slowdown, Topology } from '../lib/scenario/topology.js'
import type { Nanos } from '../lib/time/nanos.js'

/** What became of one flow. */
export interface FlowOutcome {
  /** From its start to its last completion; null if it did not finish. */
  fctNs: Nanos | null
  ackedBytes: number
  retransmittedBytes: number
  timeouts: number
  paths?: FlowPathsResult
  refused?: string
  failed?: string
  digestEqual?: boolean
}

/** What the error of one flow says in its result, while the run goes on. */
export function failureOf(error: WeirError | null): Pick<FlowOutcome, 'refused' | 'failed'> {
  if (error === null) return {}
  return error.code === 'WEIR_NOT_ADMITTED' ? { refused: error.message } : { failed: error.message }
}

/** What a run leaves behind, wherever it ran. */
export interface RunOutcome {
  on: RunResult['on']
  seed: number
  /** How long the run took on its own clock, from the traffic's start. */
  durationNs: Nanos
  flows: readonly Flow[]
  outcomes: readonly FlowOutcome[]
  ports: readonly PortResult[]
  series: Record<string, Series>
  feedback?: FeedbackResult
  wallSeconds: number
  events: number
}

export function makeResult(scenario: Scenario, run: RunOutcome): RunResult {
  const topology = new Topology(scenario)
  const result: RunResult = {
    scenario: scenario.name,
    on: run.on,
    seed: run.seed,
    flows: run.flows.map((flow, i) => flowResult(topology, scenario, flow, run.outcomes[i]!, run.durationNs)),
    ports: [...run.ports],
    series: run.series,
    ...(run.feedback && { feedback: run.feedback }),
    wallSeconds: run.wallSeconds,
    events: run.events,
  }
  const summary = summarise(result)
  if (summary !== undefined) result.summary = summary
  return result
}

function flowResult(
  topology: Topology,
  scenario: Scenario,
  flow: Flow,
  outcome: FlowOutcome,
  durationNs: Nanos,
): FlowResult {
  const ideal = idealFctNs(topology, scenario, flow)
  const lastedNs = outcome.fctNs ?? Math.max(0, durationNs - flow.startNs)
  return {
    name: flow.name,
    from: flow.from,
    to: flow.to,
    bytes: flow.bytes,
    startNs: flow.startNs,
    fctNs: outcome.fctNs,
    idealFctNs: ideal,
    slowdown: slowdown(outcome.fctNs, ideal),
    goodputBps: lastedNs > 0 ? (outcome.ackedBytes * 8e9) / lastedNs : 0,
    retransmittedBytes: outcome.retransmittedBytes,
    timeouts: outcome.timeouts,
    ackedBytes: outcome.ackedBytes,
    ...(outcome.paths !== undefined && { paths: outcome.paths }),
    ...(outcome.refused !== undefined && { refused: outcome.refused }),
    ...(outcome.failed !== undefined && { failed: outcome.failed }),
    ...(outcome.digestEqual !== undefined && { digestEqual: outcome.digestEqual }),
  }
}
