/** A host of the swarm. Its NIC may stop for a while, or be replaced by one without memory of the past. */
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import type { Nic } from '../../lib/nic/nic.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'
import { takeWordsOut } from '../support/plain-peer.js'

/** Frames that wait for a paused host at most; more are dropped, as by a full receive ring. */
const WAITING_MAX = 64

/** From one start of a host to the next. */
export interface Life {
  readonly nic: Nic
  /** Frames that the NIC was handed, and has sent. */
  handed: number
  sent: number
}

export class SwarmHost implements Node {
  life: Life
  /** Frames received and sent in all lives, and those that were dropped before the NIC. */
  received = 0
  sent = 0
  dropped = 0
  readonly #pool: FramePool
  /** It is no Weir host. */
  readonly #plain: boolean
  readonly #waiting: Frame[] = []
  /** The host does nothing until then. */
  #pausedUntil: Nanos = 0

  constructor(life: Life, pool: FramePool, plain: boolean) {
    this.life = life
    this.#pool = pool
    this.#plain = plain
  }

  pause(untilNs: Nanos): void {
    this.#pausedUntil = untilNs
  }

  /** Frames that wait for the old NIC are lost with it. */
  restart(life: Life): void {
    for (const frame of this.#waiting.splice(0)) this.#drop(frame)
    this.life = life
  }

  onFrame(now: Nanos, _port: number, frame: Frame): void {
    this.received++
    if (now >= this.#pausedUntil) this.#hand(now, frame)
    else if (this.#waiting.length < WAITING_MAX) this.#waiting.push(frame)
    else this.#drop(frame)
  }

  onTimeout(now: Nanos): void {
    if (now < this.#pausedUntil) return
    for (const frame of this.#waiting.splice(0)) this.#hand(now, frame)
    this.life.nic.onTimeout(now)
  }

  nextTimeout(): Nanos {
    const waits = this.#waiting.length > 0 ? this.#pausedUntil : NEVER
    return Math.max(this.#pausedUntil, Math.min(waits, this.life.nic.nextTimeout()))
  }

  pollTransmit(now: Nanos): Frame | null {
    if (now < this.#pausedUntil) return null
    const frame = this.life.nic.pollTransmit(now)
    if (frame === null) return null
    if (this.#plain) takeWordsOut(frame)
    this.sent++
    this.life.sent++
    return frame
  }

  #drop(frame: Frame): void {
    this.dropped++
    this.#pool.give(frame)
  }

  #hand(now: Nanos, frame: Frame): void {
    if (this.#plain) takeWordsOut(frame)
    this.life.handed++
    this.life.nic.onFrame(now, 0, frame)
  }
}
