/** A host whose CPU is slower than its link: a NIC behind a kernel's queue, in virtual time. */
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { Intake } from '../../lib/io/loop/intake.js'
import type { Nic } from '../../lib/nic/nic.js'

const ROUND_FRAMES = 64

export class SlowHost implements Node {
  /** Frames that found the queue full. */
  drops = 0
  /** The most bytes that waited since it was last set to 0. */
  queueBytesMost = 0
  takenBytes = 0
  readonly intake: Intake
  readonly #pool: FramePool
  readonly #rateBps: number
  readonly #queueBytesMax: number
  readonly #queue: Frame[] = []
  #queueBytes = 0
  #busyUntil = 0
  #inRound = false
  nic!: Nic

  /**
   * @param rateBps rate at which it takes packets in
   * @param queueBytesMax what the kernel keeps
   */
  constructor(pool: FramePool, lineRateBps: number, rateBps: number, queueBytesMax: number) {
    this.#pool = pool
    this.#rateBps = rateBps
    this.#queueBytesMax = queueBytesMax
    this.intake = new Intake(lineRateBps, queueBytesMax / 2)
  }

  onFrame(now: number, _port: number, frame: Frame): void {
    if (this.#queueBytes + frame.wireLength > this.#queueBytesMax) {
      this.drops++
      this.#pool.give(frame)
      return
    }
    this.#queue.push(frame)
    this.#queueBytes += frame.wireLength
    this.queueBytesMost = Math.max(this.queueBytesMost, this.#queueBytes)
    this.#work(now)
  }

  onTimeout(now: number): void {
    this.#work(now)
    if (!this.#inRound && this.nic.nextTimeout() <= now) this.nic.onTimeout(now)
  }

  nextTimeout(): number {
    return this.#inRound ? this.#busyUntil : this.nic.nextTimeout()
  }

  pollTransmit(now: number): Frame | null {
    return now < this.#busyUntil ? null : this.nic.pollTransmit(now)
  }

  /** Like HostLoop: it takes waiting packets at once, needs time for them, and answers after it. */
  #work(now: number): void {
    if (now < this.#busyUntil) return
    if (this.#inRound && this.intake.wantsEnd) this.intake.end(now)
    this.#inRound = false
    if (this.#queue.length === 0) return
    this.#inRound = true
    this.intake.begin(now)
    let bytes = 0
    for (let n = 0; n < ROUND_FRAMES; n++) {
      const frame = this.#queue.shift()
      if (frame === undefined) break
      bytes += frame.wireLength
      this.nic.onFrame(now, 0, frame)
    }
    this.#queueBytes -= bytes
    this.takenBytes += bytes
    this.intake.took(bytes, this.#queueBytes)
    this.#busyUntil = now + Math.ceil((bytes * 8e9) / this.#rateBps)
  }
}
