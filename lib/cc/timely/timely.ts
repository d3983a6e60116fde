/**
 * TIMELY: a rate that follows the gradient of the round trip (Mittal et al., SIGCOMM 2015, algorithm 1).
 *
 * With each segment that is acknowledged, D_minRTT after the last one at the earliest (Zhu et al., ECN or delay, CoNEXT 2016: the interval of
 * its model), by its round trip r without the time that the peer has taken:
 *
 *     rtt_diff = (1 - alpha) rtt_diff + alpha (r - the r before)         gradient g = rtt_diff / D_minRTT
 *
 * | situation | rate R |
 * |---|---|
 * | r < Tlow | R + delta |
 * | r > Thigh | R (1 - beta (1 - Thigh / r)) |
 * | g <= 0 | R + N delta; N = 1, and 5 from the fifth event in a row on (HAI) |
 * | g > 0 | R (1 - beta g), at least the lowest rate |
 *
 * Units: ns, bit/s, bytes. The paper's RTT leaves out the serialization of a segment of 16 to 64 KB, which leaves in one burst (section
 * 3.1). Here each packet is paced, and the round trip is that of the segment's last packet.
 */
import type { Nanos } from '../../time/nanos.js'
import {
  type AckSample,
  type CongestionContext,
  type CongestionControl,
  type LossSample,
  NO_WINDOW,
} from '../congestion-control.js'
import type { OptionValues } from '../options.js'
import { RateGuard } from '../rate-guard.js'
import {
  TIMELY_OPTIONS,
  type TimelyConstants,
  type TimelyTimes,
  timelyConstants,
  timelyTimes,
} from './timely-options.js'

/** The controller of one flow. */
export class Timely implements CongestionControl {
  readonly name = 'timely'
  readonly observed = ['rateBps', 'rttNs', 'gradient', 'windowBytes'] as const
  /** Nothing but answers tells how long READ responses take: some of them ask for one. */
  readonly collectsAll = false
  readonly #lineRateBps: number
  readonly #options: OptionValues
  readonly #constants: TimelyConstants
  readonly #guard: RateGuard
  #times: TimelyTimes
  #rateBps: number
  /** Nothing has been acknowledged: T may have been a guess until now. */
  #begins = true
  /** Bytes acknowledged of the current segment. */
  #segmentBytes = 0
  /** When the rate could last change. */
  #completedNs: Nanos = Number.NEGATIVE_INFINITY
  /** The next round trip begins with this transmission. */
  #roundSeq = 0
  /** 0: none yet. */
  #rttNs: Nanos = 0
  #rttDiffNs = 0
  /** Events in a row that count for HAI. */
  #rises = 0

  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#lineRateBps = context.lineRateBps
    this.#options = options
    this.#constants = timelyConstants(context, options)
    this.#times = timelyTimes(context.baseRttNs, options)
    this.#guard = new RateGuard('timely', TIMELY_OPTIONS, context, options)
    this.#rateBps = this.#guard.startBps
  }

  onAck(now: Nanos, sample: AckSample): void {
    this.#begins = false
    this.#guard.onAck(sample, this.#rateBps)
    const { rttNs, turnaroundNs, ackedBytes } = sample
    if (this.#guard.starting && rttNs > 0) this.#rateBps = this.#guard.doubled(this.#rateBps, sample)
    this.#segmentBytes += ackedBytes
    if (rttNs <= 0 || !this.#isComplete(now, sample)) return
    this.#onCompletion(Math.max(1, rttNs - Math.max(0, turnaroundNs)))
  }

  /** A segment has been acknowledged, or a round trip has passed. */
  #isComplete(now: Nanos, { seq, sndNxt }: AckSample): boolean {
    const { perRoundTrip, segmentBytes } = this.#constants
    if (perRoundTrip) {
      if (seq < this.#roundSeq) return false
      this.#roundSeq = sndNxt
      return true
    }
    if (this.#segmentBytes < segmentBytes) return false
    if (segmentBytes > 0 && now - this.#completedNs < this.#times.minRttNs) return false
    this.#segmentBytes = 0
    this.#completedNs = now
    return true
  }

  /** Algorithm 1. */
  #onCompletion(rttNs: Nanos): void {
    const before = this.#rttNs
    this.#rttNs = rttNs
    if (before === 0) return
    const { alpha } = this.#constants
    this.#rttDiffNs = (1 - alpha) * this.#rttDiffNs + alpha * (rttNs - before)
    if (this.#guard.starting) this.#start()
    else this.#change()
  }

  /** A careful flow: its rate doubles until the round trip is long and grows. */
  #start(): void {
    if (this.#rttNs < this.#times.lowNs || this.#rttDiffNs <= 0) return
    this.#guard.endStart()
    this.#change()
  }

  #change(): void {
    const { beta, hyperAfter, hyperSteps, deltaBps, hyperBelowLow } = this.#constants
    const { lowNs, highNs, minRttNs } = this.#times
    const gradient = this.#rttDiffNs / minRttNs
    const isLow = this.#rttNs < lowNs
    if (isLow || (this.#rttNs <= highNs && gradient <= 0)) {
      this.#rises = isLow && !hyperBelowLow ? 0 : this.#rises + 1
      const steps = this.#rises >= hyperAfter ? hyperSteps : 1
      this.#set(this.#rateBps + steps * deltaBps)
      return
    }
    this.#rises = 0
    const cut = this.#rttNs > highNs ? 1 - highNs / this.#rttNs : gradient
    this.#set(this.#rateBps * (1 - beta * cut))
  }

  #set(rateBps: number): void {
    this.#rateBps = Math.min(this.#lineRateBps, Math.max(this.#constants.minBps, rateBps))
  }

  onLoss(_now: Nanos, loss: LossSample): void {
    this.#guard.onLoss(loss)
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#times = timelyTimes(baseRttNs, this.#options)
    this.#guard.onBaseRtt(baseRttNs)
    if (this.#begins) this.#rateBps = this.#guard.startBps
  }

  /** Nothing that was learned of the old path holds on the new one. */
  onPathChange(): void {
    this.#guard.forget()
    this.#rateBps = this.#guard.startBps
    this.#rttNs = 0
    this.#rttDiffNs = 0
    this.#rises = 0
    this.#begins = true
  }

  windowBytes(): number {
    return this.#guard.windowBytes(this.#rateBps, this.#times.lowNs)
  }

  rateBps(): number {
    return this.#guard.rateBps(this.#rateBps)
  }

  observe(into: Float64Array): void {
    into[0] = this.rateBps()
    into[1] = this.#rttNs
    into[2] = this.#rttDiffNs / this.#times.minRttNs
    const windowBytes = this.windowBytes()
    into[3] = windowBytes === NO_WINDOW ? 0 : windowBytes
  }
}
