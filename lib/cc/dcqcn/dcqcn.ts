/**
 * DCQCN's reaction point (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3.1): the sender's rate,
 * cut by congestion notification packets (CNPs), raised by a timer and a byte counter. Congestion points are switches with ECN (RED), the
 * notification point is the receiving NIC (`lib/nic/flow/receiver.ts`).
 *
 * R_C is the current rate, R_T the target, both bit/s; they begin at the line rate.
 *
 *     a CNP               R_T = R_C, R_C = R_C (1 - alpha / 2)                            (equation 1)
 *     fast recovery       R_C = (R_T + R_C) / 2                                           (equation 3)
 *     additive increase   R_T = R_T + R_AI, R_C = (R_T + R_C) / 2                         (equation 4)
 *     hyper increase      R_T = R_T + R_HAI, R_C = (R_T + R_C) / 2
 *
 * The timer and the byte counter count their increases since the last cut. While both have had fewer than F, an increase is fast recovery;
 * once both have had more, hyper increase; between, additive increase.
 *
 * Not in the paper, whose networks lose nothing and whose flows begin at line rate: losses bound the window (`lib/cc/loss-cap.ts`), and a
 * careful flow begins with ten packets that double in each round trip, until a CNP or a loss.
 */
import { type Nanos, NEVER } from '../../time/nanos.js'
import {
  type AckSample,
  CAREFUL_PACKETS,
  type CongestionContext,
  type CongestionControl,
  type LossSample,
  NO_WINDOW,
  roundTripOf,
} from '../congestion-control.js'
import { LossCap } from '../loss-cap.js'
import type { OptionValues } from '../options.js'
import { CnpShare } from './cnp-share.js'
import { DCQCN_OPTIONS, type DcqcnConstants, dcqcnConstants } from './dcqcn-options.js'

/** From this share of the line rate on a rate that doubles its nearness in each step has arrived. */
const NEARLY = 1 - 2 ** -20
/** Weight of a round trip in their mean (RFC 6298, section 2). */
const RTT_GAIN = 1 / 8
/** Pace under a bound of the window, as a multiple of bound / round trip: in slow start, and at other times (as CUBIC's). */
const SLOW_START_GAIN = 2
const GAIN = 1.25

/** The controller of one flow. */
export class Dcqcn implements CongestionControl {
  readonly name = 'dcqcn'
  /** It goes by CNPs alone, so packets may leave in runs. */
  readonly collectsAll = false
  readonly observed = ['rateBps', 'targetBps', 'alpha', 'windowBytes'] as const
  readonly #constants: DcqcnConstants
  readonly #lineRateBps: number
  readonly #minRateBps: number
  readonly #mtu: number
  readonly #careful: boolean
  readonly #cap: LossCap
  readonly #alpha: CnpShare
  /** R_C and R_T. */
  #rateBps: number
  #targetBps: number
  #baseRttNs: Nanos
  /** Round trips, smoothed; 0 = none has been measured. */
  #rttNs: Nanos = 0
  /** Increases since the last cut. */
  #timerSteps = 0
  #byteSteps = 0
  /** Bytes since the byte counter's last step. */
  #bytes = 0
  /** The timer's next step. */
  #stepNs: Nanos = NEVER
  #cutNs: Nanos = Number.NEGATIVE_INFINITY
  /** Where CNPs are looked at now and then: since when, and when next because one has come. */
  #looksSinceNs: Nanos = NEVER
  #lookNs: Nanos = NEVER

  constructor(context: CongestionContext, options: OptionValues = {}) {
    const constants = dcqcnConstants(options, context)
    this.#constants = constants
    this.#lineRateBps = context.lineRateBps
    this.#minRateBps = Math.min(constants.minRateBps, context.lineRateBps)
    this.#mtu = context.mtuBytes
    this.#careful = context.careful === true
    this.#baseRttNs = context.baseRttNs
    this.#rateBps = context.lineRateBps
    this.#targetBps = context.lineRateBps
    this.#alpha = new CnpShare(constants.g, constants.alphaTimerNs)
    this.#cap = new LossCap('dcqcn', DCQCN_OPTIONS, context, options)
    if (this.#careful) this.#cap.begin(CAREFUL_PACKETS * this.#mtu)
  }

  windowBytes(): number {
    return Math.min(this.#ownWindowBytes, this.#cap.bytes)
  }

  get #ownWindowBytes(): number {
    if (!this.#constants.withWindow) return NO_WINDOW
    return Math.max(this.#mtu, (this.#rateBps * this.#baseRttNs) / 8e9)
  }

  rateBps(): number {
    const gain = this.#cap.doubles ? SLOW_START_GAIN : GAIN
    return Math.min(this.#rateBps, gain * this.#cappedBps)
  }

  /** The rate that the bound of the window leaves. */
  get #cappedBps(): number {
    return (this.#cap.bytes * 8e9) / this.#roundTripNs
  }

  get #roundTripNs(): Nanos {
    return Math.max(1, this.#rttNs || this.#baseRttNs)
  }

  // ---- Cuts

  onCnp(now: Nanos): void {
    const { cutIntervalNs } = this.#constants
    if (cutIntervalNs === 0) {
      this.#cut(now)
      this.#alpha.add(now)
      return
    }
    this.#alpha.hear(now)
    if (this.#looksSinceNs === NEVER) this.#looksSinceNs = now
    if (this.#lookNs !== NEVER) return
    const looks = Math.floor((now - this.#looksSinceNs) / cutIntervalNs)
    this.#lookNs = this.#looksSinceNs + (looks + 1) * cutIntervalNs
  }

  /** Equation 1. */
  #cut(now: Nanos): void {
    const { perRoundTrip, clampTarget } = this.#constants
    if (perRoundTrip && now - this.#cutNs < this.#roundTripNs) return
    this.#cutNs = now
    this.#cap.endDoubling()
    const rateBps = Math.min(this.#rateBps, Math.max(this.#minRateBps, this.#cappedBps))
    if (clampTarget || this.#timerSteps + this.#byteSteps > 0) this.#targetBps = rateBps
    this.#rateBps = Math.max(this.#minRateBps, rateBps * (1 - this.#alpha.at(now) / 2))
    this.#timerSteps = 0
    this.#byteSteps = 0
    this.#bytes = 0
    this.#stepNs = now + this.#timerNs
  }

  /** Goes on from where another controller was, with its window: from there it grows as behind a cut. */
  takeOver(now: Nanos, windowBytes: number): void {
    this.#cap.begin(windowBytes)
    this.#cap.endDoubling()
    this.#rateBps = Math.min(this.#lineRateBps, Math.max(this.#minRateBps, this.#cappedBps))
    this.#targetBps = this.#rateBps
    this.#stepNs = now + this.#timerNs
  }

  // ---- Increases

  get #timerNs(): Nanos {
    const { perRoundTrip, timerNs } = this.#constants
    return perRoundTrip ? Math.max(timerNs, Math.ceil(this.#roundTripNs)) : timerNs
  }

  onSent(_now: Nanos, _seq: number, bytes: number): void {
    const { byteCounterBytes } = this.#constants
    if (byteCounterBytes === 0 || this.#rateBps >= this.#lineRateBps) return
    this.#bytes += bytes
    if (this.#bytes < byteCounterBytes) return
    this.#bytes -= byteCounterBytes
    this.#raise()
    this.#byteSteps++
  }

  nextTimeout(): Nanos {
    return Math.min(this.#stepNs, this.#lookNs)
  }

  onTimeout(now: Nanos): void {
    if (this.#lookNs <= now) {
      this.#lookNs = NEVER
      this.#cut(now)
    }
    if (this.#stepNs > now) return
    this.#raise()
    this.#timerSteps++
    this.#stepNs = this.#rateBps < this.#lineRateBps ? now + this.#timerNs : NEVER
  }

  /** Equations 3 and 4, and hyper increase. */
  #raise(): void {
    const { fastRecovery, byteCounterBytes, rAiBps, rHaiBps } = this.#constants
    const byteSteps = byteCounterBytes === 0 ? this.#timerSteps : this.#byteSteps
    if (Math.max(this.#timerSteps, byteSteps) >= fastRecovery) {
      const isHyper = Math.min(this.#timerSteps, byteSteps) > fastRecovery
      this.#targetBps = Math.min(this.#lineRateBps, this.#targetBps + (isHyper ? rHaiBps : rAiBps))
    }
    this.#rateBps = (this.#targetBps + this.#rateBps) / 2
    if (this.#rateBps >= NEARLY * this.#lineRateBps) this.#rateBps = this.#lineRateBps
  }

  // ---- Round trips and losses

  onAck(_now: Nanos, sample: AckSample): void {
    const rttNs = roundTripOf(sample, this.#baseRttNs)
    if (rttNs > 0) this.#rttNs += this.#rttNs === 0 ? rttNs : RTT_GAIN * (rttNs - this.#rttNs)
    if (this.#cap.bytes === NO_WINDOW) return
    const wantedBytes = (this.#rateBps * this.#roundTripNs) / 8e9
    this.#cap.onAck(sample, wantedBytes, (this.#lineRateBps * this.#baseRttNs) / 8e9)
  }

  onLoss(_now: Nanos, loss: LossSample): void {
    // What queues there were have gone. Until another round trip shows, nothing may be paced by theirs.
    if (loss.byTimeout) this.#rttNs = 0
    this.#cap.onLoss(loss, this.#ownWindowBytes, false)
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#baseRttNs = baseRttNs
  }

  /** Nothing that was learned of the old path holds on the new one. */
  onPathChange(): void {
    this.#rttNs = 0
    this.#rateBps = this.#lineRateBps
    this.#targetBps = this.#lineRateBps
    this.#timerSteps = 0
    this.#byteSteps = 0
    this.#bytes = 0
    this.#stepNs = NEVER
    this.#lookNs = NEVER
    this.#looksSinceNs = NEVER
    this.#cutNs = Number.NEGATIVE_INFINITY
    this.#alpha.forget()
    this.#cap.forget()
    if (this.#careful) this.#cap.begin(CAREFUL_PACKETS * this.#mtu)
  }

  /** A window of 0 is none. */
  observe(into: Float64Array): void {
    const windowBytes = this.windowBytes()
    into[0] = this.#rateBps
    into[1] = this.#targetBps
    into[2] = this.#alpha.last
    into[3] = windowBytes === NO_WINDOW ? 0 : windowBytes
  }
}
