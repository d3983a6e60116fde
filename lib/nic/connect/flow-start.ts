import {
  ccAckEvery,
  ccAckShare,
  ccIsReceiverBased,
  ccOptionPlaces,
  ccProbesOnly,
  ccWantsTelemetry,
  createCongestionControl,
} from '../../cc/catalogue.js'
import { checkController } from '../../cc/check-controller.js'
import type { CongestionContext } from '../../cc/congestion-control.js'
import type { ProbeFindings } from '../../cc/path-switches.js'
import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'
import type { NicSettings } from '../config.js'
import { BaseRttProbe } from '../feedback/base-rtt-probe.js'
import { FlowBaseRtt } from '../feedback/flow-base-rtt.js'
import { LeastRoundTrips } from '../feedback/least-round-trips.js'
import { RateRequest } from '../feedback/rate-request.js'
import type { Flow } from '../flow/flow.js'
import type { PathSelector } from '../paths/path-selector.js'
import { TelemetryProbe } from '../telemetry/telemetry-probe.js'
import { Control, type ControlPackets } from '../tx/control-packets.js'
import type { ConnectOptions } from '../types.js'

/** T when every probe was lost, and a guess before the first round trip. */
const BASE_RTT_UNKNOWN_NS = 100_000
/** A guess of T is no more. */
const GUESS_MOST_NS = MILLISECOND

/** So many connections that are made in a row repeat their first probes at different times. */
const REPEATS_APART = 256

/** From an established connection to one that may send: measures T, and makes the controller. */
export class FlowStart {
  readonly #settings: NicSettings
  readonly #control: ControlPackets
  readonly #paths: PathSelector
  readonly #leastRoundTrips: LeastRoundTrips
  /** That of the last controller: mostly the next one begins in the same. */
  #context: CongestionContext | null = null

  constructor(settings: NicSettings, control: ControlPackets, paths: PathSelector) {
    this.#leastRoundTrips = new LeastRoundTrips(settings.baseRttWindowNs)
    this.#settings = settings
    this.#control = control
    this.#paths = paths
  }

  /** Throws WEIR_BAD_ARGUMENT now for a controller that could not be made once T is known. */
  checkController(cc: ConnectOptions['cc']): void {
    if (cc === undefined) return
    checkController(cc, this.#settings.lineRateBps, this.#settings.pathMtu)
  }

  /**
   * T is not known, and the flow does not wait for it: its first round trips measure it. The round trip of the connection manager bounds the guess.
   * It is no measure of T, because it includes the time that the peer's application takes to accept.
   */
  beginUnmeasured(flow: Flow): void {
    const expectedNs = flow.handshake.roundTripNs || GUESS_MOST_NS
    this.#keepMeasuring(flow)
    this.begin(flow, Math.max(Math.min(expectedNs, GUESS_MOST_NS), this.#settings.baseRttLeastNs))
    // Timeouts may use the handshake: it took no less than a round trip.
    flow.qp.baseRttNs = expectedNs
    if (flow.handshake.active && this.#settings.baseRttWindowNs !== NEVER) this.measure(flow)
  }

  #keepMeasuring({ index, sender: { congestion } }: Flow): void {
    if (congestion.baseRtt !== null) return
    const { baseRttWindowNs, baseRttLeastNs } = this.#settings
    const spread = (index % REPEATS_APART) / REPEATS_APART
    congestion.keepMeasuring(new FlowBaseRtt(baseRttWindowNs, baseRttLeastNs, spread))
  }

  /** The flow has something to send, and only the missing controller keeps it: it begins where T is given, else T is measured. */
  onFirstWork(flow: Flow): void {
    const { fixedBaseRttNs } = flow.handshake
    if (fixedBaseRttNs === 0) this.measure(flow)
    else if (flow.ending.phase === 'established') this.begin(flow, fixedBaseRttNs)
  }

  /** Begins to measure T, unless it is known or being measured. */
  measure(flow: Flow): void {
    const { sender, handshake, stats } = flow
    const { begun, baseRtt } = sender.congestion
    const known = begun && baseRtt === null
    if (known || sender.baseRttProbe !== null || flow.ending.phase !== 'established' || !flow.peer.isWeir)
      return
    // Telemetry shows the queues that others make.
    const collects = this.#settings.baseRttWindowNs !== NEVER && ccWantsTelemetry(flow.cc.name)
    const rttNs = begun ? stats.rttNs || handshake.roundTripNs : 0
    const sequence = begun ? baseRtt!.takeSequences() : 0
    sender.measure(new BaseRttProbe(sequence, collects, rttNs, this.#findsSize(flow)))
    this.#control.push(flow, Control.BASE_PROBE)
  }

  /** The length of packets is this host's choice, and no full one has been acknowledged yet. */
  #findsSize({ peer, stats }: Flow): boolean {
    return peer.packetBytes > 0 && stats.ackedBytes < peer.payloadMax
  }

  /** A probe has been answered or given up: sends the next one, or begins. True if T has been measured. */
  advance(now: Nanos, flow: Flow): boolean {
    const { congestion } = flow.sender
    const probe = flow.sender.baseRttProbe!
    if (!probe.done) {
      if (!probe.wantsToSend) return false
      // Until something is acknowledged, what a passive end knows is the handshake's.
      if (flow.stats.ackedBytes > 0) probe.expect(flow.stats.rttNs)
      this.#control.push(flow, Control.BASE_PROBE)
      return false
    }
    flow.sender.measured()
    const { bestNs } = probe
    const estimateNs = this.#estimate(now, flow, probe)
    if (congestion.begun) {
      if (bestNs !== NEVER) congestion.onBaseRttProbe(now, bestNs, estimateNs, probe.clean)
      return true
    }
    const guess = flow.handshake.roundTripNs > 0 ? flow.handshake.roundTripNs : BASE_RTT_UNKNOWN_NS
    const measured = bestNs === NEVER ? guess : estimateNs
    if (this.#settings.baseRttWindowNs !== NEVER) {
      this.#keepMeasuring(flow)
      if (bestNs !== NEVER) congestion.onBaseRttProbe(now, bestNs, estimateNs, true)
    }
    this.begin(flow, Math.max(measured, this.#settings.baseRttLeastNs), probe.path)
    return true
  }

  /**
   * T for all that the probe has shown; NEVER = it was not answered. In a connection's first round, and its repetition, what others to the same peer have shown
   * counts too. Later the path may have become longer.
   */
  #estimate(now: Nanos, { remote, sender }: Flow, { baseRttNs }: BaseRttProbe): Nanos {
    if (baseRttNs === NEVER || this.#settings.baseRttWindowNs === NEVER) return baseRttNs
    const leastNs = this.#leastRoundTrips.add(now, remote, baseRttNs)
    return sender.congestion.baseRtt?.isFirstRound === false ? baseRttNs : leastNs
  }

  /** The peer has ceased to give what it has granted: the controller goes on without, or gives way as its entry says. Or it gives it again. */
  agreeAgain(flow: Flow): void {
    if (flow.agreeAgain()) this.#equip(flow, flow.stats.baseRttNs)
  }

  /** T is known: the flow gets its controller, and what brings it telemetry. @param probed what the probes that measured T have shown */
  begin(flow: Flow, baseRttNs: Nanos, probed?: ProbeFindings): void {
    this.#equip(flow, baseRttNs, probed)
    this.#paths.begin(flow)
  }

  #equip(flow: Flow, baseRttNs: Nanos, probed?: ProbeFindings): void {
    const { cc } = flow
    const context = this.#contextOf(flow, baseRttNs, probed)
    const control = createCongestionControl(cc.name, context, cc.options)
    const asksEvery = flow.peer.acksEnough ? 0 : ccAckEvery(cc.name)
    const asks = { share: ccAckShare(cc.name), everyPackets: asksEvery }
    flow.sender.begin(control, asks, baseRttNs, flow.ccReason)
    const { telemetry } = flow.sender
    if (!flow.peer.isWeir || !ccWantsTelemetry(cc.name)) {
      telemetry.stop()
      flow.sender.collect(null, null)
      return
    }
    telemetry.start(ccProbesOnly(cc.name))
    const probe = new TelemetryProbe(baseRttNs, telemetry.probes, telemetry.probeShare)
    const request = ccIsReceiverBased(cc.name)
      ? new RateRequest(context, cc.options, ccOptionPlaces(cc.name))
      : null
    flow.sender.collect(probe, request)
    if (request !== null) this.#control.push(flow, Control.RATE_REQUEST)
  }

  #contextOf({ peer }: Flow, baseRttNs: Nanos, probed: ProbeFindings | undefined): CongestionContext {
    const { lineRateBps, start } = this.#settings
    const context = this.#context
    const isSame =
      context?.baseRttNs === baseRttNs &&
      context.mtuBytes === peer.payloadMax &&
      context.foreignPeer === !peer.isWeir &&
      context.probed === probed
    if (isSame) return context
    this.#context = {
      lineRateBps,
      baseRttNs,
      mtuBytes: peer.payloadMax,
      careful: start === 'careful',
      foreignPeer: !peer.isWeir,
      ...(probed !== undefined && { probed }),
    }
    return this.#context
  }
}
