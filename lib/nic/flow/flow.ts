import { agreementOn } from '../../cc/agreements.js'
import { AS_CONFIGURED, type ChosenController } from '../../cc/catalogue.js'
import { type FeedbackOffer, PLAIN_OFFER } from '../../cc/needs.js'
import { type QpObserver, type QueuePair, TxKind } from '../../qp/queue-pair.js'
import type { CompletionQueue } from '../../qp/queues/completion-queue.js'
import type { WorkStatus } from '../../qp/queues/work-status.js'
import { type Nanos, NEVER } from '../../time/nanos.js'
import type { HostAddress } from '../../wire/net/address.js'
import { newConnectionStats } from '../feedback/connection-stats.js'
import { WindowSequence } from '../feedback/window-sequence.js'
import { FlowPlausibility } from '../telemetry/flow-plausibility.js'
import { TelemetryEcho } from '../telemetry/telemetry-echo.js'
import type { Connection, ConnectionHandler, ConnectionStats } from '../types.js'
import { FlowEnding } from './flow-ending.js'
import type { FlowOptions, OwnOptions } from './flow-options.js'
import { FlowPath } from './flow-path.js'
import { Handshake } from './handshake.js'
import { KeepAlive } from './keep-alive.js'
import { Peer } from './peer.js'
import { Receiver } from './receiver.js'
import { Sender } from './sender.js'

/** Everything that the NIC keeps of one connection: its queue pair, and parts that each write their own fields. */
export class Flow implements QpObserver {
  /** Place in the NIC's table. */
  readonly index: number
  readonly qpn: number
  readonly remote: HostAddress
  readonly handler: ConnectionHandler
  readonly completions: CompletionQueue
  readonly stats: ConnectionStats = newConnectionStats()
  readonly handshake: Handshake
  readonly peer: Peer
  readonly path: FlowPath
  readonly sender: Sender
  readonly receiver: Receiver
  readonly ending: FlowEnding
  readonly keepAlive: KeepAlive
  /** Telemetry of the way of this end's data is believed by this. */
  readonly plausibility: FlowPlausibility
  readonly #loadMax: number
  /** Made when the first is collected there. */
  #reversePlausibility: FlowPlausibility | null = null
  /** Numbers the windows that go to the peer, and judges those that come from it. */
  readonly windows = new WindowSequence()
  /** Frames of the flow that this end has sent, and those of the peer that have reached it. */
  sentFrames = 0
  receivedFrames = 0
  /** Made behind the flow's other parts: see attach. */
  qp!: QueuePair
  readonly #configuredCc: ChosenController
  #cc: ChosenController
  #offer: FeedbackOffer = PLAIN_OFFER
  /** What the peer has granted, and does not give: bits by id. */
  #broken = 0
  #ccReason = AS_CONFIGURED
  #connection!: Connection

  constructor(own: OwnOptions, options: FlowOptions) {
    const { telemetry } = options
    this.index = own.index
    this.qpn = own.qpn
    this.remote = options.remote
    this.handler = own.handler
    this.completions = own.completions
    this.#configuredCc = options.ccChoice
    this.#cc = options.ccChoice
    this.handshake = new Handshake(own.phase === 'connecting', options.fixedBaseRttNs)
    this.peer = new Peer(options)
    this.path = new FlowPath(options.pathSettings)
    this.sender = new Sender(options, this.peer, this.stats, this.windows)
    const isBusiestOnly = telemetry.hops === 'busiest'
    const echo = new TelemetryEcho(isBusiestOnly, options.hostHop ?? null, options.echoRooms)
    this.receiver = new Receiver(echo, telemetry.answer === 'ack', options.ackEveryPackets)
    this.ending = new FlowEnding(own.phase)
    this.keepAlive = new KeepAlive(own.index, options.keepAliveNs || NEVER)
    this.plausibility = new FlowPlausibility(this.stats, telemetry.loadMax)
    this.#loadMax = telemetry.loadMax
  }

  /** Telemetry of the way of the peer's acknowledgements is believed by this. */
  get reversePlausibility(): FlowPlausibility {
    this.#reversePlausibility ??= new FlowPlausibility(this.stats, this.#loadMax)
    return this.#reversePlausibility
  }

  /** The controller of what this end sends: as asked for, and from the handshake on as both ends have agreed. */
  get cc(): ChosenController {
    return this.#cc
  }

  /** Why it is that one. */
  get ccReason(): string {
    return this.#ccReason
  }

  /** What the peer does for this end is known, and so which controller the flow has. */
  agree(offer: FeedbackOffer): void {
    this.#offer = offer
    this.#settle()
  }

  /** The peer has begun or ceased to give what it has granted, and the flow does not go by that yet. */
  get promisesChanged(): boolean {
    return this.sender.promises.broken !== this.#broken
  }

  /** Goes by what the peer gives. True if another controller takes over. */
  agreeAgain(): boolean {
    const { name } = this.#cc
    this.#broken = this.sender.promises.broken
    this.#settle()
    return this.#cc.name !== name
  }

  #settle(): void {
    const agreement = agreementOn(this.#configuredCc, this.#offer, this.#broken)
    const { cc, reason, grantedTexts, refusedTexts } = agreement
    this.#cc = cc
    this.#ccReason = reason
    this.peer.grant(agreement)
    this.stats.feedbackGranted = grantedTexts
    this.stats.feedbackRefused = refusedTexts
  }

  /** The application's view of the flow. */
  get connection(): Connection {
    return this.#connection
  }

  /** The flow's queue pair has been made, and reports to the flow. */
  attach(qp: QueuePair): void {
    this.qp = qp
    this.sender.attach(qp)
  }

  show(connection: Connection): void {
    this.#connection = connection
  }

  /**
   * What the flow may transmit now, by its window, its path and its phase. Its pacing clock decides when. An
   * acknowledgement comes first.
   */
  next(): TxKind {
    const { sender, qp } = this
    const kind = qp.peekTransmit(qp.sendPending > 0 && sender.windowOpen)
    if (kind <= TxKind.ACK) return kind
    const mayGo =
      this.path.isChosen &&
      this.ending.phase !== 'left' &&
      (kind === TxKind.REQUEST || !sender.holdsResponses)
    return mayGo ? kind : TxKind.NONE
  }

  /** An acknowledgement is the next packet. */
  get owesAck(): boolean {
    return this.qp.peekTransmit(false) === TxKind.ACK
  }

  /** All that its packets ask for is that they leave: no path is to be chosen, nothing to be agreed on anew, and the connection goes on. */
  get isOrdinary(): boolean {
    const { path, ending } = this
    const isFollowing = path.peerSourcePort === path.sourcePort || path.peerSourcePort === 0
    const isWhole = isFollowing && path.selection === null && path.doubt === null
    return isWhole && ending.phase === 'established' && !this.promisesChanged
  }

  /** The packet with payload that is next may leave now, and the acknowledgement that is owed with it. */
  mayCarryAck(now: Nanos): boolean {
    const { peer, qp, receiver, sender, path, ending } = this
    if (!peer.carriesAcks.agreed || qp.sendPending === 0) return false
    const mayGo = path.isChosen && ending.phase !== 'left'
    return mayGo && receiver.acksAreBare && sender.mayCarryAck(now) && qp.mayCarryAck
  }

  /** The flow takes another path, and nothing is in flight. */
  onPathChange(): void {
    this.plausibility.onPathChange()
    this.#reversePlausibility?.onPathChange()
    this.sender.onPathChange()
  }

  /** The earliest deadline of all that the flow waits for, but for those of probes for telemetry and of requests for windows. */
  nextTimeout(now: Nanos): Nanos {
    let deadline = Math.min(this.sender.nextTimeout(), this.receiver.nextTimeout())
    const { endsNs, phase } = this.ending
    if (phase === 'established') deadline = Math.min(deadline, this.keepAlive.nextTimeout())
    // A deadline that has passed is handled when the flow's handler learns what has happened.
    return endsNs > now ? Math.min(deadline, endsNs) : deadline
  }

  // ---- QpObserver: remembered, and acted on when the queue pair has finished with the packet

  onAcked(_now: Nanos, seq: number, newlyAckedBytes: number): void {
    this.sender.onAcked(seq, newlyAckedBytes)
  }

  onRetransmit(_now: Nanos, lostBytes: number, byTimeout: boolean, newestSeq: number): void {
    this.sender.onRetransmit(lostBytes, byTimeout, newestSeq)
  }

  onSpurious(): void {
    this.sender.onSpurious()
  }

  onAnswersTaken(_now: Nanos, seq: number): void {
    this.sender.onAnswersTaken(seq)
  }

  onUnanswered(): boolean {
    return this.sender.onUnanswered()
  }

  onError(_now: Nanos, status: WorkStatus): void {
    this.ending.onError(status)
  }
}
