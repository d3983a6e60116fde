/**
 * The rate of a controller that decides a rate alone, and what holds it: how a careful flow begins, what may be in flight, and the reaction to
 * losses. The papers of such controllers have none of the three.
 *
 * | situation | bound |
 * |---|---|
 * | nothing is known of the path | ten packets in flight; the rate doubles in each round trip until the controller ends that |
 * | acknowledgements are late | `windowGain` x rate x the round trip that the controller aims at in flight |
 * | packets are lost | a window that moves as Reno's does (`loss-cap.ts`), and its rate |
 */
import { MILLISECOND, type Nanos } from '../time/nanos.js'
import {
  type AckSample,
  CAREFUL_PACKETS,
  type CongestionContext,
  type LossSample,
  NO_WINDOW,
  roundTripOf,
} from './congestion-control.js'
import { LossCap, lossOptions } from './loss-cap.js'
import { type OptionSpec, type OptionValues, optionNumber } from './options.js'

/** @param span the time, in words, that a rate has to be in flight */
export function rateGuardOptions(span: string): readonly OptionSpec[] {
  return [
    {
      name: 'windowGain',
      kind: 'number',
      min: 0,
      max: 1000,
      default: 2,
      doc: `bytes in flight are at most this x rate x ${span}; 0 = no bound (a bound of Weir)`,
    },
    ...lossOptions(true),
  ]
}

/** The lowest rate lets out a packet in this time. */
const PACKET_NS = 100 * MILLISECOND

/**
 * The lowest rate of a controller, bit/s.
 * @param toldBps NaN: this share of the line rate, or a packet each 100 ms, whichever is more
 */
export function leastRateBps(context: CongestionContext, toldBps: number, share: number): number {
  const usual = Math.max(share * context.lineRateBps, (context.mtuBytes * 8e9) / PACKET_NS)
  return Math.min(context.lineRateBps, Number.isNaN(toldBps) ? usual : toldBps)
}

export class RateGuard {
  readonly #lineRateBps: number
  readonly #mtu: number
  readonly #isCareful: boolean
  readonly #gain: number
  readonly #leastBps: number
  readonly #cap: LossCap
  #t: Nanos
  /** The last one, at least T. */
  #roundTripNs: Nanos
  #starting: boolean
  /** Nothing has been acknowledged: T may have been a guess until now. */
  #begins = true
  #decidedBps: number

  /**
   * @param controller its name, for messages; @param specs its options, with `rateGuardOptions`
   * @param leastBps the lowest rate that it decides on
   */
  constructor(
    controller: string,
    specs: readonly OptionSpec[],
    context: CongestionContext,
    options: OptionValues,
    leastBps: number,
  ) {
    this.#lineRateBps = context.lineRateBps
    this.#mtu = context.mtuBytes
    this.#isCareful = context.careful === true
    this.#gain = optionNumber(controller, specs, options, 'windowGain')
    this.#leastBps = leastBps
    this.#cap = new LossCap(controller, specs, context, options)
    this.#t = context.baseRttNs
    this.#roundTripNs = this.#t
    this.#starting = this.#isCareful
    this.#decidedBps = this.#startBps
  }

  /** The rate with which the flow begins, bit/s. */
  get #startBps(): number {
    if (!this.#isCareful) return this.#lineRateBps
    return Math.min(
      this.#lineRateBps,
      (CAREFUL_PACKETS * this.#mtu * 8e9) / (Math.max(1, this.#gain) * this.#t),
    )
  }

  /** The rate that the controller has decided on, bit/s. */
  get decidedBps(): number {
    return this.#decidedBps
  }

  /** The same rate, within that of the bound on the window. */
  get rateBps(): number {
    return Math.min(this.#decidedBps, (this.#cap.bytes * 8e9) / this.#roundTripNs)
  }

  /** The controller decides on a rate: between its lowest and that of the line. */
  decide(rateBps: number): void {
    this.#decidedBps = Math.min(this.#lineRateBps, Math.max(this.#leastBps, rateBps))
  }

  /** The flow is looking for its first rate: it doubles in each round trip. */
  get starting(): boolean {
    return this.#starting
  }

  /** The controller has seen congestion: it decides alone from now on. */
  endStart(): void {
    this.#starting = false
  }

  /** @param spanNs the time for which the rate may be in flight */
  windowBytes(spanNs: Nanos): number {
    if (this.#gain === 0) return this.#cap.bytes
    const span = Math.max(this.#t, this.#starting ? 0 : spanNs)
    return Math.min((this.#gain * this.#decidedBps * span) / 8e9, this.#cap.bytes)
  }

  onAck(sample: AckSample): void {
    this.#begins = false
    const rttNs = roundTripOf(sample, this.#t)
    if (rttNs > 0) this.#roundTripNs = Math.max(this.#t, rttNs)
    this.#cap.onAck(sample, this.#inFlightAt(this.#decidedBps), this.#inFlightAt(this.#lineRateBps))
    if (this.#starting) this.#double(sample)
  }

  /** A rate that is not used does not grow: nothing has shown that the path carries it. */
  #double({ ackedBytes, inFlightBytes }: AckSample): void {
    if (2 * (inFlightBytes + ackedBytes) < this.#inFlightAt(this.#decidedBps)) return
    this.#decidedBps = Math.min(this.#lineRateBps, this.#decidedBps + (ackedBytes * 8e9) / this.#roundTripNs)
  }

  onLoss(loss: LossSample): void {
    this.#starting = false
    // What queues there were have gone. Until another round trip shows, nothing may be paced by theirs.
    if (loss.byTimeout) this.#roundTripNs = this.#t
    this.#cap.onLoss(loss, NO_WINDOW, false)
  }

  onBaseRtt(baseRttNs: Nanos): void {
    this.#t = baseRttNs
    this.#roundTripNs = Math.max(this.#roundTripNs, baseRttNs)
    if (this.#begins) this.#decidedBps = this.#startBps
  }

  /** Nothing that was learned of the old path holds on the new one. */
  onPathChange(): void {
    this.#cap.forget()
    this.#roundTripNs = this.#t
    this.#starting = this.#isCareful
    this.#begins = true
    this.#decidedBps = this.#startBps
  }

  #inFlightAt(rateBps: number): number {
    return (rateBps * this.#roundTripNs) / 8e9
  }
}
