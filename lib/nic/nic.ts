import type { AckSample } from '../cc/congestion-control.js'
import type { Duties } from '../cm/duties.js'
import type { Sidr } from '../cm/sidr.js'
import { WeirError } from '../errors.js'
import type { Frame } from '../frame/frame.js'
import type { Node } from '../frame/node.js'
import type { ReceivedRun } from '../frame/received-run.js'
import { DatagramCounters } from '../qp/datagram/datagram-queue-pair.js'
import { MemoryTable } from '../qp/memory/memory.js'
import { TxKind } from '../qp/queue-pair.js'
import { Completion } from '../qp/queues/completion-queue.js'
import { ReadRoom } from '../qp/queues/read-room.js'
import { workStatusText } from '../qp/queues/work-status.js'
import { UnreliableCounters } from '../qp/unreliable/counters.js'
import { DeadlineHeap } from '../time/deadline-heap.js'
import { type Nanos, NEVER, serialisationNs } from '../time/nanos.js'
import { formatDuration } from '../units/units.js'
import type { HostAddress } from '../wire/net/address.js'
import type { HopRecords } from '../wire/telemetry/hop-records.js'
import { type NicConfig, type NicSettings, nicSettings, type OwnSettings, settingsLike } from './config.js'
import { Connections } from './connect/connections.js'
import { FlowStart } from './connect/flow-start.js'
import type { BaseRttProbe } from './feedback/base-rtt-probe.js'
import { flowBytesOf } from './feedback/host-share.js'
import { DropTotals } from './flow/drop-totals.js'
import type { Flow } from './flow/flow.js'
import { FlowTable } from './flow/flow-table.js'
import type { KeepAlive } from './flow/keep-alive.js'
import { PacketSizes } from './flow/packet-sizes.js'
import { PathLengths } from './flow/path-lengths.js'
import { PeerProcesses } from './flow/peer-processes.js'
import type { LinkLocal } from './link-local.js'
import type { AddressHandle, AddressOptions } from './paced/address-handle.js'
import type { DatagramOptions, DatagramPair } from './paced/datagram-pair.js'
import type { PacedHandler } from './paced/paced-pair.js'
import { PacedPairs } from './paced/paced-pairs.js'
import type { UnreliableOptions, UnreliablePair } from './paced/unreliable-pair.js'
import { Failover } from './paths/failover.js'
import { PathSelector } from './paths/path-selector.js'
import { Feedback } from './rx/feedback.js'
import { type RxEvents, RxPipeline } from './rx/rx-pipeline.js'
import { HostHop } from './telemetry/host-hop.js'
import { EchoRooms } from './telemetry/telemetry-echo.js'
import { ANY_CONTROL, Control, ControlPackets } from './tx/control-packets.js'
import { HostHeaders } from './tx/host-headers.js'
import { PfcReceiver } from './tx/pfc-receiver.js'
import { Scheduler } from './tx/scheduler.js'
import { SourcePorts } from './tx/source-ports.js'
import { TxPipeline } from './tx/tx-pipeline.js'
import type {
  Connection,
  ConnectionHandler,
  ConnectOptions,
  Listener,
  QueuePairPeer,
  UnconnectedQueuePair,
  Verbs,
} from './types.js'

const NO_PACED = { datagram: new DatagramCounters(), unreliable: new UnreliableCounters() }
const MEMORY_REGIONS_MAX = 1 << 16
/** How long to wait before trying again when no frame was free, ns. */
const NO_FRAME_RETRY_NS = 1000

/**
 * A host's NIC, as the draft draws it: rx pipeline, congestion-control module, scheduler, tx pipeline, here around
 * queue pairs and a connection manager. One state machine for virtual and real time.
 *
 * It sends management datagrams first, then answers to probes and probes, then acknowledgements, then data.
 */
export class Nic implements Node, Verbs, RxEvents {
  readonly memory: MemoryTable
  readonly address: HostAddress
  readonly settings: NicSettings
  readonly table: FlowTable
  readonly sourcePorts: SourcePorts
  readonly headers: HostHeaders
  /** This host as the last hop of paths to it, or null. */
  readonly hostHop: HostHop | null
  readonly echoRooms = new EchoRooms()
  readonly pathLengths: PathLengths
  readonly packetSizes: PacketSizes
  /** What the switch lets this host send. */
  readonly pfc: PfcReceiver
  /** What its queue pairs request by READs. */
  readonly readRoom: ReadRoom
  readonly dropTotals = new DropTotals()
  /** Defects of this end that have ended a connection or dropped a datagram. */
  #defects = 0
  readonly #tx: TxPipeline
  readonly #rx: RxPipeline
  readonly #scheduler: Scheduler
  readonly #connections: Connections
  readonly #duties: Duties
  /** Made with the first queue pair that nobody acknowledges. */
  #paced: PacedPairs | null = null
  /** One entry a flow: the earliest deadline of its queue pair, controller and probe. */
  readonly #timers = new DeadlineHeap()
  #timerCount = 0
  readonly #control: ControlPackets
  readonly #feedback: Feedback
  readonly #start: FlowStart
  readonly #paths: PathSelector
  readonly #failover: Failover
  readonly #peerProcesses = new PeerProcesses()
  /** Flows with news for their handlers, the first so many, and, by index, whether a flow is one. */
  readonly #dirty: (Flow | null)[]
  #dirtyCount = 0
  readonly #isDirty: Uint8Array
  #dispatching = false
  /** The flow that an expected packet was of. It is considered once its handler's answer has left, or at the next event. */
  #inHand: Flow | null = null
  #hasAnswered = false
  readonly #completion = new Completion()
  /** The priority of the packets of a run that have not been handed out. */
  #runPriority = 0
  /** Rate of the host's link now, bit/s. */
  #linkRateBps: number
  /** Speaks with the switch. Null: nobody does. */
  #linkLocal: LinkLocal | null = null
  /** When the host's link is free again, or a frame is to be asked for again. */
  #linkBusyUntil: Nanos = 0

  constructor(config: NicConfig, settings: NicSettings = nicSettings(config)) {
    this.settings = settings
    this.address = config.address
    const { hostIntake, lineRateBps } = this.settings
    this.#linkRateBps = lineRateBps
    this.pathLengths = new PathLengths(this.settings.int.hops, this.settings.intHopsMax)
    this.packetSizes = new PacketSizes(this.settings.packetBytesMax)
    this.hostHop = hostIntake === undefined ? null : new HostHop(hostIntake, lineRateBps)
    this.sourcePorts = new SourcePorts(this.settings.sourcePorts ?? null)
    this.headers = new HostHeaders(this.settings, this.sourcePorts)
    this.memory = new MemoryTable(MEMORY_REGIONS_MAX, config.random)
    this.table = new FlowTable(this.settings.connectionsMax, config.random)
    this.#dirty = new Array(this.table.capacity).fill(null)
    this.#isDirty = new Uint8Array(this.table.capacity)
    this.#scheduler = new Scheduler(this.table.flows, this.table.capacity)
    this.#tx = new TxPipeline({
      pool: config.pool,
      icrc: this.settings.icrc !== 'off',
      gathers: this.settings.gathers,
      sendsRuns: this.settings.sendsRuns,
    })
    this.#rx = new RxPipeline(config.address, this.table, this, this.settings)
    const { receiveBudgetBytes = Number.POSITIVE_INFINITY } = this.settings
    this.readRoom = new ReadRoom(flowBytesOf(receiveBudgetBytes))
    this.#connections = new Connections(this)
    this.#duties = this.#connections.duties
    this.pfc = new PfcReceiver(this.settings.lineRateBps)
    const concurrentFlows = () => this.#connections.concurrentFlows
    const { flows, capacity } = this.table
    this.#control = new ControlPackets(flows, capacity, this.pfc, this.#tx, concurrentFlows)
    const { headers, sourcePorts } = this
    this.#feedback = new Feedback(this.#control, sourcePorts, concurrentFlows, this)
    this.#paths = new PathSelector(settings, headers, sourcePorts, this.#control, this.#rx.counters)
    this.#failover = new Failover(flows, this.#paths)
    this.#start = new FlowStart(this.settings, this.#control, this.#paths)
  }

  /** A NIC that differs from that one in these settings alone. Throws WEIR_BAD_ARGUMENT for one that is out of its range. */
  static like(other: Nic, own: OwnSettings): Nic {
    const settings = settingsLike(other.settings, own)
    return new Nic(settings, settings)
  }

  /** As RxPipeline. */
  get refused(): RxPipeline['refused'] {
    return this.#rx.refused
  }

  get counters(): {
    rx: RxPipeline['counters']
    tx: TxPipeline['counters']
    pause: PfcReceiver['counters']
    feedback: Feedback['counters']
    cm: Connections['counters']
    datagram: DatagramCounters
    unreliable: UnreliableCounters
    failover: Failover['counters']
    defects: number
  } {
    const { counters: feedback } = this.#feedback
    const { counters: cm } = this.#connections
    const { counters: rx } = this.#rx
    const { counters: tx } = this.#tx
    const { datagram, unreliable } = this.#paced ?? NO_PACED
    const pause = this.pfc.counters
    const { counters: failover } = this.#failover
    return { rx, tx, pause, feedback, cm, datagram, unreliable, failover, defects: this.#defects }
  }

  // ---- Verbs

  listen(port: number, listener: Listener): void {
    this.#connections.listen(port, listener)
  }

  unlisten(port: number): void {
    this.#connections.unlisten(port)
  }

  connect(
    now: Nanos,
    remote: HostAddress,
    port: number,
    handler: ConnectionHandler,
    options: ConnectOptions = {},
  ): Connection {
    return this.#connections.connect(now, remote, port, handler, options)
  }

  /** As Connections. */
  createQueuePair(
    now: Nanos,
    remote: HostAddress,
    handler: ConnectionHandler,
    options: ConnectOptions = {},
  ): UnconnectedQueuePair {
    return this.#connections.createQueuePair(now, remote, handler, options)
  }

  /** As Connections. */
  connectQueuePair(now: Nanos, qpn: number, peer: QueuePairPeer): void {
    this.#connections.connectQueuePair(now, qpn, peer)
    this.#dispatch(now)
  }

  /** As PacedPairs. */
  createDatagramPair(now: Nanos, handler: PacedHandler, options: DatagramOptions): DatagramPair {
    return this.#withPaced().createDatagram(now, handler, options)
  }

  /** As PacedPairs. */
  createUnreliablePair(
    now: Nanos,
    remote: HostAddress,
    handler: PacedHandler,
    options: UnreliableOptions,
  ): UnreliablePair {
    return this.#withPaced().createUnreliable(now, remote, handler, options)
  }

  /** As PacedPairs. */
  createAddress(remote: HostAddress, options: AddressOptions = {}): AddressHandle {
    return this.#withPaced().createAddress(remote, options)
  }

  /** As PacedPairs. */
  destroyAddress(id: number): void {
    this.#paced?.destroyAddress(id)
  }

  /** Ports of datagrams, by which programs learn QPN and Q_Key (RDMA_PS_UDP). */
  get sidr(): Sidr {
    return this.#connections.sidr
  }

  #withPaced(): PacedPairs {
    this.#paced ??= new PacedPairs(this)
    return this.#paced
  }

  // ---- For programs that have both ends

  /**
   * As `connect`, to that NIC: both ends agree without messages, and their handlers learn it before this returns. Null where only
   * messages can say what there is to be said: then nothing has happened. See introduce.
   * @param roundTripNs that the network would have taken for a datagram and its answer, 0 = not known
   */
  join(
    now: Nanos,
    to: Nic,
    port: number,
    handler: ConnectionHandler,
    options: ConnectOptions,
    roundTripNs: Nanos,
  ): Connection | null {
    if (!this.#connections.mayJoin(to.#connections, port, options)) return null
    const connection = this.#connections.join(now, to.#connections, port, handler, options, roundTripNs)
    this.#dispatch(now)
    to.#dispatch(now)
    return connection
  }

  /**
   * Hands the next management datagram for that NIC to it, without a frame. False if there is none. Meanwhile neither has to be
   * polled. See introduce.
   * @param roundTripNs that the network would have taken for a datagram and its answer, 0 = not known
   */
  handOver(now: Nanos, to: Nic, roundTripNs: Nanos): boolean {
    if (!this.#connections.handOver(now, to.#connections, roundTripNs)) return false
    to.#dispatch(now)
    return true
  }

  /** True if this end of an established flow has nothing to send, and waits for nothing. */
  isIdle(now: Nanos, flow: Flow): boolean {
    return (
      this.#connections.isIdle(flow) &&
      this.#isDirty[flow.index] === 0 &&
      !this.#control.waits(flow, ANY_CONTROL) &&
      flow.next() === TxKind.NONE &&
      flow.qp.sendPending === 0 &&
      this.#trafficDeadline(now, flow) === NEVER
    )
  }

  /** Ends an established flow without a packet. Its handler's `onClosed` is called. See part. */
  release(now: Nanos, flow: Flow): void {
    this.#connections.release(now, flow)
  }

  // ---- Node

  onFrame(now: Nanos, _port: number, frame: Frame, run: ReceivedRun | null = null): void {
    this.#letGo(now)
    // A switch that forwards a frame has parsed it; a frame straight off the wire may be meant for the port itself.
    try {
      if (frame.l3 < 0 && this.pfc.receive(now, frame)) this.#updateHeld(now)
      else if (frame.l3 >= 0 || this.#linkLocal === null || !this.#linkLocal.receive(now, frame))
        this.#rx.receive(now, frame, run)
    } catch (defect) {
      // It is of no connection: those are ended where it shows. The frame is dropped.
      this.countDefect(defect)
    }
    this.settings.pool.give(frame)
    if (this.#dirtyCount > 0) this.#dispatch(now)
  }

  takeInPlace(now: Nanos, frame: Frame): boolean {
    this.#letGo(now)
    if (!this.#rx.takeExpected(now, frame)) return false
    if (this.#dirtyCount > 0) this.#dispatch(now)
    return true
  }

  onTimeout(now: Nanos): void {
    this.#letGo(now)
    if (this.pfc.held !== 0) this.#updateHeld(now)
    while (this.#timers.firstTime() <= now) this.#flowTimeout(now, this.table.flows[this.#timers.first()]!)
    if (this.#duties.count > 0) this.#connections.onTimeout(now)
    if (this.#linkLocal !== null && this.#linkLocal.nextTimeout() <= now) this.#linkLocal.onTimeout(now)
    this.#dispatch(now)
  }

  /** A switch says that a link between switches has failed: see Failover. */
  linkFailed(now: Nanos): void {
    this.headers.spread()
    for (const flow of this.#failover.onLinkFailed(now)) this.#setTimer(now, flow)
  }

  /** All links that had failed are up again. */
  linksMended(): void {
    this.headers.gather()
    this.#failover.onMended()
  }

  /** A flow has been established. */
  flowEstablished(now: Nanos, flow: Flow): void {
    this.#failover.onEstablished(now, flow)
    const { keepAlive, peer, remote } = flow
    // Another host's queue pairs may be lost one by one: those of a program that ends, say.
    if (keepAlive.isOn && peer.isWeir) this.#peerProcesses.join(keepAlive, remote, peer.udpPort)
    keepAlive.onHeard(now)
  }

  /** From now on it sends what that has for the switch, and hands to it what comes from there. */
  setLinkLocal(linkLocal: LinkLocal): void {
    this.#linkLocal = linkLocal
  }

  /** The host's link has another rate from now on. Congestion controllers keep the line rate of the settings. */
  setLinkRate(_now: Nanos, rateBps: number): void {
    this.#linkRateBps = rateBps
    this.pfc.setRate(rateBps)
  }

  nextTimeout(): Nanos {
    // Work that has failed in its turn to send is news, after which no packet and no deadline need come.
    if (this.#dirtyCount > 0) return 0
    const send =
      this.#inHand !== null || this.#goesOn() || this.#hasControl() || this.readRoom.calls
        ? 0
        : this.#scheduler.nextTimeout(0)
    let due = this.#paced === null ? send : Math.min(send, this.#paced.nextTimeout())
    let timer = NEVER
    if (this.#linkLocal !== null) {
      due = Math.min(due, this.#linkLocal.dueNs)
      timer = this.#linkLocal.nextTimeout()
    }
    const ready = due === NEVER ? NEVER : Math.max(due, this.#linkBusyUntil)
    return Math.min(
      timer,
      ready,
      this.pfc.nextTimeout(),
      this.#timers.firstTime(),
      this.#duties.count > 0 ? this.#connections.nextTimeout() : NEVER,
    )
  }

  pollTransmit(now: Nanos): Frame | null {
    if (this.#linkBusyUntil > now) {
      this.#letGo(now)
      return null
    }
    if (this.pfc.held !== 0) this.#updateHeld(now)
    const missed = this.#tx.counters.noFrame
    const frame = this.#goesOn()
      ? this.#tx.nextOfRun()
      : (this.#linkLocal?.transmit(now, this.settings.pool) ?? this.#answer(now) ?? this.#nextFrame(now))
    if (frame === null) {
      // Nothing reports when frames are given back: without this wait the driver would call again at once, for ever.
      if (this.#tx.counters.noFrame > missed) this.#linkBusyUntil = now + NO_FRAME_RETRY_NS
      return null
    }
    // A loop that woke late may make up for some of it, so that the link's rate is kept.
    const startNs = Math.max(this.#linkBusyUntil, now - this.settings.slackNs)
    const packetNs = serialisationNs(frame.wireLength, this.#linkRateBps)
    this.#linkBusyUntil = startNs + (1 + frame.followers) * packetNs
    frame.port = 0
    frame.departNs = this.#linkBusyUntil
    return frame
  }

  /** The next packet has been written already, and may leave: the run that it belongs to goes on. */
  #goesOn(): boolean {
    return this.#tx.run.size > 0 && !this.pfc.isHeld(this.#runPriority)
  }

  /**
   * What the flow in hand answers, with the acknowledgement of the question, if nothing else has its turn before it. Else null, and the flow
   * waits for its turn. What else the flow has to be considered for may wait until the answer has left.
   */
  #answer(now: Nanos): Frame | null {
    const flow = this.#inHand
    if (flow === null) return null
    let frame: Frame | null = null
    try {
      if (!this.#hasAnswered && this.#isIdle(now) && flow.isOrdinary && flow.mayCarryAck(now))
        frame = this.#tx.carrier(now, flow)
    } catch (defect) {
      this.#inHand = null
      this.onDefect(now, flow, defect)
      return null
    }
    if (frame === null) this.#letGo(now)
    else {
      this.#hasAnswered = true
      flow.sentFrames++
    }
    return frame
  }

  /** No packet waits that would leave before another one. */
  #isIdle(now: Nanos): boolean {
    return this.pfc.held === 0 && !this.#pacedIsDue(now) && !this.#hasControl() && this.#scheduler.isIdle(now)
  }

  /** A packet that nobody acknowledges may leave now. */
  #pacedIsDue(now: Nanos): boolean {
    return this.#paced?.isDue(now) ?? false
  }

  /** The flow in hand waits for its turn. */
  #letGo(now: Nanos): void {
    const flow = this.#inHand
    if (flow === null) return
    this.#inHand = null
    try {
      if (this.#hasAnswered && flow.sender.telemetryProbe !== null) this.#feedback.considerProbe(now, flow)
      this.flowChanged(now, flow)
    } catch (defect) {
      this.onDefect(now, flow, defect)
    }
  }

  #nextFrame(now: Nanos): Frame | null {
    const yields = this.#control.yields()
    if (this.#control.isEmpty && !this.#pacedIsDue(now) && !this.#connections.wantsToSend)
      return this.#nextScheduled(now)
    // Path probes may come faster than the link takes them: acknowledgements and data must not starve.
    const others = yields ? this.#nextScheduled(now) : null
    const first = others ?? this.#nextControl(now)
    if (first !== null) return first
    // Their pace leaves most of the link to connections, and none of these may keep them from their turn.
    return this.#paced?.poll(now, this.#tx) ?? this.#nextScheduled(now)
  }

  #nextScheduled(now: Nanos): Frame | null {
    const acknowledging = this.#scheduler.nextAck()
    if (acknowledging !== null) return this.#acknowledgement(now, acknowledging)
    if (this.readRoom.calls) this.#callReader(now)
    const sending = this.#scheduler.nextReady(now)
    return sending === null ? null : this.#data(now, sending, this.#scheduler.readyKind)
  }

  #acknowledgement(now: Nanos, flow: Flow): Frame | null {
    let frame: Frame | null = null
    try {
      const carries = flow.mayCarryAck(now)
      frame = carries
        ? this.#tx.carrier(now, flow)
        : this.#tx.acknowledgement(now, flow, this.#connections.concurrentFlows)
      if (frame !== null) flow.sentFrames++
      this.#considerSent(now, flow)
      if (carries) this.#scheduler.carried(flow, now)
      else this.#scheduler.update(flow, now)
      // An acknowledgement has no deadline. Where there is nothing else to send, none has changed.
      this.#afterSend(now, flow, carries || flow.qp.hasWork)
    } catch (defect) {
      this.onDefect(now, flow, defect)
    }
    return frame
  }

  /** @param kind of packet that is next */
  #data(now: Nanos, flow: Flow, kind: TxKind): Frame | null {
    let frame: Frame | null = null
    try {
      const { run } = this.#tx
      // One that the switch has paused stays as it is, and what others send meanwhile leaves without runs.
      const mayRun = run.size === 0
      frame = this.#tx.data(now, flow, kind, mayRun)
      const packets = Math.max(1, this.#tx.written)
      if (packets > 1) this.#runPriority = flow.path.priority
      if (frame !== null) flow.sentFrames += packets
      this.#considerSent(now, flow)
      this.#scheduler.sent(flow, now, packets)
      this.#afterSend(now, flow, true)
    } catch (defect) {
      this.onDefect(now, flow, defect)
    }
    return frame
  }

  /** There is room for the READ that has waited longest. */
  #callReader(now: Nanos): void {
    const flow = this.table.find(this.readRoom.call())
    if (flow !== null) this.#scheduler.update(flow, now)
  }

  /** True if a packet that is not scheduled can be sent. */
  #hasControl(): boolean {
    return this.#mayDatagram() || (!this.#control.isEmpty && this.#control.isReady())
  }

  #mayDatagram(): boolean {
    return this.#duties.count > 0 && this.#connections.wantsToSend && !this.pfc.isHeld(this.settings.priority)
  }

  #nextControl(now: Nanos): Frame | null {
    let frame = this.#mayDatagram() ? this.#nextDatagram(now) : null
    if (frame !== null) return frame
    try {
      frame = this.#control.next(now)
      if (frame !== null) this.#controlSent(now, this.#control.currentFlow!)
    } catch (defect) {
      this.onDefect(now, this.#control.currentFlow!, defect)
    }
    return frame
  }

  #nextDatagram(now: Nanos): Frame | null {
    try {
      return this.#connections.nextDatagram(now, this.#tx)
    } catch (defect) {
      this.countDefect(defect)
      return null
    }
  }

  /** The packet may have carried the acknowledgement. Work posted meanwhile had to wait behind that, and so had the measuring of T. */
  #controlSent(now: Nanos, flow: Flow): void {
    flow.sentFrames++
    if (flow.sender.needsBaseRtt()) this.#start.onFirstWork(flow)
    this.#scheduler.update(flow, now)
    this.#afterSend(now, flow, true)
  }

  /** Stops and resumes priorities, as the switch has asked, between two packets. Acknowledgements stop too. */
  #updateHeld(now: Nanos): void {
    if (this.pfc.update(now)) this.#scheduler.hold(this.pfc.held)
  }

  /** What a flow that has sent may do beside sending on. */
  #considerSent(now: Nanos, flow: Flow): void {
    // What was posted while an acknowledgement was owed had to wait behind that.
    if (flow.sender.needsBaseRtt()) this.#start.onFirstWork(flow)
    if (flow.sender.telemetryProbe !== null) this.#feedback.considerProbe(now, flow)
    this.#choosePath(now, flow)
  }

  /** A flow that has sent is scheduled anew: its deadlines, and its end, may follow. @param timed there may be earlier deadlines */
  #afterSend(now: Nanos, flow: Flow, timed: boolean): void {
    const { doubt, selection } = flow.path
    if (doubt !== null) this.#failover.onSent(now, flow)
    if (timed || doubt !== null || selection !== null) this.#setTimer(now, flow)
    if (flow.ending.hasNews) this.#markDirty(flow)
    if (flow.ending.endsNs !== NEVER) this.#connections.goOnEnding(now, flow)
  }

  #choosePath(now: Nanos, flow: Flow): void {
    if (flow.path.selection !== null) this.#paths.consider(now, flow)
  }

  // ---- RxEvents

  onManagementDatagram(now: Nanos, frame: Frame, at: number, end: number): void {
    this.#connections.onDatagram(now, frame, at, end)
  }

  onMarked(now: Nanos, flow: Flow, packets: number): void {
    if (flow.receiver.onMarked(now, packets)) this.#control.push(flow, Control.CNP)
    else if (flow.receiver.nextTimeout() !== NEVER) this.#setTimer(now, flow)
  }

  onAlive(now: Nanos, flow: Flow): void {
    this.#connections.onAlive(now, flow)
  }

  onPeerMoved(flow: Flow, sourcePort: number): void {
    this.#paths.onPeerMoved(flow, sourcePort)
  }

  onRepeated(flow: Flow, sourcePort: number): void {
    this.#failover.onRepeated(flow, sourcePort)
  }

  onData(now: Nanos, flow: Flow, frame: Frame, opcode: number): void {
    this.#connections.onData(now, flow, frame, opcode)
  }

  onCollected(now: Nanos, flow: Flow, frame: Frame): void {
    this.#feedback.onCollected(now, flow, frame)
  }

  onVendor(now: Nanos, flow: Flow, frame: Frame, opcode: number, sample: AckSample): boolean {
    return this.#feedback.onVendor(now, flow, frame, opcode, sample)
  }

  onBaseRttAnswer(now: Nanos, flow: Flow, sequence: number, { heardNs, hops }: AckSample): void {
    const probe = flow.sender.baseRttProbe!
    if (flow.sender.dataInFlight(now)) probe.clean = false
    probe.onAnswer(heardNs, sequence, hops)
    if (this.#advance(now, flow, probe)) this.flowChanged(now, flow)
  }

  #advance(now: Nanos, flow: Flow, probe: BaseRttProbe): boolean {
    const measured = this.#start.advance(now, flow)
    if (probe.onlyShort) this.#onShortPath(now, flow)
    return measured
  }

  /** The peer answers, but no probe of full size. A flow whose data does not arrive either ends. */
  #onShortPath(now: Nanos, flow: Flow): void {
    const { remote, qp } = flow
    const tried = flow.peer.packetBytes
    const bytes = this.packetSizes.shorten(now, remote, tried)
    if (bytes === 0 || !qp.awaitsFull) return
    const what = `connection to ${remote}: packets of ${tried} bytes do not arrive there, shorter ones do: connect again, new connections have packets of ${bytes} bytes`
    this.#connections.fail(now, flow, new WeirError('WEIR_CONNECTION_LOST', what))
  }

  onLongPath(flow: Flow, switches: number): void {
    this.pathLengths.learn(flow.remote, switches)
  }

  onPathAnswer(now: Nanos, flow: Flow, sequence: number, hops: HopRecords): void {
    if (this.#paths.onAnswer(now, flow, sequence, hops)) this.flowChanged(now, flow)
  }

  onRaceAnswer(now: Nanos, flow: Flow, sequence: number): void {
    this.#failover.onAnswer(now, flow, sequence)
    this.#setTimer(now, flow)
  }

  onUnacknowledged(now: Nanos, frame: Frame, qpn: number): boolean {
    return this.#paced?.onPacket(now, frame, qpn) ?? false
  }

  hasUnacknowledged(qpn: number): boolean {
    return this.#paced?.has(qpn) ?? false
  }

  onExpected(flow: Flow): void {
    this.#inHand = flow
    this.#hasAnswered = false
    if (hasNews(flow)) this.#markDirty(flow)
  }

  onFlowChanged(now: Nanos, flow: Flow, received: boolean): void {
    this.#connections.onTraffic(now, flow)
    // What the peer asks for has no deadline here, nor has the answer.
    this.#reconsider(now, flow, !received || flow.qp.hasWork)
  }

  /** A defect has shown in the work of one flow: that one ends, the others go on. */
  onDefect(now: Nanos, flow: Flow, defect: unknown): void {
    this.countDefect(defect)
    this.#connections.onDefect(now, flow, defect)
    if (flow.ending.phase !== 'closed') this.#markDirty(flow)
  }

  // ---- For Connections

  /** A defect has shown: throws it, or counts it, as `defects` of the settings says. */
  countDefect(defect: unknown): void {
    this.#tx.recover()
    if (this.settings.defects === 'throw') throw defect
    this.#defects++
    try {
      this.settings.onDefect(defect)
    } catch {
      // There is nobody else to tell.
      this.#defects++
    }
  }

  /** As FlowStart. */
  checkController(cc: ConnectOptions['cc']): void {
    this.#start.checkController(cc)
  }

  /** The flow has new work, a new state or news of its packets: schedules it, and its handler's events. */
  flowChanged(now: Nanos, flow: Flow): void {
    if (flow === this.#inHand) {
      if (hasNews(flow)) this.#markDirty(flow)
      return
    }
    this.#reconsider(now, flow, true)
  }

  /** @param timed there may be earlier deadlines */
  #reconsider(now: Nanos, flow: Flow, timed: boolean): void {
    const { sender, path } = flow
    if (flow.promisesChanged) this.#start.agreeAgain(flow)
    if (sender.needsBaseRtt()) this.#start.onFirstWork(flow)
    if (path.peerSourcePort !== path.sourcePort && path.peerSourcePort !== 0) this.#paths.follow(now, flow)
    this.#choosePath(now, flow)
    this.#scheduler.update(flow, now)
    if (timed || path.doubt !== null || path.selection !== null) this.#setTimer(now, flow)
    if (hasNews(flow)) this.#markDirty(flow)
  }

  /** As FlowStart. */
  startProbe(flow: Flow): void {
    this.#start.measure(flow)
  }

  /** As FlowStart. `flowChanged` is to follow. */
  begin(flow: Flow, baseRttNs: Nanos): void {
    this.#start.begin(flow, baseRttNs)
  }

  /** As FlowStart. `flowChanged` is to follow. */
  beginUnmeasured(flow: Flow): void {
    this.#start.beginUnmeasured(flow)
  }

  /** Asks the flow's peer a question that it answers if it knows the flow. */
  challenge(flow: Flow): void {
    this.#control.push(flow, Control.CHALLENGE)
  }

  addFlow(flow: Flow): void {
    this.table.add(flow)
    while (this.#timerCount <= flow.index) {
      this.#timers.add()
      this.#timerCount++
    }
  }

  removeFlow(flow: Flow): void {
    if (flow === this.#inHand) this.#inHand = null
    this.#scheduler.remove(flow)
    this.#control.remove(flow)
    this.#paths.remove(flow)
    this.#timers.set(flow.index, NEVER)
    const asksForAll = this.#peerProcesses.leave(flow.keepAlive)
    if (asksForAll !== null) this.#wakeToAsk(asksForAll)
    this.#isDirty[flow.index] = 0
    this.dropTotals.take(flow)
    flow.receiver.echo.end()
    this.table.remove(flow)
  }

  /** Hands the flow's completions to its handler. */
  deliverCompletions(now: Nanos, flow: Flow): void {
    while (flow.completions.poll(this.#completion)) {
      flow.handler.onCompletion(now, flow.connection, this.#completion)
    }
  }

  /** Runs the handlers of flows that have something to say; harmless from within a handler. */
  dispatch(now: Nanos): void {
    this.#dispatch(now)
  }

  // ---- Timers, probes, events

  #flowTimeout(now: Nanos, flow: Flow | null): void {
    const index = this.#timers.first()
    if (flow === null) {
      this.#timers.set(index, NEVER)
      return
    }
    try {
      const deadline = this.#deadlineOf(now, flow)
      if (deadline > now && flow.ending.endsNs > now) this.#timers.set(index, deadline)
      else this.#considerTimeout(now, flow)
    } catch (defect) {
      this.#timers.set(index, NEVER)
      this.onDefect(now, flow, defect)
    }
  }

  #considerTimeout(now: Nanos, flow: Flow): void {
    const { sender } = flow
    sender.onTimeout(now)
    if (flow.receiver.takeCnp(now)) this.#control.push(flow, Control.CNP)
    if (sender.takeQuestion()) this.challenge(flow)
    if (flow.ending.phase === 'established') this.#keepAlive(now, flow)
    const probe = sender.baseRttProbe
    if (probe !== null && probe.nextTimeout() <= now) {
      probe.onTimeout(now)
      this.#advance(now, flow, probe)
    }
    if (sender.congestion.baseRtt?.takeDue(now)) this.#start.measure(flow)
    this.#feedback.onTimeout(now, flow)
    if (flow.path.selection !== null) this.#paths.onTimeout(now, flow)
    if (flow.path.doubt !== null) this.#failover.onTimeout(now, flow)
    sender.reportToCongestion(now, this.#rx.sample)
    this.#timers.set(flow.index, NEVER)
    this.flowChanged(now, flow)
  }

  /** Asks a peer that has long been silent, or ends the connection because nothing has come. */
  #keepAlive(now: Nanos, flow: Flow): void {
    const { keepAlive } = flow
    const verdict = keepAlive.onTimeout(now)
    if (verdict === 'ask' || verdict === 'doubt') this.challenge(flow)
    if (verdict === 'doubt') for (const other of keepAlive.process!.doubt(now)) this.#wakeToAsk(other)
    if (verdict !== 'gone') return
    const what = `connection to ${flow.remote}: nothing has come from there for ${formatDuration(this.settings.keepAliveNs)}, although it was asked`
    this.#connections.fail(now, flow, new WeirError('WEIR_CONNECTION_LOST', what))
  }

  /** The connection's peer is asked earlier than it was to be. */
  #wakeToAsk(keepAlive: KeepAlive): void {
    const deadline = keepAlive.nextTimeout()
    if (deadline < this.#timers.timeOf(keepAlive.index)) this.#timers.set(keepAlive.index, deadline)
  }

  /** A deadline that moves back is left in the heap: when it fires, the timer is set again. */
  #setTimer(now: Nanos, flow: Flow): void {
    const deadline = this.#deadlineOf(now, flow)
    if (deadline < this.#timers.timeOf(flow.index)) this.#timers.set(flow.index, deadline)
  }

  #deadlineOf(now: Nanos, flow: Flow): Nanos {
    let deadline = this.#trafficDeadline(now, flow)
    if (flow.path.selection !== null) deadline = Math.min(deadline, this.#paths.nextTimeout(now, flow))
    if (flow.path.doubt !== null) deadline = Math.min(deadline, this.#failover.nextTimeout(now, flow))
    return deadline
  }

  /** All deadlines but those of the choice of a path. A probe or a request that waits for the link has none. */
  #trafficDeadline(now: Nanos, flow: Flow): Nanos {
    const { telemetryProbe, rateRequest } = flow.sender
    let deadline = flow.nextTimeout(now)
    if (telemetryProbe !== null && flow.sender.wantsProbe(now) && !this.#control.waits(flow, Control.PROBE))
      deadline = Math.min(deadline, telemetryProbe.nextTimeout())
    if (rateRequest !== null && !this.#control.waits(flow, Control.RATE_REQUEST))
      deadline = Math.min(deadline, rateRequest.nextTimeout())
    return deadline
  }

  #markDirty(flow: Flow): void {
    if (this.#isDirty[flow.index] === 1) return
    this.#isDirty[flow.index] = 1
    this.#dirty[this.#dirtyCount++] = flow
  }

  #dispatch(now: Nanos): void {
    if (this.#dispatching) return
    this.#dispatching = true
    try {
      this.#connections.dispatch(now)
      while (this.#dirtyCount > 0) {
        const flow = this.#dirty[--this.#dirtyCount]!
        this.#dirty[this.#dirtyCount] = null
        this.#isDirty[flow.index] = 0
        this.#deliver(now, flow)
        this.#connections.dispatch(now)
      }
    } catch (defect) {
      this.countDefect(defect)
    } finally {
      this.#dispatching = false
    }
  }

  #deliver(now: Nanos, flow: Flow): void {
    try {
      this.deliverCompletions(now, flow)
      this.#deliverEnd(now, flow)
    } catch (defect) {
      this.onDefect(now, flow, defect)
    }
  }

  #deliverEnd(now: Nanos, flow: Flow): void {
    const { ending } = flow
    const refusal = ending.takeRefusal()
    const status = refusal === null ? ending.takeFailedStatus() : -1
    if (refusal !== null) this.#connections.fail(now, flow, refusal)
    else if (status !== -1) {
      const what = `connection to ${flow.remote}: ${workStatusText(status)}`
      this.#connections.fail(now, flow, new WeirError('WEIR_CONNECTION_LOST', what))
    }
    if (flow.ending.endsNs !== NEVER) this.#connections.goOnEnding(now, flow)
  }
}

/** Its handler has something to learn. */
function hasNews({ completions, ending }: Flow): boolean {
  return completions.pending > 0 || ending.hasNews || ending.endsNs !== NEVER
}
