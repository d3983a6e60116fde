import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import { FrameRun } from '../../frame/frame-run.js'
import type { PreparedHeaders } from '../../frame/prepared-headers.js'
import { TxKind } from '../../qp/queue-pair.js'
import { wrapPsn } from '../../qp/queues/psn.js'
import type { Nanos } from '../../time/nanos.js'
import * as aeth from '../../wire/ib/aeth.js'
import * as bth from '../../wire/ib/bth.js'
import * as cnp from '../../wire/ib/cnp.js'
import * as deth from '../../wire/ib/deth.js'
import * as icrc from '../../wire/ib/icrc.js'
import { isAcknowledgement, Opcode } from '../../wire/ib/opcode.js'
import * as reth from '../../wire/ib/reth.js'
import * as udp from '../../wire/net/udp.js'
import * as intShim from '../../wire/telemetry/int-shim.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'
import * as carriedAck from '../../wire/weir/carried-ack.js'
import * as delayedAck from '../../wire/weir/delayed-ack.js'
import * as rate from '../../wire/weir/rate.js'
import * as rateRequest from '../../wire/weir/rate-request.js'
import type { BaseRttProbe } from '../feedback/base-rtt-probe.js'
import type { RateRequest } from '../feedback/rate-request.js'
import type { Flow } from '../flow/flow.js'
import type { PathAnswers } from '../telemetry/path-answers.js'
import { NO_SHIM, type TelemetrySource } from '../telemetry/telemetry-source.js'
import { beginFrame, completeHeaders } from './headers.js'

export interface TxCounters {
  frames: number
  bytes: number
  /** Times that a packet was due and no frame was free. */
  noFrame: number
  /** Packets with payload, and the telemetry bytes in them as they leave. */
  dataFrames: number
  dataBytes: number
  telemetryBytes: number
  /** Acknowledgements, and the bytes of echoed telemetry in them. */
  ackFrames: number
  ackBytes: number
  echoBytes: number
  /** Packets of Weir's own: probes, notifications, windows and requests for them. */
  vendorFrames: number
  vendorBytes: number
}

/**
 * The tx pipeline of the draft's NIC: turns what a queue pair has to send into whole frames. A data packet gets an
 * INT shim for hops to stamp, an acknowledgement the echo of the telemetry that came last.
 */
export class TxPipeline {
  readonly counters: TxCounters = {
    frames: 0,
    bytes: 0,
    noFrame: 0,
    dataFrames: 0,
    dataBytes: 0,
    telemetryBytes: 0,
    ackFrames: 0,
    ackBytes: 0,
    echoBytes: 0,
    vendorFrames: 0,
    vendorBytes: 0,
  }
  readonly #pool: FramePool
  /** The frame that is being written. */
  #open: Frame | null = null
  readonly #icrc: boolean
  /** The packets that follow the data packet which was written last, in the order in which they leave. Empty where they left with it. */
  readonly run: FrameRun
  /** How many packets the last call of `data` has written. */
  written = 0
  readonly #sendsRuns: boolean
  #writesRun = false
  /** The frame that is being written gets an ICRC. */
  #withIcrc = false
  /** BTH of Weir's own packets. */
  readonly #vendor = new bth.Bth()

  /**
   * @param options.icrc false: the ICRC is left zero, for virtual time
   * @param options.gathers see Port.gathers
   * @param options.sendsRuns see Port.sendsRuns
   */
  constructor(options: { pool: FramePool; icrc: boolean; gathers: boolean; sendsRuns: boolean }) {
    this.#pool = options.pool
    this.run = new FrameRun(options.pool, options.gathers)
    this.#sendsRuns = options.sendsRuns
    this.#icrc = options.icrc
  }

  /** The flow's next acknowledgement, or null. */
  acknowledgement(now: Nanos, flow: Flow, concurrentFlows: number): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    const { receiver } = flow
    const collects = receiver.reverse !== 'none'
    const at = receiver.echoesOnAcks
      ? this.#beginEcho(frame, flow, concurrentFlows)
      : collects
        ? this.#beginReverse(frame, flow, concurrentFlows)
        : frame.payload
    if (flow.qp.pollTransmit(now, frame, at, false) === TxKind.NONE) return this.#abandon(frame)
    const echoBytes = collects || frame.shim < 0 ? 0 : at - frame.shim
    if (echoBytes > 0) receiver.echoedOnAck()
    // An atomic response acknowledges too, and has no room for it.
    if (receiver.stamps && isAcknowledgement(bth.opcode(frame.view, frame.bth))) receiver.stamp(now, frame)
    this.#finishEcho(frame, flow)
    this.counters.ackFrames++
    this.counters.ackBytes += frame.wireLength
    this.counters.echoBytes += echoBytes
    return frame
  }

  /**
   * A notification with the telemetry that waits and the acknowledgement that is due; null when no telemetry waits,
   * unless the peer has asked.
   */
  notification(flow: Flow, concurrentFlows: number): Frame | null {
    const { receiver } = flow
    if (!receiver.mayNotify) return null
    const frame = this.#notify(flow, receiver.notifyKind, receiver.notifyPsn, concurrentFlows)
    if (frame !== null) receiver.notified()
    return frame
  }

  /** The answer to the peer's last probe, with the telemetry that waits. */
  answer(flow: Flow, concurrentFlows: number): Frame | null {
    return this.#notify(flow, delayedAck.KIND_PROBE, flow.receiver.answerSequence, concurrentFlows)
  }

  #notify(flow: Flow, kind: number, sequence: number, concurrentFlows: number): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    // Nothing else acknowledges READ responses.
    const collects = kind === delayedAck.KIND_RESPONSE && flow.receiver.reverse === 'data-way'
    const at = collects
      ? this.#beginReverse(frame, flow, concurrentFlows)
      : this.#beginEcho(frame, flow, concurrentFlows)
    this.#writeAcknowledging(frame, flow, Opcode.NOTIFY, at, kind, sequence)
    this.#endHeaders(frame, frame.payload)
    this.#finishEcho(frame, flow)
    return this.#countVendor(frame)
  }

  /** The window that this end has worked out for the peer, and the acknowledgement that is due. */
  rate(flow: Flow, concurrentFlows: number): Frame | null {
    const frame = this.#begin(flow)
    const { control } = flow.receiver
    if (frame === null || control === null) return frame === null ? null : this.#abandon(frame)
    const { given } = flow.windows
    this.#writeAcknowledging(frame, flow, Opcode.RATE, frame.payload, delayedAck.KIND_REQUEST, given)
    rate.write(frame.view, frame.payload, concurrentFlows, control.windowBytes())
    this.#endHeaders(frame, frame.payload + rate.BYTES)
    return this.#countVendor(this.#finishFeedback(frame, flow))
  }

  /** Asks the peer to work out the window. */
  rateRequest(flow: Flow, request: RateRequest): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    this.#writeVendor(frame, flow, Opcode.RATE_REQUEST, frame.payload, 0, 0)
    request.write(frame.view, frame.payload)
    this.#endHeaders(frame, frame.payload + rateRequest.BYTES)
    return this.#countVendor(this.#finishFeedback(frame, flow))
  }

  /** A probe for telemetry, with the headers of the flow's data, so that it takes the data's way through its queues. */
  telemetryProbe(flow: Flow, sequence: number): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    const at = telemetry.begin(frame, flow.sender.telemetry.format, flow.sender.telemetry.slots, 0)
    this.#writeVendor(frame, flow, Opcode.PROBE, at, sequence, 0)
    bth.setWindowNumber(frame.view, frame.bth, flow.windows.inForce)
    return this.#countVendor(this.#finishFeedback(frame, flow))
  }

  /**
   * A probe of one of the flow's paths: the data's headers, but for the source port. Its records always name their
   * links, whether or not those of data do.
   * @param headers of that path
   */
  pathProbe(flow: Flow, headers: PreparedHeaders, sequence: number): Frame | null {
    const frame = this.#begin(flow, headers)
    if (frame === null) return null
    const { format: ofData, slots } = flow.sender.telemetry
    const format = ofData === intShim.FORMAT_COMPACT ? intShim.FORMAT_WIDE : ofData
    const at = telemetry.begin(frame, format, slots, 0)
    this.#writeVendor(frame, flow, Opcode.PATH_PROBE, at, sequence, 0)
    return this.#countVendor(this.#finishFeedback(frame, flow))
  }

  /** A probe that asks whether a path is whole. By AckReq its answer comes back from the same source port, so by the same links. */
  raceProbe(flow: Flow, headers: PreparedHeaders, sequence: number): Frame | null {
    const frame = this.#begin(flow, headers)
    if (frame === null) return null
    this.#writeVendor(frame, flow, Opcode.PATH_PROBE, frame.payload, sequence, 0)
    bth.setAckRequest(frame.view, frame.bth, true)
    return this.#countVendor(this.#finishFeedback(frame, flow))
  }

  /** The answer to one of the peer's path probes. */
  pathAnswer(flow: Flow, answers: PathAnswers): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    const at = frame.payload
    const bytes = answers.write(frame, at)
    if (bytes > 0) frame.shim = at
    this.#writeVendor(frame, flow, Opcode.PATH_ANSWER, at + bytes, answers.sequence, 0)
    if (answers.sourcePort !== 0) {
      udp.setSourcePort(frame.view, frame.l4, answers.sourcePort)
      bth.setAckRequest(frame.view, frame.bth, true)
    }
    answers.sent()
    return this.#countVendor(this.#finishFeedback(frame, flow))
  }

  /** BTH, AETH and delayed acknowledgement; `payload` is behind them. */
  #writeAcknowledging(
    frame: Frame,
    flow: Flow,
    opcode: number,
    at: number,
    kind: number,
    sequence: number,
  ): void {
    this.#writeVendor(frame, flow, opcode, at, sequence, 0)
    const psn = this.#writeDelayedAck(frame, flow, kind)
    delayedAck.write(frame.view, frame.payload + aeth.BYTES, kind, psn)
    frame.payload += aeth.BYTES + delayedAck.BYTES
  }

  /** Returns the PSN acknowledged, or -1: nothing is. What data has collected goes back without it where acknowledgements collect too. */
  #writeDelayedAck(frame: Frame, flow: Flow, kind: number): number {
    if (flow.receiver.reverse === 'none' || kind === delayedAck.KIND_PROBE)
      return flow.qp.writeDelayedAck(frame, frame.payload)
    aeth.write(frame.view, frame.payload, 0, 0)
    return -1
  }

  #endHeaders(frame: Frame, end: number): void {
    frame.payload = end
    frame.length = end
    frame.wireLength = end
  }

  /** Writes the telemetry that waits to be echoed, if there is any; returns where the BTH goes. */
  #beginEcho(frame: Frame, flow: Flow, concurrentFlows: number): number {
    const at = frame.payload
    const { echo } = flow.receiver
    if (echo.bytes === 0) return at
    const bytes = echo.write(frame, at, flow.stats.baseRttNs)
    if (concurrentFlows > 0) intShim.setFlows(frame.view, at, concurrentFlows)
    frame.shim = at
    return at + bytes
  }

  /** Telemetry to be filled by the hops on the way back; returns where the BTH goes. Only native shims can be of the data's way. */
  #beginReverse(frame: Frame, { receiver, sender }: Flow, concurrentFlows: number): number {
    const { format, slots } = sender.telemetry
    if (receiver.reverse === 'own-way') return telemetry.begin(frame, format, slots, 0)
    const native = format <= intShim.FORMAT_COMPACT ? format : intShim.FORMAT_WIDE
    const at = telemetry.begin(frame, native, slots, intShim.FLAG_REVERSE)
    intShim.setFlows(frame.view, frame.shim, concurrentFlows)
    return at
  }

  /** An echo covers everything that came before it, so nothing waits to be echoed any more. */
  #finishEcho(frame: Frame, flow: Flow): Frame {
    const { marked, markedPackets } = flow.receiver
    if (marked) bth.setBecn(frame.view, frame.bth, true)
    if (markedPackets !== 0 && flow.peer.isWeir) bth.setMarks(frame.view, frame.bth, markedPackets)
    flow.receiver.answered(telemetry.isEcho(frame))
    return this.#finishFeedback(frame, flow)
  }

  /** On a connection with a key, what is no data is authenticated. */
  #finishFeedback(frame: Frame, flow: Flow): Frame {
    flow.peer.guard?.seal(frame)
    return this.#finish(frame)
  }

  #countVendor(frame: Frame): Frame {
    this.counters.vendorFrames++
    this.counters.vendorBytes += frame.wireLength
    return frame
  }

  /**
   * The flow's next packet with payload, or null; also moves the flow's pacing clock. The packets that may leave with it are
   * written too, and are in `run`.
   *
   * @param next the kind of the packet, as the queue pair has just said
   * @param mayRun false: `run` is in use, so this packet is written alone
   */
  data(now: Nanos, flow: Flow, next: TxKind, mayRun: boolean): Frame | null {
    const { sender, path } = flow
    const headers = sender.telemetry.subscribesByDscp ? path.subscribedHeaders : path.headers
    this.written = 0
    const frame = this.#begin(flow, headers)
    if (frame === null) return null
    const at = this.#beginTelemetry(frame, sender.telemetry)
    const telemetryBytes = at - frame.payload
    const kind = this.#writeData(now, flow, next, frame, at, telemetryBytes)
    if (kind === TxKind.NONE) return this.#abandon(frame)
    if (mayRun) this.#writeRun(now, flow, kind, frame, telemetryBytes)
    return frame
  }

  /**
   * The flow's next packet with payload, with the acknowledgement that is owed, or null; also moves the flow's pacing clock. Only when
   * `Flow.mayCarryAck` is true.
   */
  carrier(now: Nanos, flow: Flow): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    const at = carriedAck.begin(frame)
    flow.qp.carryAck(frame)
    // The shim counts as telemetry, as an empty one does, and the acknowledgement does not.
    const next = flow.qp.peekTransmit(flow.sender.windowOpen)
    if (this.#writeData(now, flow, next, frame, at, intShim.BYTES) !== TxKind.NONE) {
      flow.qp.carriesAck()
      return frame
    }
    flow.qp.oweAckAgain()
    return this.#abandon(frame)
  }

  /** A packet with payload from its BTH at `at` on; NONE: it could not be made. */
  #writeData(now: Nanos, flow: Flow, next: TxKind, frame: Frame, at: number, telemetryBytes: number): TxKind {
    const { sender } = flow
    const kind = flow.qp.transmit(now, next, frame, at)
    if (kind === TxKind.NONE) return kind
    if (kind === TxKind.REQUEST) sender.requestSent(now, frame.payloadLength)
    else if (sender.responseSent(now, frame.payloadLength)) bth.setAckRequest(frame.view, frame.bth, true)
    const { inForce } = flow.windows
    if (inForce !== 0) bth.setWindowNumber(frame.view, frame.bth, inForce)
    this.#finish(frame)
    sender.paced(now, frame.wireLength)
    this.counters.dataFrames++
    this.counters.dataBytes += frame.wireLength
    this.counters.telemetryBytes += telemetryBytes
    this.written = 1
    return kind
  }

  /** The next packet of the run that has not left whole, or null: there is none, or no frame for it. */
  nextOfRun(): Frame | null {
    const frame = this.run.shift()
    if (frame === null && this.run.size > 0) this.counters.noFrame++
    return frame
  }

  /** Writes the packets that may follow this one at once, and differ from it in PSN, AckReq and payload alone. */
  #writeRun(now: Nanos, flow: Flow, kind: TxKind, head: Frame, telemetryBytes: number): void {
    const { sender, qp } = flow
    if (!head.materialised || sender.runPackets === 1) return
    const isResponse = kind === TxKind.RESPONSE
    const next = isResponse ? qp.runResponses : qp.runPackets
    if (next === 0) return
    const alike = isResponse ? sender.alikeResponses : sender.alikePackets
    const most = Math.min(next, sender.runPackets - 1, alike, this.run.room(head))
    const packets = sender.pacedRun(now, head.wireLength, most)
    if (packets === 0) return
    this.#open = head
    this.#writesRun = true
    if (isResponse) this.#writeResponses(now, flow, head, packets)
    else {
      qp.transmitRun(now, head, this.run, packets)
      sender.runSent(now, packets, packets * head.payloadLength)
    }
    this.#finishRun(head, packets, telemetryBytes)
    this.written += packets
    if (this.#sendsRuns && mayJoin(head)) this.run.handOver(head)
    this.#writesRun = false
    this.#open = null
  }

  /** Responses are counted one by one: each may be one that the peer asks for again, or that asks the peer. */
  #writeResponses(now: Nanos, { sender, qp }: Flow, head: Frame, packets: number): void {
    const { run } = this
    qp.beginResponses(head, run, packets)
    for (let i = 0; i < packets; i++) {
      qp.transmitInRun(run, i)
      if (sender.responseSent(now, head.payloadLength)) bth.setAckRequest(run.view, run.bthAt(i), true)
    }
  }

  /** The rest is as the head's, but for the ICRC. */
  #finishRun(head: Frame, packets: number, telemetryBytes: number): void {
    const { run, counters } = this
    if (this.#withIcrc) icrc.writeRun(head, run)
    else for (let i = 0; i < packets; i++) run.view.setUint32(run.icrcAt(i), 0)
    counters.frames += packets
    counters.bytes += packets * head.wireLength
    counters.dataFrames += packets
    counters.dataBytes += packets * head.wireLength
    counters.telemetryBytes += packets * telemetryBytes
  }

  /** Telemetry to be filled by the hops, an empty shim, or none; returns where the BTH goes. */
  #beginTelemetry(frame: Frame, source: TelemetrySource): number {
    const slots = source.nextSlots
    if (slots === NO_SHIM) return frame.payload
    const format = slots === 0 ? intShim.FORMAT_COMPACT : source.format
    return telemetry.begin(frame, format, slots, source.nextFlags)
  }

  /** A probe that measures T: as long as a full data packet, with the flow's own headers, so that it takes the data's way. */
  probe(flow: Flow, probe: BaseRttProbe, payloadBytes: number): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    const at = probe.collects
      ? telemetry.begin(frame, flow.sender.telemetry.format, flow.sender.telemetry.slots, 0)
      : frame.payload
    this.#writeVendor(frame, flow, Opcode.PROBE, at, probe.sequence, payloadBytes)
    bth.setWindowNumber(frame.view, frame.bth, flow.windows.inForce)
    return this.#countVendor(this.#finishFeedback(frame, flow))
  }

  /**
   * A question that every peer which knows the connection answers, librdmacm's as well: a WRITE of no bytes with a PSN that it
   * has had. The WRITE changes nothing, and the peer acknowledges it (IBA 9.7.5.1.1).
   */
  challenge(flow: Flow): Frame | null {
    const frame = this.#begin(flow)
    if (frame === null) return null
    const { view } = frame
    const at = frame.payload
    const psn = wrapPsn(flow.qp.sndUna - 1)
    const { remoteQpn: destQpn } = flow.qp
    bth.write(view, at, new bth.Bth({ opcode: Opcode.RC_RDMA_WRITE_ONLY, destQpn, ackRequest: true, psn }))
    reth.write(view, at + bth.BYTES, 0, 0, 0)
    frame.bth = at
    this.#endHeaders(frame, at + bth.BYTES + reth.BYTES)
    return this.#countVendor(this.#finish(frame))
  }

  /** A congestion notification packet (RoCEv2, IBA annex A17.9.3). */
  cnp(flow: Flow): Frame | null {
    const frame = this.#begin(flow, flow.path.cnpHeaders)
    if (frame === null) return null
    frame.bth = frame.payload
    cnp.write(frame.view, frame.bth, bth.DEFAULT_PARTITION_KEY, flow.qp.remoteQpn)
    this.#endHeaders(frame, frame.bth + bth.BYTES + cnp.BYTES)
    return this.#countVendor(this.#finishFeedback(frame, flow))
  }

  /** A management datagram to QP 1: UD SEND_ONLY with the well-known Q_Key (IBA 13.5). */
  managementDatagram(headers: PreparedHeaders, mad: Uint8Array, psn: number, udpPort: number): Frame | null {
    const frame = this.#take()
    if (frame === null) return null
    frame.udpPort = udpPort
    const view = frame.view
    const at = beginFrame(frame, headers)
    bth.write(
      view,
      at,
      new bth.Bth({ opcode: Opcode.UD_SEND_ONLY, destQpn: deth.QPN_GSI, ackRequest: true, psn }),
    )
    deth.write(view, at + bth.BYTES, deth.QKEY_GSI, deth.QPN_GSI)
    frame.bth = at
    frame.payload = at + bth.BYTES + deth.BYTES
    frame.payloadLength = mad.length
    frame.bytes.set(mad, frame.payload)
    frame.length = frame.payload + mad.length
    frame.wireLength = frame.length
    return this.#finish(frame)
  }

  /**
   * The next packet of a queue pair that nobody acknowledges. Null: its work has failed, or no frame is free.
   * @param udpPort 0: this host's
   */
  unacknowledged(
    headers: PreparedHeaders,
    udpPort: number,
    qp: { transmit(frame: Frame, at: number): boolean },
  ): Frame | null {
    const frame = this.#take()
    if (frame === null) return null
    frame.alone = true
    frame.udpPort = udpPort
    return qp.transmit(frame, beginFrame(frame, headers)) ? this.#finish(frame) : this.#abandon(frame)
  }

  #writeVendor(
    frame: Frame,
    flow: Flow,
    opcode: number,
    at: number,
    sequence: number,
    payloadBytes: number,
  ): void {
    const header = this.#vendor
    header.opcode = opcode
    header.destQpn = flow.qp.remoteQpn
    header.psn = sequence
    bth.write(frame.view, at, header)
    frame.bth = at
    frame.payload = at + bth.BYTES
    frame.payloadLength = payloadBytes
    // Slots for headers alone (virtual time) have no room for a payload: it is only counted then.
    const materialised = frame.payload + payloadBytes + icrc.BYTES <= frame.view.byteLength
    if (materialised) frame.bytes.fill(0, frame.payload, frame.payload + payloadBytes)
    frame.length = materialised ? frame.payload + payloadBytes : frame.payload
    frame.wireLength = frame.payload + payloadBytes
  }

  /** A frame with the flow's headers; `payload` is where the transport begins. */
  #begin(flow: Flow, headers: PreparedHeaders = flow.path.headers): Frame | null {
    const frame = this.#take()
    if (frame === null) return null
    if (flow.peer.withoutIcrc.agreed) this.#withIcrc = false
    frame.alone = !flow.peer.takesRuns
    frame.udpPort = flow.peer.udpPort
    frame.payload = beginFrame(frame, headers)
    return frame
  }

  #take(): Frame | null {
    const frame = this.#pool.take()
    if (frame === null) this.counters.noFrame++
    this.#open = frame
    this.#withIcrc = this.#icrc
    return frame
  }

  /** A defect has shown while a frame was written, or the run behind it: gives them back. */
  recover(): void {
    if (this.#open === null) return
    if (this.#writesRun) this.run.abandon()
    this.#writesRun = false
    this.#abandon(this.#open)
  }

  #abandon(frame: Frame): null {
    this.#open = null
    this.#pool.give(frame)
    return null
  }

  #finish(frame: Frame): Frame {
    const whole = frame.length === frame.wireLength
    frame.wireLength += icrc.BYTES
    completeHeaders(frame, telemetry.destinationPort(frame))
    if (whole) {
      frame.length = frame.wireLength
      if (this.#withIcrc) icrc.write(frame)
      else frame.view.setUint32(frame.length - icrc.BYTES, 0)
    }
    this.counters.frames++
    this.counters.bytes += frame.wireLength
    this.#open = null
    return frame
  }
}

/** Its kernel may cut the run into packets: then it numbers them in the IP identification, which only Weir hosts take for zero. */
function mayJoin(head: Frame): boolean {
  return !head.alone && head.shim >= 0
}
