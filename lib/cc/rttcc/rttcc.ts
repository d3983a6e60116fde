/**
 * RTTCC: a rate that follows the round trip of probes (NVIDIA, Scaling Zero Touch RoCE technology with round trip time congestion
 * control, 2021). Probes leave while data is in flight, the peer's NIC returns them at once, and no switch takes part.
 *
 * What NVIDIA publishes of its parameters was not used; this formula is Weir's. With each answer, whose round trip is r after T and r' before it:
 *
 *     target = T + queue + step x log2(line rate / R)
 *     R      = R (1 + gain (target - r) / T - damping (r - r') / T), changed by a share of maxChange at most
 *     in flight: windowGain x R x target
 *
 * A flow of twice the rate aims at a delay shorter by `step`. So of two flows that see the same delay the slower one grows, and the
 * logarithm of the ratio of their rates shrinks by gain x step / (T ln 2) with each probe. N equal flows come to rest at line rate / N with a delay of
 * T + queue + step x log2(N).
 *
 * Units: ns, bit/s.
 */
import type { Nanos } from '../../time/nanos.js'
import {
  type AckSample,
  type CongestionContext,
  type CongestionControl,
  FeedbackSource,
  type LossSample,
  NO_WINDOW,
  UNKNOWN_NS,
} from '../congestion-control.js'
import type { OptionValues } from '../options.js'
import { RateGuard } from '../rate-guard.js'
import {
  RTTCC_OPTIONS,
  type RttccConstants,
  type RttccTarget,
  rttccConstants,
  rttccTarget,
} from './rttcc-options.js'

/** The controller of one flow. */
export class Rttcc implements CongestionControl {
  readonly name = 'rttcc'
  readonly observed = ['rateBps', 'rttNs', 'targetNs', 'windowBytes'] as const
  readonly #lineRateBps: number
  readonly #options: OptionValues
  readonly #constants: RttccConstants
  readonly #guard: RateGuard
  #t: Nanos
  #target: RttccTarget
  /** The last probe's; 0: none yet. */
  #rttNs: Nanos = 0

  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#lineRateBps = context.lineRateBps
    this.#options = options
    this.#constants = rttccConstants(context, options)
    this.#t = context.baseRttNs
    this.#target = rttccTarget(this.#t, options)
    this.#guard = new RateGuard('rttcc', RTTCC_OPTIONS, context, options, this.#constants.minBps)
  }

  onAck(_now: Nanos, sample: AckSample): void {
    this.#guard.onAck(sample)
  }

  /** The answer to a probe. */
  onTelemetry(now: Nanos, { source, sentNs }: AckSample): void {
    if (source !== FeedbackSource.PROBE || sentNs === UNKNOWN_NS || sentNs >= now) return
    const rttNs = now - sentNs
    const beforeNs = this.#rttNs || rttNs
    this.#rttNs = rttNs
    const targetNs = this.#targetNs
    if (this.#guard.starting && rttNs < targetNs) return
    this.#guard.endStart()
    const { gain, damping, maxChange } = this.#constants
    const change = (gain * (targetNs - rttNs) - damping * (rttNs - beforeNs)) / this.#t
    this.#guard.decide(this.#guard.decidedBps * (1 + Math.max(-maxChange, Math.min(maxChange, change))))
  }

  get #targetNs(): Nanos {
    const { queueNs, stepNs } = this.#target
    return this.#t + queueNs + stepNs * Math.log2(this.#lineRateBps / this.#guard.decidedBps)
  }

  onLoss(_now: Nanos, loss: LossSample): void {
    this.#guard.onLoss(loss)
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#t = baseRttNs
    this.#target = rttccTarget(baseRttNs, this.#options)
    this.#guard.onBaseRtt(baseRttNs)
  }

  /** Nothing that was learned of the old path holds on the new one. */
  onPathChange(): void {
    this.#guard.onPathChange()
    this.#rttNs = 0
  }

  windowBytes(): number {
    return this.#guard.windowBytes(this.#targetNs)
  }

  rateBps(): number {
    return this.#guard.rateBps
  }

  observe(into: Float64Array): void {
    into[0] = this.rateBps()
    into[1] = this.#rttNs
    into[2] = this.#targetNs
    const windowBytes = this.windowBytes()
    into[3] = windowBytes === NO_WINDOW ? 0 : windowBytes
  }
}
