import type { AckSample, CongestionControl, ReceiverControl } from '../cc/congestion-control.js'
import type { OptionValues } from '../cc/options.js'
import type { PathSettings } from '../cc/path-options.js'
import type { WeirError } from '../errors.js'
import type { CompletionQueue } from '../qp/completion-queue.js'
import { type QpObserver, type QueuePair, TxKind } from '../qp/queue-pair.js'
import type { WorkStatus } from '../qp/work-status.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import type { HostAddress } from '../wire/address.js'
import type { BaseRttProbe } from './base-rtt-probe.js'
import { newConnectionStats, recordSample } from './connection-stats.js'
import { Control } from './control-packets.js'
import type { EndProof } from './end-proof.js'
import type { FeedbackGuard } from './feedback-guard.js'
import type { FlowBaseRtt } from './flow-base-rtt.js'
import { onAnswersTaken } from './flow-feedback.js'
import type { FlowOptions, FlowPhase } from './flow-options.js'
import type { FlowPaths } from './flow-paths.js'
import { FlowPlausibility } from './flow-plausibility.js'
import { followController } from './follow-controller.js'
import { HostShare } from './host-share.js'
import { Losses } from './losses.js'
import type { NicConnection } from './nic-connection.js'
import { Pacer } from './pacer.js'
import type { PathAnswers } from './path-answers.js'
import type { RateRequest } from './rate-request.js'
import { ResponseFlight } from './response-flight.js'
import type { SwitchGuard } from './switch-guard.js'
import { TelemetryEcho } from './telemetry-echo.js'
import type { TelemetryProbe } from './telemetry-probe.js'
import { TelemetrySource } from './telemetry-source.js'
import { Transmissions } from './transmissions.js'
import type { ConnectionHandler, ConnectionStats } from './types.js'
import { WindowSequence } from './window-sequence.js'

/** READ responses are under way for at most so many T, apart from what a pause holds up. */
const RESPONSES_QUIET_ROUND_TRIPS = 4

/**
 * Everything that the NIC keeps of one connection: its queue pair, its congestion controller, the prepared
 * headers, the times at which packets left, and the telemetry that waits to be echoed.
 */
export class Flow implements QpObserver {
  /** Measures T; null when it is known. */
  probe: BaseRttProbe | null = null
  /** Goes on measuring T; null where it is given, or measured once. */
  baseRtt: FlowBaseRtt | null = null
  /** Place in the NIC's table; the low bits of the QPN. */
  readonly index: number
  readonly qpn: number
  readonly remote: HostAddress
  readonly handler: ConnectionHandler
  readonly completions: CompletionQueue
  readonly stats: ConnectionStats = newConnectionStats()
  readonly plausibility: FlowPlausibility
  qp!: QueuePair
  phase: FlowPhase
  /** When the current phase of the connection's end is over, whatever has arrived by then. */
  endsNs: Nanos = NEVER
  /** How long the peer repeats a request that nobody answers. */
  peerRepeatsNs: Nanos = 0
  /** Somebody claims that the peer no longer knows the connection, and the peer has been asked. */
  challenged = false
  /** The CM's id of the connection, 0 before there is one. */
  cmId = 0
  /** The share of a window after which the controller needs an acknowledgement. */
  ackShare = 1 / 2
  /** Null until T is known: no payload is sent before that. */
  cc: CongestionControl | null = null
  /** Ethernet, IP and UDP headers as the next packet needs them, except lengths, UDP destination port and checksum. */
  headers: Buffer = Buffer.alloc(0)
  sourcePort = 0
  /** UDP port of RoCEv2 at the peer; 0 = the same as this host's. */
  udpPort = 0
  /** What the flow's packets carry. */
  dscp = 0
  /** The peer sends all its packets from one UDP port, and which that is; 0 = not known yet. */
  peerKeepsPort = false
  keptPort = 0
  /** UDP source port that this end began with. */
  firstPort = 0
  /** UDP source port of the peer's last data packet, 0 = none has come. */
  peerSourcePort = 0
  /** 0 to 7: the priority by which a switch pauses the flow. */
  priority = 0
  /** The same headers with the DSCP that asks switches for direct answers. */
  subscribedHeaders: Buffer = Buffer.alloc(0)
  /** Which of this end's data packets collect telemetry. */
  readonly telemetry: TelemetrySource
  /** Sends probes for telemetry; null when nothing collects any. */
  telemetryProbe: TelemetryProbe | null = null
  readonly pathSettings: PathSettings
  /** How this end chooses the path of what it sends; null: it does not. */
  paths: FlowPaths | null = null
  /** Telemetry of the peer's path probes; made when the first arrives. */
  pathAnswers: PathAnswers | null = null
  /** Bytes of data packets sent so far, on the wire. */
  sentWireBytes = 0
  /** Why the flow is not admitted: told to the handler. */
  refusal: WeirError | null = null
  /** Encapsulation of this end's telemetry, and the records that it may collect. */
  readonly intFormat: number
  readonly intSlots: number
  /** Switches that its packets have passed, where those were more than its telemetry has slots for. */
  switchesPassed = 0
  /** Asks the peer to work out this flow's window; null when this end does. */
  rateRequest: RateRequest | null = null
  /** Works out the peer's window here; null when the peer does. */
  receiver: ReceiverControl | null = null
  /** Packets of Control that wait to be sent. */
  control = 0
  /** This end began the connection. */
  readonly active: boolean
  readonly ccChoice: { name: string; options: OptionValues }
  pathMtu: number
  /** T, when it is given; 0 = to be measured. */
  fixedBaseRttNs: Nanos = 0
  /** Round trip of the connection manager's messages, 0 = not known. */
  connectRttNs: Nanos = 0
  /** While it connects: the peer has answered, by datagrams that this host's socket does not let it verify. */
  answerHidden = false
  /** First PSN that the peer sends with. */
  receivePsn = 0
  connection!: NicConnection
  /** Selective repeat instead of go-back-N. Before the handshake what this end would do, after it what both do. */
  selectiveRepeat: boolean
  /** Key words that this end sent at connect; empty without a secret. */
  keyWords: Uint8Array = new Uint8Array(0)
  /** Authenticates feedback, both ways; null without a shared secret. */
  guard: FeedbackGuard | null = null
  /** What proves who ends the connection; null without a key. */
  ends: EndProof | null = null
  /** The same for what switches say directly. */
  switchGuard: SwitchGuard | null = null
  /** The peer is a weir: it understands shims, probes and notifications. */
  peerIsWeir = false
  /** The peer answers path probes. */
  peerAnswersPaths = false
  /** The peer's data packets say with which of this end's windows they were sent. */
  peerNumbersWindows = false
  /** Packets to the peer may leave in runs, see `Port.takesRuns`. */
  peerTakesRuns = true
  /** What the peer's receive buffer can take of this flow at once. */
  readonly hostShare = new HostShare()
  readonly #pacer: Pacer
  /** Telemetry that arrived and waits to be sent back. */
  readonly echo: TelemetryEcho
  /** It goes back on acknowledgements. */
  readonly echoesOnAcks: boolean
  /** What the next notification answers: KIND_* of delayed-ack.ts, and its PSN; and the peer's last probe. */
  notifyKind = 0
  notifyPsn = 0
  answerSequence = 0
  /** READ responses that arrived since telemetry of one was last sent back. */
  unechoedResponses = 0
  /** The peer has asked for an answer to a READ response, whether or not there is telemetry. */
  answerAsked = false
  /** A CE mark arrived since the last acknowledgement. */
  echoCe = false
  /** Place among the flows that send to this host now, -1 = it is not one (ConcurrentFlows). */
  receivingAt = -1
  /** Last packet of the last message of which the peer has sent that packet, unwrapped. */
  receivedEndSeq = -1
  /** Newest packet with payload that the peer has sent, unwrapped. */
  receivedTopSeq = -1

  /** What the queue pair said of the packet just handled: read and cleared by the rx pipeline. */
  ackedSeq = -1
  ackedBytes = 0
  /** SND.UNA when the controller last heard of an acknowledgement, and the newest transmission that one has named. */
  #ackedUna = 0
  #ackedNumber = -1
  /** The last response that the peer has shown to have, and how many of those are news. */
  #takenSeq = -1
  #takenPackets = 0
  failedStatus: WorkStatus | -1 = -1
  /** Why the flow is failing: told to the handler once the peer has been told. */
  failure: WeirError | null = null
  /** True while the flow is in the NIC's list of those whose handlers have events to hear. */
  dirty = false

  #sent!: Transmissions
  /** One READ response of so many asks the peer to answer it at once; 0 = none, and then none waits for the window. */
  responseAskEvery = 0
  #unaskedResponses = 0
  /** READ responses under way; made when the first one leaves. */
  responses: ResponseFlight | null = null
  readonly #packetsInFlightMax: number
  /** Numbers the windows that go to the peer, and judges those that come from it. */
  readonly windows = new WindowSequence()
  readonly #lineRateBps: number
  #losses!: Losses

  constructor(options: FlowOptions) {
    this.index = options.index
    this.qpn = options.qpn
    this.remote = options.remote
    this.handler = options.handler
    this.completions = options.completions
    this.phase = options.phase
    this.active = options.phase === 'connecting'
    this.pathMtu = options.pathMtu
    this.ccChoice = options.ccChoice
    this.selectiveRepeat = options.selectiveRepeat
    this.intFormat = options.intFormat
    this.intSlots = options.intSlots
    this.pathSettings = options.pathSettings
    this.telemetry = new TelemetrySource(options.telemetry, options.intSlots, options.intFormat)
    this.plausibility = new FlowPlausibility(this.stats, options.telemetry.loadMax)
    this.echo = new TelemetryEcho(options.telemetry.hops === 'busiest', options.hostHop ?? null)
    this.echoesOnAcks = options.telemetry.answer === 'ack'
    this.#packetsInFlightMax = options.packetsInFlightMax
    this.#pacer = new Pacer(options.slackNs, options.pacingRunNs)
    this.#lineRateBps = options.lineRateBps
  }

  /** The flow's queue pair has been made, and reports to the flow. */
  attach(qp: QueuePair): void {
    this.qp = qp
    this.#sent = new Transmissions(qp, this.#packetsInFlightMax)
    this.#losses = new Losses(this.#sent)
  }

  /** Packets with payload sent so far: what controllers count by. */
  get transmissions(): number {
    return this.#sent.count
  }

  /** This end sends READ responses at present, which nothing but telemetry answers. */
  get responds(): boolean {
    return this.#sent.lastWasResponse
  }

  /**
   * True if the peer has not acknowledged all that was sent. READ responses are not acknowledged: they count as in flight
   * for T.
   */
  dataInFlight(now: Nanos): boolean {
    return this.qp.inFlightBytes > 0 || now - this.#sent.lastResponseNs < this.stats.baseRttNs
  }

  /** True if payload waits to be sent, or is in flight. */
  hasDataToSend(now: Nanos): boolean {
    return this.dataInFlight(now) || this.qp.nextPayloadBytes(true) > 0
  }

  /** True if nothing is in flight that a packet by another path could overtake. */
  isQuiet(now: Nanos): boolean {
    return this.qp.isQuiet && now >= this.responsesQuietNs
  }

  /** When READ responses are taken to have arrived; nothing acknowledges them. */
  get responsesQuietNs(): Nanos {
    return this.#sent.lastResponseNs + RESPONSES_QUIET_ROUND_TRIPS * this.stats.baseRttNs
  }

  /** The flow takes another path, and nothing is in flight. */
  onPathChange(): void {
    this.cc?.onPathChange?.()
    this.plausibility.onPathChange()
    this.telemetryProbe?.onPathChange()
    this.baseRtt?.onPathChange()
    // What probes were measuring is the old path.
    if (this.cc !== null) this.probe = null
    followController(this)
  }

  /** True if there is a reason for a probe for telemetry. */
  wantsProbe(now: Nanos): boolean {
    if (this.telemetryProbe === null) return false
    return this.telemetryProbe.always ? this.dataInFlight(now) : this.qp.inFlightBytes > 0 && !this.windowOpen
  }

  /** True if the window has room for a request. */
  get windowOpen(): boolean {
    return this.cc !== null && this.qp.inFlightBytes < this.windowBytes()
  }

  /**
   * True if there is a packet with payload, and the window lets it go. A READ response needs no window; before T is
   * known it goes at line rate, as every flow starts.
   */
  maySend(): boolean {
    if (this.phase === 'left') return false
    if (this.paths !== null && this.paths.phase !== 'settled' && this.paths.phase !== 'new') return false
    const kind = this.qp.peekTransmit(this.windowOpen)
    return kind === TxKind.RESPONSE ? !this.holdsResponses : kind === TxKind.REQUEST
  }

  /**
   * READ responses wait: as many are under way as the window has room for. Where all packets collect telemetry the pace
   * alone holds them, as HPCC++ has it; and where the peer answers none of them.
   */
  get holdsResponses(): boolean {
    const { responses } = this
    if (responses === null || this.responseAskEvery === 0 || this.cc === null) return false
    return responses.inFlightBytes >= this.windowBytes()
  }

  /** A READ response is about to leave. True if it is to be answered at once. @param collects it collects telemetry */
  asksForAnswer(collects: boolean): boolean {
    if (this.responseAskEvery === 0) return false
    this.#unaskedResponses++
    if (!collects && this.#unaskedResponses < this.responseAskEvery) return false
    this.#unaskedResponses = 0
    return true
  }

  /** When responses that wait are sent all the same. */
  get #patienceEndsNs(): Nanos {
    if (!this.holdsResponses) return NEVER
    return this.responses!.patienceEndsNs(Math.max(this.stats.rttNs, this.stats.baseRttNs))
  }

  onTimeout(now: Nanos): void {
    if (this.qp.nextTimeout() <= now) this.qp.onTimeout(now)
    if (this.cc !== null && this.cc.nextTimeout() <= now) this.cc.onTimeout(now)
    if (this.#patienceEndsNs <= now) this.responses!.giveUp(now)
  }

  /** True if only the missing T keeps the flow from sending. */
  needsBaseRtt(): boolean {
    return this.cc === null && this.qp.peekTransmit(true) >= TxKind.RESPONSE
  }

  /** The controller's window, and this flow's share of what the receiving host can take at once. */
  windowBytes(): number {
    const bytes = Math.min(this.cc!.windowBytes(), this.hostShare.bytes)
    return this.baseRtt === null ? bytes : Math.min(bytes, this.baseRtt.windowBytes(this.pathMtu))
  }

  nextSendNs(): Nanos {
    return this.#pacer.nextSendNs(this.#paceBps())
  }

  /** A packet of `wireBytes` has left for the pacing clock. */
  paced(now: Nanos, wireBytes: number): void {
    this.sentWireBytes += wireBytes
    this.#pacer.onSent(now, this.#paceBps(), wireBytes)
    this.telemetryProbe?.onData(now, wireBytes)
  }

  /** From now on packets may leave in runs, or each at its own time. */
  paceInRuns(allowed: boolean): void {
    this.#pacer.inRuns = allowed
  }

  #paceBps(): number {
    return this.cc === null ? this.#lineRateBps : this.cc.rateBps()
  }

  /** The controller begins. */
  begin(cc: CongestionControl): void {
    this.cc = cc
    followController(this)
  }

  /** A READ response of `bytes` payload leaves; one that the peer asks for again counts as sent again. */
  responseSent(psn: number, now: Nanos, bytes: number): void {
    this.stats.sentBytes += bytes
    this.responses ??= new ResponseFlight(this.#packetsInFlightMax)
    const again = this.responses.onSent(now, psn, bytes, this.#sent, this.cc, this.stats.baseRttNs)
    if (!this.peerIsWeir && this.cc !== null) {
      this.responses.presume(now, Math.max(this.stats.rttNs, this.stats.baseRttNs), this.cc.windowBytes())
    }
    if (again) this.stats.retransmittedBytes += bytes
  }

  // ---- QpObserver: remembered, and acted on when the queue pair has finished with the packet

  onAcked(_now: Nanos, seq: number, newlyAckedBytes: number): void {
    this.ackedSeq = Math.max(this.ackedSeq, seq)
    this.ackedBytes += newlyAckedBytes
  }

  onRetransmit(_now: Nanos, lostBytes: number, byTimeout: boolean, newestSeq: number): void {
    this.#losses.add(lostBytes, byTimeout, newestSeq)
    if (byTimeout) this.stats.timeouts++
  }

  onSpurious(): void {
    this.#losses.takeBack()
  }

  onAnswersTaken(_now: Nanos, seq: number): void {
    if (this.peerIsWeir || seq <= this.#takenSeq) return
    this.#takenPackets += this.#takenSeq < 0 ? 1 : seq - this.#takenSeq
    this.#takenSeq = seq
  }

  onError(_now: Nanos, status: WorkStatus): void {
    this.failedStatus = status
  }

  /** Tells the controller what the queue pair reported since the last call. */
  settle(now: Nanos, sample: AckSample): void {
    if (this.#losses.any) this.#tellLosses(now)
    if (this.ackedSeq >= 0) this.#acknowledge(now, sample)
    if (this.#takenPackets === 0) return
    onAnswersTaken(this, now, this.#takenSeq, this.#takenPackets * this.pathMtu, sample)
    this.#takenPackets = 0
  }

  #tellLosses(now: Nanos): void {
    if (this.cc === null) this.#losses.forget()
    else this.#losses.tell(now, this.cc, this.qp.inFlightBytes, this.ackedBytes)
    followController(this)
  }

  #acknowledge(now: Nanos, sample: AckSample): void {
    sample.ackedBytes = this.ackedBytes
    sample.advanced = this.qp.sndUna > this.#ackedUna
    this.#ackedUna = this.qp.sndUna
    const { ackedSeq } = this
    this.fill(sample, now, false, ackedSeq)
    // What is acknowledged once more, as in all that a peer sends that only asks, measures no round trip.
    if (sample.seq <= this.#ackedNumber) sample.rttNs = 0
    else this.#ackedNumber = sample.seq
    this.ackedSeq = -1
    this.ackedBytes = 0
    this.telemetryProbe?.onProgress(now, sample.rttNs)
    this.baseRtt?.onAck(now, this, ackedSeq, sample)
    this.hostShare.onAcked(now, sample.ackedBytes, this.stats.baseRttNs)
    this.cc?.onAck(now, sample)
    this.record(sample)
  }

  /** The peer has worked out a window; one that a later window has overtaken is ignored. */
  onReceiverWindow(now: Nanos, sequence: number, windowBytes: number, flows: number): void {
    if (this.cc === null || !this.windows.take(sequence)) return
    this.rateRequest?.onAnswer()
    this.hostShare.onFlows(flows)
    this.cc.onReceiverWindow?.(now, windowBytes)
    followController(this)
  }

  /** The earliest deadline of all that the flow waits for. */
  nextTimeout(now: Nanos): Nanos {
    let deadline = Math.min(this.qp.nextTimeout(), this.#patienceEndsNs)
    // A deadline that has passed is handled when the flow's handler is told what has happened.
    if (this.endsNs > now) deadline = Math.min(deadline, this.endsNs)
    if (this.cc !== null) deadline = Math.min(deadline, this.cc.nextTimeout())
    if (this.probe !== null) deadline = Math.min(deadline, this.probe.nextTimeout())
    if (this.baseRtt !== null) deadline = Math.min(deadline, this.baseRtt.nextTimeout())
    // A request that waits for the link has no deadline.
    if (this.rateRequest !== null && (this.control & Control.RATE_REQUEST) === 0)
      deadline = Math.min(deadline, this.rateRequest.nextTimeout())
    // A probe that waits for the link has no deadline.
    if ((this.control & Control.PROBE) === 0 && this.wantsProbe(now)) {
      deadline = Math.min(deadline, this.telemetryProbe!.nextTimeout())
    }
    return deadline
  }

  /** Fills in what is known of the packet that a sample speaks of. False if the flow has sent no such packet. */
  fill(sample: AckSample, now: Nanos, ofResponse: boolean, psn: number): boolean {
    sample.sndNxt = this.#sent.count
    sample.inFlightBytes = this.qp.inFlightBytes
    return this.#sent.fill(sample, now, ofResponse, psn)
  }

  /** The controller has heard of it: does what follows. */
  record(sample: AckSample): void {
    recordSample(this.stats, sample, this.qp.counters)
    this.hostShare.onFlows(sample.hops.flows)
    followController(this)
  }
}
