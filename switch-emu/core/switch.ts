import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { DeadlineHeap } from '../../lib/time/deadline-heap.js'
import type { Nanos } from '../../lib/time/nanos.js'
import * as ethernet from '../../lib/wire/ethernet.js'
import { RESERVED_ID_FIRST } from '../../lib/wire/hop-records.js'
import * as ipv4 from '../../lib/wire/ipv4.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import * as pfc from '../../lib/wire/pfc.js'
import { Classifier, type ClassifierOptions } from './classifier.js'
import { DropReason } from './counters.js'
import { DeadlockPrevention, type DeadlockPreventionOptions } from './deadlock-prevention.js'
import { type DirectResponseOptions, DirectResponses } from './direct-responses.js'
import { EgressPort, type PortOptions } from './egress-port.js'
import { ForwardingTable, PORTS_MAX } from './forwarding.js'
import { IngressAccounting, type PfcOptions } from './ingress-accounting.js'
import { IntStamper } from './int-stamper.js'
import { countHop } from './ip-header.js'
import { LoadView, type LoadViewOptions } from './load-view.js'
import { PauseAction } from './pause-state.js'
import { PfcSender } from './pfc-sender.js'
import { PfcWatchdog, type WatchdogOptions } from './pfc-watchdog.js'
import { type PortReport, PortReporter } from './port-report.js'
import type { Responder } from './responder.js'
import { PRIORITIES, SharedBuffer } from './shared-buffer.js'

/** Source of PFC frames: locally administered; then the switch's id, and the port. */
const MAC_BASE = 0x02_57_53_00_00_00

/** Options of a switch. */
export interface SwitchOptions {
  /** 0 to 65,519, different for every switch of a network: INT names the switch by it. */
  id: number
  name: string
  ports: readonly PortOptions[]
  /** Packet memory that all ports share, bytes. */
  bufferBytes: number
  /** Where dropped frames go back to; its capacity bounds the frames in a queue. */
  pool: FramePool
  /** Uniform in [0, 1); only marking draws from it. */
  random: () => number
  /** Priorities by DSCP and PCP; everything has priority 0 when absent. */
  classifier?: ClassifierOptions
  /** Answers what cannot be forwarded; without it that is dropped. */
  responder?: Responder
  /** Priority flow control; without it every priority is lossy and pauses are not obeyed. */
  pfc?: PfcOptions
  /** Watchdog of the lossless queues; without it deadlocks are not noticed. */
  watchdog?: WatchdogOptions
  /** Without it every packet keeps its priority. */
  deadlockPrevention?: DeadlockPreventionOptions
  /** False: packets that collect telemetry pass as they came, as through a switch that knows no INT. Default true. */
  writesTelemetry?: boolean
  /** Load as telemetry tells it; default: of whole ports and links. */
  loadView?: LoadViewOptions
  /** Without it congestion is told by the packets that pass alone. */
  directResponses?: DirectResponseOptions
  /** Bytes of the longest IP packet on its links; telemetry makes none longer. Default 65,535: frames' slots are the bound. */
  mtuBytes?: number
}

/**
 * An output-queued, shared-memory IP switch. A frame that arrives is parsed, routed and admitted to the
 * queue of its egress port at once; `pollTransmit` hands it out when its serialisation starts. Sizes are
 * those on the wire.
 *
 * With PFC on, a frame of a lossless priority that finds its ingress port's share of the memory used up goes to that
 * port's headroom, and the peer is paused; and the port holds what its own peers pause.
 */
export class Switch implements Node {
  readonly id: number
  readonly name: string
  readonly ports: readonly EgressPort[]
  readonly buffer: SharedBuffer
  /** Filled by whoever knows the topology. */
  readonly routes = new ForwardingTable()
  readonly #pool: FramePool
  readonly #classifier: Classifier
  readonly #responder: Responder | null
  /** When each port may start its next frame; NEVER if none waits. */
  readonly #schedule = new DeadlineHeap()
  /** Null: it writes no telemetry. */
  readonly #stamper: IntStamper | null
  readonly #direct: DirectResponses | null
  readonly #reporters: readonly PortReporter[]
  /** Memory by port and priority that frames came in by; null without PFC. */
  readonly accounting: IngressAccounting | null
  readonly watchdog: PfcWatchdog | null
  readonly prevention: DeadlockPrevention | null

  constructor(options: SwitchOptions) {
    const { id, name, ports } = options
    if (!Number.isInteger(id) || id < 0 || id >= RESERVED_ID_FIRST) {
      const most = RESERVED_ID_FIRST - 1
      throw new WeirError('WEIR_BAD_ARGUMENT', `switch ${name}: id is 0 to ${most}, not ${id}`)
    }
    if (ports.length < 1 || ports.length > PORTS_MAX) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `switch ${name}: 1 to ${PORTS_MAX} ports, not ${ports.length}`)
    }
    this.id = id
    this.name = name
    this.buffer = new SharedBuffer(options.bufferBytes, ports.length)
    this.accounting =
      options.pfc === undefined ? null : new IngressAccounting(options.pfc, options.bufferBytes, ports.length)
    this.ports = ports.map((port, index) => this.#makePort(index, port, options))
    this.#pool = options.pool
    this.#classifier = new Classifier(options.classifier)
    this.#responder = options.responder ?? null
    for (const _ of ports) this.#schedule.add()
    const view = new LoadView(options.loadView)
    this.#stamper = options.writesTelemetry === false ? null : new IntStamper(id, view)
    const direct = options.directResponses
    this.#direct = direct === undefined ? null : new DirectResponses(id, ports.length, direct, view)
    this.watchdog = options.watchdog === undefined ? null : this.#makeWatchdog(options.watchdog)
    this.prevention =
      options.deadlockPrevention === undefined ? null : new DeadlockPrevention(options.deadlockPrevention)
    this.#reporters = this.ports.map(port => new PortReporter(name, port, this.accounting))
  }

  #makePort(index: number, port: PortOptions, options: SwitchOptions): EgressPort {
    const { id, bufferBytes, pool, random, pfc, mtuBytes = 0xffff, writesTelemetry = true } = options
    const pfcSender =
      pfc === undefined ? null : new PfcSender(pool, MAC_BASE + id * 256 + index, port.rateBps, pfc.quanta)
    const losslessMask = this.accounting?.losslessMask ?? 0
    const shared = { bufferBytes, pool, random, losslessMask, pfcSender, mtuBytes, writesTelemetry }
    return new EgressPort(index, port, shared)
  }

  #makeWatchdog(options: WatchdogOptions): PfcWatchdog {
    return new PfcWatchdog(this.ports.length, options, {
      pausedSinceNs: (now, port, priority) => this.ports[port]!.pause.sinceNs(now, priority),
      pausedUntilNs: (port, priority) => this.ports[port]!.pause.firstExpiry(1 << priority),
      setPauseAction: (now, port, priority, action) => this.setPauseAction(now, port, priority, action),
      setPauseSending: (now, port, priority, on) => {
        this.ports[port]!.pfcSender?.allow(priority, on)
        if (this.accounting !== null) this.#tellPeer(now, port, this.accounting.xoffMask(port))
      },
    })
  }

  onFrame(now: Nanos, port: number, frame: Frame): void {
    this.ports[port]!.counters.onReceived(frame.wireLength)
    if (frame.l3 < 0 && isMacControl(frame)) {
      this.#control(now, port, frame)
      return
    }
    const egress = this.#route(frame)
    if (egress < 0) {
      this.#refuse(now, port, frame, -egress as DropReason)
      return
    }
    const reason = this.#admit(now, port, egress, frame)
    if (this.#direct !== null) this.#answerDirectly(now, this.#direct, port, egress, frame)
    if (reason === DropReason.NONE) return
    this.#drop(frame, reason === DropReason.HEADROOM_FULL ? port : egress, reason)
  }

  /** Tells of congestion that the frame has met at its egress queue, whether it found room there or not. */
  #answerDirectly(now: Nanos, direct: DirectResponses, ingress: number, egress: number, frame: Frame): void {
    const priority = this.#classifier.priority(frame)
    const port = this.ports[egress]!
    if (!direct.isDue(now, frame, port, priority)) return
    const response = direct.respond(now, frame, port, priority, this.#pool)
    if (response === null) return
    const out = this.routes.egressPort(response)
    const reason = out < 0 ? DropReason.NO_ROUTE : this.#admit(now, ingress, out, response)
    if (reason !== DropReason.NONE) this.#drop(response, ingress, reason)
  }

  /** Only the watchdog waits for a time; frames leave by `pollTransmit`. */
  onTimeout(now: Nanos): void {
    this.watchdog?.onTimeout(now)
  }

  /** When the next frame may start, the end of the one before it on its line; or the watchdog's next deadline. */
  nextTimeout(): Nanos {
    const startNs = this.#schedule.firstTime()
    return this.watchdog === null ? startNs : Math.min(startNs, this.watchdog.nextTimeout())
  }

  pollTransmit(now: Nanos): Frame | null {
    const schedule = this.#schedule
    for (;;) {
      const dueNs = schedule.firstTime()
      if (dueNs > now) return null
      const port = this.ports[schedule.first()]!
      const frame = port.isPfcDue(dueNs) ? port.transmitPfc(dueNs) : this.#transmit(now, dueNs, port)
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
    if (this.watchdog !== null) this.watchdog.onTransmitted(dueNs, port.index, port.sentPriority)
    if (frame.shim >= 0) this.#stamper?.stamp(port.serializer.startNs, frame, port, this.ports[ingress]!)
    return frame
  }

  /** Frames that wait in all queues. */
  get queuedFrames(): number {
    let frames = 0
    for (const port of this.ports) for (const queue of port.queues) frames += queue.count
    return frames
  }

  /**
   * What a port does from now on about its peer's pauses of one priority; for a watchdog. With DROP, what waits in the
   * queue is dropped too. What the peer has said is in `ports[port].pause`, what waits in `ports[port].queues`.
   */
  setPauseAction(now: Nanos, port: number, priority: number, action: PauseAction): void {
    const egress = this.ports[port]!
    egress.pause.setAction(priority, action)
    if (action === PauseAction.DROP) {
      for (let frame = egress.takeOut(now, priority); frame !== null; frame = egress.takeOut(now, priority)) {
        this.#release(now, frame, port)
        this.#drop(frame, port, DropReason.PFC_WATCHDOG)
      }
    }
    this.#schedule.set(port, egress.nextStartNs(now))
  }

  /**
   * Restores PFC of a port where the limit of the watchdog has turned it off. Returns the priorities that it was off for.
   *
   * @param only of this priority; default: of all
   */
  turnPfcOn(now: Nanos, port: number, only?: number): number[] {
    const { watchdog } = this
    if (watchdog === null) return []
    const off = [...Array(PRIORITIES).keys()].filter(
      priority => (only === undefined || only === priority) && watchdog.turnedOff(port, priority),
    )
    for (const priority of off) watchdog.turnOn(now, port, priority)
    return off
  }

  /** Starts a new window for all reports. */
  resetWindow(now: Nanos): void {
    this.accounting?.resetWindow()
    this.watchdog?.resetWindow()
    this.prevention?.resetWindow()
    this.#direct?.resetWindow()
    for (const reporter of this.#reporters) reporter.resetWindow(now)
  }

  /** What a port did from the start of the window until `now`. */
  report(now: Nanos, port: number): PortReport {
    return {
      ...this.#reporters[port]!.report(now),
      ...(this.watchdog !== null && { watchdog: this.watchdog.report(port) }),
      ...(this.prevention !== null && { movedFrames: this.prevention.movedFrames(port) }),
      ...(this.#direct !== null && { directResponses: this.#direct.sent(port) }),
    }
  }

  /** A frame that cannot be forwarded goes back as the answer to itself, if there is one, or is dropped. */
  #refuse(now: Nanos, port: number, frame: Frame, reason: DropReason): void {
    const bytes = frame.wireLength
    if (this.#responder?.answer(now, frame, reason) !== true) {
      this.#drop(frame, port, reason)
      return
    }
    if (reason === DropReason.TTL_EXPIRED) this.ports[port]!.counters.onDropped(reason, bytes)
    const full = this.#admit(now, port, port, frame)
    if (full !== DropReason.NONE) this.#drop(frame, port, full)
  }

  /** The egress port, or minus the reason why there is none. */
  #route(frame: Frame): number {
    const fault = frame.l3 < 0 ? parse(frame) : DropReason.NONE
    if (fault !== DropReason.NONE) return -fault
    const egress = this.routes.egressPort(frame)
    if (egress < 0 || egress >= this.ports.length) return -DropReason.NO_ROUTE
    return countHop(frame) ? egress : -DropReason.TTL_EXPIRED
  }

  #admit(now: Nanos, ingress: number, egress: number, frame: Frame): DropReason {
    const bytes = frame.wireLength
    const given = this.#classifier.priority(frame)
    let queued = given
    let priority = given
    if (this.prevention !== null) {
      queued = this.prevention.priority(frame, ingress, egress, given)
      if (!this.#isLossless(queued)) priority = queued
    }
    if (!this.buffer.check(bytes)) return DropReason.BUFFER_FULL
    if (this.accounting !== null) {
      const refused = this.#account(now, this.accounting, ingress, priority, bytes)
      if (refused !== DropReason.NONE) return refused
    }
    const port = this.ports[egress]!
    const reason = port.enqueue(now, frame, queued)
    if (reason !== DropReason.NONE) {
      if (this.accounting !== null) this.#unaccount(now, this.accounting, ingress, priority, bytes)
      return reason
    }
    // While it waits, these say where the frame came from.
    frame.port = ingress
    frame.ingressPriority = priority
    this.buffer.update(ingress, priority, egress, bytes)
    const freeNs = Math.max(now, port.serializer.endNs)
    if (this.#schedule.timeOf(egress) > freeNs) this.#schedule.set(egress, port.nextStartNs(now))
    return DropReason.NONE
  }

  /** A frame that was admitted leaves its queue. */
  #release(now: Nanos, frame: Frame, egress: number): void {
    const { port: ingress, ingressPriority: priority, wireLength: bytes } = frame
    this.buffer.remove(ingress, priority, egress, bytes)
    if (this.accounting !== null) this.#unaccount(now, this.accounting, ingress, priority, bytes)
  }

  #isLossless(priority: number): boolean {
    return this.accounting !== null && ((this.accounting.losslessMask >>> priority) & 1) === 1
  }

  #account(
    now: Nanos,
    accounting: IngressAccounting,
    ingress: number,
    priority: number,
    bytes: number,
  ): DropReason {
    const reason = accounting.admit(ingress, priority, bytes)
    this.#tellPeer(now, ingress, accounting.xoffMask(ingress))
    return reason
  }

  #unaccount(
    now: Nanos,
    accounting: IngressAccounting,
    ingress: number,
    priority: number,
    bytes: number,
  ): void {
    accounting.release(ingress, priority, bytes)
    this.#tellPeer(now, ingress, accounting.xoffMask(ingress))
  }

  /** Has the peer of a port hold the priorities of `mask`, and no others. */
  #tellPeer(now: Nanos, index: number, mask: number): void {
    const port = this.ports[index]!
    if (port.pfcSender!.want(now, mask)) this.#schedule.set(index, port.nextStartNs(now))
  }

  /** A MAC control frame: for the port itself, never forwarded. */
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
        port.pause.onPause(now, p, pfc.quanta(view, 0, p))
        this.watchdog?.onPfc(now, index, p)
      }
      this.#schedule.set(index, port.nextStartNs(now))
    } else if (pfc.isGlobalPause(view, 0, length)) {
      port.counters.onGlobalPause()
    } else {
      this.#drop(frame, index, DropReason.NOT_IP)
      return
    }
    this.#pool.give(frame)
  }

  #drop(frame: Frame, port: number, reason: DropReason): void {
    this.ports[port]!.counters.onDropped(reason, frame.wireLength)
    this.#pool.give(frame)
  }
}

/**
 * Finds the headers of a frame from outside; a router verifies the header checksum first (RFC 1812, section
 * 5.2.2).
 */
function parse(frame: Frame): DropReason {
  const error = parseFrame(frame)
  const { view, l3 } = frame
  if (l3 < 0) return error === WireError.OK ? DropReason.NOT_IP : DropReason.MALFORMED
  if (ipv4.version(view, l3) === 4 && !ipv4.verifyChecksum(view, l3)) return DropReason.MALFORMED
  // A fault above IP is for the receiver to find.
  return DropReason.NONE
}

function isMacControl({ view, length }: Frame): boolean {
  return length >= ethernet.BYTES && ethernet.etherType(view, 0) === ethernet.TYPE_MAC_CONTROL
}
