/**
 * Swift: windows that follow a target delay, one for the network and one for the receiving host (Kumar et al., SIGCOMM 2020).
 *
 *     delay of the end host = its turnaround, from the packet's arrival to its acknowledgement (section 3.2)
 *     delay of the network  = round trip - delay of the end host
 *     window = min(fcwnd, ecwnd)          pace = a packet each round trip / window, where the window is below one packet (section 3.3)
 *
 * `delay-window.ts` moves each window by its delay, `target-delay.ts` has the target of the network. Units: ns, bytes; windows are packets
 * inside.
 *
 * Beyond the paper: a flow that begins carefully doubles its window in each round trip until the delay reaches the target; a window of which
 * less than half is used does not grow; a flow sends a packet each ms at least, unless its round trip is longer.
 */
import { MILLISECOND, type Nanos } from '../../time/nanos.js'
import {
  type AckSample,
  CAREFUL_PACKETS,
  type CongestionContext,
  type CongestionControl,
  type LossSample,
} from '../congestion-control.js'
import type { OptionValues } from '../options.js'
import { DelayWindow } from './delay-window.js'
import { type SwiftConstants, swiftConstants, swiftTarget } from './swift-options.js'
import { TargetDelay } from './target-delay.js'

/**
 * A window below one packet lets out one in this time, or in a round trip if that is longer. A flow that is slower than its retransmission
 * timeouts runs out of retries while it waits for its own pace.
 */
const PACE_MOST_NS = 1 * MILLISECOND

/** The controller of one flow. */
export class Swift implements CongestionControl {
  readonly name = 'swift'
  readonly observed = ['windowBytes', 'fcwnd', 'ecwnd', 'networkNs', 'targetNs', 'endNs', 'rateBps'] as const
  /** Nothing but answers tells how long READ responses take: some of them ask for one. */
  readonly collectsAll = false
  readonly #context: CongestionContext
  readonly #options: OptionValues
  readonly #constants: SwiftConstants
  #t: Nanos
  #target: TargetDelay
  #fabric: DelayWindow
  #end: DelayWindow
  /** The window doubles in each round trip. */
  #starting: boolean
  /** Nothing has been acknowledged: T may have been a guess until now. */
  #begins = true
  /** Timeouts in a row. */
  #timeouts = 0
  #rttNs: Nanos
  #networkNs: Nanos = 0
  #targetNs: Nanos = 0
  /** Average. */
  #endNs: Nanos = 0
  #hops = 0

  constructor(context: CongestionContext, options: OptionValues = {}) {
    this.#context = context
    this.#options = options
    this.#constants = swiftConstants(options)
    this.#t = context.baseRttNs
    this.#rttNs = this.#t
    this.#target = new TargetDelay(swiftTarget(this.#t, options))
    this.#fabric = this.#firstWindow()
    this.#end = this.#firstWindow()
    this.#starting = context.careful === true
  }

  /** Line rate x T; ten packets where nothing is known of the path. */
  #firstWindow(): DelayWindow {
    const { lineRateBps, mtuBytes, careful } = this.#context
    const { minPackets, maxWindowBytes } = this.#constants
    const lineRatePackets = (lineRateBps * this.#t) / 8e9 / mtuBytes
    const cwnd = careful ? Math.min(CAREFUL_PACKETS, Math.max(1, lineRatePackets)) : lineRatePackets
    return new DelayWindow(this.#constants, minPackets, maxWindowBytes / mtuBytes, cwnd)
  }

  onAck(now: Nanos, sample: AckSample): void {
    this.#begins = false
    this.#timeouts = 0
    const { rttNs, turnaroundNs, hopCount } = sample
    if (rttNs <= 0) return
    const { endWeight } = this.#constants
    const endNs = Math.max(0, turnaroundNs)
    if (hopCount > 0) this.#hops = hopCount
    this.#rttNs = rttNs
    this.#endNs += endWeight * (endNs - this.#endNs)
    this.#networkNs = Math.max(1, rttNs - endNs)
    this.#targetNs = this.#target.ns(this.#hops, this.#fabric.cwnd)
    if (this.#networkNs >= this.#targetNs || this.#endNs >= this.#target.endNs) this.#starting = false
    const packets = this.#usedPackets(sample)
    if (this.#starting) {
      this.#fabric.add(packets)
      this.#end.add(packets)
      return
    }
    this.#fabric.onDelay(now, this.#networkNs, this.#targetNs, packets, rttNs)
    this.#end.onDelay(now, this.#endNs, this.#target.endNs, packets, rttNs)
  }

  /** Packets acknowledged, where they were at least half of the window together with those still in flight; else 0. */
  #usedPackets({ ackedBytes, inFlightBytes }: AckSample): number {
    return 2 * (ackedBytes + inFlightBytes) >= this.windowBytes() ? ackedBytes / this.#context.mtuBytes : 0
  }

  /** Algorithm 1: a timeout, and fast recovery. */
  onLoss(now: Nanos, loss: LossSample): void {
    this.#starting = false
    this.#timeouts = loss.byTimeout ? this.#timeouts + 1 : 0
    if (this.#timeouts >= this.#constants.resetAfter) {
      this.#fabric.reset(now)
      this.#end.reset(now)
      return
    }
    this.#fabric.onLoss(now, this.#rttNs)
    this.#end.onLoss(now, this.#rttNs)
  }

  onBaseRtt(_now: Nanos, baseRttNs: Nanos): void {
    this.#t = baseRttNs
    this.#target = new TargetDelay(swiftTarget(baseRttNs, this.#options))
    if (this.#begins) this.#restart()
  }

  /** Nothing that was learned of the old path holds on the new one. */
  onPathChange(): void {
    this.#begins = true
    this.#timeouts = 0
    this.#hops = 0
    this.#endNs = 0
    this.#starting = this.#context.careful === true
    this.#restart()
  }

  #restart(): void {
    this.#rttNs = this.#t
    this.#fabric = this.#firstWindow()
    this.#end = this.#firstWindow()
  }

  windowBytes(): number {
    return Math.min(this.#fabric.cwnd, this.#end.cwnd) * this.#context.mtuBytes
  }

  /** A window of a packet and more is not paced: acknowledgements are its clock. */
  rateBps(): number {
    const { lineRateBps, mtuBytes } = this.#context
    const windowBytes = this.windowBytes()
    if (windowBytes >= mtuBytes) return lineRateBps
    const packetNs = Math.min((this.#rttNs * mtuBytes) / windowBytes, Math.max(this.#rttNs, PACE_MOST_NS))
    return Math.min(lineRateBps, (mtuBytes * 8e9) / packetNs)
  }

  observe(into: Float64Array): void {
    into[0] = this.windowBytes()
    into[1] = this.#fabric.cwnd
    into[2] = this.#end.cwnd
    into[3] = this.#networkNs
    into[4] = this.#targetNs
    into[5] = this.#endNs
    into[6] = this.rateBps()
  }
}
