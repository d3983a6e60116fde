import { DOUBLE_0 } from '../../../lib/double.js'
import { WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'
import type { FramePool } from '../../../lib/frame/frame-pool.js'
import { type Nanos, NEVER } from '../../../lib/time/nanos.js'
import { DropReason, SwitchPortCounters } from './counters.js'
import { DrainBarrier } from './drain-barrier.js'
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
   * Bytes that may wait in each lossy queue of the port. Default: the whole buffer of the switch. Lossless
   * queues are bounded at the ingress.
   */
  queueBytesMax?: number
  /** DWRR weights of priorities 0 to 7, 0 = strict. Default: all strict. */
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
  /**
   * The queue has room for the frame, and does not contain it yet. It may mark the frame. Returns a reason to
   * drop it, or NONE.
   */
  enqueue(now: Nanos, frame: Frame, port: EgressPort, priority: number): DropReason
}

/** Makes frames longer that leave. */
export interface GrowStage {
  /**
   * Bytes by which the feature makes a frame longer when it starts. The line is busy for longer accordingly.
   */
  grow(frame: Frame): number
}

/** What features do at the queues and the line of a port. Null: nothing. */
interface PortStages {
  enqueue: EnqueueStage | null
  grow: GrowStage | null
}

/** Frames that precede all queues of a port, whatever is paused. */
export interface UrgentFrames {
  /** When the next one is due, or NEVER. */
  readonly dueNs: Nanos
  /**
   * Returns the due frame. Returns null if no frame is free, and then `dueNs` is later.
   *
   * @param startNs when its first bit leaves
   */
  transmit(startNs: Nanos): Frame | null
}

/** Two sources of urgent frames as one: those that are due first leave first, and the one's before the other's. */
class UrgentInTurn implements UrgentFrames {
  readonly #one: UrgentFrames
  readonly #other: UrgentFrames

  constructor(one: UrgentFrames, other: UrgentFrames) {
    this.#one = one
    this.#other = other
  }

  get dueNs(): Nanos {
    return Math.min(this.#one.dueNs, this.#other.dueNs)
  }

  transmit(startNs: Nanos): Frame | null {
    return (this.#one.dueNs <= this.#other.dueNs ? this.#one : this.#other).transmit(startNs)
  }
}

/**
 * The egress side of one port: eight queues, the pauses that hold them, the scheduler between them, and the
 * line.
 */
export class EgressPort {
  readonly index: number
  readonly counters = new SwitchPortCounters()
  readonly gauge = new QueueGauge()
  readonly serializer: Serializer
  readonly queues: readonly EgressQueue[]
  /** The peer's pauses: which queues may send. */
  readonly pause: PauseState
  /** False: the link is down. The port sends nothing, and takes nothing into its queues. Only `Switch.setLink` changes it. */
  isUp = true
  /** Null: no flow changes its queue. */
  #barrier: DrainBarrier | null = null
  /** Null: no frames precede the queues. */
  #urgent: UrgentFrames | null = null
  #enqueue: EnqueueStage | null = null
  #grow: GrowStage | null = null
  /** False: no queue is ever held. */
  readonly #lossless: boolean
  readonly #scheduler: QueueScheduler
  readonly #weights: readonly number[]
  /** What the line could carry since `resetCapacity`: at former rates, in bytes x 8e9, and since when at the present one. */
  #carried = 0
  #rateSinceNs: Nanos = DOUBLE_0
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
    this.serializer = new Serializer(rateBps)
    this.pause = new PauseState(rateBps, losslessMask)
    this.#lossless = losslessMask !== 0
    this.#scheduler = new QueueScheduler(weights)
    this.#weights = weights ?? []
    this.#share()
    const lossless = (p: number) => ((losslessMask >>> p) & 1) === 1
    this.queues = Array.from(
      { length: PRIORITIES },
      (_, p) => new EgressQueue(lossless(p) ? bufferBytes : queueBytesMax, pool.capacity),
    )
  }

  /** Sets the features that act at this port, once they exist. */
  setStages({ enqueue, grow }: PortStages): void {
    this.#enqueue = enqueue
    this.#grow = grow
  }

  /** Rate of the link, bit/s. */
  get rateBps(): number {
    return this.serializer.rateBps
  }

  /** Sets the rate from now on. The frame in transmission ends as it began. Call `Switch.wake` afterwards. */
  setRate(now: Nanos, rateBps: number): void {
    this.#carried += this.rateBps * (now - this.#rateSinceNs)
    this.#rateSinceNs = now
    this.serializer.setRate(rateBps)
    this.pause.setRate(rateBps)
    this.#share()
  }

  /** Bytes that the line could have carried since `resetCapacity`. */
  capacityBytes(now: Nanos): number {
    return (this.#carried + this.rateBps * (now - this.#rateSinceNs)) / 8e9
  }

  resetCapacity(now: Nanos): void {
    this.#carried = 0
    this.#rateSinceNs = now
  }

  #share(): void {
    const { rateBps } = this
    const sum = this.#weights.reduce((a, b) => a + b, 0)
    for (let p = 0; p < PRIORITIES; p++) {
      const weight = this.#weights[p] ?? 0
      this.#shareBps[p] = weight > 0 ? Math.floor((rateBps * weight) / sum) : rateBps
    }
  }

  /** Adds a source of frames that precede all queues. */
  addUrgent(urgent: UrgentFrames): void {
    this.#urgent = this.#urgent === null ? urgent : new UrgentInTurn(this.#urgent, urgent)
  }

  /** Returns the barrier that may hold the queue of `priority`. Throws WEIR_BAD_ARGUMENT if there is one already. */
  addBarrier(priority: number): DrainBarrier {
    if (this.#barrier !== null) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `port ${this.index}: two features hold a queue; leave one out`)
    }
    this.#barrier = new DrainBarrier(priority)
    return this.#barrier
  }

  /** Bytes that wait in all queues of the port, without the frame in transmission. */
  get queueBytes(): number {
    return this.gauge.bytes
  }

  /** Bytes that a priority has sent since the switch started. */
  sentBytes(priority: number): number {
    return this.#sentBytes[priority]!
  }

  /** Bytes of the frame in transmission that are not on the line yet. */
  unsentBytes(now: Nanos): number {
    return Math.max(0, Math.round(((this.serializer.endNs - now) * this.rateBps) / 8e9))
  }

  /**
   * Rate that deficit round robin guarantees a priority when all have frames to send, bit/s. For a strict one
   * it is that of the whole link.
   */
  shareBps(priority: number): number {
    return this.#shareBps[priority]!
  }

  /** Priority of the frame that `transmit` returned last. */
  get sentPriority(): number {
    return this.#sentPriority
  }

  /** When the port may begin its next frame, `now` or later. NEVER if that needs an event. */
  nextStartNs(now: Nanos): Nanos {
    if (!this.isUp) return NEVER
    const waiting = this.#waiting
    const endNs = this.serializer.endNs
    const freeNs = now > endNs ? now : endNs
    let at = waiting === 0 ? NEVER : freeNs
    // A barrier holds a queue only while another one has frames, so it is of no account here unless that one is paused.
    if (this.#lossless && waiting !== 0 && (waiting & ~this.#heldMaskAt(freeNs)) === 0) {
      at = this.pause.firstExpiry(waiting)
    }
    if (this.#urgent !== null) at = Math.min(at, Math.max(freeNs, this.#urgent.dueNs))
    return at
  }

  #heldMaskAt(atNs: Nanos): number {
    const paused = this.pause.heldMaskAt(atNs)
    return this.#barrier === null ? paused : paused | this.#barrier.heldMask(this.queues)
  }

  /** Returns a reason to drop a frame, or NONE: then it is to be queued, or to pass. */
  admit(now: Nanos, frame: Frame, priority: number): DropReason {
    if (!this.isUp) return DropReason.LINK_DOWN
    if (((this.pause.dropMask >>> priority) & 1) === 1) return DropReason.PFC_WATCHDOG
    if (!this.queues[priority]!.hasRoom(frame.wireLength)) return DropReason.QUEUE_FULL
    return this.#enqueue === null ? DropReason.NONE : this.#enqueue.enqueue(now, frame, this, priority)
  }

  /** Queues a frame that `admit` has accepted. */
  enqueue(now: Nanos, frame: Frame, priority: number): void {
    frame.enqueuedNs = now
    this.queues[priority]!.push(frame)
    this.gauge.change(now, frame.wireLength)
    this.#waiting |= 1 << priority
  }

  /** Returns true if a frame that were queued now would start at once. */
  isFree(now: Nanos): boolean {
    if (this.#waiting !== 0 || this.serializer.endNs > now || this.#barrier !== null) return false
    if (this.#lossless && this.pause.any) return false
    return this.#urgent === null || this.#urgent.dueNs > now
  }

  /** Some frames precede the queues at times of their own. */
  get hasUrgent(): boolean {
    return this.#urgent !== null
  }

  /** Starts a frame that `admit` has accepted, without queueing it. The port is free: the outcome is that of `enqueue` and `transmit`. */
  pass(now: Nanos, frame: Frame, priority: number): void {
    frame.enqueuedNs = now
    this.queues[priority]!.pass()
    this.#scheduler.onPassed(priority)
    this.#send(now, frame, priority)
  }

  /** The switch has restarted: what telemetry reports counts from 0. */
  restart(): void {
    this.counters.restart()
    this.#sentBytes.fill(0)
  }

  /** Returns true if an urgent frame precedes at `dueNs`, the result of `nextStartNs`. */
  isUrgentDue(dueNs: Nanos): boolean {
    return this.#urgent !== null && this.#urgent.dueNs <= dueNs
  }

  /** Starts the due urgent frame. Returns null if there is none. */
  transmitUrgent(dueNs: Nanos): Frame | null {
    const frame = this.#urgent!.transmit(Math.max(dueNs, this.serializer.endNs))
    if (frame === null) return null
    this.serializer.transmit(dueNs, frame.wireLength)
    frame.departNs = this.serializer.endNs
    this.counters.onTransmitted(frame.wireLength)
    return frame
  }

  /**
   * Starts the next frame. Its start is the time at which the line was free, the frame was there and its
   * queue was not held, and may be past: `serializer.startNs`. Its last bit leaves at `frame.departNs`. A
   * queue must be ready to send. Features make it longer as announced by `grow`.
   *
   * @param dueNs the result of `nextStartNs`
   */
  transmit(dueNs: Nanos): Frame {
    const paused = this.#lossless ? this.pause.heldMask(dueNs) : 0
    const held = this.#barrier === null ? paused : paused | this.#barrier.heldMask(this.queues)
    const priority = this.#scheduler.pick(this.#waiting & ~held, this.queues)
    const queue = this.queues[priority]!
    const frame = queue.shift()
    const bytes = frame.wireLength
    const empty = queue.count === 0
    if (empty) this.#waiting &= ~(1 << priority)
    this.#scheduler.onSent(priority, bytes, empty)
    this.#send(dueNs > frame.enqueuedNs ? dueNs : frame.enqueuedNs, frame, priority)
    this.gauge.change(this.serializer.startNs, -bytes)
    return frame
  }

  /** A frame goes onto the line that has been ready since `readyNs`. */
  #send(readyNs: Nanos, frame: Frame, priority: number): void {
    this.#sentPriority = priority
    // Memory and weights count the frame's length at its arrival, the line its length at departure.
    const bytes = frame.wireLength + (this.#grow === null ? 0 : this.#grow.grow(frame))
    this.serializer.transmit(readyNs, bytes)
    frame.departNs = this.serializer.endNs
    this.counters.onTransmitted(bytes)
    this.#sentBytes[priority]! += bytes
  }

  /**
   * Removes and returns the first frame of a queue without sending it. Returns null when the queue is empty.
   */
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
