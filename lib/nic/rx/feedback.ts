import { receivingPart } from '../../cc/catalogue.js'
import {
  type AckSample,
  type FairRate,
  FeedbackSource,
  SentWith,
  WindowDue,
} from '../../cc/congestion-control.js'
import { BASE_RTT, LINE_RATE } from '../../cc/context-options.js'
import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import { isWithin } from '../../options/read-value.js'
import type { Nanos } from '../../time/nanos.js'
import * as bth from '../../wire/ib/bth.js'
import { isReadResponse, Opcode } from '../../wire/ib/opcode.js'
import * as udp from '../../wire/net/udp.js'
import { HopRecords } from '../../wire/telemetry/hop-records.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'
import * as delayedAck from '../../wire/weir/delayed-ack.js'
import * as fairRate from '../../wire/weir/fair-rate.js'
import { NeedId } from '../../wire/weir/needs.js'
import * as rate from '../../wire/weir/rate.js'
import { readRequest } from '../feedback/rate-request.js'
import type { Flow } from '../flow/flow.js'
import { Control, type ControlPackets } from '../tx/control-packets.js'
import type { SourcePorts } from '../tx/source-ports.js'

interface FeedbackEvents {
  /** The answer to a probe that measures T. */
  onBaseRttAnswer(now: Nanos, flow: Flow, sequence: number, sample: AckSample): void
  /** The answer to a path probe, with its telemetry. */
  onPathAnswer(now: Nanos, flow: Flow, sequence: number, hops: HopRecords): void
  /** The answer to a probe that asked whether a path is whole. */
  onRaceAnswer(now: Nanos, flow: Flow, sequence: number): void
  flowChanged(now: Nanos, flow: Flow): void
}

/**
 * The packets between two NICs beside data and acknowledgements: notifications that return telemetry, probes and their
 * answers, windows that receivers work out, direct responses of switches.
 */
export class Feedback {
  readonly counters = { badRequests: 0, implausibleTelemetry: 0 }
  readonly #control: ControlPackets
  readonly #ports: SourcePorts
  readonly #concurrentFlows: () => number
  readonly #events: FeedbackEvents
  /** Telemetry of a packet that this end works on itself. */
  readonly #hops = new HopRecords()
  readonly #fairRate: FairRate = { switchId: 0, port: 0, rateBps: 0, intervalNs: 0 }

  constructor(
    control: ControlPackets,
    ports: SourcePorts,
    concurrentFlows: () => number,
    events: FeedbackEvents,
  ) {
    this.#control = control
    this.#ports = ports
    this.#concurrentFlows = concurrentFlows
    this.#events = events
  }

  // ---- As receiver

  /**
   * A data packet with telemetry has arrived, or a READ response that asks for an answer; the queue pair has seen it. Without a
   * receiver's controller the telemetry waits in `flow.receiver.echo`.
   */
  onCollected(now: Nanos, flow: Flow, frame: Frame): void {
    const { receiver } = flow
    if (receiver.control !== null) {
      if (frame.shim >= 0) this.#newInt(now, flow, frame)
      return
    }
    const isResponse = isReadResponse(bth.opcode(frame.view, frame.bth))
    const isAsked = isResponse && bth.ackRequest(frame.view, frame.bth)
    const psn = bth.psn(frame.view, frame.bth)
    if (receiver.onCollected(isResponse, isAsked, psn)) this.#control.push(flow, Control.NOTIFY)
  }

  #newInt(now: Nanos, flow: Flow, frame: Frame): void {
    telemetry.read(frame, this.#hops)
    flow.receiver.echo.appendHost(this.#hops)
    if (!flow.plausibility.believes(now, this.#hops, false, this.counters)) return
    const { control } = flow.receiver
    const flows = this.#concurrentFlows()
    this.#sendWindow(flow, control!.onTelemetry(now, this.#hops, flows, flow.owesAck, sentWith(flow, frame)))
  }

  /** @param due one of WindowDue */
  #sendWindow(flow: Flow, due: number): void {
    if (due === WindowDue.NOTHING) return
    if (due === WindowDue.NEW) flow.windows.next()
    this.#control.push(flow, Control.RATE)
  }

  /** A packet of Weir's own that is for no queue pair. `sample` holds the echo that it carried. False if nobody waits for it. */
  onVendor(now: Nanos, flow: Flow, frame: Frame, opcode: number, sample: AckSample): boolean {
    switch (opcode) {
      case Opcode.PROBE:
        if (flow.receiver.control !== null && frame.shim >= 0) this.#newInt(now, flow, frame)
        flow.receiver.onProbe(bth.psn(frame.view, frame.bth))
        this.#control.push(flow, Control.ANSWER)
        return true
      case Opcode.NOTIFY:
        this.#onNotification(now, flow, frame, sample)
        return true
      case Opcode.RATE:
        flow.sender.promises.onGiven(NeedId.RECEIVING_PART)
        if (flow.sender.rateRequest === null) return false
        this.#onRate(now, flow, frame, sample)
        return true
      case Opcode.RATE_REQUEST:
        this.#onRequest(now, flow, frame)
        return true
      case Opcode.DIRECT_NOTIFY:
        return this.#onDirect(now, flow, frame, sample)
      case Opcode.FAIR_RATE:
        return this.#onFairRate(now, flow, frame)
      case Opcode.PATH_PROBE:
        flow.receiver.onPathProbe(frame, this.#answerFrom(frame))
        this.#control.push(flow, Control.PATH_ANSWER)
        return true
      case Opcode.PATH_ANSWER:
        if (bth.ackRequest(frame.view, frame.bth))
          this.#events.onRaceAnswer(now, flow, bth.psn(frame.view, frame.bth))
        else this.#events.onPathAnswer(now, flow, bth.psn(frame.view, frame.bth), sample.hops)
        return true
      default:
        return false
    }
  }

  /** The source port of the probe where that asks for it, and packets can leave from it; else 0. */
  #answerFrom({ view, bth: at, l4 }: Frame): number {
    const port = udp.sourcePort(view, l4)
    return bth.ackRequest(view, at) && this.#ports.nearest(port) === port ? port : 0
  }

  #onRequest(now: Nanos, flow: Flow, frame: Frame): void {
    const { receiver } = flow
    const part = receivingPart(receiver.receivingPart)
    if (part === undefined) {
      // It has not been agreed on.
      this.counters.badRequests++
      return
    }
    try {
      const { context, options } = readRequest(frame.view, frame.bth + bth.BYTES, part.optionPlaces)
      const { baseRttNs, lineRateBps } = context
      if (!isWithin(BASE_RTT, baseRttNs) || !isWithin(LINE_RATE, lineRateBps))
        throw new WeirError('WEIR_BAD_ARGUMENT', 'T or line rate')
      const control = receiver.control ?? part.create(context, options)
      if (receiver.control === null) receiver.begin(control)
      const changes = baseRttNs !== control.baseRttNs
      if (changes) control.onBaseRtt(now, baseRttNs)
      this.#sendWindow(flow, changes ? WindowDue.NEW : WindowDue.AGAIN)
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      this.counters.badRequests++
    }
  }

  // ---- As sender

  #onNotification(now: Nanos, flow: Flow, frame: Frame, sample: AckSample): void {
    const { view } = frame
    const sequence = bth.psn(view, frame.bth)
    const kind = delayedAck.kind(view, frame.payload - delayedAck.BYTES)
    const hops = sample.hops.count
    sample.hops.count = 0
    // Acknowledgements that are to collect telemetry come by themselves.
    if (kind !== delayedAck.KIND_PROBE && delayedAck.acknowledges(view, frame.payload - delayedAck.BYTES))
      flow.sender.promises.fallsDue(NeedId.REVERSE_TELEMETRY)
    sample.source = kind === delayedAck.KIND_PROBE ? FeedbackSource.PROBE : FeedbackSource.NOTIFY
    if (kind === delayedAck.KIND_PROBE) flow.sender.promises.onGiven(NeedId.PROBES)
    this.#acknowledge(now, flow, frame, frame.payload - delayedAck.BYTES, sample)
    sample.hops.count = hops
    if (kind !== delayedAck.KIND_PROBE)
      flow.sender.onTelemetry(now, kind === delayedAck.KIND_RESPONSE, sequence, sample)
    else if (flow.sender.baseRttProbe?.sequence === sequence)
      this.#events.onBaseRttAnswer(now, flow, sequence, sample)
    else {
      flow.sender.baseRttProbe?.onOtherAnswer(sequence)
      this.#onProbeAnswer(now, flow, sequence, frame.wireLength, sample)
    }
    this.#events.flowChanged(now, flow)
  }

  #onProbeAnswer(now: Nanos, flow: Flow, sequence: number, wireBytes: number, sample: AckSample): void {
    const sndNxt = flow.sender.telemetryProbe?.onAnswer(now, sequence, wireBytes) ?? -1
    if (sndNxt < 0) return
    flow.sender.onProbed(now, sndNxt, sample)
    this.considerProbe(now, flow)
  }

  #onRate(now: Nanos, flow: Flow, frame: Frame, sample: AckSample): void {
    const { view } = frame
    const at = frame.payload - rate.BYTES
    flow.sender.onReceiverWindow(
      now,
      bth.psn(view, frame.bth),
      rate.windowBytes(view, at),
      rate.flows(view, at),
    )
    sample.source = FeedbackSource.WINDOW
    this.#acknowledge(now, flow, frame, at - delayedAck.BYTES, sample)
    this.#events.flowChanged(now, flow)
  }

  #acknowledge(now: Nanos, flow: Flow, frame: Frame, at: number, sample: AckSample): void {
    if (!delayedAck.acknowledges(frame.view, at)) return
    flow.qp.onDelayedAck(now, frame, delayedAck.psn(frame.view, at))
    flow.sender.reportToCongestion(now, sample)
  }

  /** A switch's answer: to the sender, with BECN, or to the receiver that works out the window. */
  #onDirect(now: Nanos, flow: Flow, frame: Frame, sample: AckSample): boolean {
    if (bth.becn(frame.view, frame.bth)) {
      const ofResponse =
        delayedAck.kind(frame.view, frame.payload - delayedAck.BYTES) === delayedAck.KIND_RESPONSE
      flow.sender.onDirectResponse(now, ofResponse, bth.psn(frame.view, frame.bth), sample)
      this.#events.flowChanged(now, flow)
      return true
    }
    const { control } = flow.receiver
    if (control === null) return false
    this.#sendWindow(flow, control.onDirectResponse(now, sample.hops))
    return true
  }

  /** The fair rate of a queue that the flow's packets wait in. */
  #onFairRate(now: Nanos, flow: Flow, frame: Frame): boolean {
    const { view } = frame
    const at = frame.payload - fairRate.BYTES
    fairRate.read(view, at, this.#fairRate)
    const ofResponse = fairRate.kind(view, at) === fairRate.KIND_RESPONSE
    flow.sender.onFairRate(now, ofResponse, bth.psn(view, frame.bth), this.#fairRate)
    this.#events.flowChanged(now, flow)
    return true
  }

  /** Sends a probe for telemetry if it is time for one. */
  considerProbe(now: Nanos, flow: Flow): void {
    if (flow.sender.telemetryProbe!.isDue(now) && flow.sender.wantsProbe(now))
      this.#control.push(flow, Control.PROBE)
  }

  /** Deadlines of probes and of requests. */
  onTimeout(now: Nanos, flow: Flow): void {
    if (flow.sender.telemetryProbe !== null) {
      flow.sender.telemetryProbe.onTimeout(now)
      this.considerProbe(now, flow)
    }
    if (flow.sender.rateRequest !== null) {
      flow.sender.rateRequest.onTimeout(now)
      if (flow.sender.rateRequest.wantsToSend) this.#control.push(flow, Control.RATE_REQUEST)
    }
  }
}

/** With which of this end's windows the peer has sent the packet: one of SentWith. */
function sentWith(flow: Flow, frame: Frame): number {
  if (!flow.peer.numbersWindows) return SentWith.UNKNOWN
  return flow.windows.isLast(bth.windowNumber(frame.view, frame.bth)) ? SentWith.LAST : SentWith.EARLIER
}
