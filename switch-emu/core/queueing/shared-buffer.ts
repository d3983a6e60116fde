import { assert, WeirError } from '../../../lib/errors.js'

/** Priorities of a port, 0 to 7. 7 is served first (IEEE 802.1Q). */
export const PRIORITIES = 8

/**
 * Bytes of packet memory that a whole switch uses. It holds no frames and only decides whether a frame fits: `check`, then
 * `update` when a frame is admitted, then `remove` when its transmission starts.
 */
export class SharedBuffer {
  readonly bytesMax: number
  #used = 0

  /**
   * Throws WEIR_BAD_ARGUMENT for `bytesMax` below 1.
   *
   * @param bytesMax memory of the whole switch, bytes
   */
  constructor(bytesMax: number) {
    if (!Number.isInteger(bytesMax) || bytesMax < 1) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `shared buffer: bufferBytes is a whole number from 1, not ${bytesMax}`,
      )
    }
    this.bytesMax = bytesMax
  }

  get usedBytes(): number {
    return this.#used
  }

  /** Returns true if a frame of `bytes` may be admitted. */
  check(bytes: number): boolean {
    return this.#used + bytes <= this.bytesMax
  }

  /** A frame was admitted. */
  update(bytes: number): void {
    this.#used += bytes
    assert(this.#used <= this.bytesMax, 'shared buffer: more admitted than it has')
  }

  /** An admitted frame has left the queue. */
  remove(bytes: number): void {
    this.#used -= bytes
    assert(this.#used >= 0, 'shared buffer: more removed than admitted')
  }
}
