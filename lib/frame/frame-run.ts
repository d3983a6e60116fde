import { assert } from '../errors.js'
import type { Frame } from './frame.js'
import type { FramePool } from './frame-pool.js'

/** Packets of the longest run: what Linux takes as one datagram (UDP_MAX_SEGMENTS). */
export const RUN_PACKETS_MAX = 64
/** Numbers of runs are small integers, from 1. */
const NUMBER_MAX = 0x3fff_ffff

/**
 * A run: consecutive packets of one work request that are written together, and handed out one by one. Its head is written as every
 * packet is. The frames here follow the head: their headers are copies of the head's.
 */
export class FrameRun {
  readonly #pool: FramePool
  readonly #frames: (Frame | null)[] = []
  #next = 0
  #end = 0
  #number = 0

  /** @param pool that the frames are taken from */
  constructor(pool: FramePool) {
    this.#pool = pool
  }

  /** Frames that have not been handed out. */
  get size(): number {
    return this.#end - this.#next
  }

  /** The frame that is number `i` of those, from 0. */
  at(i: number): Frame {
    return this.#frames[this.#next + i]!
  }

  /**
   * Begins a run behind that head. The last one must have been handed out.
   *
   * @param packets that follow the head: 1 to 63, as many as the pool has frames
   */
  begin(head: Frame, packets: number): void {
    assert(this.size === 0, 'run: the last one has not left')
    assert(packets > 0 && packets < RUN_PACKETS_MAX, 'run: it is too long')
    this.#number = (this.#number % NUMBER_MAX) + 1
    head.run = this.#number
    this.#next = 0
    for (this.#end = 0; this.#end < packets; this.#end++) {
      const frame = this.#pool.take()
      assert(frame !== null, 'run: the pool has fewer frames than it said')
      frame.follow(head)
      this.#frames[this.#end] = frame
    }
  }

  /** The next frame, which the caller owns from now on. Null when all have been handed out. */
  shift(): Frame | null {
    if (this.#next === this.#end) return null
    const frame = this.#frames[this.#next]!
    this.#frames[this.#next++] = null
    return frame
  }

  /** Gives the frames back that have not been handed out. */
  abandon(): void {
    for (let frame = this.shift(); frame !== null; frame = this.shift()) this.#pool.give(frame)
  }
}
