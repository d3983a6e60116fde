import { jainIndex } from './fairness.js'
import type { RunResult, Summary } from './result.js'
import { ratePerSecond, seriesName, valueAt } from './series.js'

/** What a summary is computed from. */
type Sampled = Pick<RunResult, 'flows' | 'ports' | 'series'>

/**
 * The window of a summary if none is given. Let s be the last start of a flow, and e the first end (the last
 * sample if no flow ended). The window is from s + (e - s) / 10 to e. Null when e is not after s.
 */
function sharedWindow(result: Sampled): { fromNs: number; toNs: number } | null {
  if (result.flows.length < 2) return null
  let lastStart = 0
  let firstEnd = Number.POSITIVE_INFINITY
  for (const { startNs, fctNs } of result.flows) {
    lastStart = Math.max(lastStart, startNs)
    if (fctNs !== null) firstEnd = Math.min(firstEnd, startNs + fctNs)
  }
  if (firstEnd === Number.POSITIVE_INFINITY) firstEnd = lastSample(result)
  if (firstEnd <= lastStart) return null
  return { fromNs: Math.round(lastStart + (firstEnd - lastStart) / 10), toNs: firstEnd }
}

/**
 * Returns fairness and bottleneck utilization over a window, from the `acked` series of flows and the `tx`
 * series of ports. Returns undefined if the run did not sample its flows, or if no window is given and the
 * flows never overlap.
 */
export function summarise(result: Sampled, window = sharedWindow(result)): Summary | undefined {
  if (window === null) return undefined
  const { fromNs, toNs } = window
  const moved: number[] = []
  for (const { name } of result.flows) {
    const acked = result.series[seriesName('acked', name)]
    if (acked === undefined || acked.timesNs.length === 0) return undefined
    moved.push(valueAt(acked, toNs) - valueAt(acked, fromNs))
  }
  const index = jainIndex(moved)
  const jain = moved.length < 2 || Number.isNaN(index) ? null : index
  return { fromNs, toNs, jainIndex: jain, ...busiestPort(result, fromNs, toNs) }
}

/** Returns the watched port with the highest utilization in the window. */
function busiestPort(
  result: Sampled,
  fromNs: number,
  toNs: number,
): Pick<Summary, 'bottleneck' | 'bottleneckUtilization'> {
  let best: { bottleneck: string; bottleneckUtilization: number } | undefined
  for (const port of result.ports) {
    const series = result.series[seriesName('tx', port.name)]
    if (series === undefined || series.timesNs.length === 0) continue
    const bottleneckUtilization = (ratePerSecond(series, fromNs, toNs) * 8) / port.rateBps
    if (best === undefined || bottleneckUtilization > best.bottleneckUtilization) {
      best = { bottleneck: port.name, bottleneckUtilization }
    }
  }
  return best ?? {}
}

function lastSample(result: Sampled): number {
  let last = 0
  for (const { timesNs } of Object.values(result.series)) last = Math.max(last, timesNs.at(-1) ?? 0)
  return last
}
