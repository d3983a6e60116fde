/** Time series of a run: their names, and what they say about a window of time. */
import type { Series } from './result.js'

/**
 * What is sampled. Of a port: the bytes in its queue, and the bytes that it has sent so far (tx). Of a flow:
 * rate, window, bytes in flight, and payload acknowledged so far (acked).
 */
type SeriesKind = 'queue' | 'tx' | 'rate' | 'window' | 'inflight' | 'acked'

/**
 * Key in `series` of a result: `queue/s1:s2`, `acked/flow0`.
 *
 * @param of `portName` of lib/scenario/model/topology.ts for a port, the name for a flow
 */
export function seriesName(kind: SeriesKind, of: string): string {
  return `${kind}/${of}`
}

/** The samples with `fromNs <= time < toNs`. */
export function valuesBetween(series: Series, fromNs: number, toNs: number): number[] {
  const values: number[] = []
  for (const [i, at] of series.timesNs.entries()) {
    if (at >= fromNs && at < toNs) values.push(series.values[i]!)
  }
  return values
}

/**
 * The value at a time between samples, linear in between; the nearest sample outside them. NaN for no samples.
 * For counters that only rise, the difference of two such values is what was counted between.
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

/** Index of the first time that is `atNs` or later; times only rise. The number of times if there is none. */
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

/** How much a counter rose over a window, per second; 0 for an empty window. */
export function ratePerSecond(series: Series, fromNs: number, toNs: number): number {
  if (toNs <= fromNs) return 0
  return ((valueAt(series, toNs) - valueAt(series, fromNs)) * 1e9) / (toNs - fromNs)
}

/** The highest sample of a window and its time; null if there is none. */
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
