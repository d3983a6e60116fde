import { ConnectionManager } from '../../cm/connection-manager.js'
import type { CmCounters } from '../../cm/counters.js'
import type { Duties } from '../../cm/duties.js'
import type { CmEvent, ConnectRequest, Disconnected, Established, PeerParameters } from '../../cm/events.js'
import { flowLabelFor } from '../../cm/flow-label.js'
import { type AcceptParams, type ConnectParams, within } from '../../cm/options.js'
import { MadDatagram } from '../../cm/outbox.js'
import type { Sidr } from '../../cm/sidr.js'
import { timeoutNs } from '../../cm/timing.js'
import { applicationData, REPLY_BYTES_MAX } from '../../cm/weir-private-data.js'
import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import { SLOT_BYTES } from '../../frame/frame-pool.js'
import { IntMap } from '../../int-map.js'
import { Access } from '../../qp/memory/memory.js'
import { QpState } from '../../qp/queue-pair.js'
import { ReorderPool } from '../../qp/queues/reorder-buffer.js'
import { MILLISECOND, type Nanos, NEVER } from '../../time/nanos.js'
import { Reason } from '../../wire/cm/rej.js'
import * as bth from '../../wire/ib/bth.js'
import { QPN_FIRST } from '../../wire/ib/deth.js'
import { isLast, isReadResponse } from '../../wire/ib/opcode.js'
import { checkOneHost, HostAddress } from '../../wire/net/address.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import { checkConnectOptions, type NicSettings, priorityOfDscp, timeoutExponent } from '../config.js'
import { flowBytesOf } from '../feedback/host-share.js'
import { filledPayload, PAYLOAD_MAX } from '../flow/filled-payload.js'
import type { Flow } from '../flow/flow.js'
import type { FlowPhase } from '../flow/flow-ending.js'
import { type FlowHost, type FlowPlan, makeFlow, planFlow } from '../flow/make-flow.js'
import type { PacketSizes } from '../flow/packet-sizes.js'
import { pathMtuByHand, plainPathMtu } from '../flow/plain-path-mtu.js'
import { ConcurrentFlows } from '../rx/concurrent-flows.js'
import type { RefusedPackets } from '../rx/refused-packets.js'
import type { HostHeaders } from '../tx/host-headers.js'
import type { SourcePorts } from '../tx/source-ports.js'
import type { TxPipeline } from '../tx/tx-pipeline.js'
import type {
  Connection,
  ConnectionHandler,
  ConnectOptions,
  Listener,
  QueuePairPeer,
  UnconnectedQueuePair,
} from '../types.js'
import { AlikeConnections, type AlikeEnd } from './alike-connections.js'
import { Endings } from './endings.js'
import { NicConnection } from './nic-connection.js'
import {
  checkKey,
  farewell,
  heed,
  mayEnd,
  type PeerWords,
  peerFailure,
  proves,
  refusal,
  rejection,
  replyData,
  requestData,
  spokenWords,
  unanswered,
  wordsAsRead,
  wordsOfRequest,
} from './peer-words.js'
import { connectingOf, otherThanOwn } from './udp-ports.js'

const READS_OUTSTANDING = 16
/** When no place is free, a connection gives way that has not been confirmed for so long. */
const CONFIRM_WITHIN_NS = 100 * MILLISECOND
/** Packets of small messages are more than their bytes say. */
const GRANTED_LEAST = 512
const REMOTE_ACCESS = Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC

/** A plain peer is believed to need 4.3 s at most for an answer: twice what librdmacm says. */
const PLAIN_TIMEOUT_EXPONENT_MAX = 20

const NO_BYTES = new Uint8Array(0)

/** What two programs that connect queue pairs themselves are taken to have agreed on. */
const OTHER_PROGRAM = {
  responderResources: READS_OUTSTANDING,
  initiatorDepth: READS_OUTSTANDING,
  rnrRetry: 7,
  srq: false,
  caGuid: 0n,
  ackTimeoutExponent: 0,
}

/** A flow whose handler takes the request. */
interface Accepted {
  flow: Flow
  /** What the handler says to the peer's. */
  data: Uint8Array | undefined
}

/** The same where no message says it. */
interface AcceptedUnwritten extends Accepted {
  data: Uint8Array
  /** Those of this end, as the peer would read them. */
  words: PeerWords
}

/** A connection that two hosts of one program have agreed on, as its active end has asked for it. */
interface Joined {
  options: ConnectOptions
  port: number
  /** Those of the active end. */
  words: PeerWords
  request: ConnectRequest
}

/** What connections need of their NIC. */
interface Host extends FlowHost {
  readonly address: HostAddress
  readonly packetSizes: PacketSizes
  readonly sourcePorts: SourcePorts
  readonly refused: RefusedPackets
  readonly headers: HostHeaders
  addFlow(flow: Flow): void
  removeFlow(flow: Flow): void
  /** The flow has just been established. */
  flowEstablished(now: Nanos, flow: Flow): void
  /** The flow has new work, or another phase. */
  flowChanged(now: Nanos, flow: Flow): void
  deliverCompletions(now: Nanos, flow: Flow): void
  /** A defect has shown: throws it, or counts it. */
  countDefect(defect: unknown): void
  /** A defect has shown in the work of one flow: that one ends. */
  onDefect(now: Nanos, flow: Flow, defect: unknown): void
  /** Asks the flow's peer whether it knows the flow. */
  challenge(flow: Flow): void
  /** As FlowStart. */
  checkController(cc: ConnectOptions['cc']): void
  /** As FlowStart. */
  startProbe(flow: Flow): void
  /** As FlowStart. `flowChanged` is to follow. */
  beginUnmeasured(flow: Flow): void
  /** As FlowStart. `flowChanged` is to follow. */
  begin(flow: Flow, baseRttNs: Nanos): void
}

/**
 * Makes and ends connections: joins the connection manager's events to flows, and both to the applications'
 * handlers. What two Weir hosts say beyond the standard travels in the messages' private data.
 */
export class Connections {
  readonly #nic: Host
  readonly #cm: ConnectionManager
  readonly #endings: Endings
  readonly #listeners = new Map<number, Listener>()
  readonly #byCmId = new IntMap<Flow>()
  /** Flows that peers have requested and not confirmed, oldest first, and since when. */
  readonly #halfOpen = new Map<Flow, Nanos>()
  readonly #datagram = new MadDatagram()
  /** Round trip that the network would have taken for datagrams that are handed over. */
  #handedOverNs: Nanos = 0
  #datagramPsn = 0
  readonly #concurrent: ConcurrentFlows
  readonly #alike = new AlikeConnections<Connections>()
  /** Those of other hosts of this program with which connections have been made without messages, by their addresses. */
  readonly #near = new Map<string, Connections>()
  /** Where all connections keep packets that came out of order. */
  readonly #reorderPool: ReorderPool

  constructor(nic: Host) {
    const { settings } = nic
    this.#nic = nic
    this.#concurrent = new ConcurrentFlows(settings.slackNs, nic.table.capacity)
    this.#reorderPool = new ReorderPool(settings.reorderPackets, keptBytes(settings))
    this.#datagramPsn = settings.random() & 0xffffff
    this.#cm = new ConnectionManager({
      caGuid: nic.table.names.guid,
      addresses: [settings.address],
      udpPort: settings.udpPort,
      random: settings.random,
      mayClaim: (data, qpn, startingPsn) => proves(settings, spokenWords(data), { qpn, startingPsn }),
      mayEnd: (id, data) => mayEnd(this.#byCmId.get(id), data),
      farewell: id => farewell(this.#byCmId.get(id)),
      connectionsMax: Math.min(65_536, 2 * settings.connectionsMax + 16),
      pendingRequestsMax: settings.connectionsMax,
      ...settings.cm,
    })
    this.#endings = new Endings(this)
  }

  // ---- For applications

  listen(port: number, listener: Listener): void {
    this.#cm.listen(port)
    this.#listeners.set(port, listener)
  }

  unlisten(port: number): void {
    this.#cm.unlisten(port)
    this.#listeners.delete(port)
  }

  connect(
    now: Nanos,
    remote: HostAddress,
    port: number,
    handler: ConnectionHandler,
    options: ConnectOptions,
  ): Connection {
    const flow = this.#begin(now, remote, handler, options)
    try {
      const asked = this.#askFor(now, flow, port, options)
      flow.handshake.onRequest(this.#nic.refused.of(flow.remote))
      this.#makeHeaders(flow)
      const data = requestData(this.#nic.settings, flow, options.privateData)
      this.#known(flow, this.#cm.connect(now, { ...asked, ...data }))
      flow.handler.onCreated?.(now, flow.connection)
    } catch (error) {
      this.#abandon(now, flow)
      throw error
    }
    if (!options.patient) {
      const giveUp = (at: Nanos, why: WeirError) => this.#giveUp(at, flow, why)
      this.#nic.settings.onConnecting?.(connectingOf(this.#nic.settings, flow, giveUp))
    }
    return flow.connection
  }

  /**
   * A queue pair for a peer that does without the connection manager. Its handler may post receives; nothing is sent before
   * `connectQueuePair`. Throws as `connect`, and WEIR_UNSUPPORTED on a host with a key, which such a peer cannot have.
   */
  createQueuePair(
    now: Nanos,
    remote: HostAddress,
    handler: ConnectionHandler,
    options: ConnectOptions,
  ): UnconnectedQueuePair {
    const { secret, address } = this.#nic.settings
    if (secret !== undefined)
      throw new WeirError(
        'WEIR_UNSUPPORTED',
        'queue pair: a host with a key takes only connections that prove it',
      )
    checkOneHost('queue pair', remote)
    if (remote.family !== address.family)
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `queue pair: ${remote} is no address of the family of ${address}`,
      )
    const flow = this.#begin(now, remote, handler, options, true)
    this.#askFor(now, flow, 0, options)
    this.#makeHeaders(flow)
    flow.handler.onCreated?.(now, flow.connection)
    return { qpn: flow.qpn, psn: flow.handshake.receivePsn }
  }

  /** The program has learned of the other end: the queue pair of that number is a connection now. Throws WEIR_BAD_STATE, WEIR_BAD_ARGUMENT. */
  connectQueuePair(now: Nanos, qpn: number, peer: QueuePairPeer): void {
    const flow = this.#nic.table.find(qpn)
    if (flow?.ending.phase !== 'connecting' || flow.handshake.cmId !== 0)
      throw new WeirError('WEIR_BAD_STATE', `queue pair ${qpn}: it has been connected, or is closed`)
    within('qpn', peer.qpn, QPN_FIRST, 0xffffff, `queue pair ${qpn}`)
    within('psn', peer.psn, 0, 0xffffff, `queue pair ${qpn}`)
    const { receivePsn: startingPsn } = flow.handshake
    flow.handshake.expect(peer.psn)
    const said = { ...OTHER_PROGRAM, qpn: peer.qpn, startingPsn }
    if (this.#takeAnswer(now, flow, said, null, null)) this.#establish(now, flow, null)
  }

  /**
   * A flow of this end's making. Throws as `connect`.
   *
   * @param isPlain a queue pair by hand: its peer is no Weir host
   */
  #begin(
    now: Nanos,
    remote: HostAddress,
    handler: ConnectionHandler,
    options: ConnectOptions,
    isPlain = false,
  ): Flow {
    checkOneHost('connection', remote)
    this.#nic.checkController(options.cc)
    checkConnectOptions(options, this.#nic.settings)
    const plan = this.#planOf(now, remote, options, isPlain)
    this.#makeRoom(now)
    return this.#makeFlow(plan, handler, 'connecting')
  }

  #planOf(now: Nanos, remote: HostAddress, options: ConnectOptions, isPlain: boolean): FlowPlan {
    const { cc, telemetry, paths, baseRttNs } = options
    const pathMtu = isPlain
      ? pathMtuByHand('queue pair', options.pathMtu, this.#nic.settings)
      : options.pathMtu
    const udpPort = otherThanOwn(this.#nic.settings, options.udpPort)
    const packetBytes = pathMtu === undefined ? this.#nic.packetSizes.bytesTo(now, remote) : 0
    const beginning = { remote, udpPort, baseRttNs, pathMtu, isPlain, packetBytes, cc, telemetry, paths }
    return planFlow(this.#nic, this.#reorderPool, beginning)
  }

  /** What comes before the peer's answer may have to be answered: a probe. */
  #makeHeaders(flow: Flow): void {
    this.#nic.headers.prepare(flow, flow.path.dscp)
  }

  /** Chooses the flow's path and first PSN. Returns what the connection manager asks the peer for, but for words. */
  #askFor(now: Nanos, flow: Flow, port: number, options: ConnectOptions): ConnectParams {
    const { settings, sourcePorts } = this.#nic
    const priority = options.priority ?? settings.priority
    const sourcePort = sourcePorts.choose(options.sourcePort, settings.random)
    flow.path.begin(sourcePort, settings.dscpOfPriority[priority]!, priority)
    flow.stats.sourcePort = sourcePorts.nearest(sourcePort)
    if (!flow.qp.isSettled) flow.qp.modify(now, QpState.INIT, { access: REMOTE_ACCESS })
    flow.handshake.expect(settings.random() & 0xffffff)
    return {
      remote: flow.remote,
      udpPort: options.udpPort,
      port,
      qpn: flow.qpn,
      startingPsn: flow.handshake.receivePsn,
      pathMtu: flow.peer.pathMtu,
      responderResources: READS_OUTSTANDING,
      initiatorDepth: READS_OUTSTANDING,
      retryCount: settings.retryCount,
      rnrRetry: settings.rnrRetry,
      ackTimeoutExponent: timeoutExponent(settings.ackTimeoutNs),
      flowLabel: flowLabelFor(flow.path.sourcePort),
      trafficClass: flow.path.dscp << 2,
    }
  }

  /** The connection manager knows the connection. If that has ended here, nobody hears of its events. */
  #known(flow: Flow, cmId: number): void {
    flow.handshake.name(cmId)
    if (flow.ending.phase !== 'closed') this.#byCmId.set(cmId, flow)
  }

  /**
   * False where only messages can say what there is to be said: hosts with a key prove that they have it, a host may be full or refuse
   * the port, or it has another UDP port.
   */
  mayJoin(to: Connections, port: number, { udpPort }: ConnectOptions): boolean {
    const [own, other] = [this.#nic.settings, to.#nic.settings]
    const alike = own.udpPort === other.udpPort && own.address.family === other.address.family
    const keyless = own.secret === undefined && other.secret === undefined
    return alike && keyless && udpPort === undefined && to.#listeners.has(port) && !to.#nic.table.isFull
  }

  /**
   * As `connect`, to a host of the same program: both ends agree at once, without messages. Their handlers are called before this
   * returns. `mayJoin` has to hold. Throws as `connect`.
   *
   * @param roundTripNs that the network would have taken for a message and its answer, 0 = not known
   */
  join(
    now: Nanos,
    to: Connections,
    port: number,
    handler: ConnectionHandler,
    options: ConnectOptions,
    roundTripNs: Nanos,
  ): Connection {
    const alike = this.#alikeOf(now, to, port, handler, options)
    const flow =
      alike === null
        ? this.#begin(now, to.#nic.address, handler, options)
        : this.#beginAlike(now, handler, options, alike.own.plan)
    let peer: Flow | null = null
    try {
      const asked = this.#askFor(now, flow, port, options)
      const words = alike?.own.words ?? wordsAsRead(this.#nic.settings, flow, options.privateData)
      flow.handshake.name(this.#cm.drawId())
      const request = this.#cm.propose(asked, to.#cm, alike !== null)
      flow.handler.onCreated?.(now, flow.connection)
      // A handler that leaves at once: nobody at the other host hears of it.
      if (flow.ending.phase === 'closed') return flow.connection
      const answer = to.#decideUnwritten(now, request, words, alike?.peer ?? null)
      if (answer instanceof Uint8Array) {
        this.close(now, flow, rejection(flow, { reason: Reason.CONSUMER, privateData: answer }))
      } else if (this.#meet(now, flow, to, answer, request, alike !== null)) {
        if (alike === null) this.#remember(now, flow, to, answer.flow, { options, port, words, request })
        peer = answer.flow
      }
    } catch (error) {
      this.#abandon(now, flow)
      throw error
    }
    if (peer !== null) {
      this.#establishJoined(now, flow, roundTripNs)
      to.#establishJoined(now, peer, roundTripNs)
    }
    return flow.connection
  }

  /** Both ends have agreed: a defect from now on, of a handler say, is one of a connection that there is, as where an event brings it. */
  #establishJoined(now: Nanos, flow: Flow, roundTripNs: Nanos): void {
    // The other end's handler has been called, and may have closed this one too.
    if (flow.ending.phase === 'closed') return
    try {
      this.#establish(now, flow, roundTripNs)
    } catch (defect) {
      this.#nic.onDefect(now, flow, defect)
    }
  }

  /** The passive end has accepted: the active one takes over what that says. False if it is not to be trusted: the flow has failed. */
  #meet(
    now: Nanos,
    flow: Flow,
    to: Connections,
    { flow: peer, data, words }: AcceptedUnwritten,
    request: ConnectRequest,
    isAlike: boolean,
  ): boolean {
    flow.handshake.join(peer.qpn)
    peer.handshake.join(flow.qpn)
    if (!isAlike) {
      this.#near.set(to.#nic.address.toString(), to)
      to.#near.set(this.#nic.address.toString(), this)
    }
    flow.handshake.onPrivateData(new Uint8Array(data))
    const params = this.#cm.answerOf(to.#cm, to.#grant(peer, request), isAlike)
    return this.#takeAnswer(now, flow, params, words, null)
  }

  /**
   * An end of a connection that was made without messages is to say something by one: both connection managers learn of it, if there is
   * room. Mostly there is nothing to say before both ends are released.
   */
  #acquaint(now: Nanos, flow: Flow): void {
    const to = this.#near.get(flow.remote.toString())
    if (to === undefined) return
    const peer = to.#nic.table.find(flow.handshake.joinedQpn)
    // That address may be another host's by now.
    if (peer?.handshake.joinedQpn !== flow.qpn) return
    if (flow.handshake.active) this.#acquaintManagers(now, flow, to, peer)
    else to.#acquaintManagers(now, peer, this, flow)
  }

  /** @param flow the active end */
  #acquaintManagers(now: Nanos, flow: Flow, to: Connections, peer: Flow): void {
    const ids = this.#cm.acquaint(now, this.#joinedEnd(flow), to.#cm, to.#joinedEnd(peer))
    if (ids === null) return
    for (const [owner, end, id] of [
      [this, flow, ids[0]],
      [to, peer, ids[1]],
    ] as const) {
      end.handshake.join(0)
      owner.#known(end, id)
    }
  }

  /** As both connection managers learn of it. */
  #joinedEnd({ qpn, handshake }: Flow) {
    return {
      id: handshake.cmId,
      local: this.#nic.address,
      qpn,
      startingPsn: handshake.receivePsn,
      ackTimeoutExponent: timeoutExponent(this.#nic.settings.ackTimeoutNs),
    }
  }

  /**
   * Ends the connection for the connection manager, which tells the peer. Where that cannot learn of the connection, nobody tells the peer.
   * @param refusal data for the DREQ
   */
  leave(now: Nanos, flow: Flow, refusal?: Uint8Array): void {
    const { handshake } = flow
    if (handshake.joinedQpn !== 0) this.#acquaint(now, flow)
    if (handshake.joinedQpn === 0) this.#cm.disconnect(now, handshake.cmId, refusal)
  }

  /** A connection to that host which one with these options is like, as long as packets may have the same lengths; null: it has to be worked out. */
  #alikeOf(
    now: Nanos,
    to: Connections,
    port: number,
    { onCreated }: ConnectionHandler,
    options: ConnectOptions,
  ) {
    // A handler may do a thing to a queue pair that has no peer yet.
    const alike = onCreated === undefined ? this.#alike.find(to, port, options) : null
    return alike !== null && this.#holds(now, alike.own) && to.#holds(now, alike.peer) ? alike : null
  }

  #holds(now: Nanos, { plan: { options } }: AlikeEnd): boolean {
    const { packetSizes, pathLengths } = this.#nic
    const { remote, packetBytes, intSlots } = options
    const isAsLong = packetBytes === 0 || packetBytes === packetSizes.bytesTo(now, remote)
    return isAsLong && intSlots === pathLengths.slotsTo(remote)
  }

  /** As #begin, like a connection before. */
  #beginAlike(now: Nanos, handler: ConnectionHandler, options: ConnectOptions, plan: FlowPlan): Flow {
    if (options.sourcePort !== undefined) checkConnectOptions(options, this.#nic.settings)
    this.#makeRoom(now)
    return this.#makeFlow(plan, handler, 'connecting')
  }

  /** Both ends have agreed: the next connection may be like this one. */
  #remember(
    now: Nanos,
    flow: Flow,
    to: Connections,
    peer: Flow,
    { options, port, words, request }: Joined,
  ): void {
    const { privateData, ...asked } = options
    // What the flow has left out of its words, which had no room, is left out of none that takes them over.
    if (privateData !== undefined || flow.handshake.hidesAckEvery) return
    const own = { ...this.#planOf(now, flow.remote, options, false), qp: flow.qp.settled() }
    const other = { ...to.#planFor(now, request, words), qp: peer.qp.settled() }
    this.#alike.add(to, {
      port,
      options: asked,
      own: { plan: own, words },
      peer: { plan: other, words: wordsAsRead(to.#nic.settings, peer) },
    })
  }

  /** Nobody listens at the peer: the observer of the request has found out. */
  #giveUp(now: Nanos, flow: Flow, why: WeirError): void {
    if (flow.ending.phase !== 'connecting') return
    this.leave(now, flow)
    this.close(now, flow, why)
  }

  /** A connection's application gave it work. */
  flowChanged(now: Nanos, flow: Flow): void {
    this.#nic.flowChanged(now, flow)
  }

  /** As Endings. */
  disconnect(now: Nanos, flow: Flow): void {
    this.#endings.disconnect(now, flow)
  }

  /** As Endings. */
  fail(now: Nanos, flow: Flow, error: WeirError): void {
    this.#endings.fail(now, flow, error)
  }

  /** A defect has shown in the flow's work. The flow ends as any that fails; at once if it was ending already, or if that shows another defect. */
  onDefect(now: Nanos, flow: Flow, defect: unknown): void {
    const error = asWeirError(defect)
    const { failure, phase } = flow.ending
    if (failure !== null || phase === 'ending') {
      this.#endings.abort(now, flow, error)
      return
    }
    try {
      this.#endings.fail(now, flow, error)
    } catch (another) {
      if (flow.ending.phase === 'closed') this.#nic.countDefect(another)
      else this.#endings.abort(now, flow, error)
    }
  }

  /** As Endings. */
  goOnEnding(now: Nanos, flow: Flow): void {
    this.#endings.goOn(now, flow)
  }

  // ---- For the NIC

  /** Ports of datagrams. */
  get sidr(): Sidr {
    return this.#cm.sidr
  }

  /** Counters of the connection manager. */
  get counters(): CmCounters {
    return this.#cm.counters
  }

  /** While there are none, there is nothing to send, and no deadline. */
  get duties(): Duties {
    return this.#cm.duties
  }

  get wantsToSend(): boolean {
    return this.#cm.pendingTransmits > 0
  }

  nextTimeout(): Nanos {
    return this.#cm.nextTimeout()
  }

  onTimeout(now: Nanos): void {
    if (this.#cm.nextTimeout() > now) return
    try {
      this.#cm.onTimeout(now)
    } catch (defect) {
      this.#onCmDefect(now, this.#cm.abandonDue(now), defect)
    }
  }

  nextDatagram(now: Nanos, tx: TxPipeline): Frame | null {
    if (!this.#cm.pollTransmit(now, this.#datagram)) return null
    this.#datagramPsn = (this.#datagramPsn + 1) & 0xffffff
    return tx.managementDatagram(
      this.#nic.headers.forManagement(this.#datagram.destination),
      this.#datagram.bytes,
      this.#datagramPsn,
      otherThanOwn(this.#nic.settings, this.#datagram.udpPort),
    )
  }

  /**
   * Hands the next datagram for that host to it, without a frame. False if there is none.
   * @param roundTripNs that the network would have taken
   */
  handOver(now: Nanos, to: Connections, roundTripNs: Nanos): boolean {
    const datagram = this.#datagram
    if (!this.#cm.pollTransmitTo(now, to.#nic.address, datagram)) return false
    to.#handedOverNs = roundTripNs
    to.#cm.onMad(now, this.#nic.address, datagram.view, 0, datagram.bytes.length)
    to.dispatch(now)
    to.#handedOverNs = 0
    return true
  }

  onDatagram(now: Nanos, frame: Frame, at: number, end: number): void {
    const from =
      this.#nic.address.family === 4
        ? HostAddress.fromIpv4(ipv4.source(frame.view, frame.l3))
        : HostAddress.fromGid(frame.bytes, frame.l3 + 8)
    this.#cm.onMad(now, from, frame.view, at, end)
    this.dispatch(now)
  }

  /** A packet of the flow arrived: the first one stands in for a lost RTU. */
  onTraffic(now: Nanos, flow: Flow): void {
    if (flow.ending.phase === 'accepting') {
      this.#cm.onDataArrived(now, flow.qpn)
      this.dispatch(now)
    }
  }

  /** The peer has shown that it knows a flow which somebody claims to be stale. */
  onAlive(now: Nanos, flow: Flow): void {
    flow.peer.onAlive()
    this.#cm.confirm(now, flow.handshake.cmId)
  }

  /** The peer has sent the flow payload. */
  onData(now: Nanos, flow: Flow, frame: Frame, opcode: number): void {
    this.#concurrent.onData(now, flow, bth.psn(frame.view, frame.bth), isLast(opcode), isReadResponse(opcode))
  }

  /** Flows that send to this host now: what the receiver reports as N. */
  get concurrentFlows(): number {
    return this.#concurrent.count
  }

  /** Carries out what the connection manager has to say. */
  dispatch(now: Nanos): void {
    for (let event = this.#cm.pollEvent(); event !== null; event = this.#cm.pollEvent()) {
      try {
        this.#onEvent(now, event)
      } catch (defect) {
        this.#onCmDefect(now, event.id, defect)
      }
    }
  }

  /** A defect has shown at an event or deadline of that id of the connection manager, which may have no flow. */
  #onCmDefect(now: Nanos, id: number, defect: unknown): void {
    const flow = this.#byCmId.get(id)
    if (flow !== null) this.#nic.onDefect(now, flow, defect)
    else {
      this.#nic.countDefect(defect)
      this.#cm.disconnect(now, id)
    }
  }

  // ---- Events of the connection manager

  #onEvent(now: Nanos, event: CmEvent): void {
    if (event.type === 'connectRequest') {
      this.#onRequest(now, event)
      return
    }
    const flow = this.#byCmId.get(event.id)
    if (flow === null) return
    if (event.type === 'established') this.#onEstablished(now, flow, event)
    else if (event.type === 'rejected') this.close(now, flow, rejection(flow, event))
    else if (event.type === 'timedOut') {
      const dropped = this.#nic.refused.since(flow.handshake.refusedBefore, flow.remote)
      this.close(now, flow, unanswered(this.#nic.settings, flow, dropped))
    } else if (event.type === 'disconnected') {
      this.#onDisconnected(now, flow, event)
    } else if (event.type === 'challenged') {
      flow.peer.onChallenged()
      this.#nic.challenge(flow)
    }
  }

  #onDisconnected(now: Nanos, flow: Flow, event: Disconnected): void {
    const { cause } = event
    if (cause === 'peer') this.#endings.onLeft(now, flow, peerFailure(flow, event))
    else if (cause === 'local') this.close(now, flow, flow.ending.failure)
    else {
      const what = `connection to ${flow.remote} was lost (${cause})`
      this.close(now, flow, flow.ending.failure ?? new WeirError('WEIR_CONNECTION_LOST', what))
    }
  }

  #onRequest(now: Nanos, request: ConnectRequest): void {
    const words = wordsOfRequest(request)
    if (words === null && this.#refusesMtu(now, request)) return
    const answer = this.#decide(now, request, words, true, null)
    if (answer instanceof Uint8Array) {
      this.#cm.reject(now, request.id, Reason.CONSUMER, words === null ? NO_BYTES : answer)
      return
    }
    const { flow, data } = answer
    this.#halfOpen.set(flow, now)
    try {
      const params = this.#grant(flow, request)
      params.privateData = replyData(this.#nic.settings, flow, data)
      this.#cm.accept(now, request.id, params)
    } catch (error) {
      const why = this.#refuse(now, flow, error)
      this.#cm.reject(now, request.id, Reason.CONSUMER, words === null ? NO_BYTES : why)
    }
  }

  /**
   * Asks the listener. Returns the flow that it accepts, ready to receive, or private data of a REJ: why there is none.
   * @param isWritten a REQ has come; @param plan of a flow like this one, null = it has to be worked out
   */
  #decide(
    now: Nanos,
    request: ConnectRequest,
    words: PeerWords | null,
    isWritten: boolean,
    plan: FlowPlan | null,
  ): Accepted | Uint8Array {
    let flow: Flow | null = null
    try {
      flow = this.#admit(now, request, words, plan)
      this.#takeUp(now, flow, request, words, isWritten)
      flow.handler.onCreated?.(now, flow.connection)
      // A handler that has left has said so already.
      return flow.ending.phase === 'accepting' ? { flow, data: flow.handler.acceptData?.() } : NO_BYTES
    } catch (error) {
      return this.#refuse(now, flow, error)
    }
  }

  /** As #decide, of a request for which no REQ has come. @param alike this end of a connection like this one, null = it has to be worked out */
  #decideUnwritten(
    now: Nanos,
    request: ConnectRequest,
    words: PeerWords,
    alike: AlikeEnd | null,
  ): AcceptedUnwritten | Uint8Array {
    const answer = this.#decide(now, request, words, false, alike?.plan ?? null)
    if (answer instanceof Uint8Array) return answer
    const { flow, data = NO_BYTES } = answer
    if (alike !== null && data.length <= REPLY_BYTES_MAX) return { flow, data, words: alike.words }
    try {
      return { flow, data, words: wordsAsRead(this.#nic.settings, flow, data) }
    } catch (error) {
      return this.#refuse(now, flow, error)
    }
  }

  /** A listener or handler does not take a request. Returns what the peer is to hear. @param flow null: there is none yet */
  #refuse(now: Nanos, flow: Flow | null, error: unknown): Uint8Array {
    if (flow !== null) this.close(now, flow, asWeirError(error))
    this.#countUnlessRefusal(error)
    return refusal(error)
  }

  /** A flow for a request that the listener takes. Throws WEIR_REJECTED or WEIR_FULL, and what the listener throws. */
  #admit(now: Nanos, request: ConnectRequest, words: PeerWords | null, plan: FlowPlan | null): Flow {
    const listener = this.#listeners.get(request.port)
    if (listener === undefined) throw new WeirError('WEIR_REJECTED', `nobody listens on port ${request.port}`)
    this.#makeRoom(now)
    this.#nic.table.checkRoom()
    checkKey(this.#nic.settings, words, request)
    const privateData = applicationData(words, request.privateData)
    const { remote, port } = request
    const handler = listener.accept(now, { remote, udpPort: request.udpPort, port, privateData })
    return this.#makeFlow(plan ?? this.#planFor(now, request, words), handler, 'accepting')
  }

  #planFor(now: Nanos, { remote, pathMtu, udpPort }: ConnectRequest, words: PeerWords | null): FlowPlan {
    return planFlow(this.#nic, this.#reorderPool, {
      remote,
      udpPort: otherThanOwn(this.#nic.settings, udpPort),
      baseRttNs: undefined,
      // A Weir host says the same twice. With a key nobody on the path can change its words.
      pathMtu: words?.pathMtu ?? (pathMtu || undefined),
      isPlain: words === null,
      packetBytes: this.#nic.packetSizes.bytesTo(now, remote),
      cc: undefined,
    })
  }

  /** The passive end's flow takes over what the request says, and is ready to receive. */
  #takeUp(
    now: Nanos,
    flow: Flow,
    request: ConnectRequest,
    words: PeerWords | null,
    isWritten: boolean,
  ): void {
    if (isWritten) this.#known(flow, request.id)
    else flow.handshake.name(request.id)
    heed(this.#nic.settings, flow, request, words, isWritten ? request : null)
    flow.handshake.onPrivateData(applicationData(words, request.privateData))
    // As librdmacm: the passive side sends with the traffic class of the request's path.
    const dscp = request.trafficClass >>> 2
    const priority = priorityOfDscp(this.#nic.settings, dscp)
    flow.path.begin(this.#nic.sourcePorts.ofRequest(request, flow.qpn), dscp, priority)
    this.#nic.headers.prepare(flow, dscp)
    flow.handshake.expect(this.#nic.settings.random() & 0xffffff)
    if (!flow.qp.isSettled) flow.qp.modify(now, QpState.INIT, { access: REMOTE_ACCESS })
    this.#ready(now, flow, request, request.retryCount)
  }

  /** A handler that does not take a request says so by a WeirError. */
  #countUnlessRefusal(error: unknown): void {
    if (!(error instanceof WeirError) || error.code === 'WEIR_INTERNAL') this.#nic.countDefect(error)
  }

  /**
   * A plain RoCEv2 peer sends packets as long as its request says, and expects packets of that length. True if this host
   * cannot take them: it then rejects the request (IBA 12.6.7.2, reason 26).
   */
  #refusesMtu(now: Nanos, { id, pathMtu }: ConnectRequest): boolean {
    if (pathMtu <= plainPathMtu(this.#nic.settings)) return false
    this.#cm.reject(now, id, Reason.INVALID_PATH_MTU, NO_BYTES)
    return true
  }

  /** What this end accepts with, but for words. */
  #grant(flow: Flow, request: ConnectRequest): AcceptParams {
    return {
      qpn: flow.qpn,
      startingPsn: flow.handshake.receivePsn,
      responderResources: Math.min(READS_OUTSTANDING, request.responderResources),
      initiatorDepth: Math.min(READS_OUTSTANDING, request.initiatorDepth),
      rnrRetry: this.#nic.settings.rnrRetry,
    }
  }

  #onEstablished(now: Nanos, flow: Flow, event: Established): void {
    if (flow.ending.phase === 'connecting') {
      const { peer, privateData } = event
      const words = spokenWords(privateData)
      flow.handshake.onPrivateData(applicationData(words, privateData))
      if (!this.#takeAnswer(now, flow, peer, words, event)) return
    }
    this.#establish(now, flow, event.roundTripNs === null ? null : event.roundTripNs + this.#handedOverNs)
  }

  /** The active end's flow takes over what the answer says, and may send. False if it is not to be trusted: the flow fails. */
  #takeAnswer(
    now: Nanos,
    flow: Flow,
    peer: PeerParameters,
    words: PeerWords | null,
    written: { privateData: Uint8Array } | null,
  ): boolean {
    heed(this.#nic.settings, flow, peer, words, written)
    const { failure } = flow.ending
    if (failure !== null) {
      this.fail(now, flow, failure)
      return false
    }
    // The peer's MAC may not have been known, or was another one, when the request was made; `join` makes none before.
    this.#makeHeaders(flow)
    this.#ready(now, flow, peer, this.#nic.settings.retryCount)
    return true
  }

  /** @param roundTripNs of the messages, null = not measured */
  #establish(now: Nanos, flow: Flow, roundTripNs: Nanos | null): void {
    flow.ending.enter('established')
    this.#nic.flowEstablished(now, flow)
    if (this.#halfOpen.size > 0) this.#halfOpen.delete(flow)
    if (roundTripNs !== null) {
      flow.handshake.onRoundTrip(roundTripNs)
      // From REP to RTU: no application has to accept in between.
      if (!flow.handshake.active) flow.stats.rttNs = roundTripNs
    }
    this.#settleBaseRtt(flow)
    flow.handler.onEstablished(now, flow.connection)
    this.#nic.flowChanged(now, flow)
  }

  /**
   * Where T comes from: it is given; or a careful flow, or one to a peer that answers no probes, learns it from its first round
   * trips; or probes measure it. The active side has its controller, or begins to measure, at once; the passive one when it first
   * sends.
   */
  #settleBaseRtt(flow: Flow): void {
    const { fixedBaseRttNs, active } = flow.handshake
    if (fixedBaseRttNs > 0 && active) this.#nic.begin(flow, fixedBaseRttNs)
    else if (fixedBaseRttNs > 0) flow.sender.congestion.expect(fixedBaseRttNs)
    else if (this.#nic.settings.start === 'careful' || !flow.peer.isWeir) this.#nic.beginUnmeasured(flow)
    else if (flow.handshake.active) this.#nic.startProbe(flow)
  }

  // ---- Flows

  /**
   * When all places are taken, the oldest connection gives way that a peer has requested and not confirmed in time: who
   * forges its address never confirms any. If there is none, one gives way that this end has left without an answer.
   */
  #makeRoom(now: Nanos): void {
    const { table } = this.#nic
    if (!table.isFull) return
    const [oldest] = this.#halfOpen
    const isLate = oldest !== undefined && now - oldest[1] >= CONFIRM_WITHIN_NS
    const loser = isLate ? oldest[0] : table.flows.find(flow => flow?.ending.phase === 'closing')
    if (!loser) return
    if (isLate) this.#cm.counters.unconfirmedCutShort++
    this.leave(now, loser)
    this.close(now, loser, null)
  }

  #makeFlow(plan: FlowPlan, handler: ConnectionHandler, phase: FlowPhase): Flow {
    const flow = makeFlow(this.#nic, plan, handler, phase)
    flow.show(new NicConnection(this, flow))
    this.#nic.addFlow(flow)
    return flow
  }

  #ready(now: Nanos, flow: Flow, peer: PeerParameters, retryCount: number): void {
    if (flow.qp.isSettled) flow.qp.begin(peer.qpn, flow.handshake.receivePsn, peer.startingPsn)
    else this.#settle(now, flow, peer, retryCount)
    this.#nic.table.bindRemote(flow)
    const peerTimeout = flow.handshake.active
      ? timeoutExponent(this.#nic.settings.ackTimeoutNs)
      : peer.ackTimeoutExponent
    flow.peer.repeatsFor((retryCount + 1) * timeoutNs(peerTimeout))
  }

  /** The flow's queue pair may receive and send, by what both ends have said. */
  #settle(now: Nanos, flow: Flow, peer: PeerParameters, retryCount: number): void {
    flow.qp.modify(now, QpState.RTR, {
      remoteQpn: peer.qpn,
      receivePsn: flow.handshake.receivePsn,
      pathMtu: flow.peer.payloadMax,
      responderResources: Math.min(READS_OUTSTANDING, peer.responderResources),
      selectiveRepeat: flow.peer.selectiveRepeat,
      ackEveryPackets: flow.receiver.ackEveryPackets,
      // rdma_rxe passes over a NAK that follows another without an ACK, and then waits for its timer of seconds.
      acksBeforeNak: !flow.peer.isWeir,
      grantedPackets: grantedPackets(this.#nic.settings, flow),
    })
    flow.qp.modify(now, QpState.RTS, {
      sendPsn: peer.startingPsn,
      initiatorDepth: Math.min(READS_OUTSTANDING, peer.initiatorDepth),
      retryCount,
      rnrRetry: peer.rnrRetry,
      ackTimeoutExponent: this.#ackTimeoutExponent(flow, peer),
    })
  }

  /**
   * A plain RoCEv2 peer may take as long to answer as the handshake says (IBA 12.7.34): its silence ends the connection no sooner. Lost
   * packets do not wait for that, where there is a retransmission timer.
   */
  #ackTimeoutExponent(flow: Flow, peer: PeerParameters): number {
    const { ackTimeoutNs, retransmitTimeoutLeastNs } = this.#nic.settings
    const own = timeoutExponent(ackTimeoutNs)
    if (own === 0 || flow.peer.isWeir || retransmitTimeoutLeastNs === NEVER) return own
    return Math.max(own, Math.min(peer.ackTimeoutExponent, PLAIN_TIMEOUT_EXPONENT_MAX))
  }

  /** Takes back a flow whose request could not be made, or whose handler has failed at that: only the caller learns of it. */
  #abandon(now: Nanos, flow: Flow): void {
    if (flow.ending.phase === 'closed') return
    this.leave(now, flow)
    flow.ending.enter('closed')
    this.#remove(flow)
  }

  // ---- For Endings

  flush(now: Nanos, flow: Flow): void {
    if (flow.qp.state !== QpState.ERR) flow.qp.modify(now, QpState.ERR)
    flow.ending.takeFailedStatus()
    this.#nic.flowChanged(now, flow)
  }

  /** True if this end of the flow has nothing to do, and does not count as one that sends to this host. */
  isIdle(flow: Flow): boolean {
    return flow.ending.phase === 'established' && !this.#concurrent.counts(flow)
  }

  /** Ends an established flow that is idle, without telling the peer, whose end the caller releases too. */
  release(now: Nanos, flow: Flow): void {
    const { joinedQpn, cmId } = flow.handshake
    if (joinedQpn === 0) this.#cm.forget(cmId)
    flow.ending.enter('closed')
    this.#remove(flow)
    flow.handler.onClosed(now, flow.connection, null)
  }

  #remove(flow: Flow): void {
    if (flow.handshake.joinedQpn === 0) this.#byCmId.deleteIf(flow.handshake.cmId, flow)
    if (this.#halfOpen.size > 0) this.#halfOpen.delete(flow)
    this.#concurrent.end(flow)
    this.#nic.removeFlow(flow)
  }

  close(now: Nanos, flow: Flow, error: WeirError | null): void {
    if (flow.ending.phase === 'closed') return
    flow.ending.enter('closed')
    try {
      this.flush(now, flow)
    } catch (defect) {
      // What its queue pair shows now must not keep the flow from its end.
      this.#nic.countDefect(defect)
    }
    this.#deliverRest(now, flow)
    this.#remove(flow)
    try {
      flow.handler.onClosed(now, flow.connection, error)
    } catch (defect) {
      this.#nic.countDefect(defect)
    }
  }

  /** Each completion reaches the handler once, also if the handler fails at those before it. */
  #deliverRest(now: Nanos, flow: Flow): void {
    for (let attempts = flow.completions.pending + 1; attempts > 0; attempts--) {
      try {
        this.#nic.deliverCompletions(now, flow)
        return
      } catch (defect) {
        this.#nic.countDefect(defect)
      }
    }
  }
}

/** Room for a full packet of this host with all its headers. */
function keptBytes({ pathMtu, packetBytesMax, address, pool }: NicSettings): number {
  const payload = Math.max(pathMtu, filledPayload(packetBytesMax, address, null))
  return Math.min(pool.slotBytes, payload + SLOT_BYTES - PAYLOAD_MAX)
}

/** An application's own error, as the end of a connection reports it. */
function asWeirError(error: unknown): WeirError {
  if (error instanceof WeirError) return error
  return new WeirError('WEIR_INTERNAL', error instanceof Error ? error.message : String(error), {
    cause: error,
  })
}

/**
 * Packets that the peer may have in flight: data within what one flow may have of the budget that this end has advertised, and PSNs of the
 * READs that fit into its own.
 */
function grantedPackets({ receiveBudgetBytes, packetsInFlightMax }: NicSettings, flow: Flow): number {
  const { flowBytes } = flow.sender.congestion.hostShare
  const bytes = flowBytesOf(receiveBudgetBytes ?? Number.POSITIVE_INFINITY) + flowBytes
  return Math.min(packetsInFlightMax, Math.max(GRANTED_LEAST, Math.ceil(bytes / flow.peer.payloadMax)))
}
