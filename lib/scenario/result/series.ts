/** Names of the time series of a run, and functions over a window of them. */
import type { Series } from './result.js'

/**
 * What is sampled. queue, tx: the bytes in a port's queue, and the bytes that the port has sent so far. rate,
 * window, inflight, acked: a flow's rate, window, bytes in flight, and payload acknowledged so far. kmin, kmax, pmax: thresholds of a queue that
 * follow its traffic. pauses: PFC frames so far by which ports were paused whose packets the queue got.
 */
type SeriesKind =
  | 'queue'
  | 'tx'
  | 'rate'
  | 'window'
  | 'inflight'
  | 'acked'
  | 'kmin'
  | 'kmax'
  | 'pmax'
  | 'pauses'

/**
 * Returns the key in `series` of a result: `queue/s1:s2`, `acked/flow0`.
 *
 * @param of for a port its `portName` of lib/scenario/model/topology.ts, for a flow its name
 */
export function seriesName(kind: SeriesKind, of: string): string {
  return `${kind}/${of}`
}

/** Returns the samples with `fromNs <= time < toNs`. */
export function valuesBetween(series: Series, fromNs: number, toNs: number): number[] {
  const values: number[] = []
  for (const [i, at] of series.timesNs.entries()) {
    if (at >= fromNs && at < toNs) values.push(series.values[i]!)
  }
  return values
}

/**
 * Returns the value at a time by linear interpolation between samples. Outside the samples it is the nearest
 * one. Returns NaN if there are no samples. For a counter, the difference of two such values is what was
 * counted between the two times.
 */
export function valueAt(series: Series, atNs: number): number {
  const { timesNs, values } = series
  const after = firstFrom(timesNs, atNs)
  if (after === timesNs.length) return values.at(-1) ?? Number.NaN
  if (after === 0) return values[0]!
  const before = after - 1
  const span = timesNs[after]! - timesNs[before]!
  const share = span === 0 ? 1 : (atNs - timesNs[before]!) / span
  return values[before]! + share * (values[after]! - values[before]!)
}

/**
 * Returns the index of the first time that is `atNs` or later, or the number of times if there is none. Times
 * rise.
 */
function firstFrom(timesNs: readonly number[], atNs: number): number {
  let low = 0
  let high = timesNs.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (timesNs[middle]! >= atNs) high = middle
    else low = middle + 1
  }
  return low
}

/** Returns the increase of a counter over a window, per second. Returns 0 for an empty window. */
export function ratePerSecond(series: Series, fromNs: number, toNs: number): number {
  if (toNs <= fromNs) return 0
  return ((valueAt(series, toNs) - valueAt(series, fromNs)) * 1e9) / (toNs - fromNs)
}

/** Returns the highest sample of a window and its time. Returns null if there is none. */
export function peakBetween(
  series: Series,
  fromNs: number,
  toNs: number,
): { atNs: number; value: number } | null {
  let peak: { atNs: number; value: number } | null = null
  for (const [i, atNs] of series.timesNs.entries()) {
    if (atNs < fromNs || atNs >= toNs) continue
    const value = series.values[i]!
    if (peak === null || value > peak.value) peak = { atNs, value }
  }
  return peak
}
