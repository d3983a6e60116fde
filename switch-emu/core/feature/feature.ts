/**
 * A feature of a switch is one class, whose methods are the stages of a frame's way at which it acts. It
 * implements those that it needs. A stage calls the features that have it, in the order of `catalogue.ts`; a feature that is off
 * stands in no list and costs nothing.
 *
 *     onFrame ── route ── arrive ── admit ── enqueue ──┐                     (offered: queued or dropped)
 *                           │         │         │      └─ queue ── scheduler ── grow ── serialiser ── leave ── start ── out
 *                           │         └─────────┴─ dropped, counted
 *                           └─ may choose another priority
 *
 * Beside the way: `pause` (a PFC frame has come), `timeout` (a timer of the feature), `reset` and `report`.
 */
import type { Frame } from '../../../lib/frame/frame.js'
import type { FramePool } from '../../../lib/frame/frame-pool.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import type { DropReason } from '../queueing/counters.js'
import type { EgressPort, EnqueueStage, GrowStage } from '../queueing/egress-port.js'
import type { PauseAction } from '../queueing/pause-state.js'
import type { PortFigures } from '../queueing/port-report.js'

/**
 * A feature of one switch. Ports are numbers, or `EgressPort` where the frame is for that port's queue. Nothing here may keep a
 * frame, and what is called for each frame allocates nothing.
 */
export interface SwitchFeature extends Partial<EnqueueStage>, Partial<GrowStage> {
  /**
   * A frame has its egress port. Returns the priority of the queue that it goes to: `priority`, or another one. It may rewrite the
   * frame's headers.
   */
  arrive?(now: Nanos, frame: Frame, ingress: number, egress: number, priority: number): number
  /**
   * The memory of the switch has room for the frame. Returns a reason to drop it, or NONE; after NONE comes one `leave`.
   *
   * @param priority under which its memory is accounted
   */
  admit?(now: Nanos, frame: Frame, ingress: number, priority: number): DropReason
  /** A frame that `admit` let in has left its queue, or was dropped before it entered. */
  leave?(now: Nanos, frame: Frame, ingress: number, priority: number): void
  /** A frame from a link was offered to its queue. It is in the queue now, or is about to be dropped. Not called for frames of features. */
  offered?(now: Nanos, frame: Frame, ingress: number, port: EgressPort, priority: number): void
  /** The first bit of a frame leaves by `port`, at `startNs`. Its priority is `port.sentPriority`. */
  start?(startNs: Nanos, frame: Frame, port: EgressPort, ingress: EgressPort): void
  /** The peer of a port has paused or resumed a priority: `ports[port].pause` knows it already. */
  pause?(now: Nanos, port: number, priority: number): void
  /** A timer that the feature has set is up. @param at the time that it was set to */
  timeout?(at: Nanos, port: number, priority: number): void
  /** Starts a new window of counting. The state of the feature stays. */
  reset?(now: Nanos): void
  /**
   * What the feature adds to the result of a port, from the last `reset` to `now`.
   *
   * @param port its number; @param figures what the port itself has counted
   */
  report?(now: Nanos, port: number, figures: PortFigures): FeatureReport
}

/** Members of a port's result, by name: numbers, or whatever JSON can say. */
export type FeatureReport = Readonly<Record<string, unknown>>

/** What a switch offers to its features. */
export interface FeatureSwitch {
  readonly id: number
  readonly name: string
  readonly ports: readonly EgressPort[]
  /** For frames of a feature's own. It may be empty. */
  readonly pool: FramePool
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** All packet memory, bytes. */
  readonly bufferBytes: number
  /** When the switch begins: no time that a feature gets is before it. */
  readonly startNs: Nanos
  /** Bytes of the longest IP packet on the links. */
  readonly mtuBytes: number
  /** Bit p: priority p is lossless. */
  readonly losslessMask: number
  /** The feature of that class, if it stands before this one in the catalogue; null if it is off. */
  find<T extends SwitchFeature>(kind: FeatureClass<T>): T | null
  /**
   * Forwards a frame that the feature has made, to the address in its IP header. The switch owns it from here on, and drops and counts
   * it where it has no route or finds no room. For `offered`, `start`, `pause` and `timeout`: at the other stages a frame is half-way in.
   *
   * @param ingress the port that its memory is accounted to; default: the one that it leaves by
   */
  send(now: Nanos, frame: Frame, ingress?: number): void
  /** Looks again when a port may start its next frame: after a change of its pauses, or of what it has to send. */
  wake(now: Nanos, port: number): void
  /** What a port does from now on about its peer's pauses of a priority. With DROP, what waits there is dropped. */
  setPauseAction(now: Nanos, port: number, priority: number, action: PauseAction): void
}

// biome-ignore lint/suspicious/noExplicitAny: any constructor.
export type FeatureClass<T> = abstract new (...args: any[]) => T
