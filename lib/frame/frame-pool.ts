import { WeirError } from '../errors.js'
import { Frame } from './frame.js'

/** Room for a 4,096-byte payload with every header that Weir writes. */
export const SLOT_BYTES = 4608
/** Room for headers alone: for virtual time, where payloads are not materialised. */
export const HEADER_SLOT_BYTES = 512

/**
 * A fixed number of frames, made lazily and reused for ever. Who takes a frame owns it until it hands it on
 * or gives it back; running out is back-pressure (`take` returns null), never growth.
 */
export class FramePool {
  readonly capacity: number
  readonly slotBytes: number
  #made = 0
  readonly #frames: Frame[] = []
  readonly #free: Int32Array
  #freeCount = 0

  /** @param capacity number of slots, 1 to 1,048,576; @param slotBytes size of each, 256 to 65,536 */
  constructor(capacity: number, slotBytes: number = SLOT_BYTES) {
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > 1 << 20) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `frame pool: capacity is 1 to ${1 << 20}, not ${capacity}`)
    }
    if (!Number.isInteger(slotBytes) || slotBytes < 256 || slotBytes > 65_536) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `frame pool: a slot has 256 to 65536 bytes, not ${slotBytes}`)
    }
    this.capacity = capacity
    this.slotBytes = slotBytes
    this.#free = new Int32Array(capacity)
  }

  /** An empty frame, or null when all are in use. */
  take(): Frame | null {
    if (this.#freeCount > 0) {
      const frame = this.#frames[this.#free[--this.#freeCount]!]!
      frame.taken = true
      frame.reset()
      return frame
    }
    if (this.#made === this.capacity) return null
    return this.#make()
  }

  /** Gives a frame back. Giving one back twice, or one of another pool, is a defect, and throws. */
  give(frame: Frame): void {
    // The messages are made only when they are needed: this runs for every packet.
    if (!frame.taken) throw new WeirError('WEIR_INTERNAL', `frame ${frame.slot} was given back twice`)
    if (this.#frames[frame.slot] !== frame) {
      throw new WeirError('WEIR_INTERNAL', `frame ${frame.slot} was given to a pool that it is not of`)
    }
    frame.taken = false
    this.#free[this.#freeCount++] = frame.slot
  }

  /** Frames that somebody owns now: 0 when everything has been handed back. */
  get inUse(): number {
    return this.#made - this.#freeCount
  }

  #make(): Frame {
    const frame = new Frame(this.#made++, Buffer.alloc(this.slotBytes))
    frame.taken = true
    this.#frames.push(frame)
    return frame
  }
}
