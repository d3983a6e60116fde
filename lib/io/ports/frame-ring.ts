import { assert, WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'

/** A bounded first-in-first-out queue of frames. */
export class FrameRing {
  readonly capacity: number
  readonly #frames: (Frame | null)[]
  readonly #mask: number
  #head = 0
  #count = 0

  /** @param capacity a power of two, 1 to 65,536 */
  constructor(capacity: number) {
    if (!(capacity >= 1 && capacity <= 65_536) || (capacity & (capacity - 1)) !== 0) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `frame ring: ${capacity} is no power of two from 1 to 65536`)
    }
    this.capacity = capacity
    this.#mask = capacity - 1
    this.#frames = new Array(capacity).fill(null)
  }

  get size(): number {
    return this.#count
  }

  get full(): boolean {
    return this.#count === this.capacity
  }

  /** Returns false when the ring is full. The caller then still owns the frame. */
  push(frame: Frame): boolean {
    if (this.#count === this.capacity) return false
    assert(frame.taken, 'a frame that nobody owns was pushed into a ring')
    this.#frames[(this.#head + this.#count) & this.#mask] = frame
    this.#count++
    return true
  }

  /** Returns the oldest frame without removing it, or null. */
  peek(): Frame | null {
    return this.#count === 0 ? null : this.#frames[this.#head]!
  }

  /** Removes and returns the oldest frame, or null. */
  shift(): Frame | null {
    if (this.#count === 0) return null
    const frame = this.#frames[this.#head]!
    this.#frames[this.#head] = null
    this.#head = (this.#head + 1) & this.#mask
    this.#count--
    return frame
  }

  /** Returns every frame to its pool. */
  giveAll(pool: FramePool): void {
    for (let frame = this.shift(); frame !== null; frame = this.shift()) pool.give(frame)
  }
}
