import { createRequire } from 'node:module'
import type { Histogram } from 'hdr-histogram-js'
import type { Nanos } from '../time/nanos.js'

/** An hour. A longer time counts as an hour. */
const NS_MAX = 3600e9
/** Significant decimal digits of a recorded time: an error of 0.1 %. */
const DIGITS = 3

/** Loads the package with the first recorder, because most daemons never measure. */
function buildHistogram(): Histogram {
  const { build } = createRequire(import.meta.url)('hdr-histogram-js') as typeof import('hdr-histogram-js')
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: NS_MAX,
    numberOfSignificantValueDigits: DIGITS,
    bitBucketSize: 32,
  })
}

/** Nanoseconds, except `count`. */
export interface LatencySummary {
  count: number
  min: number
  max: number
  mean: number
  /** Standard deviation. */
  stdev: number
  p50: number
  p90: number
  p99: number
  p999: number
  p9999: number
  /**
   * Counts by powers of two: of times from `fromNs` to below twice that (the first: from 0). Neither the
   * first nor the last is empty.
   */
  histogram: { fromNs: number; count: number }[]
}

/** Records times of messages in a fixed amount of memory. */
export class LatencyRecorder {
  readonly #histogram = buildHistogram()
  readonly #octaves = new Float64Array(53)
  /**
   * The last time, and how often it occurred in a row. Messages that go and come back together take equally
   * long, so this saves work.
   */
  #runNs = 0
  #runCount = 0
  #minNs = Number.POSITIVE_INFINITY
  #maxNs = 0
  /** The histogram's own mean uses the middles of buckets, which is inexact even if all times are equal. */
  #sumNs = 0

  record(ns: Nanos): void {
    const time = Math.min(Math.max(0, Math.round(ns)), NS_MAX)
    if (time !== this.#runNs) {
      this.#endRun()
      this.#runNs = time
    }
    this.#runCount++
  }

  #endRun(): void {
    const time = this.#runNs
    const count = this.#runCount
    if (count === 0) return
    this.#runCount = 0
    this.#histogram.recordValueWithCount(time, count)
    this.#octaves[octaveOf(time)]! += count
    this.#sumNs += time * count
    if (time < this.#minNs) this.#minNs = time
    if (time > this.#maxNs) this.#maxNs = time
  }

  reset(): void {
    this.#runCount = 0
    this.#histogram.reset()
    this.#octaves.fill(0)
    this.#sumNs = 0
    this.#minNs = Number.POSITIVE_INFINITY
    this.#maxNs = 0
  }

  /** @param share factor for each time: 0.5 for half a round trip */
  summary(share = 1): LatencySummary {
    this.#endRun()
    const histogram = this.#histogram
    const count = histogram.totalCount
    const at = (percentile: number) =>
      count === 0 ? 0 : share * Math.min(this.#maxNs, histogram.getValueAtPercentile(percentile))
    return {
      count,
      min: count === 0 ? 0 : share * this.#minNs,
      max: share * this.#maxNs,
      mean: count === 0 ? 0 : (share * this.#sumNs) / count,
      stdev: count === 0 ? 0 : share * histogram.stdDeviation,
      p50: at(50),
      p90: at(90),
      p99: at(99),
      p999: at(99.9),
      p9999: at(99.99),
      histogram: this.#histogramOf(share),
    }
  }

  #histogramOf(share: number): LatencySummary['histogram'] {
    const first = this.#octaves.findIndex(count => count > 0)
    if (first < 0) return []
    const last = this.#octaves.findLastIndex(count => count > 0)
    return Array.from(this.#octaves.subarray(first, last + 1), (count, i) => ({
      fromNs: first + i === 0 ? 0 : share * 2 ** (first + i),
      count,
    }))
  }
}

/** Returns 0 for 0 and 1 ns, else the exponent of the largest power of two that is not above `ns`. */
function octaveOf(ns: number): number {
  return ns < 2 ** 31 ? 31 - Math.clz32(ns | 1) : Math.floor(Math.log2(ns))
}
