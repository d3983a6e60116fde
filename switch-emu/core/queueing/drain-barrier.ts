import type { EgressQueue } from './egress-queue.js'
import { PRIORITIES } from './shared-buffer.js'

/**
 * Holds one queue of a port until others have sent certain frames, so that flows which change their queue keep their order. While it holds,
 * one of those others has frames to send, so the line does not rest.
 */
export class DrainBarrier {
  readonly #bit: number
  /** Bit p: the queue of priority p has not sent its frame yet, as far as was looked. */
  #waits = 0
  /** By priority: so many frames have to leave it, since the beginning. */
  readonly #positions = new Float64Array(PRIORITIES)

  /** @param priority of the queue that it holds */
  constructor(priority: number) {
    this.#bit = 1 << priority
  }

  /** Holds the queue until frame number `position` has left the queue of `priority`. */
  holdUntil(priority: number, position: number): void {
    this.#waits |= 1 << priority
    this.#positions[priority] = Math.max(this.#positions[priority]!, position)
  }

  /** Holds nothing any more. */
  release(): void {
    this.#waits = 0
  }

  /** The held queue as a bit, or 0. */
  heldMask(queues: readonly EgressQueue[]): number {
    for (let left = this.#waits; left !== 0; left &= left - 1) {
      const priority = 31 - Math.clz32(left & -left)
      const queue = queues[priority]!
      // A frame that was dropped before it entered does not leave.
      if (queue.count === 0 || queue.left >= this.#positions[priority]!) this.#waits &= ~(1 << priority)
    }
    return this.#waits === 0 ? 0 : this.#bit
  }
}
