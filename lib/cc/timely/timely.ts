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
 * Flows rest at any mix of rates whose queue does not change (Zhu et al.). Their patched TIMELY
 * replaces the last two rows, and rests at equal rates alone:
 *
 *     w = 2 g + 1/2, within 0 and 1          e = (r - Tlow) / Tlow          R = delta (1 - w) + R (1 - beta w e)
 *
 * Units: ns, bit/s, bytes. The paper's RTT leaves out the serialization of a segment of 16 to 64 KB, which leaves in one burst (section
 * 3.1). Here each packet is paced, and the round trip is that of the segment's last packet. Packets that have left together nevertheless,
 * because the host was late, are such a burst (`bursts.ts`).
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
import { Bursts } from './bursts.js'
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
  /** What leaves together waits for itself in a queue, and the round trips of its packets grow without congestion. */
  readonly eachAtItsTime = true
  readonly #options: OptionValues
  readonly #constants: TimelyConstants
  readonly #guard: RateGuard
  readonly #bursts: Bursts
  #times: TimelyTimes
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
    this.#options = options
    this.#constants = timelyConstants(context, options)
    this.#times = timelyTimes(context.baseRttNs, options)
    this.#guard = new RateGuard('timely', TIMELY_OPTIONS, context, options, this.#constants.minBps)
    this.#bursts = new Bursts(context.lineRateBps)
  }

  onSent(now: Nanos, seq: number, bytes: number): void {
    this.#bursts.onSent(now, seq, bytes)
  }

  onAck(now: Nanos, sample: AckSample): void {
    this.#guard.onAck(sample)
    const { seq, rttNs, turnaroundNs, ackedBytes } = sample
    this.#segmentBytes += ackedBytes
    if (rttNs <= 0 || !this.#isComplete(now, sample)) return
    this.#onCompletion(Math.max(1, rttNs - this.#bursts.aheadNs(seq) - Math.max(0, turnaroundNs)))
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
    const { patched, hyperBelowLow } = this.#constants
    const { lowNs, highNs, minRttNs } = this.#times
    const gradient = this.#rttDiffNs / minRttNs
    const isLow = this.#rttNs < lowNs
    if (this.#rttNs > highNs) this.#decrease(1 - highNs / this.#rttNs)
    else if (patched && !isLow) this.#weigh(gradient)
    else if (isLow || gradient <= 0) this.#increase(!patched && (!isLow || hyperBelowLow))
    else this.#decrease(gradient)
  }

  /** @param counts the event is one of those in a row that begin HAI */
  #increase(counts: boolean): void {
    const { hyperAfter, hyperSteps, deltaBps } = this.#constants
    this.#rises = counts ? this.#rises + 1 : 0
    const steps = this.#rises >= hyperAfter ? hyperSteps : 1
    this.#guard.decide(this.#guard.decidedBps + steps * deltaBps)
  }

  #decrease(cut: number): void {
    this.#rises = 0
    this.#guard.decide(this.#guard.decidedBps * (1 - this.#constants.beta * cut))
  }

  /** The patch: more of the decrease, and less of the increase, the faster the queue grows. */
  #weigh(gradient: number): void {
    const { beta, deltaBps } = this.#constants
    const weight = Math.max(0, Math.min(1, 2 * gradient + 0.5))
    const error = this.#rttNs / this.#times.lowNs - 1
    this.#guard.decide(deltaBps * (1 - weight) + this.#guard.decidedBps * (1 - beta * weight * error))
  }

  onLoss(_now: Nanos, loss: LossSample): void {
    this.#guard.onLoss(loss)
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#times = timelyTimes(baseRttNs, this.#options)
    this.#guard.onBaseRtt(baseRttNs)
  }

  /** Nothing that was learned of the old path holds on the new one. */
  onPathChange(): void {
    this.#guard.onPathChange()
    this.#rttNs = 0
    this.#rttDiffNs = 0
    this.#rises = 0
  }

  windowBytes(): number {
    return this.#guard.windowBytes(this.#times.lowNs)
  }

  rateBps(): number {
    return this.#guard.rateBps
  }

  observe(into: Float64Array): void {
    into[0] = this.rateBps()
    into[1] = this.#rttNs
    into[2] = this.#rttDiffNs / this.#times.minRttNs
    const windowBytes = this.windowBytes()
    into[3] = windowBytes === NO_WINDOW ? 0 : windowBytes
  }
}
