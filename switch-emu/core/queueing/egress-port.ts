import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import type { FramePool } from '../../../lib/frame/frame-pool.js'
import { type Nanos, NEVER } from '../../../lib/time/nanos.js'
import { DropReason, SwitchPortCounters } from './counters.js'
import { EgressQueue } from './egress-queue.js'
import { PauseState } from './pause-state.js'
import { QueueGauge } from './queue-gauge.js'
import { QueueScheduler } from './queue-scheduler.js'
import { Serializer } from './serializer.js'
import { PRIORITIES } from './shared-buffer.js'

/** Options of an egress port. */
export interface PortOptions {
  /** Rate of the link, bit/s. */
  rateBps: number
  /**
   * Bytes that may wait in each of the port's lossy queues; the whole buffer of the switch when absent. Lossless ones are
   * bounded where frames come in.
   */
  queueBytesMax?: number
  /** DWRR weights of priorities 0 to 7, 0 = strict; all strict when absent. */
  weights?: readonly number[]
}

/** What a port shares with its switch. */
interface PortContext {
  bufferBytes: number
  pool: FramePool
  /** Bit p: priority p is lossless. */
  losslessMask: number
}

/** Acts on frames that are about to enter a queue. */
export interface EnqueueStage {
  /** The queue has room for the frame, and does not hold it yet. It may mark the frame. Returns a reason to drop it, or NONE. */
  enqueue(now: Nanos, frame: Frame, port: EgressPort, priority: number): DropReason
}

/** Makes frames longer that leave. */
export interface GrowStage {
  /** Bytes by which the feature will make a frame longer as it starts. The line is busy for so much longer. */
  grow(frame: Frame): number
}

/** What features do at the queues and the line of a port, in order. */
interface PortStages {
  enqueue: readonly EnqueueStage[]
  grow: readonly GrowStage[]
}

/** Frames that go ahead of all queues of a port, whatever is paused. */
interface UrgentFrames {
  /** When the next one should go out, or NEVER. */
  readonly dueNs: Nanos
  /** The frame that is due; null if none is free: then `dueNs` is later. @param startNs when its first bit leaves */
  transmit(startNs: Nanos): Frame | null
}

const NO_STAGES: PortStages = { enqueue: [], grow: [] }

/** The egress side of one port: eight queues, the pauses that hold them, the scheduler between them, and the line. */
export class EgressPort {
  readonly index: number
  readonly rateBps: number
  readonly counters = new SwitchPortCounters()
  readonly gauge = new QueueGauge()
  readonly serializer: Serializer
  readonly queues: readonly EgressQueue[]
  /** The peer's pauses: which queues may send. */
  readonly pause: PauseState
  /** Null: nothing goes ahead of the queues. */
  #urgent: UrgentFrames | null = null
  #stages = NO_STAGES
  /** False: no queue is ever held. */
  readonly #lossless: boolean
  readonly #scheduler: QueueScheduler
  /** By priority: bytes sent, and the rate that its weight guarantees. */
  readonly #sentBytes = new Float64Array(PRIORITIES)
  readonly #shareBps = new Float64Array(PRIORITIES)
  /** Bit p: the queue of priority p holds frames. */
  #waiting = 0
  #sentPriority = 0

  constructor(index: number, options: PortOptions, context: PortContext) {
    const { bufferBytes, pool, losslessMask } = context
    const { rateBps, queueBytesMax = bufferBytes, weights } = options
    this.index = index
    this.rateBps = rateBps
    this.serializer = new Serializer(rateBps)
    this.pause = new PauseState(rateBps, losslessMask)
    this.#lossless = losslessMask !== 0
    this.#scheduler = new QueueScheduler(weights)
    const sum = weights?.reduce((a, b) => a + b, 0) ?? 0
    for (let p = 0; p < PRIORITIES; p++) {
      const weight = weights?.[p] ?? 0
      this.#shareBps[p] = weight > 0 ? Math.floor((rateBps * weight) / sum) : rateBps
    }
    const lossless = (p: number) => ((losslessMask >>> p) & 1) === 1
    this.queues = Array.from(
      { length: PRIORITIES },
      (_, p) => new EgressQueue(lossless(p) ? bufferBytes : queueBytesMax, pool.capacity),
    )
  }

  /** Has features act at this port, once they are made. */
  setStages(stages: PortStages): void {
    this.#stages = stages
  }

  /** Lets frames go ahead of all queues. Throws WEIR_BAD_ARGUMENT if another feature does so already. */
  setUrgent(urgent: UrgentFrames): void {
    if (this.#urgent !== null) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `port ${this.index}: two features send urgent frames; leave one out`,
      )
    }
    this.#urgent = urgent
  }

  /** Bytes that wait in all queues of the port; not the frame that is being sent. */
  get queueBytes(): number {
    return this.gauge.bytes
  }

  /** Bytes that a priority has sent. */
  sentBytes(priority: number): number {
    return this.#sentBytes[priority]!
  }

  /** What deficit round robin guarantees a priority when all have something to send, bit/s; of a strict one the whole link. */
  shareBps(priority: number): number {
    return this.#shareBps[priority]!
  }

  /** Priority of the frame that `transmit` returned last. */
  get sentPriority(): number {
    return this.#sentPriority
  }

  /** When the port may begin its next frame, `now` or later, or NEVER if that takes an event. */
  nextStartNs(now: Nanos): Nanos {
    const waiting = this.#waiting
    const endNs = this.serializer.endNs
    const freeNs = now > endNs ? now : endNs
    let at = waiting === 0 ? NEVER : freeNs
    if (this.#lossless && waiting !== 0 && (waiting & ~this.pause.heldMaskAt(freeNs)) === 0) {
      at = this.pause.firstExpiry(waiting)
    }
    if (this.#urgent !== null) at = Math.min(at, Math.max(freeNs, this.#urgent.dueNs))
    return at
  }

  /** Queues a frame, unless there is a reason to drop it: then the caller still owns it. */
  enqueue(now: Nanos, frame: Frame, priority: number): DropReason {
    if (((this.pause.dropMask >>> priority) & 1) === 1) return DropReason.PFC_WATCHDOG
    const queue = this.queues[priority]!
    const bytes = frame.wireLength
    if (!queue.hasRoom(bytes)) return DropReason.QUEUE_FULL
    const { enqueue } = this.#stages
    for (let i = 0; i < enqueue.length; i++) {
      const refused = enqueue[i]!.enqueue(now, frame, this, priority)
      if (refused !== DropReason.NONE) return refused
    }
    frame.enqueuedNs = now
    queue.push(frame)
    this.gauge.change(now, bytes)
    this.#waiting |= 1 << priority
    return DropReason.NONE
  }

  /** True if at `dueNs`, which `nextStartNs` said, an urgent frame goes first. */
  isUrgentDue(dueNs: Nanos): boolean {
    return this.#urgent !== null && this.#urgent.dueNs <= dueNs
  }

  /** Starts the urgent frame that is due; null if there is none after all. */
  transmitUrgent(dueNs: Nanos): Frame | null {
    const frame = this.#urgent!.transmit(Math.max(dueNs, this.serializer.endNs))
    if (frame === null) return null
    this.serializer.transmit(dueNs, frame.wireLength)
    frame.departNs = this.serializer.endNs
    this.counters.onTransmitted(frame.wireLength)
    return frame
  }

  /**
   * Starts the next frame, at the time at which the line was free, the frame there and its queue not held, which may be
   * past: `serializer.startNs`. Its last bit leaves at `frame.departNs`. A queue must be ready to send. Features make it as
   * much longer as they said.
   *
   * @param dueNs what `nextStartNs` said
   */
  transmit(dueNs: Nanos): Frame {
    const held = this.#lossless ? this.pause.heldMask(dueNs) : 0
    const priority = this.#scheduler.pick(this.#waiting & ~held, this.queues)
    const queue = this.queues[priority]!
    const frame = queue.shift()
    const bytes = frame.wireLength
    const empty = queue.count === 0
    if (empty) this.#waiting &= ~(1 << priority)
    this.#scheduler.onSent(priority, bytes, empty)
    this.#sentPriority = priority
    // Memory and weights know the frame as it came in; on the line it is as long as it leaves.
    const { grow } = this.#stages
    let growth = 0
    for (let i = 0; i < grow.length; i++) growth += grow[i]!.grow(frame)
    const readyNs = dueNs > frame.enqueuedNs ? dueNs : frame.enqueuedNs
    const startNs = this.serializer.transmit(readyNs, bytes + growth)
    frame.departNs = this.serializer.endNs
    this.gauge.change(startNs, -bytes)
    this.counters.onTransmitted(bytes + growth)
    this.#sentBytes[priority]! += bytes + growth
    return frame
  }

  /** Takes the first frame out of a queue without sending it; null when the queue is empty. */
  takeOut(now: Nanos, priority: number): Frame | null {
    const queue = this.queues[priority]!
    if (queue.count === 0) return null
    const frame = queue.shift()
    this.gauge.change(now, -frame.wireLength)
    if (queue.count === 0) {
      this.#waiting &= ~(1 << priority)
      this.#scheduler.onSent(priority, 0, true)
    }
    return frame
  }
}
