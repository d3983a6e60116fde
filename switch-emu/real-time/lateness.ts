import type { Nanos } from '../../lib/time/nanos.js'

/** How late frames reach hosts, compared with the emulated network's exact times. */
export interface Lateness {
  /** Frames that were delivered to hosts. */
  frames: number
  /** Frames among them that were later than `limitNs`. */
  lateFrames: number
  limitNs: Nanos
  meanNs: Nanos
  p50Ns: Nanos
  p99Ns: Nanos
  maxNs: Nanos
}

/** Buckets per octave. */
const STEPS = 8
const OCTAVES = 48

/**
 * Counts without allocating. Buckets are an eighth of an octave wide, so the error of percentiles is at most
 * a tenth.
 */
export class LatenessGauge {
  readonly #limitNs: Nanos
  readonly #buckets = new Float64Array(OCTAVES * STEPS)
  #frames = 0
  #late = 0
  #sumNs = 0
  #maxNs: Nanos = 0

  /** @param limitNs a frame that is later than this counts as late */
  constructor(limitNs: Nanos) {
    this.#limitNs = limitNs
  }

  add(lateNs: Nanos): void {
    this.#frames++
    this.#sumNs += lateNs
    if (lateNs > this.#limitNs) this.#late++
    if (lateNs > this.#maxNs) this.#maxNs = lateNs
    const bucket = Math.min(this.#buckets.length - 1, Math.floor(Math.log2(lateNs + 1) * STEPS))
    this.#buckets[bucket] = this.#buckets[bucket]! + 1
  }

  report(): Lateness {
    const frames = this.#frames
    return {
      frames,
      lateFrames: this.#late,
      limitNs: this.#limitNs,
      meanNs: frames === 0 ? 0 : Math.round(this.#sumNs / frames),
      p50Ns: this.#percentile(0.5),
      p99Ns: this.#percentile(0.99),
      maxNs: this.#maxNs,
    }
  }

  /** Returns the upper end of the bucket. */
  #percentile(p: number): Nanos {
    let left = Math.ceil(p * this.#frames)
    for (const [bucket, count] of this.#buckets.entries()) {
      left -= count
      if (left <= 0) return Math.min(this.#maxNs, Math.round(2 ** ((bucket + 1) / STEPS) - 1))
    }
    return this.#maxNs
  }
}
