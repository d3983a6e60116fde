import type { Nanos } from '../time/nanos.js'
import type { Frame } from './frame.js'
import type { ReceivedRun } from './received-run.js'

/**
 * What a host's NIC and a switch have in common: a state machine that is handed frames and the time, and
 * hands out frames and its next deadline. It holds no socket, clock, timer or random source.
 *
 * After any of `onFrame`, `onTimeout` or a command, the driver calls `pollTransmit` until it returns null,
 * then reads `nextTimeout`.
 */
export interface Node {
  /**
   * A frame has arrived whole on `port`. The node owns it from here on and must hand it on or give it back.
   *
   * @param run packets right behind it, of which the node may take some from the front; the others come as frames
   */
  onFrame(now: Nanos, port: number, frame: Frame, run?: ReceivedRun | null): void
  /**
   * As `onFrame`, for a driver that polls after each frame. Returns what `pollTransmit` would return first, or null: then something else may
   * leave first, or nothing. A node that has it names in `nextTimeout` when `pollTransmit` has a frame, exactly.
   */
  pass?(now: Nanos, port: number, frame: Frame): Frame | null
  /**
   * As `onFrame`, for a frame that stays the caller's, and that the caller uses again once this returns. True: it has been handled. False:
   * nothing has happened, and the frame is to come by `onFrame`.
   */
  takeInPlace?(now: Nanos, frame: Frame): boolean
  /** The time that `nextTimeout` named has come; harmless when called early. */
  onTimeout(now: Nanos): void
  /** When `onTimeout` or `pollTransmit` next has something to do, or NEVER. */
  nextTimeout(): Nanos
  /**
   * The next frame whose transmission starts now, or null. `frame.port` is the egress port and
   * `frame.departNs` the time at which its last bit has left. The caller owns the frame.
   */
  pollTransmit(now: Nanos): Frame | null
}
