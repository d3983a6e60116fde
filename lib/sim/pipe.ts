import type { Frame } from '../frame/frame.js'
import { type Nanos, NEVER } from '../time/nanos.js'

/**
 * One direction of a link's delay: frames in flight, in the order in which they will arrive. It holds no rate:
 * that is the egress port's. The frames come from a bounded pool, which bounds this ring too.
 */
export class Pipe {
  /** Frames that are put in flight from now on take so long. */
  delayNs: Nanos
  /** Index of the node at the far end, and of its port. */
  readonly toNode: number
  readonly toPort: number
  /** Number of the link among the sources of events of the node that it leads to; the network sets it. */
  source = -1
  #frames: (Frame | null)[] = new Array(64).fill(null)
  #arrivals = new Float64Array(64)
  #head = 0
  #count = 0

  constructor(delayNs: Nanos, toNode: number, toPort: number) {
    this.delayNs = delayNs
    this.toNode = toNode
    this.toPort = toPort
  }

  get inFlight(): number {
    return this.#count
  }

  /** When the next frame arrives, or NEVER. */
  nextArrival(): Nanos {
    return this.#count === 0 ? NEVER : this.#arrivals[this.#head]!
  }

  /**
   * Puts a frame in flight. One that arrives before others that are in flight overtakes them. Returns true if it is the next to
   * arrive.
   */
  push(frame: Frame, arrivalNs: Nanos): boolean {
    if (this.#count === this.#frames.length) this.#grow()
    const mask = this.#frames.length - 1
    const arrivals = this.#arrivals
    let n = this.#count++
    let at = (this.#head + n) & mask
    for (; n > 0; n--) {
      const before = (at - 1) & mask
      if (arrivals[before]! <= arrivalNs) break
      arrivals[at] = arrivals[before]!
      this.#frames[at] = this.#frames[before]!
      at = before
    }
    arrivals[at] = arrivalNs
    this.#frames[at] = frame
    return n === 0
  }

  /** Takes the frame that arrives first. */
  pop(): Frame {
    const at = this.#head
    const frame = this.#frames[at]!
    this.#frames[at] = null
    this.#head = (at + 1) & (this.#frames.length - 1)
    this.#count--
    return frame
  }

  #grow(): void {
    const size = this.#frames.length
    const frames: (Frame | null)[] = new Array(size * 2).fill(null)
    const arrivals = new Float64Array(size * 2)
    for (let i = 0; i < this.#count; i++) {
      const at = (this.#head + i) & (size - 1)
      frames[i] = this.#frames[at]!
      arrivals[i] = this.#arrivals[at]!
    }
    this.#frames = frames
    this.#arrivals = arrivals
    this.#head = 0
  }
}
