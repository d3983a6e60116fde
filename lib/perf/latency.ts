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

/**
 * The histogram's buckets of times below SHORT_NS: 2,048 for the times below 2,048 ns, and then 1,024 an octave. Each time is counted in
 * its bucket here, and the histogram hears of it later: its library takes as long for one as half of a small message's way does.
 */
const SHORT_NS = 2 ** 30
const BUCKET_BITS = 11
const BUCKETS = (30 - BUCKET_BITS + 2) << (BUCKET_BITS - 1)

/** Records times of messages in a fixed amount of memory. */
export class LatencyRecorder {
  readonly #histogram = buildHistogram()
  readonly #octaves = new Float64Array(53)
  /** By bucket: times that the histogram does not have yet. */
  readonly #short = new Uint32Array(BUCKETS)
  #minNs = Number.POSITIVE_INFINITY
  #maxNs = 0
  /** The histogram's own mean uses the middles of buckets, which is inexact even if all times are equal. */
  #sumNs = 0

  record(ns: Nanos): void {
    const time = Math.min(Math.max(0, Math.round(ns)), NS_MAX)
    if (time < SHORT_NS) this.#short[bucketOf(time)]!++
    else this.#count(time, 1)
    this.#sumNs += time
    if (time < this.#minNs) this.#minNs = time
    if (time > this.#maxNs) this.#maxNs = time
  }

  #count(time: Nanos, count: number): void {
    this.#histogram.recordValueWithCount(time, count)
    this.#octaves[octaveOf(time)]! += count
  }

  #countShort(): void {
    for (const [bucket, count] of this.#short.entries()) if (count > 0) this.#count(leastOf(bucket), count)
    this.#short.fill(0)
  }

  reset(): void {
    this.#short.fill(0)
    this.#histogram.reset()
    this.#octaves.fill(0)
    this.#sumNs = 0
    this.#minNs = Number.POSITIVE_INFINITY
    this.#maxNs = 0
  }

  /** @param share factor for each time: 0.5 for half a round trip */
  summary(share = 1): LatencySummary {
    this.#countShort()
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

/** @param ns below SHORT_NS */
function bucketOf(ns: number): number {
  const octave = Math.max(0, 32 - BUCKET_BITS - Math.clz32(ns))
  return (octave << (BUCKET_BITS - 1)) + (ns >>> octave)
}

/** The least time of a bucket. */
function leastOf(bucket: number): number {
  const octave = Math.max(0, (bucket >>> (BUCKET_BITS - 1)) - 1)
  return (bucket - (octave << (BUCKET_BITS - 1))) << octave
}

/** Returns 0 for 0 and 1 ns, else the exponent of the largest power of two that is not above `ns`. */
function octaveOf(ns: number): number {
  return ns < 2 ** 31 ? 31 - Math.clz32(ns | 1) : Math.floor(Math.log2(ns))
}
