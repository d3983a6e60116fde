/** Memory for rings, made once and reused: transfers come and go, resident memory stays. */
import { assert } from '../../errors.js'
import { TransferFailure } from '../protocol/failure.js'

export class RingPool {
  readonly bytes: number
  readonly limit: number
  readonly #free: Buffer[] = []
  #made = 0

  /** @param bytes size of each ring; @param limit rings at a time */
  constructor(bytes: number, limit: number) {
    this.bytes = bytes
    this.limit = limit
  }

  /**
   * A ring with whatever the last user left in it. Throws BUSY when all are in use; `being` says what for, as
   * in 'sent'.
   */
  take(being: string): Buffer {
    const ring = this.#free.pop()
    if (ring) return ring
    if (this.#made === this.limit) {
      const text = `${this.limit} files are being ${being} already: try again when one has ended`
      throw new TransferFailure('BUSY', text)
    }
    this.#made++
    return Buffer.alloc(this.bytes)
  }

  /** Gives a ring back, once nothing can write to it any more. */
  give(ring: Buffer): void {
    assert(!this.#free.includes(ring) && this.#free.length < this.#made, 'a ring was given back twice')
    this.#free.push(ring)
  }

  get inUse(): number {
    return this.#made - this.#free.length
  }
}
