/**
 * CUBIC's congestion avoidance: the cubic curve, the window that Reno would have, and what is remembered of the last
 * maximum (RFC 9438, sections 4.1 to 4.5, 4.7). Windows are bytes here; C and alpha are of segments, as in the RFC.
 */
import type { Nanos } from '../../time/nanos.js'
import type { CubicConstants } from './cubic-options.js'

const SECOND = 1e9
/** The target is at most so many windows ahead (section 4.2). */
const TARGET_MOST = 1.5
/** Reno's step is at most so many segments, however small packets are: a bound of Weir. */
const STEP_MOST = 2

export class CubicGrowth {
  readonly #segment: number
  /** What Reno adds in a round trip, times alpha, where losses do not depend on the length of packets. */
  readonly #lossyStep: number
  readonly #c: number
  readonly #beta: number
  readonly #alpha: number
  readonly #fastConvergence: boolean
  readonly #firstGrowth: number
  /**
   * The first slow start has ended without a loss, and none has come since: nothing is known of what the path holds while
   * round trips are shorter than this. 0: not so.
   */
  #exploresBelowNs: Nanos = 0
  /** W_max. 0: no window has been reduced yet. */
  #wMax = 0
  /** The window before it was last reduced: until Reno would have reached it, it grows by alpha. */
  #cwndPrior = 0
  /** W_est: what Reno's window would be. */
  #wEst = 0
  /** What Reno adds in a round trip, times alpha, since the last reduction. */
  #renoStep: number
  /** K, in seconds. */
  #k = 0
  /** When the current congestion avoidance began, later by all the time for which the window did not grow. */
  #epochNs: Nanos = 0
  #lastNs: Nanos = 0
  // What `undo` brings back.
  #undoWMax = 0
  #undoCwndPrior = 0
  #undoWEst = 0
  #undoRenoStep = 0
  #undoK = 0
  #undoEpochNs: Nanos = 0
  #undoExploresBelowNs: Nanos = 0

  /**
   * Reno's window is in proportion to the root of step x packet / loss. A path that drops packets at random, without regard to
   * their length, drops small ones more often for each byte. With a longer step the window is that of TCP's segments at the
   * same share of packets lost (RFC 4828, section 4.1: nominal segment size). A full queue drops from all flows at the same
   * time, however short their packets are: there the step is a segment, as TCP's.
   *
   * @param segmentBytes size of the segments that the growth counts in; @param packetBytes size of the packets, at most that
   */
  constructor(segmentBytes: number, packetBytes: number, constants: CubicConstants) {
    this.#segment = segmentBytes
    this.#lossyStep = segmentBytes * Math.min(STEP_MOST, segmentBytes / packetBytes)
    this.#renoStep = segmentBytes
    this.#c = constants.c
    this.#beta = constants.beta
    this.#alpha = constants.alpha
    this.#fastConvergence = constants.fastConvergence
    this.#firstGrowth = constants.firstGrowth
  }

  get wMaxBytes(): number {
    return this.#wMax
  }

  get wEstBytes(): number {
    return this.#wEst
  }

  /**
   * A congestion event: the window is about to be reduced (sections 4.6 and 4.7).
   * @param byQueue a queue was on the path, which is what dropped or marked the packet
   */
  reduce(cwnd: number, byQueue: boolean): void {
    this.#undoWMax = this.#wMax
    this.#undoCwndPrior = this.#cwndPrior
    this.#undoWEst = this.#wEst
    this.#undoRenoStep = this.#renoStep
    this.#undoK = this.#k
    this.#undoEpochNs = this.#epochNs
    this.#undoExploresBelowNs = this.#exploresBelowNs
    this.#cwndPrior = cwnd
    this.#exploresBelowNs = 0
    this.#renoStep = byQueue ? this.#segment : this.#lossyStep
    const gaveWay = this.#fastConvergence && cwnd < this.#wMax
    this.#wMax = gaveWay ? (cwnd * (1 + this.#beta)) / 2 : cwnd
  }

  /** The last reduction was wrong (section 4.9). */
  undo(): void {
    this.#wMax = this.#undoWMax
    this.#cwndPrior = this.#undoCwndPrior
    this.#wEst = this.#undoWEst
    this.#renoStep = this.#undoRenoStep
    this.#k = this.#undoK
    this.#epochNs = this.#undoEpochNs
    this.#exploresBelowNs = this.#undoExploresBelowNs
  }

  /** Congestion avoidance begins after a reduction: the curve leads back to W_max (section 4.2). */
  begin(now: Nanos, cwnd: number): void {
    this.#k = Math.cbrt(Math.max(0, this.#wMax - cwnd) / this.#segment / this.#c)
    // Below W_max only if the reduction was: the curve of a window that has grown past W_max begins at the window.
    if (this.#wMax < cwnd) this.#wMax = cwnd
    this.#start(now, cwnd)
  }

  /** It begins after a slow start: at once on the convex part, with the window as the last maximum (sections 4.8, 4.10). */
  beginFresh(now: Nanos, cwnd: number): void {
    this.#wMax = cwnd
    this.#k = 0
    this.#exploresBelowNs = 0
    this.#start(now, cwnd)
  }

  /**
   * It begins as round trips have grown in the first slow start. That may not have been a queue of this flow: until the
   * first loss the window grows by `firstGrowth` in a round trip at least, while round trips are short.
   * @param queuedNs a round trip that shows a queue
   */
  beginFirst(now: Nanos, cwnd: number, queuedNs: Nanos): void {
    this.beginFresh(now, cwnd)
    this.#exploresBelowNs = queuedNs
  }

  #start(now: Nanos, cwnd: number): void {
    this.#wEst = cwnd
    this.#epochNs = now
    this.#lastNs = now
  }

  /** The window must not grow now, as it is not used: this time does not count (section 4.2: t). */
  pause(now: Nanos): void {
    this.#epochNs += now - this.#lastNs
    this.#lastNs = now
  }

  /** W_cubic at a time after the epoch's beginning (figure 1). */
  #cubicAt(seconds: number): number {
    return this.#c * (seconds - this.#k) ** 3 * this.#segment + this.#wMax
  }

  /** The window after an acknowledgement of so many bytes. */
  next(now: Nanos, cwnd: number, ackedBytes: number, srttNs: Nanos): number {
    this.#lastNs = now
    // A part of each segment acknowledged, and at most a whole window at a time.
    const share = Math.min(1, ackedBytes / cwnd)
    const alpha = this.#wEst >= this.#cwndPrior ? 1 : this.#alpha
    this.#wEst += alpha * this.#renoStep * share
    const t = (now - this.#epochNs) / SECOND
    // What the window comes to in a round trip.
    const least = srttNs < this.#exploresBelowNs ? (1 + this.#firstGrowth) * cwnd : cwnd
    if (this.#cubicAt(t) < this.#wEst) return Math.max(cwnd + (least - cwnd) * share, this.#wEst)
    const target = Math.max(least, Math.min(TARGET_MOST * cwnd, this.#cubicAt(t + srttNs / SECOND)))
    return cwnd + (target - cwnd) * share
  }
}
