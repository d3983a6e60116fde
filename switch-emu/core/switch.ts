import { WeirError } from '../../lib/errors.js'
import { type Frame, OWN_PACKET } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { DeadlineHeap } from '../../lib/time/deadline-heap.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import type { HostAddress } from '../../lib/wire/net/address.js'
import * as ethernet from '../../lib/wire/net/ethernet.js'
import * as ipv4 from '../../lib/wire/net/ipv4.js'
import * as pfc from '../../lib/wire/net/pfc.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { RESERVED_ID_FIRST } from '../../lib/wire/telemetry/hop-records.js'
import type { IpAnswers } from './answers/ip-answers.js'
import type { FeatureOptions, FeatureReports } from './catalogue.js'
import {
  type FeatureClass,
  type FeatureSwitch,
  type Gauge,
  type SwitchFeature,
  UNDECIDED,
} from './feature/feature.js'
import type { AdmitStage, ArriveStage, ForwardStage, OfferedStage, StartStage } from './feature/in-turn.js'
import { FeatureSet, losslessMaskOf } from './feature-set.js'
import { Classifier, type ClassifierOptions } from './forwarding/classifier.js'
import { ForwardingTable, PORTS_MAX } from './forwarding/forwarding.js'
import { countHop } from './forwarding/ip-header.js'
import { DropReason } from './queueing/counters.js'
import { EgressPort, type PortOptions } from './queueing/egress-port.js'
import { ANSWERS_SHARE, OwnMemory, PORT_SHARE } from './queueing/own-memory.js'
import { PauseAction } from './queueing/pause-state.js'
import { type PortFigures, PortReporter } from './queueing/port-report.js'
import { PRIORITIES, SharedBuffer } from './queueing/shared-buffer.js'

const LINK_LOCAL_FIRST = 0x0180_c200_0000
const LINK_LOCAL_COUNT = 16

/** Figures of a port, and of the features at it, in a window of time. */
interface PortReport extends PortFigures, FeatureReports {}

/** Options of a switch. */
export interface SwitchOptions {
  /** 0 to 65,519, unique in a network. INT identifies the switch by it. */
  id: number
  name: string
  ports: readonly PortOptions[]
  /** Packet memory that all ports share, bytes. */
  bufferBytes: number
  /** Dropped frames return to it. Its capacity bounds the frames in a queue. */
  pool: FramePool
  /** Uniform in [0, 1). Only features draw from it. */
  random: () => number
  /** Priorities by DSCP and PCP. Default: everything has priority 0. */
  classifier?: ClassifierOptions
  /** Answers packets that cannot be forwarded. Default: those are dropped. */
  responder?: IpAnswers
  /** Its features by name, see `catalogue.ts`. */
  features?: FeatureOptions
  /** When the switch begins. Timers of features count from this time. Default 0. */
  startNs?: Nanos
  /**
   * Bytes of the longest IP packet on its links. Telemetry makes no packet longer than this. Default 65,535:
   * only frames' slots are the bound.
   */
  mtuBytes?: number
}

/**
 * An output-queued, shared-memory IP switch. It parses and routes an arriving frame and admits it to the
 * queue of its egress port at once. `pollTransmit` returns the frame when its serialisation starts. Sizes are
 * those on the wire. Everything else that a switch does is a feature (`feature.ts`), called at the stages of
 * a frame's way.
 */
export class Switch implements Node, FeatureSwitch {
  readonly id: number
  readonly name: string
  readonly ports: readonly EgressPort[]
  readonly buffer: SharedBuffer
  /** Memory of packets that the switch has made. */
  readonly ownMemory: OwnMemory
  /** The owner of the topology sets it. */
  readonly routes = new ForwardingTable()
  readonly pool: FramePool
  readonly random: () => number
  readonly startNs: Nanos
  readonly mtuBytes: number
  readonly losslessMask: number
  readonly #classifier: Classifier
  readonly #responder: IpAnswers | null
  /** When each port may start its next frame. NEVER if none waits. */
  readonly #schedule = new DeadlineHeap()
  readonly #features = new FeatureSet()
  // Its stages in every frame's way.
  readonly #forward: ForwardStage | null
  readonly #choose: ArriveStage | null
  readonly #admission: AdmitStage | null
  readonly #offered: OfferedStage | null
  readonly #start: StartStage | null
  readonly #reporters: readonly PortReporter[]

  constructor(options: SwitchOptions) {
    const { id, name, ports, bufferBytes, pool, features = {} } = options
    if (!Number.isInteger(id) || id < 0 || id >= RESERVED_ID_FIRST) {
      const most = RESERVED_ID_FIRST - 1
      throw new WeirError('WEIR_BAD_ARGUMENT', `switch ${name}: id is 0 to ${most}, not ${id}`)
    }
    if (ports.length < 1 || ports.length > PORTS_MAX) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `switch ${name}: 1 to ${PORTS_MAX} ports, not ${ports.length}`)
    }
    this.id = id
    this.name = name
    this.buffer = new SharedBuffer(bufferBytes)
    const losslessMask = losslessMaskOf(features)
    this.losslessMask = losslessMask
    this.ports = ports.map((port, index) => new EgressPort(index, port, { bufferBytes, pool, losslessMask }))
    this.ownMemory = new OwnMemory(ports.length)
    this.pool = pool
    this.random = options.random
    this.startNs = options.startNs ?? 0
    this.mtuBytes = options.mtuBytes ?? 0xffff
    this.#classifier = new Classifier(options.classifier)
    this.#responder = options.responder ?? null
    for (const _ of ports) this.#schedule.add()
    this.#features.create(features, this)
    const { forward, arrive, admit, offered, start } = this.#features
    this.#forward = forward
    this.#choose = arrive
    this.#admission = admit
    this.#offered = offered
    this.#start = start
    for (const port of this.ports) port.setStages(this.#features)
    this.#reporters = this.ports.map(port => new PortReporter(name, port))
  }

  get bufferBytes(): number {
    return this.buffer.bytesMax
  }

  /** One of its features draws random numbers. */
  get draws(): boolean {
    return this.#features.draws
  }

  /** Returns the feature of that class, or null if it is off. */
  find<T extends SwitchFeature>(kind: FeatureClass<T>): T | null {
    return this.#features.find(kind)
  }

  onFrame(now: Nanos, port: number, frame: Frame): void {
    this.#arrive(now, port, frame, false)
  }

  /** A frame that finds its line free and nothing waiting leaves at once. */
  pass(now: Nanos, port: number, frame: Frame): Frame | null {
    // Who looks at a frame in its queue has to find it there.
    return this.#arrive(now, port, frame, this.#offered === null)
  }

  /** A frame has come from a link. Returns it if it leaves at once. */
  #arrive(now: Nanos, ingress: number, frame: Frame, mayPass: boolean): Frame | null {
    this.ports[ingress]!.counters.onReceived(frame.wireLength)
    if (frame.l3 < 0 && this.#takeOwn(now, ingress, frame)) return null
    const egress = this.#route(now, ingress, frame)
    if (egress < 0) {
      this.#refuse(now, ingress, frame, -egress as DropReason)
      return null
    }
    const port = this.ports[egress]!
    const given = this.#classifier.priority(frame)
    const queued = this.#choose === null ? given : this.#choose.arrive(now, frame, ingress, egress, given)
    // Only a pause of the priority with which the frame came stops the sender on its link.
    const priority = this.#isLossless(queued) ? given : queued
    const reason = this.#admit(now, ingress, port, frame, queued, priority)
    if (reason === DropReason.NONE) {
      if (mayPass && port.isFree(now) && this.#schedule.firstTime() > now) {
        this.#pass(now, ingress, port, frame, queued, priority)
        return frame
      }
      frame.ingressPriority = priority
      this.buffer.update(frame.wireLength)
      this.#enqueue(now, ingress, port, frame, queued)
    }
    if (this.#offered !== null) this.#offered.offered(now, frame, ingress, port, queued)
    if (reason !== DropReason.NONE)
      this.#drop(frame, reason === DropReason.HEADROOM_FULL ? ingress : egress, reason)
    return null
  }

  /** An admitted frame leaves at once. */
  #pass(now: Nanos, ingress: number, port: EgressPort, frame: Frame, queued: number, priority: number): void {
    port.pass(now, frame, queued)
    this.#admission?.leave?.(now, frame, ingress, priority)
    this.#start?.start(now, frame, port, this.ports[ingress]!)
    if (port.hasUrgent) this.wake(now, port.index)
    frame.port = port.index
  }

  isOnWayBack(frame: Frame, port: number): boolean {
    return this.routes.isOnWayBack(frame, port)
  }

  send(now: Nanos, frame: Frame, ingress = -1): void {
    const egress = this.#egressPort(now, -1, frame)
    if (egress < 0) {
      this.#drop(frame, Math.max(0, ingress), -egress as DropReason)
      return
    }
    this.#sendOwn(now, ingress < 0 ? egress : ingress, egress, frame, PORT_SHARE)
  }

  portTo(address: HostAddress, flowHash: number): number {
    const port = this.routes.portTo(address, flowHash)
    return port < this.ports.length ? port : -1
  }

  /** Only features have timers. Frames leave by `pollTransmit`. */
  onTimeout(now: Nanos): void {
    this.#features.onTimeout(now)
  }

  /**
   * When the next frame may start, which is the end of the previous one on its line, or the next timer of a
   * feature.
   */
  nextTimeout(): Nanos {
    const startNs = this.#schedule.firstTime()
    return this.#features.hasTimers ? Math.min(startNs, this.#features.nextTimeout()) : startNs
  }

  pollTransmit(now: Nanos): Frame | null {
    const schedule = this.#schedule
    for (;;) {
      const dueNs = schedule.firstTime()
      if (dueNs > now) return null
      const port = this.ports[schedule.first()]!
      const frame = port.isUrgentDue(dueNs) ? port.transmitUrgent(dueNs) : this.#transmit(now, dueNs, port)
      schedule.set(port.index, port.nextStartNs(dueNs))
      if (frame === null) continue
      frame.port = port.index
      return frame
    }
  }

  #transmit(now: Nanos, dueNs: Nanos, port: EgressPort): Frame {
    const frame = port.transmit(dueNs)
    const ingress = frame.port
    this.#release(now, frame, port.index)
    this.#start?.start(port.serializer.startNs, frame, port, this.ports[ingress]!)
    return frame
  }

  /** Number of frames in all queues. */
  get queuedFrames(): number {
    let frames = 0
    for (const port of this.ports) for (const queue of port.queues) frames += queue.count
    return frames
  }

  /**
   * Sets how a port reacts from now on to its peer's pauses of one priority, for a watchdog. DROP also drops
   * the frames in the queue. `ports[port].pause` has what the peer has sent, `ports[port].queues` the frames
   * that wait.
   */
  setPauseAction(now: Nanos, port: number, priority: number, action: PauseAction): void {
    const egress = this.ports[port]!
    egress.pause.setAction(priority, action)
    if (action === PauseAction.DROP) this.#empty(now, port, priority, DropReason.PFC_WATCHDOG)
    this.wake(now, port)
  }

  /**
   * The link of a port has gone down or come up. A port whose link goes down drops what waits and what comes, counted as
   * `linkDown`, and forgets the pauses of its peer. Frames that came in by it stay.
   */
  setLink(now: Nanos, port: number, isUp: boolean): void {
    const egress = this.ports[port]!
    if (egress.isUp === isUp) return
    egress.isUp = isUp
    if (!isUp) {
      for (let p = 0; p < PRIORITIES; p++) {
        this.#empty(now, port, p, DropReason.LINK_DOWN)
        if (egress.pause.sinceNs(now, p) !== NEVER) this.#onPause(now, port, p, 0)
      }
    }
    this.#features.link(now, port, isUp)
    this.wake(now, port)
  }

  /**
   * The switch has restarted: it drops all frames, counted as `restarted`, and its features forget what they knew. Counts for reports
   * stay. Its routes are configuration, and stay too. While it starts up its links are down, see `setLink`.
   */
  restart(now: Nanos): void {
    for (const port of this.ports) {
      const { index, pause } = port
      for (let p = 0; p < PRIORITIES; p++) {
        this.#empty(now, index, p, DropReason.RESTARTED)
        if (pause.sinceNs(now, p) !== NEVER) this.#onPause(now, index, p, 0)
      }
      port.restart()
    }
    this.#features.restart(now)
    for (const { index } of this.ports) this.wake(now, index)
  }

  /** The link of a port has this rate from now on. */
  setRate(now: Nanos, port: number, rateBps: number): void {
    const egress = this.ports[port]!
    if (egress.rateBps === rateBps) return
    egress.setRate(now, rateBps)
    this.wake(now, port)
  }

  /** Drops the frames that wait in a queue. */
  #empty(now: Nanos, port: number, priority: number, reason: DropReason): void {
    const egress = this.ports[port]!
    for (let frame = egress.takeOut(now, priority); frame !== null; frame = egress.takeOut(now, priority)) {
      this.#release(now, frame, port)
      this.#drop(frame, port, reason)
    }
  }

  /** A port may start its next frame at another time than before. */
  wake(now: Nanos, port: number): void {
    this.#schedule.set(port, this.ports[port]!.nextStartNs(now))
  }

  /** Returns what features let samplers see of a port. */
  gauges(port: number): readonly Gauge[] {
    return this.#features.gauges(port)
  }

  /** Starts a new window for all reports. */
  resetWindow(now: Nanos): void {
    this.#features.reset(now)
    for (const reporter of this.#reporters) reporter.resetWindow(now)
    this.ownMemory.resetWindow()
  }

  /** Returns the figures of a port, and of the features at it, from the start of the window until `now`. */
  report(now: Nanos, port: number): PortReport {
    const figures = this.figures(now, port)
    return { ...figures, ...this.additions(now, port, figures) }
  }

  /** Returns the port's own figures. */
  figures(now: Nanos, port: number): PortFigures {
    return this.#reporters[port]!.report(now)
  }

  /**
   * Returns what features add.
   *
   * @param figures of the port, at `now`
   */
  additions(now: Nanos, port: number, figures: PortFigures): FeatureReports {
    return this.#features.report(now, port, figures)
  }

  /**
   * A frame that cannot be forwarded becomes the answer to itself, if there is one. Otherwise it is dropped.
   */
  #refuse(now: Nanos, port: number, frame: Frame, reason: DropReason): void {
    const bytes = frame.wireLength
    if (this.#responder?.answer(now, frame, reason) !== true) {
      this.#drop(frame, port, reason)
      return
    }
    frame.flowHash = -1
    frame.destination = 0
    if (reason === DropReason.TTL_EXPIRED) this.ports[port]!.counters.onDropped(reason, bytes)
    this.#sendOwn(now, port, port, frame, ANSWERS_SHARE)
  }

  /** Returns the egress port, or minus the reason why there is none. */
  #route(now: Nanos, ingress: number, frame: Frame): number {
    const fault = frame.l3 < 0 ? parse(frame) : DropReason.NONE
    if (fault !== DropReason.NONE) return -fault
    const egress = this.#egressPort(now, ingress, frame)
    if (egress < 0) return egress
    return countHop(frame) ? egress : -DropReason.TTL_EXPIRED
  }

  /** The same for a frame whose headers have been found. @param ingress -1: a feature has made it */
  #egressPort(now: Nanos, ingress: number, frame: Frame): number {
    const chosen = this.#forward === null ? UNDECIDED : this.#forward.forward(now, frame, ingress)
    if (chosen !== UNDECIDED) return chosen
    const egress = this.routes.egressPort(frame)
    return egress < 0 || egress >= this.ports.length ? -DropReason.NO_ROUTE : egress
  }

  /**
   * Returns a reason to drop a frame from a link, or NONE.
   *
   * @param queued the priority of its queue
   * @param priority under which its memory is accounted
   */
  #admit(
    now: Nanos,
    ingress: number,
    port: EgressPort,
    frame: Frame,
    queued: number,
    priority: number,
  ): DropReason {
    if (!this.buffer.check(frame.wireLength)) return DropReason.BUFFER_FULL
    if (this.#admission === null) return port.admit(now, frame, queued)
    const refused = this.#admission.admit(now, frame, ingress, priority)
    if (refused !== DropReason.NONE) return refused
    const reason = port.admit(now, frame, queued)
    if (reason !== DropReason.NONE) this.#admission.leave?.(now, frame, ingress, priority)
    return reason
  }

  /**
   * A packet that the switch has made joins its queue, or is dropped. No pause of a peer could keep it from being made. If it counted at a
   * port, that port would pause its peer for it. Where two switches do so, each holds the packets for which the other is paused.
   *
   * @param ingress the port that telemetry names as the one by which it came, and that counts the drop
   * @param share of the memory for such packets that is free: what may wait at the port
   */
  #sendOwn(now: Nanos, ingress: number, egress: number, frame: Frame, share: number): void {
    const port = this.ports[egress]!
    const given = this.#classifier.priority(frame)
    const queued = this.#choose === null ? given : this.#choose.arrive(now, frame, ingress, egress, given)
    const reason = this.ownMemory.check(egress, frame.wireLength, share)
      ? port.admit(now, frame, queued)
      : DropReason.BUFFER_FULL
    if (reason !== DropReason.NONE) {
      this.#drop(frame, ingress, reason)
      return
    }
    frame.ingressPriority = OWN_PACKET
    this.ownMemory.update(egress, frame.wireLength)
    this.#enqueue(now, ingress, port, frame, queued)
  }

  /** An admitted frame joins its queue. */
  #enqueue(now: Nanos, ingress: number, port: EgressPort, frame: Frame, priority: number): void {
    port.enqueue(now, frame, priority)
    // While the frame waits, this says where it came from.
    frame.port = ingress
    const freeNs = Math.max(now, port.serializer.endNs)
    if (this.#schedule.timeOf(port.index) > freeNs) this.#schedule.set(port.index, port.nextStartNs(now))
  }

  /** A queued frame leaves. */
  #release(now: Nanos, frame: Frame, egress: number): void {
    if (frame.ingressPriority === OWN_PACKET) {
      this.ownMemory.remove(egress, frame.wireLength)
      return
    }
    this.buffer.remove(frame.wireLength)
    this.#admission?.leave?.(now, frame, frame.port, frame.ingressPriority)
  }

  #isLossless(priority: number): boolean {
    return ((this.losslessMask >>> priority) & 1) === 1
  }

  /** True if the frame was for the port itself, and is taken. */
  #takeOwn(now: Nanos, port: number, frame: Frame): boolean {
    if (isMacControl(frame)) {
      this.#control(now, port, frame)
      return true
    }
    const stage = this.#features.linkLocal
    if (stage === null || !isLinkLocal(frame) || !stage.linkLocal(now, frame, port)) return false
    this.pool.give(frame)
    return true
  }

  /** Handles a MAC control frame, which is for the port itself and never forwarded. */
  #control(now: Nanos, index: number, frame: Frame): void {
    const { view, length } = frame
    const port = this.ports[index]!
    if (pfc.isPfc(view, 0, length)) {
      if (pfc.check(view, 0, length) !== WireError.OK) {
        this.#drop(frame, index, DropReason.BAD_PFC)
        return
      }
      for (let p = 0; p < PRIORITIES; p++) {
        if (!pfc.isEnabled(view, 0, p)) continue
        this.#onPause(now, index, p, pfc.quanta(view, 0, p))
      }
      this.wake(now, index)
    } else if (pfc.isGlobalPause(view, 0, length)) {
      port.counters.onGlobalPause()
    } else {
      this.#drop(frame, index, DropReason.NOT_IP)
      return
    }
    this.pool.give(frame)
  }

  #onPause(now: Nanos, port: number, priority: number, quanta: number): void {
    this.ports[port]!.pause.onPause(now, priority, quanta)
    this.#features.pause?.pause(now, port, priority)
  }

  #drop(frame: Frame, port: number, reason: DropReason): void {
    this.ports[port]!.counters.onDropped(reason, frame.wireLength)
    this.pool.give(frame)
  }
}

/**
 * Finds the headers of a frame from outside. A router verifies the header checksum first (RFC 1812, section
 * 5.2.2).
 */
function parse(frame: Frame): DropReason {
  const error = parseFrame(frame)
  const { view, l3 } = frame
  if (l3 < 0) return error === WireError.OK ? DropReason.NOT_IP : DropReason.MALFORMED
  if (ipv4.version(view, l3) === 4 && !ipv4.verifyChecksum(view, l3)) return DropReason.MALFORMED
  // The receiver detects faults above IP.
  return DropReason.NONE
}

function isMacControl({ view, length }: Frame): boolean {
  return length >= ethernet.BYTES && ethernet.etherType(view, 0) === ethernet.TYPE_MAC_CONTROL
}

/** Its destination is one of the 16 addresses that no bridge forwards (IEEE Std 802.1Q-2018, table 8-1). */
function isLinkLocal({ view, length }: Frame): boolean {
  if (length < ethernet.BYTES) return false
  const to = ethernet.destination(view, 0)
  return to >= LINK_LOCAL_FIRST && to < LINK_LOCAL_FIRST + LINK_LOCAL_COUNT
}
