import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { NATIVE } from '../../lib/wire/telemetry.js'
import { growthBytes } from '../../lib/wire/telemetry-hop.js'
import { DropReason, PortCounters } from './counters.js'
import { EgressQueue } from './egress-queue.js'
import { PauseState } from './pause-state.js'
import type { PfcSender } from './pfc-sender.js'
import { QueueGauge } from './queue-gauge.js'
import { Scheduler } from './scheduler.js'
import { Serializer } from './serializer.js'
import { PRIORITIES } from './shared-buffer.js'
import { type EcnOptions, Wred, WredVerdict } from './wred.js'

/** Options of an egress port. */
export interface PortOptions {
  /** Rate of the link, bit/s. */
  rateBps: number
  /**
   * Bytes that may wait in each of the port's lossy queues; the whole buffer of the switch when absent. Lossless ones are
   * bounded where frames come in.
   */
  queueBytesMax?: number
  /** Marking of queues: of all, or of the priorities that each entry names. None when absent. */
  ecn?: EcnOptions | readonly EcnOptions[]
  /** DWRR weights of priorities 0 to 7, 0 = strict; all strict when absent. */
  weights?: readonly number[]
}

/** What a port shares with its switch. */
export interface PortContext {
  bufferBytes: number
  pool: FramePool
  random: () => number
  /** Bit p: priority p is lossless. */
  losslessMask: number
  /** Null without PFC. */
  pfcSender: PfcSender | null
  /** Bytes of the longest IP packet that may leave by it; bounds telemetry that is inserted. */
  mtuBytes: number
  /** False: the switch writes no telemetry, so no frame grows. */
  writesTelemetry: boolean
}

/** The way out of one port: eight queues, what holds them, the scheduler between them, marking, and the line. */
export class EgressPort {
  readonly index: number
  readonly rateBps: number
  readonly counters = new PortCounters()
  readonly gauge = new QueueGauge()
  readonly serializer: Serializer
  readonly queues: readonly EgressQueue[]
  /** What the peer has said about which queues may send. */
  readonly pause: PauseState
  /** Tells the peer what it may send; null without PFC. */
  readonly pfcSender: PfcSender | null
  /** False: nothing is ever held, and no peer is told to hold anything. */
  readonly #lossless: boolean
  readonly #scheduler: Scheduler
  /** By priority: bytes sent, and the rate that its weight guarantees. */
  readonly #sentBytes = new Float64Array(PRIORITIES)
  readonly #shareBps = new Float64Array(PRIORITIES)
  /** By priority; null: its queue is not marked. */
  readonly #wreds: readonly (Wred | null)[]
  /** Bit p: the queue of priority p holds frames. */
  #waiting = 0
  #sentPriority = 0
  #sentGrowth = 0
  readonly #mtuBytes: number
  readonly #writesTelemetry: boolean

  constructor(index: number, options: PortOptions, context: PortContext) {
    const { bufferBytes, pool, random, losslessMask, pfcSender, mtuBytes, writesTelemetry } = context
    const { rateBps, queueBytesMax = bufferBytes, ecn = [], weights } = options
    this.index = index
    this.rateBps = rateBps
    this.serializer = new Serializer(rateBps)
    this.pause = new PauseState(rateBps, losslessMask)
    this.pfcSender = pfcSender
    this.#mtuBytes = mtuBytes
    this.#writesTelemetry = writesTelemetry
    this.#lossless = losslessMask !== 0 || pfcSender !== null
    this.#scheduler = new Scheduler(weights)
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
    const markings = Array.isArray(ecn) ? (ecn as readonly EcnOptions[]) : [ecn as EcnOptions]
    this.#wreds = this.queues.map((_, p) => {
      const marking = markings.find(({ priorities }) => priorities === undefined || priorities.includes(p))
      return marking === undefined ? null : new Wred(marking, random, !lossless(p))
    })
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

  /** Bytes of telemetry that the frame which `transmit` returned last gets here: it leaves by so much longer. */
  get sentGrowth(): number {
    return this.#sentGrowth
  }

  /** When the port may begin its next frame, `now` or later, or NEVER if that takes an event. */
  nextStartNs(now: Nanos): Nanos {
    const waiting = this.#waiting
    const endNs = this.serializer.endNs
    const freeNs = now > endNs ? now : endNs
    if (!this.#lossless) return waiting === 0 ? NEVER : freeNs
    let at = NEVER
    if (waiting !== 0) {
      const free = (waiting & ~this.pause.heldMaskAt(freeNs)) !== 0
      at = free ? freeNs : this.pause.firstExpiry(waiting)
    }
    if (this.pfcSender !== null) at = Math.min(at, Math.max(freeNs, this.pfcSender.dueNs))
    return at
  }

  /** Queues a frame, unless there is a reason to drop it: then the caller still owns it. */
  enqueue(now: Nanos, frame: Frame, priority: number): DropReason {
    if (((this.pause.dropMask >>> priority) & 1) === 1) return DropReason.PFC_WATCHDOG
    const queue = this.queues[priority]!
    const bytes = frame.wireLength
    if (!queue.hasRoom(bytes)) return DropReason.QUEUE_FULL
    const wred = this.#wreds[priority]!
    if (wred !== null) {
      const verdict = wred.onEnqueue(frame, queue.bytes)
      if (verdict === WredVerdict.DROP) return DropReason.WRED
      if (verdict === WredVerdict.MARKED) this.counters.onMarked()
    }
    frame.enqueuedNs = now
    queue.push(frame)
    this.gauge.change(now, bytes)
    this.#waiting |= 1 << priority
    return DropReason.NONE
  }

  /** True if at `dueNs`, which `nextStartNs` said, a PFC frame goes first. */
  isPfcDue(dueNs: Nanos): boolean {
    return this.pfcSender !== null && this.pfcSender.dueNs <= dueNs
  }

  /** Starts the PFC frame that is due; null when the pool is empty. */
  transmitPfc(dueNs: Nanos): Frame | null {
    const frame = this.pfcSender!.transmit(Math.max(dueNs, this.serializer.endNs))
    if (frame === null) return null
    this.serializer.transmit(dueNs, frame.wireLength)
    frame.departNs = this.serializer.endNs
    this.counters.onTransmitted(frame.wireLength)
    return frame
  }

  /**
   * Starts the next frame, at the time at which the line was free, the frame there and its queue not held, which may be
   * past: `serializer.startNs`. Its last bit leaves at `frame.departNs`. A queue must be ready to send. The caller makes it
   * longer by `sentGrowth`.
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
    const grows = this.#writesTelemetry && frame.intFormat !== NATIVE
    const growth = grows ? growthBytes(frame, this.#mtuBytes) : 0
    this.#sentGrowth = growth
    const readyNs = dueNs > frame.enqueuedNs ? dueNs : frame.enqueuedNs
    const startNs = this.serializer.transmit(readyNs, bytes + growth)
    frame.departNs = this.serializer.endNs
    this.gauge.change(startNs, -bytes)
    this.counters.onTransmitted(bytes + growth)
    this.#sentBytes[priority]! += bytes + growth
    if (this.#wreds[priority]?.onDequeue(frame, queue.bytes) === true) this.counters.onMarked()
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
