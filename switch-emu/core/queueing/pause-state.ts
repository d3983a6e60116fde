import type { Nanos } from '../../../lib/time/nanos.js'
import { PauseClock } from '../../../lib/time/pause-clock.js'
import * as pfc from '../../../lib/wire/net/pfc.js'
import { PRIORITIES } from './shared-buffer.js'

/** How a port reacts to the pauses that its peer sends for one priority. */
export const PauseAction = {
  /** Hold the queue while the pause lasts (802.1Qbb). */
  OBEY: 0,
  /** Ignore pauses, but record them. */
  FORWARD: 1,
  /** As FORWARD, and drop every frame for this queue. */
  DROP: 2,
} as const
export type PauseAction = (typeof PauseAction)[keyof typeof PauseAction]

/**
 * The pauses that one port has received: which of its egress priorities must wait, and until when. A pause
 * lasts its quanta times 512 bit times of the port's rate (802.1Q, clause 36), rounded up to a whole
 * nanosecond, from the arrival of its last bit. The frame in transmission is finished.
 *
 * A watchdog reads here what the peer has sent (`sinceNs`), whether or not the port obeys it, and decides
 * that by `Switch.setPauseAction`.
 */
export class PauseState {
  #rateBps: number
  /** The peer's pauses, obeyed or not. */
  readonly #told = new PauseClock()
  readonly #received = new Float64Array(PRIORITIES)
  readonly #actions = new Uint8Array(PRIORITIES)
  #dropMask = 0
  /** Bit p: pauses of priority p have an effect, unless a watchdog changes it. */
  readonly #lossless: number
  #obeyed: number
  /** A queue that pauses of other priorities hold too, as a bit, and those priorities. 0: none. */
  #follower = 0
  #leaders = 0

  /**
   * Pauses of priorities without PFC are only recorded.
   *
   * @param rateBps of the port, bit/s
   * @param lossless bit p: PFC is on for priority p
   */
  constructor(rateBps: number, lossless: number) {
    this.#rateBps = rateBps
    this.#lossless = lossless
    this.#obeyed = lossless
  }

  /** Sets the rate by which the quanta of later pauses count. */
  setRate(rateBps: number): void {
    this.#rateBps = rateBps
  }

  /**
   * Pauses of these priorities hold the queue of `priority` too: its packets have their DSCP [PFC_PRIORITY_TO_QUEUE_MAP].
   *
   * @param leaders bit p: priority p
   */
  holdAlso(priority: number, leaders: number): void {
    this.#follower = 1 << priority
    this.#leaders = leaders
  }

  /** A PFC frame has `quanta`, 0 to 65535, for `priority`. 0 resumes. */
  onPause(now: Nanos, priority: number, quanta: number): void {
    this.#told.pause(now, priority, pfc.pauseNs(quanta, this.#rateBps))
    if (quanta === 0) return
    this.#received[priority]! += 1
  }

  /** False: the peer pauses nothing. */
  get any(): boolean {
    return this.#told.any
  }

  /** Bit p: the queue of priority p must not begin a frame at `now`. */
  heldMask(now: Nanos): number {
    return this.#told.any ? this.#withFollower(this.#told.pausedMask(now) & this.#obeyed) : 0
  }

  /** The same for a later time, as far as is known now. */
  heldMaskAt(laterNs: Nanos): number {
    return this.#told.any ? this.#withFollower(this.#told.pausedMaskAt(laterNs) & this.#obeyed) : 0
  }

  #withFollower(held: number): number {
    return (held & this.#leaders) === 0 ? held : held | this.#follower
  }

  /** Returns when the first of the held queues in `mask` may continue, or NEVER if none is held. */
  firstExpiry(mask: number): Nanos {
    const follower = mask & this.#follower
    const first = this.#told.firstExpiry(mask & ~follower & this.#obeyed)
    if (follower === 0) return first
    // It waits for the last of the pauses that hold it.
    return Math.min(first, this.#told.lastExpiry((follower | this.#leaders) & this.#obeyed))
  }

  /** Since when the peer has paused `priority` without a gap, obeyed or not. NEVER if it is not paused. */
  sinceNs(now: Nanos, priority: number): Nanos {
    return this.#told.sinceNs(now, priority)
  }

  /** Pauses, without resumes, that have been received for `priority`. */
  pausesReceived(priority: number): number {
    return this.#received[priority]!
  }

  /** Time for which the peer has paused `priority`, up to `now`. */
  pausedNs(now: Nanos, priority: number): Nanos {
    return this.#told.totalNs(now, priority)
  }

  /** Time for which the peer has paused at least one priority, up to `now`. */
  anyPausedNs(now: Nanos): Nanos {
    return this.#told.anyTotalNs(now)
  }

  /** Bit p: frames for the queue of priority p are dropped. */
  get dropMask(): number {
    return this.#dropMask
  }

  action(priority: number): PauseAction {
    return this.#actions[priority] as PauseAction
  }

  /** Only `Switch.setPauseAction` calls this. It also handles the queue. */
  setAction(priority: number, action: PauseAction): void {
    this.#actions[priority] = action
    const bit = 1 << priority
    if (action === PauseAction.OBEY) this.#obeyed |= bit & this.#lossless
    else this.#obeyed &= ~bit
    if (action === PauseAction.DROP) this.#dropMask |= bit
    else this.#dropMask &= ~bit
  }
}
