import { WeirError } from '../../lib/errors.js'
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { DeadlineHeap } from '../../lib/time/deadline-heap.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import * as ipv4 from '../../lib/wire/ipv4.js'
import { parseFrame, WireError } from '../../lib/wire/parse.js'
import { Classifier, type ClassifierOptions } from './classifier.js'
import { DropReason, type WindowCounts } from './counters.js'
import { EgressPort, type PortOptions } from './egress-port.js'
import { ForwardingTable, PORTS_MAX } from './forwarding.js'
import { IntStamper } from './int-stamper.js'
import { countHop } from './ip-header.js'
import { SharedBuffer } from './shared-buffer.js'

export interface SwitchOptions {
  /** u16, different for every switch of a network: INT names the switch by it. */
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
}

/** What one port did in a window of time. */
export interface PortReport extends WindowCounts {
  switch: string
  port: number
  rateBps: number
  windowNs: Nanos
  busyNs: Nanos
  /** Busy part of the window, 0 to 1. */
  utilization: number
  maxQueueBytes: number
  /** Weighted by time. */
  meanQueueBytes: number
}

/**
 * An output-queued, shared-memory IP switch. A frame that arrives is parsed, routed and admitted to the
 * queue of its egress port at once; `pollTransmit` hands it out when its serialisation starts. Sizes are
 * those on the wire.
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
  /** When each port may start its next frame; NEVER if none waits. */
  readonly #schedule = new DeadlineHeap()
  readonly #stamper: IntStamper
  #windowNs: Nanos = 0
  readonly #busyAtWindowNs: Float64Array

  constructor(options: SwitchOptions) {
    const { id, name, ports } = options
    if (!Number.isInteger(id) || id < 0 || id > 0xffff) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `switch ${name}: id is 0 to 65535, not ${id}`)
    }
    if (ports.length < 1 || ports.length > PORTS_MAX) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `switch ${name}: 1 to ${PORTS_MAX} ports, not ${ports.length}`)
    }
    this.id = id
    this.name = name
    this.buffer = new SharedBuffer(options.bufferBytes, ports.length)
    this.ports = ports.map(
      (port, index) =>
        new EgressPort(index, port, options.bufferBytes, options.pool.capacity, options.random),
    )
    this.#pool = options.pool
    this.#classifier = new Classifier(options.classifier)
    for (const _ of ports) this.#schedule.add()
    this.#stamper = new IntStamper(id)
    this.#busyAtWindowNs = new Float64Array(ports.length)
  }

  onFrame(now: Nanos, port: number, frame: Frame): void {
    this.ports[port]!.counters.onReceived(frame.wireLength)
    const egress = this.#route(frame)
    if (egress < 0) {
      this.#drop(frame, port, -egress as DropReason)
      return
    }
    const reason = this.#admit(now, port, egress, frame)
    if (reason !== DropReason.NONE) this.#drop(frame, egress, reason)
  }

  /** Nothing waits for a time but frames, and they leave by `pollTransmit`. */
  onTimeout(_now: Nanos): void {}

  /** When the next frame may start: the end of the one before it on its line. */
  nextTimeout(): Nanos {
    return this.#schedule.firstTime()
  }

  pollTransmit(now: Nanos): Frame | null {
    const schedule = this.#schedule
    if (schedule.firstTime() > now) return null
    const port = this.ports[schedule.first()]!
    const frame = port.transmit()
    const bytes = frame.wireLength
    schedule.set(port.index, port.waiting ? frame.departNs : NEVER)
    const ingress = frame.port
    this.buffer.remove(ingress, port.sentPriority, port.index, bytes)
    if (frame.shim >= 0) this.#stamper.stamp(port.serializer.startNs, frame, port, this.ports[ingress]!)
    frame.port = port.index
    return frame
  }

  /** Frames that wait in all queues. */
  get queuedFrames(): number {
    let frames = 0
    for (const port of this.ports) for (const queue of port.queues) frames += queue.count
    return frames
  }

  /** Starts a new window for all reports. */
  resetWindow(now: Nanos): void {
    this.#windowNs = now
    for (const port of this.ports) {
      port.counters.resetWindow()
      port.gauge.resetWindow(now)
      this.#busyAtWindowNs[port.index] = port.serializer.busyNs(now)
    }
  }

  /** What a port did from the start of the window until `now`. */
  report(now: Nanos, port: number): PortReport {
    const { counters, gauge, serializer, rateBps } = this.ports[port]!
    const windowNs = now - this.#windowNs
    const busyNs = serializer.busyNs(now) - this.#busyAtWindowNs[port]!
    return {
      switch: this.name,
      port,
      rateBps,
      windowNs,
      busyNs,
      utilization: windowNs > 0 ? busyNs / windowNs : 0,
      maxQueueBytes: gauge.peakBytes(now),
      meanQueueBytes: gauge.meanBytes(now),
      ...counters.window(),
    }
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
    const priority = this.#classifier.priority(frame)
    if (!this.buffer.check(ingress, priority, egress, bytes)) return DropReason.BUFFER_FULL
    const port = this.ports[egress]!
    const reason = port.enqueue(now, frame, priority)
    if (reason !== DropReason.NONE) return reason
    // While it waits, `frame.port` says where the frame came from.
    frame.port = ingress
    this.buffer.update(ingress, priority, egress, bytes)
    if (this.#schedule.timeOf(egress) === NEVER)
      this.#schedule.set(egress, Math.max(now, port.serializer.endNs))
    return DropReason.NONE
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
