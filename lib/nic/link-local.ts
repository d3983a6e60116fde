import type { Frame } from '../frame/frame.js'
import type { FramePool } from '../frame/frame-pool.js'
import type { Nanos } from '../time/nanos.js'

/** Speaks with the switch at the other end of the host's link, by frames that no switch forwards. */
export interface LinkLocal {
  /** Takes a frame that is not IP. False: it is something else. The caller owns it either way. */
  receive(now: Nanos, frame: Frame): boolean
  /** When a frame waits for the link, or NEVER. */
  readonly dueNs: Nanos
  /** Returns the frame that is due, or null. */
  transmit(now: Nanos, pool: FramePool): Frame | null
  nextTimeout(): Nanos
  onTimeout(now: Nanos): void
}
