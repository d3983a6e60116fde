import {
  type AckSample,
  type CongestionControl,
  type FairRate,
  FeedbackSource,
  NO_WINDOW,
  UNKNOWN_NS,
} from '../../cc/congestion-control.js'
import { type QueuePair, TxKind } from '../../qp/queue-pair.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import type { HopRecords } from '../../wire/telemetry/hop-records.js'
import { NeedId } from '../../wire/weir/needs.js'
import type { BaseRttProbe } from '../feedback/base-rtt-probe.js'
import { CongestionModule, type WindowFollower } from '../feedback/congestion-module.js'
import { Losses } from '../feedback/losses.js'
import { MarkCount } from '../feedback/mark-count.js'
import { Promises } from '../feedback/promises.js'
import type { RateRequest } from '../feedback/rate-request.js'
import { SentResponses } from '../feedback/sent-responses.js'
import { Transmissions } from '../feedback/transmissions.js'
import type { WindowSequence } from '../feedback/window-sequence.js'
import type { TelemetryProbe } from '../telemetry/telemetry-probe.js'
import { TelemetrySource } from '../telemetry/telemetry-source.js'
import type { ConnectionStats } from '../types.js'
import type { FlowOptions } from './flow-options.js'
import { Pacer } from './pacer.js'
import type { Peer } from './peer.js'
import { runPacketsAt, TURN_PACKETS } from './turn.js'

/** AckReq is set at least on every 64th packet (Linux: about every 66th). */
const ACK_REQUEST_PACKETS_MAX = 64
/** The share of a window of READ responses after which one asks for an answer, where only such answers collect telemetry. */
const COLLECTING_SHARE = 1 / 16
/** Where no window says how often, so many packets have one that collects telemetry, and one that asks for an answer. */
const NO_WINDOW_PACKETS = 64

/**
 * A flow that a shared host holds back leaves in runs of this share of its window, and each asks for one acknowledgement. The
 * controller has nothing to learn from more of them, and the host has room for all of the window.
 */
const HELD_SHARE = 1 / 2
/** Windows of such a flow that have one packet which collects, where the controller takes none: that packet leaves alone, between two runs. */
const HELD_WINDOWS = 4

/** Which packets ask for an acknowledgement. */
interface Asks {
  /** One in this share of a window. */
  share: number
  /** One in so many at least; 0 = the share alone decides. */
  everyPackets: number
}

/**
 * What this end of a flow sends with payload, and what comes back of it. The queue pair's reports are collected while it handles a
 * packet; `settle` then completes a sample of them for the congestion module.
 */
export class Sender implements WindowFollower {
  readonly congestion: CongestionModule
  /** Which data packets collect telemetry. */
  readonly telemetry: TelemetrySource
  /** Whether the peer gives what it has granted. */
  readonly promises = new Promises()
  /** What the peer says of CE marks. */
  readonly marks = new MarkCount()
  readonly #stats: ConnectionStats
  readonly #peer: Peer
  readonly #windows: WindowSequence
  readonly #pacer: Pacer
  readonly #packetsInFlightMax: number
  readonly #runPacketsMax: number
  /** Packets of a run, and the path MTU that they were worked out for. */
  #runPackets = 1
  #runMtu = 0
  #qp!: QueuePair
  #sent!: Transmissions
  /** Made with the first. */
  #losses: Losses | null = null
  #responses!: SentResponses
  #asks: Asks = { share: 1 / 2, everyPackets: 0 }
  /** Measures T; null when it is known. */
  baseRttProbe: BaseRttProbe | null = null
  /** Sends probes for telemetry; null when nothing collects any. */
  telemetryProbe: TelemetryProbe | null = null
  /** Asks the peer to work out this flow's window; null when this end does. */
  rateRequest: RateRequest | null = null
  #wireBytes = 0

  /** What the queue pair has said of the packet just handled: the newest PSN that it acknowledges, -1 = none, and payload bytes. */
  #ackedSeq = -1
  #ackedBytes = 0
  /** SND.UNA at the last acknowledgement that the controller learned of, and the newest transmission that one has named. */
  #ackedUna = 0
  /** The first transmission after the last timeout. */
  #timedOutNumber = 0
  #ackedNumber = -1
  /** The last response that the peer has shown to have, and how many of those are news. */
  #takenSeq = -1
  #takenPackets = 0
  /** The queue pair has a question for the peer. */
  #hasQuestion = false
  /** It has reported something that the congestion module has not heard of. */
  #hasNews = false

  /** @param windows numbers of the windows that the peer works out */
  constructor(options: FlowOptions, peer: Peer, stats: ConnectionStats, windows: WindowSequence) {
    this.#stats = stats
    this.#peer = peer
    this.#windows = windows
    this.#packetsInFlightMax = options.packetsInFlightMax
    this.#runPacketsMax = options.runPackets
    this.#pacer = new Pacer(options.slackNs, options.pacingRunNs)
    this.telemetry = new TelemetrySource(options.telemetry, options.intSlots, options.intFormat)
    this.congestion = new CongestionModule(stats, peer, options.lineRateBps, this)
  }

  /** The flow's queue pair has been made. */
  attach(qp: QueuePair): void {
    this.#qp = qp
    this.congestion.attach(qp)
    this.#sent = new Transmissions(qp, this.#packetsInFlightMax)
    this.#responses = new SentResponses(this.#sent, this.#packetsInFlightMax)
  }

  /**
   * T is known, or guessed: the controller begins, and data may leave.
   * @param asks which packets ask for an acknowledgement; @param reason why it is this one
   */
  begin(control: CongestionControl, asks: Asks, baseRttNs: Nanos, reason?: string): void {
    this.#asks = asks
    this.congestion.begin(control, baseRttNs, reason)
  }

  /** @param probe collects telemetry, null = the controller wants none; @param request asks for windows, null = it wants none */
  collect(probe: TelemetryProbe | null, request: RateRequest | null): void {
    this.telemetryProbe = probe
    this.rateRequest = request
  }

  /** T is to be measured. */
  measure(probe: BaseRttProbe): void {
    this.baseRttProbe = probe
  }

  /** T has been measured. */
  measured(): void {
    this.baseRttProbe = null
  }

  // ---- What there is to send, and when

  /** Packets with payload sent so far: what controllers count by. */
  get transmissions(): number {
    return this.#sent.count
  }

  /** Bytes of data packets sent so far, on the wire. */
  get wireBytes(): number {
    return this.#wireBytes
  }

  /** The window has room for a request. */
  get windowOpen(): boolean {
    return this.#qp.inFlightBytes < this.congestion.allowedBytes()
  }

  /** The window holds READ responses back. Before T is known they go at line rate, as every flow starts. */
  get holdsResponses(): boolean {
    const { congestion } = this
    return (
      this.#responses.areWindowed && congestion.begun && this.#responses.areHeld(congestion.allowedBytes())
    )
  }

  /** Packets that are written together at most. */
  get runPackets(): number {
    const { pathMtu } = this.#peer
    if (pathMtu !== this.#runMtu) {
      this.#runMtu = pathMtu
      this.#runPackets = runPacketsAt(this.#runPacketsMax, pathMtu)
    }
    return this.#runPackets
  }

  /** Packets that the flow may send before others have their turn. */
  get turnPackets(): number {
    return Math.max(TURN_PACKETS, this.runPackets)
  }

  /** Full packets for which the window has room now, and whose telemetry is like that of the packet sent last. */
  get alikePackets(): number {
    const roomBytes = this.congestion.allowedBytes() - this.#qp.inFlightBytes
    // A packet may leave while less than the window is in flight.
    return Math.min(Math.ceil(roomBytes / this.#peer.pathMtu), this.telemetry.alikePackets)
  }

  /** The same for READ responses. */
  get alikeResponses(): number {
    const { congestion } = this
    const isHeld = this.#responses.areWindowed && congestion.begun
    const most = isHeld
      ? this.#responses.room(congestion.allowedBytes(), this.#peer.pathMtu)
      : Number.POSITIVE_INFINITY
    return Math.min(most, this.telemetry.alikePackets)
  }

  /** When the pacing clock lets the next packet go. */
  nextSendNs(): Nanos {
    return this.#pacer.nextSendNs(this.congestion.rateBps())
  }

  /** The next packet may leave now, as far as window and pacing go, with an empty shim, in whose place an acknowledgement may stand. */
  mayCarryAck(now: Nanos): boolean {
    const { telemetry } = this
    return this.windowOpen && telemetry.nextSlots === 0 && !telemetry.subscribes && this.nextSendNs() <= now
  }

  /** True if only the missing T keeps the flow from sending. */
  needsBaseRtt(): boolean {
    return this.#qp.hasWork && !this.congestion.begun && this.#qp.peekTransmit(true) >= TxKind.RESPONSE
  }

  /**
   * True if the peer has not acknowledged all that was sent. READ responses are not acknowledged: they count as in flight
   * for T.
   */
  dataInFlight(now: Nanos): boolean {
    return this.#qp.inFlightBytes > 0 || now - this.#sent.lastResponseNs < this.#stats.baseRttNs
  }

  /** True if payload waits to be sent, or is in flight. */
  hasData(now: Nanos): boolean {
    return this.dataInFlight(now) || this.#qp.nextPayloadBytes(true) > 0
  }

  /** True if nothing is in flight that a packet by another path could overtake. */
  isQuiet(now: Nanos): boolean {
    return this.#qp.isQuiet && now >= this.responsesQuietNs
  }

  /** When READ responses are taken to have arrived; nothing acknowledges them. */
  get responsesQuietNs(): Nanos {
    return this.#responses.quietNs(this.#stats.baseRttNs)
  }

  /** True if there is a reason for a probe for telemetry. */
  wantsProbe(now: Nanos): boolean {
    if (this.telemetryProbe === null) return false
    return this.telemetryProbe.always
      ? this.dataInFlight(now)
      : this.#qp.inFlightBytes > 0 && !this.windowOpen
  }

  // ---- What leaves

  /** The queue pair has written a request; there is a controller, as without one the window is closed. */
  requestSent(now: Nanos, bytes: number): void {
    const qp = this.#qp
    const stats = this.#stats
    stats.sentBytes += bytes
    if (qp.lastTransmittedWasRetransmission) stats.retransmittedBytes += bytes
    else if (bytes > 0) this.congestion.baseRtt?.onSent(qp.lastTransmittedSeq, qp.inFlightBytes === bytes)
    this.congestion.onSent(now, this.#sent.count - 1, bytes)
    // A flow whose window has room for one packet sends them one by one as well, but more wait.
    const isAlone = this.telemetry.sparse > 0 && qp.inFlightBytes === bytes && qp.nextPayloadBytes() === 0
    if (this.telemetry.onSent(bytes, isAlone)) this.promises.fallsDue(NeedId.TELEMETRY)
  }

  /** The queue pair has written a READ response. True if it is to ask the peer for an answer. */
  responseSent(now: Nanos, bytes: number): boolean {
    const stats = this.#stats
    const { congestion } = this
    const hearer = congestion.begun ? congestion : null
    stats.sentBytes += bytes
    // One that the peer requests again counts as retransmitted.
    if (this.#responses.onSent(now, this.#qp.lastTransmittedSeq, bytes, hearer, stats.baseRttNs))
      stats.retransmittedBytes += bytes
    if (!this.#peer.isWeir && congestion.begun)
      this.#responses.presume(now, Math.max(stats.rttNs, stats.baseRttNs), congestion.windowBytes())
    const asks = this.#responses.asksForAnswer(this.telemetry.collects)
    this.telemetry.onSent(bytes)
    return asks
  }

  /** The data packet is complete: so many bytes on the wire move the pacing clock. */
  paced(now: Nanos, wireBytes: number): void {
    this.#wireBytes += wireBytes
    this.#pacer.onSent(now, this.congestion.rateBps(), wireBytes)
    this.telemetryProbe?.onData(now, wireBytes)
  }

  /**
   * As many packets as the pacing clock lets go now, at most `packets`, are to follow the one sent last, alike in everything; returns
   * how many. @param wireBytes of each
   */
  pacedRun(now: Nanos, wireBytes: number, packets: number): number {
    const sent = this.#pacer.onRun(now, this.congestion.rateBps(), wireBytes, packets)
    this.#wireBytes += sent * wireBytes
    this.telemetryProbe?.onData(now, sent * wireBytes)
    return sent
  }

  /** The queue pair has written those packets: new requests, `bytes` of payload in all. */
  runSent(now: Nanos, packets: number, bytes: number): void {
    this.#stats.sentBytes += bytes
    this.congestion.onSent(now, this.#sent.count - 1, bytes)
    this.telemetry.onRun(packets, bytes)
  }

  // ---- What the queue pair reports, see QpObserver

  onAcked(seq: number, newlyAckedBytes: number): void {
    this.#hasNews = true
    this.#ackedSeq = Math.max(this.#ackedSeq, seq)
    this.#ackedBytes += newlyAckedBytes
  }

  onRetransmit(lostBytes: number, byTimeout: boolean, newestSeq: number): void {
    this.#hasNews = true
    this.#losses ??= new Losses(this.#sent)
    this.#losses.add(lostBytes, byTimeout, newestSeq)
    this.promises.onLoss()
    if (!byTimeout) return
    this.#stats.timeouts++
    this.#timedOutNumber = this.#sent.count
  }

  onSpurious(): void {
    this.#hasNews = true
    this.#losses ??= new Losses(this.#sent)
    this.#losses.takeBack()
  }

  onUnanswered(): boolean {
    this.#hasQuestion = true
    return true
  }

  onAnswersTaken(seq: number): void {
    if (this.#peer.isWeir || seq <= this.#takenSeq) return
    this.#hasNews = true
    this.#takenPackets += this.#takenSeq < 0 ? 1 : seq - this.#takenSeq
    this.#takenSeq = seq
  }

  /** True, once, if the queue pair has a question for the peer. */
  takeQuestion(): boolean {
    const has = this.#hasQuestion
    this.#hasQuestion = false
    return has
  }

  /** Passes to the congestion module what the queue pair has reported since the last call. */
  reportToCongestion(now: Nanos, sample: AckSample): void {
    if (!this.#hasNews) return
    this.#hasNews = false
    if (this.#losses?.any) this.#tellLosses(now, this.#losses)
    if (this.#ackedSeq >= 0) this.#acknowledge(now, sample)
    if (this.#takenPackets > 0) this.#tellTaken(now, sample)
  }

  #tellLosses(now: Nanos, losses: Losses): void {
    if (!this.congestion.begun) losses.forget()
    else losses.tell(now, this.congestion, this.#qp.inFlightBytes, this.#ackedBytes)
  }

  #acknowledge(now: Nanos, sample: AckSample): void {
    const seq = this.#ackedSeq
    sample.ackedBytes = this.#ackedBytes
    // A connection that has sent nothing yet may have asked whether the peer is there.
    sample.advanced = this.#qp.sndUna > this.#ackedUna && this.#sent.count > 0
    this.#ackedUna = this.#qp.sndUna
    this.#takeMarks(sample)
    this.#fill(sample, false, seq)
    // An acknowledgement of what was acknowledged before measures no round trip. A peer that only sends READs repeats it in each packet.
    // What left before a timeout measures none either: its acknowledgement may have been lost, and this one answers what was retransmitted.
    if (sample.seq <= this.#ackedNumber || sample.seq < this.#timedOutNumber) {
      sample.rttNs = 0
      sample.sinceRepeatNs = 0
    }
    this.#ackedNumber = Math.max(this.#ackedNumber, sample.seq)
    // Nobody keeps a packet for longer than the whole round trip.
    if (sample.turnaroundNs > sample.rttNs) sample.turnaroundNs = UNKNOWN_NS
    if (sample.advanced) this.promises.onProgress(sample, this.#peer.granted)
    this.#ackedSeq = -1
    this.#ackedBytes = 0
    this.telemetryProbe?.onProgress(now, sample.rttNs)
    this.congestion.onAck(now, seq, sample)
  }

  #takeMarks(sample: AckSample): void {
    const { ecnEcho, advanced, ackedBytes } = sample
    sample.markedBytes = this.marks.take(ecnEcho, advanced, ackedBytes, this.#peer.payloadMax)
  }

  /** A READ of the peer shows that it has earlier responses. That is all that a plain RoCEv2 peer says of them. */
  #tellTaken(now: Nanos, sample: AckSample): void {
    const bytes = this.#takenPackets * this.#peer.payloadMax
    this.#takenPackets = 0
    if (!this.#responses.any || !this.congestion.begun) return
    if (!this.#fill(sample, true, this.#takenSeq) || sample.seq < 0) return
    sample.source = FeedbackSource.READ
    // The peer's program may have asked late, so this measures no round trip.
    sample.rttNs = 0
    sample.sinceRepeatNs = 0
    sample.hops.count = 0
    sample.ecnEcho = false
    sample.markedBytes = 0
    this.#responses.onTaken(now, sample, bytes, this.congestion, this.#stats.baseRttNs)
    this.congestion.onResponses(now, sample)
  }

  /** Fills in what is known of the packet that a sample speaks of. False if the flow has sent no such packet. */
  #fill(sample: AckSample, ofResponse: boolean, psn: number): boolean {
    sample.sndNxt = this.#sent.count
    sample.inFlightBytes = this.#qp.inFlightBytes
    if (sample.hopCount === 0) sample.hopCount = switchesOf(sample.hops)
    return this.#sent.fill(sample, ofResponse, psn)
  }

  // ---- What else comes back

  /** Telemetry of a packet came by a notification. @param ofResponse the packet was a READ response */
  onTelemetry(now: Nanos, ofResponse: boolean, psn: number, sample: AckSample): void {
    const arrived = ofResponse && this.#responses.any
    if ((sample.hops.count === 0 && !arrived) || !this.#fill(sample, ofResponse, psn)) return
    sample.ackedBytes = 0
    if (arrived) {
      // It shows that the response has arrived, even where no switch has written anything.
      this.#responses.onArrived(now, sample)
      this.#takeMarks(sample)
      this.congestion.onResponses(now, sample)
    } else this.congestion.onTelemetry(now, sample)
  }

  /** Telemetry of a probe came back. @param sndNxt the first transmission after it */
  onProbed(now: Nanos, sndNxt: number, sample: AckSample): void {
    sample.ackedBytes = 0
    sample.source = FeedbackSource.PROBE
    sample.hopCount = switchesOf(sample.hops)
    // What the probe measures is the packets before it.
    sample.seq = sndNxt - 1
    sample.sndNxt = this.#sent.count
    sample.inFlightBytes = this.#qp.inFlightBytes
    // How long the probe itself took is no round trip of data.
    sample.rttNs = 0
    sample.sinceRepeatNs = 0
    sample.sentNs = this.telemetryProbe!.answeredSentNs
    sample.probed = this.telemetryProbe?.always ?? false
    this.congestion.onTelemetry(now, sample)
    sample.probed = false
  }

  /** A congestion notification packet has come. It names no packet. */
  onCnp(now: Nanos, sample: AckSample): void {
    sample.source = FeedbackSource.CNP
    sample.seq = -1
    sample.sndNxt = this.#sent.count
    sample.ackedBytes = 0
    sample.advanced = false
    sample.inFlightBytes = this.#qp.inFlightBytes
    sample.rttNs = 0
    sample.sinceRepeatNs = 0
    sample.sentNs = UNKNOWN_NS
    this.congestion.onCnp(now, sample)
  }

  /** A congested switch on the way of that packet has answered by itself. */
  onDirectResponse(now: Nanos, ofResponse: boolean, psn: number, sample: AckSample): void {
    if (sample.hops.count === 0 || !this.#fill(sample, ofResponse, psn)) return
    sample.ackedBytes = 0
    sample.source = FeedbackSource.SWITCH
    this.congestion.onDirectResponse(now, sample)
  }

  /** A switch has sent the fair rate of a queue that the packet waited in. One that names no packet of this flow is none of it. */
  onFairRate(now: Nanos, ofResponse: boolean, psn: number, fairRate: FairRate): void {
    if (this.#sent.names(ofResponse, psn)) this.congestion.onFairRate(now, fairRate)
  }

  /** The peer has worked out a window; one that a later window has overtaken is ignored. @param flows N, 0 = it does not say */
  onReceiverWindow(now: Nanos, sequence: number, windowBytes: number, flows: number): void {
    if (!this.congestion.begun || !this.#windows.take(sequence)) return
    this.rateRequest?.onAnswer()
    this.congestion.onReceiverWindow(now, windowBytes, flows)
  }

  /** The flow takes another path, and nothing is in flight. */
  onPathChange(): void {
    this.telemetryProbe?.onPathChange()
    // What probes were measuring is the old path.
    if (this.congestion.begun) this.baseRttProbe = null
    this.congestion.onPathChange()
  }

  // ---- WindowFollower

  onWindow(control: CongestionControl, windowBytes: number): void {
    const windowPackets = windowBytes === NO_WINDOW ? NO_WINDOW_PACKETS : windowBytes / this.#peer.payloadMax
    // A window that has become small must not run out while it waits for an acknowledgement.
    const { share: ackShare, everyPackets } = this.#asks
    const { isHeldByHost } = this.congestion
    const share = isHeldByHost ? HELD_SHARE : (control.ackShare ?? ackShare)
    const packets = Math.floor(windowPackets * share)
    this.#qp.ackRequestEveryPackets = Math.min(ACK_REQUEST_PACKETS_MAX, everyPackets || packets, packets)
    const isSparse = control.collectsAll === false
    // Nothing but telemetry answers READ responses.
    const collecting = this.#sent.lastWasResponse ? ackShare : 1
    const windows = isHeldByHost ? HELD_WINDOWS : 1
    this.telemetry.sparse = isSparse ? Math.ceil(windowPackets * collecting * windows) : 0
    // Only a Weir host answers READ responses. It has to do so before the window is used up.
    this.#responses.askEvery = isSparse && this.#peer.isWeir ? Math.max(1, packets) : 0
    if (this.#peer.reverse === 'data-way')
      this.#responses.askEvery = Math.max(1, Math.floor(windowPackets * COLLECTING_SHARE))
    this.#pacer.runPackets = isSparse && control.eachAtItsTime !== true ? this.turnPackets : 1
    this.#pacer.runPacketsLeast = isHeldByHost ? Math.max(1, packets) : 1
  }

  onBaseRtt(baseRttNs: Nanos): void {
    this.telemetryProbe?.onBaseRtt(baseRttNs)
    this.rateRequest?.onBaseRtt(baseRttNs)
  }

  // ---- Deadlines

  /** The earliest, but for those of probes for telemetry and of requests for windows. */
  nextTimeout(): Nanos {
    const { congestion } = this
    let deadline = Math.min(this.#qp.nextTimeout(), congestion.nextTimeout())
    if (this.#responses.areWindowed) deadline = Math.min(deadline, this.#patienceEndsNs)
    if (this.baseRttProbe !== null) deadline = Math.min(deadline, this.baseRttProbe.nextTimeout())
    if (congestion.baseRtt !== null) deadline = Math.min(deadline, congestion.baseRtt.nextTimeout())
    return deadline
  }

  /** When READ responses that wait are sent although nothing has come back. */
  get #patienceEndsNs(): Nanos {
    if (!this.holdsResponses) return NEVER
    return this.#responses.patienceEndsNs(Math.max(this.#stats.rttNs, this.#stats.baseRttNs))
  }

  onTimeout(now: Nanos): void {
    if (this.#qp.nextTimeout() <= now) this.#qp.onTimeout(now)
    this.congestion.onTimeout(now)
    if (this.#patienceEndsNs <= now) this.#responses.giveUp(now)
  }
}

/** Hops of the telemetry without the receiving host; 0 = none. */
function switchesOf({ count, passed, endsAtHost }: HopRecords): number {
  return count === 0 ? 0 : passed - (endsAtHost ? 1 : 0)
}
