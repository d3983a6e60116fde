/**
 * Judges controllers and their modes: one run of a scenario as figures. Times count from the start of the
 * last flow, when all share the network.
 */

import type { Scenario } from '../../lib/scenario/model/scenario.js'
import { jainIndex, percentile } from '../../lib/scenario/result/fairness.js'
import type { RunResult } from '../../lib/scenario/result/result.js'
import { seriesName, valueAt } from '../../lib/scenario/result/series.js'

/** Flows have converged when from then on Jain's index of what they move is at least this. */
const FAIR = 0.9
/** The index holds in every interval of this length. */
const FAIR_FOR_NS = 50_000

/** One run in figures. */
export interface Judgement {
  /**
   * Utilization of the busiest link: from when all flows have started. For flows that end, their payload over
   * the time of the slowest.
   */
  utilization: number
  /** Queue of the watched port with the longest queue. The p99 is a percentile of the samples. */
  peakQueueBytes: number
  meanQueueBytes: number
  p99QueueBytes: number
  /** Time until shares are fair. Null: not within the run. */
  convergenceNs: number | null
  /**
   * Time until the burst of the last flow has drained: every watched queue has been under a tenth of rate x T
   * since its peak.
   */
  drainedNs: number | null
  /**
   * Jain's index of the payload that flows with an equal fair share have moved, until the first of them ends.
   */
  jainIndex: number
  /** Bytes that were retransmitted, and frames that were dropped. */
  retransmittedBytes: number
  drops: number
  /** Retransmitted packets of which the original had arrived. */
  needlessPackets: number
}

/**
 * Judges a run.
 *
 * @param scenario of the run; its T must be given, not measured
 */
export function judge(scenario: Scenario, result: RunResult): Judgement {
  const names = sharers(scenario)
  const watched = new Set(scenario.watch.queues.map(({ switch: sw, port }) => `${sw} ${port}`))
  const ports = result.ports.filter(({ switch: sw, port }) => watched.has(`${sw} ${port}`))
  const samples = ports.map(({ name }) => result.series[seriesName('queue', name)]?.values ?? [])
  return {
    utilization: utilization(result),
    peakQueueBytes: Math.max(...ports.map(port => port.maxQueueBytes)),
    meanQueueBytes: Math.max(...ports.map(port => port.meanQueueBytes)),
    p99QueueBytes: Math.max(...samples.map(values => percentile(values, 0.99))),
    convergenceNs: convergence(result, names),
    drainedNs: drained(result, scenario),
    jainIndex: orNone(jainIndex(moved(result, names))),
    retransmittedBytes: result.totals.retransmittedBytes,
    drops: result.totals.drops,
    needlessPackets: result.totals.spuriousRetransmissions,
  }
}

function utilization(result: RunResult): number {
  if (result.flows.some(({ fctNs }) => fctNs === null)) return result.summary?.bottleneckUtilization ?? 0
  const bytes = result.flows.reduce((all, flow) => all + flow.bytes, 0)
  const ends = result.flows.map(({ startNs, fctNs }) => startNs + fctNs!)
  const starts = result.flows.map(({ startNs }) => startNs)
  const rateBps = Math.max(...result.ports.map(port => port.rateBps))
  return (bytes * 8e9) / (Math.max(...ends) - Math.min(...starts)) / rateBps
}

/** Flows with an equal fair share: those to the host with the most flows. */
function sharers(scenario: Scenario): string[] {
  const to = scenario.flows.map(flow => flow.to)
  const most = to.reduce((best, host) =>
    to.filter(h => h === host).length > to.filter(h => h === best).length ? host : best,
  )
  return scenario.flows.filter(flow => flow.to === most).map(({ name }) => name)
}

/** Jain's index of what flows have moved between two times. 0 when they moved nothing. */
function jainBetween(result: RunResult, names: readonly string[], fromNs: number, toNs: number): number {
  return orNone(jainIndex(movedBetween(result, names, fromNs, toNs)))
}

function movedBetween(result: RunResult, names: readonly string[], fromNs: number, toNs: number): number[] {
  return names.map(name => {
    const acked = result.series[seriesName('acked', name)]!
    return valueAt(acked, toNs) - valueAt(acked, fromNs)
  })
}

function orNone(index: number): number {
  return Number.isNaN(index) ? 0 : index
}

function lastStart(result: RunResult): number {
  return Math.max(...result.flows.map(({ startNs }) => startNs))
}

function firstEnd(result: RunResult): number {
  const ends = result.flows.map(({ startNs, fctNs }) =>
    fctNs === null ? Number.POSITIVE_INFINITY : startNs + fctNs,
  )
  const samples = Object.values(result.series).map(({ timesNs }) => timesNs.at(-1) ?? 0)
  return Math.min(...ends, Math.max(...samples))
}

/**
 * Payload of each flow while all run: from a tenth of the time after the last start to the first end.
 *
 * @param names of flows
 */
export function moved(result: RunResult, names: readonly string[]): number[] {
  const from = lastStart(result)
  const to = firstEnd(result)
  return movedBetween(result, names, from + (to - from) / 10, to)
}

function convergence(result: RunResult, names: readonly string[]): number | null {
  const from = lastStart(result)
  const last = firstEnd(result) - FAIR_FOR_NS
  let converged: number | null = null
  for (let at = from; at <= last; at += FAIR_FOR_NS / 20) {
    if (jainBetween(result, names, at, at + FAIR_FOR_NS) < FAIR) converged = null
    else converged ??= at - from
  }
  return converged
}

function drained(result: RunResult, scenario: Scenario): number | null {
  const from = lastStart(result)
  let longest = 0
  for (const port of result.ports) {
    const queue = result.series[seriesName('queue', port.name)]
    if (queue === undefined) continue
    const low = (port.rateBps * (scenario.baseRttNs as number)) / 8e9 / 10
    let peak = queue.timesNs.findIndex(at => at >= from)
    for (let i = peak; i < queue.values.length; i++) if (queue.values[i]! > queue.values[peak]!) peak = i
    const end = queue.values.findIndex((bytes, i) => i >= peak && bytes < low)
    if (end < 0) return null
    longest = Math.max(longest, queue.timesNs[end]! - from)
  }
  return longest
}
