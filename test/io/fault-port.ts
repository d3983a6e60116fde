import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Port, PortCounters } from '../../lib/io/port.js'
import type { Waiter } from '../../lib/io/waiter.js'

/** What may happen to each frame that is sent: independent probabilities, 0 to 1. */
export interface PortFaults {
  loss?: number
  duplication?: number
  /** The frame leaves after the one that follows it. */
  reorder?: number
}

/** A port that loses, duplicates and swaps frames of another port at random. */
export class FaultPort implements Port {
  /** A frame that is held back or duplicated needs its payload in its slot. */
  readonly gathers = false
  readonly sendsRuns = false
  /** Frames that it has lost. */
  lost = 0
  readonly #inner: Port
  readonly #pool: FramePool
  readonly #random: () => number
  readonly #loss: number
  readonly #duplication: number
  readonly #reorder: number
  #held: Frame | null = null

  /** @param random uniform over [0, 1) */
  constructor(inner: Port, pool: FramePool, faults: PortFaults, random: () => number) {
    this.#inner = inner
    this.#pool = pool
    this.#random = random
    this.#loss = faults.loss ?? 0
    this.#duplication = faults.duplication ?? 0
    this.#reorder = faults.reorder ?? 0
  }

  get mtu(): number {
    return this.#inner.mtu
  }

  get sourcePorts(): readonly number[] | null {
    return this.#inner.sourcePorts
  }

  get takesRuns(): boolean {
    return this.#inner.takesRuns
  }
  get seesMarks(): boolean {
    return this.#inner.seesMarks
  }
  get seesHops(): boolean {
    return this.#inner.seesHops
  }

  get seesIds(): boolean {
    return this.#inner.seesIds
  }

  get choosesIds(): boolean {
    return this.#inner.choosesIds
  }

  get receiveBudgetBytes(): number {
    return this.#inner.receiveBudgetBytes
  }

  get waiter(): Waiter | null {
    return this.#inner.waiter
  }

  get counters(): PortCounters {
    return this.#inner.counters
  }

  waitingBytes(): number {
    return this.#inner.waitingBytes()
  }

  receive(): Frame | null {
    const frame = this.#inner.receive()
    // Nothing followed the delayed frame. It is sent when the driver reaches the end of its round.
    if (frame === null) this.#release()
    return frame
  }

  canTransmit(): boolean {
    return this.#inner.canTransmit()
  }

  transmit(frame: Frame): void {
    if (this.#random() < this.#loss) {
      this.lost++
      this.#pool.give(frame)
      return
    }
    const copy = this.#random() < this.#duplication ? this.#pool.take() : null
    copy?.copyFrom(frame)
    if (this.#held === null && this.#random() < this.#reorder) {
      this.#held = frame
    } else {
      this.#inner.transmit(frame)
      this.#release()
    }
    if (copy !== null) this.#inner.transmit(copy)
  }

  flush(): void {
    this.#inner.flush()
  }

  onReadable(callback: () => void): void {
    this.#inner.onReadable(callback)
  }

  onWritable(callback: () => void): void {
    this.#inner.onWritable(callback)
  }

  close(): Promise<void> {
    if (this.#held !== null) this.#pool.give(this.#held)
    this.#held = null
    return this.#inner.close()
  }

  #release(): void {
    const held = this.#held
    this.#held = null
    if (held !== null) this.#inner.transmit(held)
  }
}
