import type { Frame } from '../../lib/frame/frame.js'
import type { Nanos } from '../../lib/time/nanos.js'
import { DropReason, PortCounters } from './counters.js'
import { EgressQueue } from './egress-queue.js'
import { QueueGauge } from './queue-gauge.js'
import { Scheduler } from './scheduler.js'
import { Serializer } from './serializer.js'
import { PRIORITIES } from './shared-buffer.js'
import { type EcnOptions, Wred, WredVerdict } from './wred.js'

export interface PortOptions {
  /** Rate of the link, bit/s. */
  rateBps: number
  /** Bytes that may wait in each of the port's queues; the whole buffer of the switch when absent. */
  queueBytesMax?: number
  /** Marking of each queue; none when absent. */
  ecn?: EcnOptions
  /** DWRR weights of priorities 0 to 7, 0 = strict; all strict when absent. */
  weights?: readonly number[]
}

/** The way out of one port: eight queues, the scheduler between them, marking, and the line. */
export class EgressPort {
  readonly index: number
  readonly rateBps: number
  readonly counters = new PortCounters()
  readonly gauge = new QueueGauge()
  readonly serializer: Serializer
  readonly queues: readonly EgressQueue[]
  readonly #scheduler: Scheduler
  readonly #wred: Wred | null
  /** Bit p: the queue of priority p holds frames. */
  #waiting = 0
  #sentPriority = 0

  constructor(
    index: number,
    options: PortOptions,
    bufferBytes: number,
    framesMax: number,
    random: () => number,
  ) {
    this.index = index
    this.rateBps = options.rateBps
    this.serializer = new Serializer(options.rateBps)
    const bytesMax = options.queueBytesMax ?? bufferBytes
    this.queues = Array.from({ length: PRIORITIES }, () => new EgressQueue(bytesMax, framesMax))
    this.#scheduler = new Scheduler(options.weights)
    this.#wred = options.ecn === undefined ? null : new Wred(options.ecn, random)
  }

  /** Bytes that wait in all queues of the port; not the frame that is being sent. */
  get queueBytes(): number {
    return this.gauge.bytes
  }

  /** True if a frame waits. */
  get waiting(): boolean {
    return this.#waiting !== 0
  }

  /** Priority of the frame that `transmit` returned last. */
  get sentPriority(): number {
    return this.#sentPriority
  }

  /** Queues a frame, unless there is a reason to drop it: then the caller still owns it. */
  enqueue(now: Nanos, frame: Frame, priority: number): DropReason {
    const queue = this.queues[priority]!
    const bytes = frame.wireLength
    if (!queue.hasRoom(bytes)) return DropReason.QUEUE_FULL
    if (this.#wred !== null) {
      const verdict = this.#wred.onEnqueue(frame, queue.bytes)
      if (verdict === WredVerdict.DROP) return DropReason.WRED
      if (verdict === WredVerdict.MARKED) this.counters.onMarked()
    }
    frame.enqueuedNs = now
    queue.push(frame)
    this.gauge.change(now, bytes)
    this.#waiting |= 1 << priority
    return DropReason.NONE
  }

  /**
   * Starts the next frame, at the time at which both the line was free and the frame there, which may be
   * past: `serializer.startNs`. Its last bit leaves at `frame.departNs`. A frame must be waiting.
   */
  transmit(): Frame {
    const priority = this.#scheduler.pick(this.#waiting, this.queues)
    const queue = this.queues[priority]!
    const frame = queue.shift()
    const bytes = frame.wireLength
    const empty = queue.count === 0
    if (empty) this.#waiting &= ~(1 << priority)
    this.#scheduler.onSent(priority, bytes, empty)
    this.#sentPriority = priority
    const startNs = this.serializer.transmit(frame.enqueuedNs, bytes)
    frame.departNs = this.serializer.endNs
    this.gauge.change(startNs, -bytes)
    this.counters.onTransmitted(bytes)
    if (this.#wred?.onDequeue(frame, queue.bytes) === true) this.counters.onMarked()
    return frame
  }
}
