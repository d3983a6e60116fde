import { AS_CONFIGURED } from '../../cc/catalogue.js'
import {
  type AckSample,
  type CongestionControl,
  type FairRate,
  type LossSample,
  NO_RATE,
  NO_WINDOW,
} from '../../cc/congestion-control.js'
import { DOUBLE_0 } from '../../double.js'
import { assert, WeirError } from '../../errors.js'
import type { QueuePair } from '../../qp/queue-pair.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import type { ConnectionStats } from '../types.js'
import { recordController, recordSample } from './connection-stats.js'
import type { FlowBaseRtt } from './flow-base-rtt.js'
import { HostShare } from './host-share.js'

/** Deadlines of one controller that may pass at once. */
const DEADLINES_MAX = 64

/** What the two ends have agreed on. */
interface Agreed {
  /** Payload bytes of a full packet. */
  readonly payloadMax: number
}

/** What obeys the module. */
export interface WindowFollower {
  /** Window and rate may have changed. @param windowBytes that may be in flight, or NO_WINDOW */
  onWindow(control: CongestionControl, windowBytes: number): void
  /** T has changed. */
  onBaseRtt(baseRttNs: Nanos): void
}

/**
 * The congestion-control module of the draft's NIC, for one flow: everything that its controller learns goes through here. After each
 * event the controller is asked for window, rate and deadline, which are kept: packets ask for them more often than they change. After
 * each event but a packet sent the follower learns window and rate in the same way.
 *
 * Without a controller, as long as T is not known, nothing may be in flight.
 */
export class CongestionModule {
  /** What the peer's receive buffer can take of this flow at once. */
  readonly hostShare = new HostShare()
  readonly #stats: ConnectionStats
  readonly #agreed: Agreed
  readonly #lineRateBps: number
  readonly #follower: WindowFollower
  #qp!: QueuePair
  #control: CongestionControl | null = null
  /** What the controller has decided last. Before there is one nothing may be in flight. */
  #windowBytes = DOUBLE_0
  #rateBps: number
  #deadlineNs: Nanos = NEVER
  #reason = AS_CONFIGURED
  #baseRtt: FlowBaseRtt | null = null

  /** @param lineRateBps of the host's link, bit/s */
  constructor(stats: ConnectionStats, agreed: Agreed, lineRateBps: number, follower: WindowFollower) {
    this.#lineRateBps = lineRateBps
    this.#rateBps = lineRateBps
    this.#stats = stats
    this.#agreed = agreed
    this.#follower = follower
  }

  attach(qp: QueuePair): void {
    this.#qp = qp
  }

  /** The controller begins; T is known, or guessed. @param reason why it is this one */
  begin(control: CongestionControl, baseRttNs: Nanos, reason = AS_CONFIGURED): void {
    this.#reason = reason
    this.expect(baseRttNs)
    this.#control = control
    this.#follow()
  }

  /** T is known, or guessed; the controller begins then, or once there is something to send. */
  expect(baseRttNs: Nanos): void {
    this.#stats.baseRttNs = baseRttNs
    this.#qp.baseRttNs = baseRttNs
  }

  /** T goes on being measured. */
  keepMeasuring(baseRtt: FlowBaseRtt): void {
    this.#baseRtt = baseRtt
  }

  /** Goes on measuring T; null where it is given, or measured once. */
  get baseRtt(): FlowBaseRtt | null {
    return this.#baseRtt
  }

  /** There is a controller. */
  get begun(): boolean {
    return this.#control !== null
  }

  // ---- What it decides

  /** The controller's own window, or NO_WINDOW; 0 before there is a controller. */
  windowBytes(): number {
    return this.#windowBytes
  }

  /** What may be in flight, bytes, or NO_WINDOW: the window, within this flow's share of what the receiving host can take at once. */
  allowedBytes(): number {
    const windowBytes = this.#windowBytes
    const shareBytes = this.hostShare.bytes
    // V8's Math.min returns small whole numbers until it is compiled: who compares them would be compiled for those.
    const bytes = shareBytes < windowBytes ? shareBytes : windowBytes
    return this.#baseRtt === null
      ? bytes
      : Math.min(bytes, this.#baseRtt.windowBytes(this.#agreed.payloadMax))
  }

  /** The window has more room than the flow's share of a host to which others send as well. */
  get isHeldByHost(): boolean {
    return this.hostShare.isShared && this.hostShare.bytes < this.#windowBytes
  }

  /** The rate that paces the flow, bit/s. A flow without a controller starts at line rate, as every flow does. */
  rateBps(): number {
    return this.#rateBps
  }

  nextTimeout(): Nanos {
    return this.#deadlineNs
  }

  // ---- What it hears

  /** A packet of `bytes` payload has left, or a run of packets with so many in all. @param number of the last transmission */
  onSent(now: Nanos, number: number, bytes: number): void {
    const control = this.#control!
    if (control.onSent === undefined) return
    control.onSent(now, number, bytes)
    this.#ask(control)
  }

  /** An acknowledgement has come. @param seq the newest PSN that it acknowledges; @param sample what it tells, complete */
  onAck(now: Nanos, seq: number, sample: AckSample): void {
    if (this.#baseRtt !== null)
      this.#learn(now, this.#baseRtt.onAck(now, this.#qp, seq, sample, this.#stats.rttNs))
    assert(
      sample.ackedBytes >= 0 && sample.inFlightBytes >= 0 && sample.rttNs >= 0,
      'an acknowledgement with less than nothing',
    )
    this.hostShare.onAcked(now, sample.ackedBytes, this.#stats.baseRttNs)
    this.#control?.onAck(now, sample)
    this.#record(sample)
  }

  /** READ responses have arrived. The controller counts them as acknowledged; the connection's figures do not. */
  onResponses(now: Nanos, sample: AckSample): void {
    if (this.#baseRtt !== null) this.#learn(now, this.#baseRtt.onResponse(now, sample.rttNs))
    this.#control?.onAck(now, sample)
    sample.ackedBytes = 0
    this.#record(sample)
  }

  /** Telemetry came without an acknowledgement: by a notification, or the answer to a probe. */
  onTelemetry(now: Nanos, sample: AckSample): void {
    this.#control?.onTelemetry?.(now, sample)
    this.#record(sample)
  }

  /** A congested switch on the way of the sample's packet has answered by itself. */
  onDirectResponse(now: Nanos, sample: AckSample): void {
    this.#control?.onDirectResponse?.(now, sample)
    this.#record(sample)
  }

  /** A switch has sent the fair rate of one of its queues. */
  onFairRate(now: Nanos, fairRate: FairRate): void {
    const control = this.#control
    if (control?.onFairRate === undefined) return
    control.onFairRate(now, fairRate)
    this.#follow()
  }

  /** The peer has worked out a window. @param flows N, 0 = it does not say */
  onReceiverWindow(now: Nanos, windowBytes: number, flows: number): void {
    this.hostShare.onFlows(flows)
    this.#control!.onReceiverWindow?.(now, windowBytes)
    this.#follow()
  }

  /** A congestion notification packet has come. */
  onCnp(now: Nanos, sample: AckSample): void {
    this.#control?.onCnp?.(now, sample)
    this.#follow()
  }

  /** Packets are taken for lost. */
  onLoss(now: Nanos, loss: LossSample): void {
    this.#control?.onLoss(now, loss)
    this.#follow()
  }

  /** What the last `onLoss` spoke of had arrived. */
  onSpurious(now: Nanos): void {
    this.#control?.onSpurious?.(now)
    this.#follow()
  }

  /** Probes have measured a round trip. As FlowBaseRtt.onProbed. */
  onBaseRttProbe(now: Nanos, rttNs: Nanos, estimateNs: Nanos, clean: boolean): void {
    this.#learn(now, this.#baseRtt!.onProbed(now, rttNs, estimateNs, clean))
    this.#follow()
  }

  /** The flow takes another path, and nothing is in flight. */
  onPathChange(): void {
    this.#control?.onPathChange?.()
    this.#baseRtt?.onPathChange()
    this.#follow()
  }

  onTimeout(now: Nanos): void {
    const control = this.#control
    if (control === null || this.#deadlineNs > now) return
    for (let calls = 0; this.#deadlineNs <= now; calls++) {
      if (calls === DEADLINES_MAX)
        throw new WeirError('WEIR_INTERNAL', `${control.name} leaves a deadline in the past`)
      control.onTimeout?.(now)
      this.#ask(control)
    }
    this.#follow()
  }

  // ---- What follows

  /** @param baseRttNs the new T, 0 = it is what it was */
  #learn(now: Nanos, baseRttNs: Nanos): void {
    if (baseRttNs === 0) return
    this.#stats.baseRttNs = baseRttNs
    this.#qp.baseRttNs = baseRttNs
    this.#follower.onBaseRtt(baseRttNs)
    this.#control?.onBaseRtt?.(now, baseRttNs)
  }

  #record(sample: AckSample): void {
    recordSample(this.#stats, sample, this.#qp.counters)
    this.hostShare.onFlows(sample.hops.flows)
    this.#follow()
  }

  /** The controller has heard something: asks what it has decided. */
  #ask(control: CongestionControl): void {
    this.#windowBytes = control.windowBytes()
    const rateBps = control.rateBps()
    this.#rateBps = rateBps === NO_RATE ? this.#lineRateBps : rateBps
    this.#deadlineNs = control.nextTimeout?.() ?? NEVER
  }

  #follow(): void {
    const control = this.#control
    if (control === null) return
    this.#ask(control)
    const allowedBytes = this.allowedBytes()
    // A window or rate that is no number compares as false with everything, and stops the flow without a word.
    assert(
      allowedBytes > 0 && this.#rateBps > 0,
      'a controller has set a window or rate that lets nothing out',
    )
    recordController(this.#stats, control, this.#rateBps, this.#reason)
    this.#stats.windowBytes = allowedBytes === NO_WINDOW ? 0 : allowedBytes
    this.#follower.onWindow(control, allowedBytes)
  }
}
