import {
  type AckSample,
  FeedbackSource,
  NO_RATE,
  newAckSample,
  UNKNOWN_NS,
} from '../../cc/congestion-control.js'
import { type Frame, UNKNOWN_ARRIVAL } from '../../frame/frame.js'
import type { ReceivedRun } from '../../frame/received-run.js'
import type { Nanos } from '../../time/nanos.js'
import { WireError } from '../../wire/bytes/wire-error.js'
import * as bth from '../../wire/ib/bth.js'
import * as deth from '../../wire/ib/deth.js'
import * as icrc from '../../wire/ib/icrc.js'
import { isKnock } from '../../wire/ib/knock.js'
import { isAcknowledgement, isOfSwitch, isReadResponse, isRequest, Opcode } from '../../wire/ib/opcode.js'
import { countAlike, countUnasked } from '../../wire/ib/run.js'
import type { HostAddress } from '../../wire/net/address.js'
import { comesFrom, isIpv4, sameGid } from '../../wire/net/comes-from.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as ipv6 from '../../wire/net/ipv6.js'
import * as udp from '../../wire/net/udp.js'
import { parseFrame } from '../../wire/parse.js'
import * as telemetry from '../../wire/telemetry/telemetry.js'
import * as telemetryHop from '../../wire/telemetry/telemetry-hop.js'
import * as arrival from '../../wire/weir/arrival.js'
import * as carriedAck from '../../wire/weir/carried-ack.js'
import * as feedbackTag from '../../wire/weir/feedback-tag.js'
import { NeedId } from '../../wire/weir/needs.js'
import type { NicSettings } from '../config.js'
import type { Flow } from '../flow/flow.js'
import type { FlowTable } from '../flow/flow-table.js'
import { TagVerdict } from '../keys/feedback-guard.js'
import { HOP_LIMIT } from '../tx/headers.js'
import { expectedFlow } from './expected-flow.js'
import { RefusedPackets, type RxDropReason } from './refused-packets.js'

/** Packets that were dropped, and feedback that was ignored, by reason. */
interface RxCounters {
  frames: number
  /** A peer that gets no answer asks whether anything listens (lib/io/ports/reachability.ts). */
  knocks: number
  malformed: number
  notRoce: number
  badIcrc: number
  notForUs: number
  unknownQpn: number
  wrongSource: number
  unknownOpcode: number
  /** Feedback on a connection with a key that had no tag, a wrong one, or came a second time. */
  untaggedFeedback: number
  /** CNPs without a tag that counted on a connection with a key. */
  untaggedCnps: number
  forgedFeedback: number
  replayedFeedback: number
  /** Telemetry that no switch can have written. */
  implausibleTelemetry: number
}

/** What the rx pipeline hands on. */
export interface RxEvents {
  /** A management datagram for QP 1, at `at` to `end` of the frame. */
  onManagementDatagram(now: Nanos, frame: Frame, at: number, end: number): void
  /** The peer has sent the flow payload. */
  onData(now: Nanos, flow: Flow, frame: Frame, opcode: number): void
  /** A packet of the peer came with a CE mark. */
  onMarked(now: Nanos, flow: Flow, packets: number): void
  /** A packet of the peer has come on a flow that is challenged. */
  onAlive(now: Nanos, flow: Flow): void
  /** The peer sends the flow payload from another UDP source port than before. Called before the packet is looked at. */
  onPeerMoved(flow: Flow, sourcePort: number): void
  /** The peer has repeated a request that had come, from that UDP source port. */
  onRepeated(flow: Flow, sourcePort: number): void
  /** A data packet with telemetry has arrived, or a READ response that asks for an answer; the queue pair has handled it. */
  onCollected(now: Nanos, flow: Flow, frame: Frame): void
  /** The flow's packets have passed more switches than its telemetry has slots for. */
  onLongPath(flow: Flow, switches: number): void
  /** A packet of Weir's own; `sample` holds an echo that it carried. False if the flow has no use for it. */
  onVendor(now: Nanos, flow: Flow, frame: Frame, opcode: number, sample: AckSample): boolean
  /**
   * The flow's queue pair has handled a packet: it may have something to send or to report.
   * @param received the packet was a request of the peer, and acknowledged nothing
   */
  onFlowChanged(now: Nanos, flow: Flow, received: boolean): void
  /** The same for a packet that was expected: the caller may wait with it until the flow's handler has answered. */
  onExpected(flow: Flow): void
  /** A packet for a queue pair that is no connection. False if there is none of that number. */
  onUnacknowledged(now: Nanos, frame: Frame, qpn: number): boolean
  /** A queue pair that is no connection has that number. */
  hasUnacknowledged(qpn: number): boolean
  /** Carrying the packet out has shown a defect of this end. */
  onDefect(now: Nanos, flow: Flow, defect: unknown): void
}

/**
 * The rx pipeline of the draft's NIC: parses, verifies, finds the flow, takes the telemetry out, and hands the packet
 * to the flow's queue pair. Whatever is wrong with a packet, it is counted and dropped.
 */
export class RxPipeline {
  readonly counters: RxCounters = {
    frames: 0,
    knocks: 0,
    malformed: 0,
    notRoce: 0,
    badIcrc: 0,
    notForUs: 0,
    unknownQpn: 0,
    wrongSource: 0,
    unknownOpcode: 0,
    untaggedFeedback: 0,
    untaggedCnps: 0,
    forgedFeedback: 0,
    replayedFeedback: 0,
    implausibleTelemetry: 0,
  }
  /** The hosts whose packets were dropped. */
  readonly refused = new RefusedPackets()
  /** Telemetry and figures of the current packet: one object, reused. */
  readonly sample: AckSample = newAckSample()
  readonly #local: HostAddress
  readonly #table: FlowTable
  readonly #events: RxEvents
  readonly #settings: NicSettings
  /** Rate of a flow with a key above which CNPs without a tag count, bit/s. */
  readonly #untaggedCnpsAboveBps: number

  constructor(local: HostAddress, table: FlowTable, events: RxEvents, settings: NicSettings) {
    const { untaggedCnps, lineRateBps } = settings
    this.#untaggedCnpsAboveBps = untaggedCnps === 0 ? NO_RATE : untaggedCnps * lineRateBps
    this.#local = local
    this.#table = table
    this.#events = events
    this.#settings = settings
  }

  /**
   * Carries out a frame that is what its flow expects next to hear: a whole message (`expectedFlow`). True if it was one; else nothing has
   * changed. The caller keeps the frame.
   */
  takeExpected(now: Nanos, frame: Frame): boolean {
    const flow = expectedFlow(frame, this.#table)
    if (flow === null || !this.#isSound(frame, flow)) {
      frame.l3 = -1
      return false
    }
    this.counters.frames++
    flow.receivedFrames++
    try {
      this.#carryOutExpected(now, frame, flow)
    } catch (defect) {
      this.#events.onDefect(now, flow, defect)
    }
    return true
  }

  #isSound(frame: Frame, flow: Flow): boolean {
    if (this.#settings.icrc === 'off') return true
    return (flow.peer.withoutIcrc.agreed && icrc.isZero(frame)) || icrc.verify(frame)
  }

  /** As `#carryOut`, where it is known what the packet may be. */
  #carryOutExpected(now: Nanos, frame: Frame, flow: Flow): void {
    const opcode = bth.opcode(frame.view, frame.bth)
    flow.keepAlive.onHeard(now)
    this.#beginSample(now, frame)
    this.#forgetEcho()
    if (carriedAck.isIn(frame)) this.#takeCarried(now, frame, flow, opcode)
    flow.qp.onPacket(now, frame)
    flow.sender.reportToCongestion(now, this.sample)
    if (flow.qp.took && frame.payloadLength > 0) this.#events.onData(now, flow, frame, opcode)
    this.#events.onExpected(flow)
  }

  /** Handles one frame, and takes those packets of the run behind it that can be handled with it; the caller keeps the frame. */
  receive(now: Nanos, frame: Frame, run: ReceivedRun | null): void {
    const counters = this.counters
    counters.frames++
    if (frame.l3 < 0 && parseFrame(frame) !== WireError.OK) {
      if (isKnock(frame)) counters.knocks++
      else this.#drop(frame, 'malformed')
      return
    }
    if (isKnock(frame)) {
      counters.knocks++
      return
    }
    if (frame.bth < 0) {
      counters.notRoce++
      return
    }
    // A switch forwards every frame that it can route, even if what it carries is malformed.
    if (frame.payload < 0) {
      this.#drop(frame, 'malformed')
      return
    }
    if (this.#settings.icrc !== 'off' && frame.materialised && !this.#isIntact(frame)) {
      this.#drop(frame, 'badIcrc')
      return
    }
    if (!this.#isForUs(frame)) {
      this.#drop(frame, 'notForUs')
      return
    }
    const qpn = bth.destQpn(frame.view, frame.bth)
    if (qpn === deth.QPN_GSI) this.#management(now, frame)
    else this.#connected(now, frame, run, qpn)
  }

  #drop(frame: Frame, reason: RxDropReason): void {
    this.counters[reason]++
    if (frame.l3 >= 0) this.refused.note(frame, reason)
  }

  /** It has the right ICRC, or none by agreement. */
  #isIntact(frame: Frame): boolean {
    const { withoutIcrc, seesIds } = this.#settings
    if (withoutIcrc && this.#hasNone(frame)) return true
    if (seesIds) return icrc.verifyOrWithZeroId(frame)
    const difference = icrc.difference(frame)
    return difference === 0 || (this.#mayCountId(frame) && icrc.isOfId(frame, difference))
  }

  /** The sender may have counted an IP identification other than 0 in the ICRC: it is no Weir host, as far as is known. */
  #mayCountId(frame: Frame): boolean {
    const qpn = bth.destQpn(frame.view, frame.bth)
    // Where this end cannot answer such a host, its request is dropped: nobody is to wait for the rest.
    if (qpn === deth.QPN_GSI) return this.#settings.choosesIds
    const flow = this.#findFlow(frame, qpn)
    return flow === null ? this.#events.hasUnacknowledged(qpn) : !flow.peer.isWeir
  }

  /**
   * Its ICRC is 0, and both ends of its connection have agreed on that. One that has ended is not known any more. The senders of a queue pair
   * that is no connection have agreed on nothing.
   */
  #hasNone(frame: Frame): boolean {
    const qpn = bth.destQpn(frame.view, frame.bth)
    if (qpn === deth.QPN_GSI || !icrc.isZero(frame)) return false
    const flow = this.#findFlow(frame, qpn)
    return flow === null ? !this.#events.hasUnacknowledged(qpn) : flow.peer.withoutIcrc.agreed
  }

  #management(now: Nanos, frame: Frame): void {
    const view = frame.view
    const isGsi =
      bth.opcode(view, frame.bth) === Opcode.UD_SEND_ONLY &&
      deth.qkey(view, frame.bth + bth.BYTES) === deth.QKEY_GSI &&
      frame.materialised
    if (!isGsi) {
      this.#drop(frame, 'unknownQpn')
      return
    }
    frame.bringIn()
    this.#events.onManagementDatagram(now, frame, frame.payload, frame.payload + frame.payloadLength)
  }

  #connected(now: Nanos, frame: Frame, run: ReceivedRun | null, qpn: number): void {
    const flow = this.#findFlow(frame, qpn)
    if (flow === null) {
      if (!this.#events.onUnacknowledged(now, frame, qpn)) this.#drop(frame, 'unknownQpn')
      return
    }
    const opcode = bth.opcode(frame.view, frame.bth)
    if (!isOfSwitch(opcode)) flow.receivedFrames++
    if (!comesFrom(frame, flow.remote) || !isFromPort(frame, flow, opcode)) {
      this.#drop(frame, 'wrongSource')
      return
    }
    try {
      this.#carryOut(now, frame, run, flow, opcode)
    } catch (defect) {
      this.#events.onDefect(now, flow, defect)
    }
  }

  /** A packet that may be the peer's. */
  #carryOut(now: Nanos, frame: Frame, run: ReceivedRun | null, flow: Flow, opcode: number): void {
    const isStamped = arrival.isOn(opcode)
    const forQp = opcode < Opcode.CNP || opcode === Opcode.SACK || isStamped
    if (!forQp) frame.bringIn()
    const guarded = flow.peer.guard !== null && feedbackTag.isOn(opcode)
    if (guarded && opcode === Opcode.CNP && this.#heedsUntagged(flow, frame)) {
      this.#onUntaggedCnp(now, flow)
      return
    }
    if (guarded && !this.#isAuthentic(flow, frame, opcode)) return
    // A switch answers for whoever has this address: only what the peer sends itself shows that it knows the connection. Switches send
    // CNPs too, and those have no tag.
    const mayBeOfSwitch = isOfSwitch(opcode) || (opcode === Opcode.CNP && !guarded)
    const isPeers = !mayBeOfSwitch && (guarded || flow.peer.guard === null)
    if (isPeers) flow.keepAlive.onHeard(now)
    if (flow.peer.challenged && isPeers) this.#events.onAlive(now, flow)
    this.#beginSample(now, frame)
    if (isStamped) {
      if (!this.#takeArrival(frame, flow)) return
      opcode = arrival.plainOpcode(opcode)
    }
    // A packet without a tag may carry data and collect telemetry, but not bring any back.
    if (flow.peer.guard !== null && !guarded) this.#forgetEcho()
    else this.#takeEcho(now, frame, flow, opcode)
    if (isAcknowledgement(opcode)) flow.sender.promises.onAcknowledgement()
    if (forQp) {
      const { sndUna } = flow.qp
      const carriesAck = carriedAck.isIn(frame)
      if (carriesAck) this.#takeCarried(now, frame, flow, opcode)
      flow.qp.onPacket(now, frame)
      const packets = 1 + (run === null ? 0 : this.#takeRun(now, frame, run, flow, opcode))
      if (flow.path.keptPort === 0 && (flow.qp.took || flow.qp.sndUna > sndUna))
        flow.path.onGenuine(udp.sourcePort(frame.view, frame.l4))
      flow.sender.reportToCongestion(now, this.sample)
      if (!flow.qp.took && flow.path.doubt !== null && isRequest(opcode))
        this.#events.onRepeated(flow, udp.sourcePort(frame.view, frame.l4))
      if (flow.qp.took) this.#onTaken(now, frame, flow, opcode, packets)
      // The peer waits for this answer, whether or not it has to say something new.
      else if (flow.qp.arrivedInVain && asksForAnswer(frame, flow, opcode))
        this.#events.onCollected(now, flow, frame)
      this.#events.onFlowChanged(now, flow, !carriesAck && isRequest(opcode))
    } else if (opcode === Opcode.CNP) {
      flow.sender.onCnp(now, this.sample)
      this.#events.onFlowChanged(now, flow, false)
    } else if (!this.#events.onVendor(now, flow, frame, opcode, this.sample)) {
      this.counters.unknownOpcode++
    }
  }

  #beginSample(now: Nanos, frame: Frame): void {
    const { sample } = this
    sample.source = FeedbackSource.ACK
    sample.heardNs = heardNs(now, frame)
    sample.arrivedNs = UNKNOWN_NS
    sample.leftNs = UNKNOWN_NS
    sample.turnaroundNs = UNKNOWN_NS
    sample.hopCount = 0
    sample.reverseHops.count = 0
  }

  /**
   * The packet may acknowledge what it answers. That is taken before the queue pair judges the packet itself: whoever forges one has to
   * guess the same as for an ACK alone.
   */
  #takeCarried(now: Nanos, frame: Frame, { peer, qp }: Flow, opcode: number): void {
    if (peer.carriesAcks.agreed && isRequest(opcode)) qp.onCarriedAck(now, frame)
  }

  /**
   * Hands those packets behind `frame` that can be carried out at once to its queue pair. From then on the frame stands for all of
   * them: it has the PSN of the last. Returns how many those are. What is odd about the next one shows when it comes as a frame of its own.
   */
  #takeRun(now: Nanos, frame: Frame, run: ReceivedRun, flow: Flow, opcode: number): number {
    const collects = frame.shim >= 0 && !telemetry.isEcho(frame)
    const { receiver } = flow
    // A receiver that works out windows does so for each packet that collects.
    if (this.sample.ecnEcho || telemetry.hasRecords(frame) || (collects && receiver.control !== null))
      return 0
    // A response that asks for an answer is looked at by itself.
    const isResponse = isReadResponse(opcode)
    if (isResponse && bth.ackRequest(frame.view, frame.bth)) return 0
    const room = flow.qp.roomForRun(frame, run.count)
    const alike = room === 0 ? 0 : countAlike(frame, run, room)
    const packets = isResponse ? countUnasked(frame, run, alike) : alike
    if (packets === 0 || !this.#areIntact(frame, run, packets, flow)) return 0
    flow.qp.onRun(now, frame, run, packets, !isResponse && countUnasked(frame, run, packets) < packets)
    if (isResponse) receiver.onResponses(packets)
    run.take(packets)
    this.counters.frames += packets
    flow.receivedFrames += packets
    const { view, bth: at } = frame
    bth.setPsn(view, at, bth.psn(view, at) + packets)
    // The echo then says that it stands for several packets. Without records that is all that it says of them.
    if (collects) receiver.keep(frame)
    return packets
  }

  /** The first `packets` of the run have the right ICRC, or none by agreement. */
  #areIntact(frame: Frame, run: ReceivedRun, packets: number, flow: Flow): boolean {
    if (this.#settings.icrc === 'off' || (flow.peer.withoutIcrc.agreed && icrc.areZero(run, packets)))
      return true
    return icrc.verifyRun(frame, run, packets)
  }

  /** Reads how the packet arrived that an acknowledgement covers, and makes it a plain one. False: it is dropped. */
  #takeArrival(frame: Frame, flow: Flow): boolean {
    const { view, bth: at } = frame
    if (!flow.peer.stamps) {
      this.counters.unknownOpcode++
      return false
    }
    const header = frame.payload - arrival.BYTES
    if (!arrival.isSound(view, header)) {
      this.counters.malformed++
      return false
    }
    const { sample } = this
    const limit = arrival.hopLimit(view, header)
    const { promises } = flow.sender
    promises.onGiven(NeedId.TIME_STAMPS)
    if (limit > 0) promises.onGiven(NeedId.HOP_COUNT)
    sample.arrivedNs = arrival.arrivedNs(view, header)
    sample.leftNs = arrival.leftNs(view, header)
    sample.turnaroundNs = (sample.leftNs - sample.arrivedNs + arrival.MODULUS_NS) % arrival.MODULUS_NS
    sample.hopCount = limit === 0 ? 0 : Math.max(0, HOP_LIMIT - limit)
    bth.setOpcode(view, at, arrival.plainOpcode(bth.opcode(view, at)))
    frame.payload = header
    return true
  }

  /**
   * What else a packet shows that the queue pair has taken: where it came from, what it met on its way. One that came before,
   * or that nobody awaits, shows nothing: it may be forged by whoever can forge an address.
   * @param packets that the frame stands for
   */
  #onTaken(now: Nanos, frame: Frame, flow: Flow, opcode: number, packets: number): void {
    const { receiver } = flow
    if (isMarked(frame)) this.#events.onMarked(now, flow, frame.payloadLength > 0 ? packets : 0)
    if (receiver.stamps && isRequest(opcode))
      receiver.onArrived(heardNs(now, frame), bth.psn(frame.view, frame.bth), hopLimitOf(frame))
    if (frame.payloadLength > 0) {
      const sourcePort = udp.sourcePort(frame.view, frame.l4)
      if (sourcePort !== flow.path.peerSourcePort) this.#events.onPeerMoved(flow, sourcePort)
      this.#events.onData(now, flow, frame, opcode)
    }
    if (isReadResponse(opcode)) receiver.onResponses(1)
    const collected = frame.shim >= 0 && !telemetry.isEcho(frame) && !isAcknowledgement(opcode)
    if (collected) receiver.keep(frame)
    if (collected || asksForAnswer(frame, flow, opcode)) this.#events.onCollected(now, flow, frame)
  }

  /** Checks the tag of feedback on a connection with a key, and takes it off; counts what is refused. */
  #isAuthentic(flow: Flow, frame: Frame, opcode: number): boolean {
    const guard = isOfSwitch(opcode) ? flow.peer.switchGuard! : flow.peer.guard!
    const verdict = guard.open(frame)
    if (verdict === TagVerdict.OK) return true
    if (verdict === TagVerdict.MISSING) this.counters.untaggedFeedback++
    else if (verdict === TagVerdict.FORGED) this.counters.forgedFeedback++
    else this.counters.replayedFeedback++
    flow.stats.refusedFeedback++
    return false
  }

  /** A CNP without a tag counts while the flow is fast: so whoever forges some can slow it down to that rate, less a cut, and no further. */
  #heedsUntagged({ sender: { congestion } }: Flow, frame: Frame): boolean {
    return frame.payloadLength === 0 && congestion.rateBps() > this.#untaggedCnpsAboveBps
  }

  #onUntaggedCnp(now: Nanos, flow: Flow): void {
    this.counters.untaggedCnps++
    this.#forgetEcho()
    flow.sender.onCnp(now, this.sample)
    this.#events.onFlowChanged(now, flow, false)
  }

  #forgetEcho(): void {
    const { sample } = this
    const { hops } = sample
    sample.ecnEcho = false
    hops.count = 0
    hops.flows = 0
    hops.accumulated = false
    hops.busiestOnly = false
    hops.endsAtHost = false
  }

  /** A switch knows only the QPN of the data's receiver, and names the flow to the sender by that. */
  #findFlow(frame: Frame, qpn: number): Flow | null {
    const view = frame.view
    const back = isOfSwitch(bth.opcode(view, frame.bth)) && bth.becn(view, frame.bth)
    if (!back) return this.#table.find(qpn)
    for (const flow of this.#table.withRemoteQpn(qpn)) if (comesFrom(frame, flow.remote)) return flow
    return null
  }

  /** Echoed telemetry goes into the sample. So do CE marks of packets without data; data has to be taken first. */
  #takeEcho(now: Nanos, frame: Frame, flow: Flow, opcode: number): void {
    const sample = this.sample
    this.#forgetEcho()
    sample.ecnEcho = bth.becn(frame.view, frame.bth)
    if (flow.peer.isWeir && (isAcknowledgement(opcode) || opcode === Opcode.NOTIFY))
      flow.sender.marks.hear(bth.marks(frame.view, frame.bth))
    // The telemetry may be of another path than the data's: it is for path selection alone.
    const ofPaths = opcode === Opcode.PATH_PROBE || opcode === Opcode.PATH_ANSWER
    // A CNP, and what a switch sends by itself, ask for no CNP: two ends would answer each other's.
    const isNotice = opcode === Opcode.CNP || isOfSwitch(opcode)
    if (!isData(opcode) && !ofPaths && !isNotice && isMarked(frame)) this.#events.onMarked(now, flow, 0)
    if (frame.shim < 0) return
    if (telemetry.isEcho(frame)) {
      telemetry.read(frame, sample.hops)
      const isDirect = opcode === Opcode.DIRECT_NOTIFY
      // The empty shim of a data packet returns nothing, nor does one that holds an acknowledgement.
      const returns = sample.hops.count > 0 || !isData(opcode)
      if (returns && !isDirect && !ofPaths) flow.sender.promises.onGiven(NeedId.TELEMETRY)
      if (!ofPaths && !flow.plausibility.believes(now, sample.hops, isDirect, this.counters))
        sample.hops.count = 0
      else if (sample.hops.overflow && !isDirect && !ofPaths) this.#onOverflow(flow)
      return
    }
    if (isAcknowledgement(opcode) || opcode === Opcode.NOTIFY) {
      this.#takeReverse(now, frame, flow)
      return
    }
    // A probe of Weir's own: the queue pair never sees it.
    if (!ofPaths && opcode >= Opcode.CNP) flow.receiver.keep(frame)
  }

  /** An acknowledgement, or a notification of a READ response, has collected telemetry, of its own way or of the data's. */
  #takeReverse(now: Nanos, frame: Frame, flow: Flow): void {
    const { hops, reverseHops } = this.sample
    const { reverse, reverseAsked } = flow.peer
    if (reverseAsked === 'none') return
    const ofData = reverseAsked === 'data-way'
    // Each is to be what was asked for.
    if (telemetryHop.isReverse(frame) !== ofData) return
    flow.sender.promises.onGiven(NeedId.REVERSE_TELEMETRY)
    if (reverse === 'none') return
    const into = ofData ? hops : reverseHops
    telemetry.read(frame, into)
    // The last hop of the data's way is the first that the acknowledgement passes.
    if (ofData) into.reverse()
    const check = ofData ? flow.plausibility : flow.reversePlausibility
    if (!check.believes(now, into, false, this.counters)) into.count = 0
  }

  /** The path is longer than the telemetry of this connection has room for: the next one is to have more slots. */
  #onOverflow(flow: Flow): void {
    const { passed, endsAtHost } = this.sample.hops
    const switches = passed - (endsAtHost ? 1 : 0)
    if (flow.path.onSwitches(switches)) this.#events.onLongPath(flow, switches)
  }

  #isForUs(frame: Frame): boolean {
    const view = frame.view
    if (isIpv4(frame)) {
      return this.#local.family === 4 && ipv4.destination(view, frame.l3) === this.#local.ipv4
    }
    return this.#local.family === 6 && sameGid(frame, frame.l3 + 24, this.#local.gid)
  }
}

/** A Weir host that sends READ responses asks now and then whether they arrive. */
function asksForAnswer(frame: Frame, flow: Flow, opcode: number): boolean {
  if (!flow.peer.isWeir || flow.receiver.control !== null) return false
  return isReadResponse(opcode) && bth.ackRequest(frame.view, frame.bth)
}

/**
 * A peer that says so sends everything from one UDP port. That is the port of the first packet that the queue pair took, or the port
 * that this end began with, because an end with other ports follows its peer. If this end chooses paths, the peer follows to any
 * port; if it has left one that had failed, to its new one. Packets of switches are not the peer's.
 */
function isFromPort(frame: Frame, flow: Flow, opcode: number): boolean {
  const { keptPort, firstPort, sourcePort, selection } = flow.path
  if (!flow.peer.keepsPort || keptPort === 0 || selection !== null) return true
  const port = udp.sourcePort(frame.view, frame.l4)
  return port === keptPort || port === firstPort || port === sourcePort || isOfSwitch(opcode)
}

/** Requests and responses, which a connection with a key does not authenticate. */
function isData(opcode: number): boolean {
  return opcode < Opcode.CNP && !feedbackTag.isOn(opcode)
}

/** It brings back what it has collected itself, or nothing. */
function isMarked(frame: Frame): boolean {
  const view = frame.view
  return (isIpv4(frame) ? ipv4.ecn(view, frame.l3) : ipv6.ecn(view, frame.l3)) === ipv4.ECN_CE
}

/** TTL or hop limit with which it arrived. */
function hopLimitOf({ view, l3 }: Frame): number {
  return ipv4.version(view, l3) === 4 ? ipv4.ttl(view, l3) : ipv6.hopLimit(view, l3)
}

/** When the frame arrived at this host. */
function heardNs(now: Nanos, { arrivedNs }: Frame): Nanos {
  return arrivedNs === UNKNOWN_ARRIVAL || arrivedNs > now ? now : arrivedNs
}
