import { ccAckShare, ccIsReceiverBased, ccWantsTelemetry, createCongestionControl } from '../cc/catalogue.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import { BaseRttProbe } from './base-rtt-probe.js'
import type { NicSettings } from './config.js'
import { Control, type ControlPackets } from './control-packets.js'
import type { Flow } from './flow.js'
import { GuessedBaseRtt } from './guessed-base-rtt.js'
import type { PathSelector } from './path-selector.js'
import { RateRequest } from './rate-request.js'
import { TelemetryProbe } from './telemetry-probe.js'
import type { ConnectOptions } from './types.js'

/** T when every probe was lost. */
const BASE_RTT_UNKNOWN_NS = 100_000

/** From an established connection to one that may send: measures T, and makes the controller. */
export class FlowStart {
  readonly #settings: NicSettings
  readonly #control: ControlPackets
  readonly #paths: PathSelector

  constructor(settings: NicSettings, control: ControlPackets, paths: PathSelector) {
    this.#settings = settings
    this.#control = control
    this.#paths = paths
  }

  /** Throws WEIR_BAD_ARGUMENT now for a controller that could not be made once T is known. */
  checkController(cc: ConnectOptions['cc']): void {
    if (cc === undefined) return
    const { lineRateBps, pathMtu } = this.#settings
    createCongestionControl(cc.name, { lineRateBps, baseRttNs: 1e6, mtuBytes: pathMtu }, cc.options)
  }

  /** A careful flow does not wait for T: its first round trips tell. @param guessNs until then */
  beginWithGuess(flow: Flow, guessNs: Nanos): void {
    flow.guessedBaseRtt = new GuessedBaseRtt(this.#settings.baseRttLeastNs)
    this.begin(flow, Math.max(guessNs, this.#settings.baseRttLeastNs))
  }

  /** Begins to measure T, unless it is known or being measured. */
  measure(flow: Flow): void {
    if (flow.cc !== null || flow.probe !== null || flow.phase !== 'established') return
    flow.probe = new BaseRttProbe()
    this.#control.push(flow, Control.BASE_PROBE)
  }

  /** A probe has been answered or given up: sends the next one, or begins. True if the flow has begun. */
  advance(flow: Flow): boolean {
    const probe = flow.probe!
    if (!probe.done) {
      if (probe.wantsToSend) this.#control.push(flow, Control.BASE_PROBE)
      return false
    }
    const guess = flow.connectRttNs > 0 ? flow.connectRttNs : BASE_RTT_UNKNOWN_NS
    const measured = probe.bestNs === NEVER ? guess : probe.bestNs
    this.begin(flow, Math.max(measured, this.#settings.baseRttLeastNs))
    return true
  }

  /** T is known: the flow gets its controller, and what brings it telemetry. */
  begin(flow: Flow, baseRttNs: Nanos): void {
    const cc = flow.ccChoice
    const context = {
      lineRateBps: this.#settings.lineRateBps,
      baseRttNs,
      mtuBytes: flow.pathMtu,
      careful: this.#settings.start === 'careful',
    }
    flow.ackShare = ccAckShare(cc.name)
    flow.probe = null
    flow.stats.baseRttNs = baseRttNs
    flow.qp.baseRttNs = baseRttNs
    flow.begin(createCongestionControl(cc.name, context, cc.options))
    this.#paths.begin(flow)
    if (!flow.peerIsWeir || !ccWantsTelemetry(cc.name)) return
    flow.telemetry.start()
    flow.telemetryProbe = new TelemetryProbe(baseRttNs, flow.telemetry.probes, flow.telemetry.probeShare)
    if (ccIsReceiverBased(cc.name)) {
      flow.rateRequest = new RateRequest(context, cc.options)
      this.#control.push(flow, Control.RATE_REQUEST)
    }
  }
}
