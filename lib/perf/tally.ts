import { type Nanos, NEVER, SECOND } from '../time/nanos.js'
import { LatencyRecorder } from './latency.js'

/** Length of the intervals of which the best one is the peak. */
const PIECE_NS: Nanos = 100_000_000

/** Counts what an end has delivered from `begin` on, by completions. All streams of a run share it. */
export class Tally {
  readonly latency = new LatencyRecorder()
  messages = 0
  bytes = 0
  /** When counting began, and the time of the last completion. */
  beginNs: Nanos = 0
  lastNs: Nanos = 0
  /** Completions from this time on are not counted. */
  endNs: Nanos = NEVER
  #pieceNs: Nanos = 0
  #pieceBytes = 0
  #peakBps = 0

  /** Starts to count from zero at `now`. */
  begin(now: Nanos): void {
    this.latency.reset()
    this.messages = 0
    this.bytes = 0
    this.beginNs = now
    this.lastNs = now
    this.#pieceNs = now
    this.#pieceBytes = 0
    this.#peakBps = 0
  }

  /** A message of `bytes` that was posted at `postedNs` is complete. */
  completed(now: Nanos, postedNs: Nanos, bytes: number): void {
    if (now > this.endNs) return
    this.messages++
    this.bytes += bytes
    this.lastNs = now
    this.latency.record(now - postedNs)
    if (now - this.#pieceNs >= PIECE_NS) this.#endPiece(now)
  }

  get seconds(): number {
    return (this.lastNs - this.beginNs) / SECOND
  }

  get goodputBps(): number {
    return this.seconds > 0 ? (this.bytes * 8) / this.seconds : 0
  }

  /** Goodput of the best 100 ms. If the measured time was shorter, of all of it. */
  get peakBps(): number {
    return Math.max(this.#peakBps, this.goodputBps)
  }

  #endPiece(now: Nanos): void {
    const bps = ((this.bytes - this.#pieceBytes) * 8 * SECOND) / (now - this.#pieceNs)
    this.#peakBps = Math.max(this.#peakBps, bps)
    this.#pieceNs = now
    this.#pieceBytes = this.bytes
  }
}
