import { assert, WeirError } from '../../../lib/errors.js'
import type { Frame } from '../../../lib/frame/frame.js'

const FRAMES_AT_FIRST = 16

/**
 * Frames of one priority that wait to leave by one port, first in, first out.
 *
 * It has two bounds: bytes on the wire (configured: tail drop) and frames (the pool's capacity, because more
 * cannot exist). The ring doubles up to that bound when necessary, and never shrinks.
 */
export class EgressQueue {
  readonly bytesMax: number
  readonly framesMax: number
  #ring: (Frame | null)[] = new Array<Frame | null>(FRAMES_AT_FIRST).fill(null)
  #head = 0
  #count = 0
  #bytes = 0
  #left = 0

  /**
   * @param bytesMax bytes that may wait, at least 1
   * @param framesMax frames that may wait, at least 1
   */
  constructor(bytesMax: number, framesMax: number) {
    if (!(bytesMax >= 1) || !(framesMax >= 1)) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `egress queue: bounds are at least 1, not ${bytesMax} bytes and ${framesMax} frames`,
      )
    }
    this.bytesMax = bytesMax
    this.framesMax = framesMax
  }

  /** Frames that wait. */
  get count(): number {
    return this.#count
  }

  /** Bytes on the wire of the frames that wait. */
  get bytes(): number {
    return this.#bytes
  }

  /** Frames that have left since the beginning: the n-th that entered has, when n have. */
  get left(): number {
    return this.#left
  }

  /** Frames that have entered since the beginning. */
  get entered(): number {
    return this.#left + this.#count
  }

  hasRoom(bytes: number): boolean {
    return this.#bytes + bytes <= this.bytesMax && this.#count < this.framesMax
  }

  push(frame: Frame): void {
    assert(this.hasRoom(frame.wireLength), 'a frame was pushed into a full egress queue')
    assert(frame.taken, 'a frame that nobody owns was pushed into an egress queue')
    if (this.#count === this.#ring.length) this.#grow()
    this.#ring[(this.#head + this.#count) & (this.#ring.length - 1)] = frame
    this.#count++
    this.#bytes += frame.wireLength
  }

  /** A frame enters and leaves at once. The queue is empty. */
  pass(): void {
    this.#left++
  }

  /** Bytes on the wire of the first frame. The queue must not be empty. */
  headBytes(): number {
    return this.#ring[this.#head]!.wireLength
  }

  /** Removes and returns the first frame. The queue must not be empty. */
  shift(): Frame {
    assert(this.#count > 0, 'a frame was taken from an empty egress queue')
    const frame = this.#ring[this.#head]!
    this.#head = (this.#head + 1) & (this.#ring.length - 1)
    this.#count--
    this.#left++
    this.#bytes -= frame.wireLength
    assert(
      this.#bytes >= 0 && this.#bytes > 0 === this.#count > 0,
      'the bytes of an egress queue are not those of its frames',
    )
    return frame
  }

  /** Visits the waiting frames in order. For reports, not for the packet path. */
  forEach(see: (frame: Frame) => void): void {
    for (let i = 0; i < this.#count; i++) see(this.#ring[(this.#head + i) & (this.#ring.length - 1)]!)
  }

  #grow(): void {
    const old = this.#ring
    const ring = new Array<Frame | null>(old.length * 2).fill(null)
    for (let i = 0; i < this.#count; i++) ring[i] = old[(this.#head + i) & (old.length - 1)]!
    this.#ring = ring
    this.#head = 0
  }
}
