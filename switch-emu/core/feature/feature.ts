/**
 * A feature of a switch is one class. Its methods are the stages of a frame's way, and it implements those
 * that it needs. A stage calls the features that have it, in the order of `catalogue.ts`. A feature that is
 * off costs nothing.
 *
 *     onFrame ── forward ── arrive ── admit ── enqueue ──┐                     (offered: queued or dropped)
 *                   │         │         │         │      └─ queue ── scheduler ── grow ── serialiser ── leave ── start ── out
 *                   │         │         └─────────┴─ dropped, counted
 *                   │         └─ may choose another priority
 *                   └─ may choose the port in place of the routes
 *
 * Other methods are `linkLocal` (a frame for the switch itself arrived), `pause` (a PFC frame arrived), `link` (a link went down or came up), `timeout` (a timer of the feature), `reset` and `report`.
 */
import type { Frame } from '../../../lib/frame/frame.js'
import type { FramePool } from '../../../lib/frame/frame-pool.js'
import type { Nanos } from '../../../lib/time/nanos.js'
import type { HostAddress } from '../../../lib/wire/net/address.js'
import type { DropReason } from '../queueing/counters.js'
import type { EgressPort, EnqueueStage, GrowStage } from '../queueing/egress-port.js'
import type { PauseAction } from '../queueing/pause-state.js'
import type { PortFigures } from '../queueing/port-report.js'

/**
 * A feature of one switch. A port is a number, or an `EgressPort` where the frame is for that port's queue. A
 * feature must not keep a frame. A method that is called for each frame allocates nothing.
 */
export interface SwitchFeature extends Partial<EnqueueStage>, Partial<GrowStage> {
  /**
   * The headers of a frame are found. Returns the port by which it leaves, minus the reason to drop it, or UNDECIDED: then the
   * next feature says, or the routes do. It may put another frame in the place of this one, as a tunnel's end does.
   *
   * @param ingress -1: a feature has made the frame
   */
  forward?(now: Nanos, frame: Frame, ingress: number): number
  /**
   * The frame's egress port is known. Returns the priority of its queue: `priority`, or another one. It may
   * rewrite the frame's headers.
   */
  arrive?(now: Nanos, frame: Frame, ingress: number, egress: number, priority: number): number
  /**
   * The switch's memory has room for the frame. Returns a reason to drop it, or NONE. After NONE, `leave` is
   * called once. Not called for frames of features, whose memory is their own.
   *
   * @param priority under which its memory is accounted
   */
  admit?(now: Nanos, frame: Frame, ingress: number, priority: number): DropReason
  /** A frame that `admit` accepted has left its queue, or was dropped before it entered. */
  leave?(now: Nanos, frame: Frame, ingress: number, priority: number): void
  /**
   * A frame from a link was offered to its queue. It is in the queue now, or will be dropped. Not called for
   * frames of features.
   *
   * @param priority of its queue
   */
  offered?(now: Nanos, frame: Frame, ingress: number, port: EgressPort, priority: number): void
  /** The first bit of a frame leaves by `port`, at `startNs`. Its priority is `port.sentPriority`. */
  start?(startNs: Nanos, frame: Frame, port: EgressPort, ingress: EgressPort): void
  /**
   * A frame that is not IP has come to an address that no bridge forwards (IEEE Std 802.1Q-2018, table 8-1). True: the feature has read it.
   * It is never forwarded.
   */
  linkLocal?(now: Nanos, frame: Frame, port: number): boolean
  /** The peer of a port has paused or resumed a priority. `ports[port].pause` is up to date. */
  pause?(now: Nanos, port: number, priority: number): void
  /**
   * The link of a port has gone down or come up: `ports[port].isUp`. When it goes down, the port's queues are empty, and its
   * peer pauses nothing.
   */
  link?(now: Nanos, port: number, isUp: boolean): void
  /**
   * A timer of the feature has expired.
   *
   * @param at the time for which it was set
   */
  timeout?(at: Nanos, port: number, priority: number): void
  /**
   * The switch restarts: its queues are empty and its peers pause nothing. The feature forgets all that it has learned, stops its
   * timers, and begins anew. Counts for `report` remain. A feature without it knows nothing.
   */
  restart?(now: Nanos): void
  /** Returns what the feature lets samplers see of a port over time. */
  gauges?(port: number): readonly Gauge[]
  /** Starts a new window of counts. The state of the feature remains. */
  reset?(now: Nanos): void
  /**
   * Returns what the feature adds to the result of a port, from the last `reset` to `now`.
   *
   * @param port its number
   * @param figures counts of the port itself
   */
  report?(now: Nanos, port: number, figures: PortFigures): FeatureReport
}

/** The result of `forward` where the feature has no say in the frame's way. */
export const UNDECIDED = 1 << 16

/** A value that a sampler reads at intervals: a series of results. */
export interface Gauge {
  /** Kind of the series. */
  name: 'kmin' | 'kmax' | 'pmax' | 'pauses'
  /** What at the port it is of, behind the port's name. */
  of: string
  unit: string
  read(): number
}

/** Members of a port's result, by name: numbers, or other JSON values. */
export type FeatureReport = Readonly<Record<string, unknown>>

/** What a switch provides for its features. */
export interface FeatureSwitch {
  readonly id: number
  readonly name: string
  readonly ports: readonly EgressPort[]
  /** For frames that a feature makes. It may be empty. */
  readonly pool: FramePool
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** All packet memory, bytes. */
  readonly bufferBytes: number
  /** When the switch begins. Features never get an earlier time. */
  readonly startNs: Nanos
  /** Bytes of the longest IP packet on the links. */
  readonly mtuBytes: number
  /** Bit p: priority p is lossless. */
  readonly losslessMask: number
  /**
   * Returns the feature of that class, or null if it is off. The feature must precede this one in the
   * catalogue.
   */
  find<T extends SwitchFeature>(kind: FeatureClass<T>): T | null
  /** Returns the port by which the routes lead the flow with that hash to an address, or -1 if there is none. */
  portTo(address: HostAddress, flowHash: number): number
  /**
   * Returns true if the switch sends to the source of a frame by that port. A packet that came in by another one has a forged source, or
   * another way than its answers. Not for each packet.
   */
  isOnWayBack(frame: Frame, port: number): boolean
  /**
   * Forwards a frame that the feature has made, to the address in its IP header, and owns it. Frames of the switch itself have memory of
   * their own (`OwnMemory`), and no peer is paused for them. If there is no route or room, the switch drops and counts the frame. Call
   * it only from `offered`, `start`, `pause`, `link` and `timeout`: at the other stages a frame is being admitted.
   *
   * @param ingress the port that counts a drop. Default: the port by which it leaves
   */
  send(now: Nanos, frame: Frame, ingress?: number): void
  /**
   * Computes again when a port may start its next frame. Call it after a change of its pauses, or of what it
   * has to send.
   */
  wake(now: Nanos, port: number): void
  /**
   * Sets how a port reacts from now on to its peer's pauses of a priority. DROP also drops the waiting
   * frames.
   */
  setPauseAction(now: Nanos, port: number, priority: number, action: PauseAction): void
}

// biome-ignore lint/suspicious/noExplicitAny: any constructor.
export type FeatureClass<T> = abstract new (...args: any[]) => T
