/** Hosts and switches whose processes do not run at times: a busy machine in virtual time. */
import type { Frame } from '../../lib/frame/frame.js'
import type { Node } from '../../lib/frame/node.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'

export interface StallOptions {
  /** From the end of one stall to the beginning of the next: so long in the mean, at most twice. */
  everyNs: Nanos
  /** The longest stall. Each is as long as chance has it. */
  mostNs: Nanos
}

/** When a process does not run. */
export class Stalls {
  readonly #options: StallOptions
  readonly #random: () => number
  readonly #begins: Nanos[] = []
  readonly #ends: Nanos[] = []

  constructor(options: StallOptions, random: () => number) {
    this.#options = options
    this.#random = random
  }

  /** The first time from `ns` on at which it runs. */
  awakeNs(ns: Nanos): Nanos {
    const { everyNs, mostNs } = this.#options
    for (let last = this.#ends.at(-1) ?? 0; last <= ns; last = this.#ends.at(-1)!) {
      const begin = last + 1 + Math.round(this.#random() * 2 * everyNs)
      this.#begins.push(begin)
      this.#ends.push(begin + Math.round(this.#random() * mostNs))
    }
    let i = this.#ends.length - 1
    while (i > 0 && this.#ends[i - 1]! > ns) i--
    return ns < this.#begins[i]! ? ns : this.#ends[i]!
  }
}

/** A node of a process that stalls: what arrives meanwhile waits, and what is due is late. */
export class LateNode implements Node {
  readonly #inner: Node
  readonly #stalls: Stalls
  readonly #waiting: { port: number; frame: Frame }[] = []
  /** The last time that anything came, or was to be done. */
  #now: Nanos = 0

  constructor(inner: Node, stalls: Stalls) {
    this.#inner = inner
    this.#stalls = stalls
  }

  onFrame(now: Nanos, port: number, frame: Frame): void {
    if (!this.#runs(now)) this.#waiting.push({ port, frame })
    else this.#inner.onFrame(now, port, frame)
  }

  onTimeout(now: Nanos): void {
    if (!this.#runs(now)) return
    for (const { port, frame } of this.#waiting.splice(0)) this.#inner.onFrame(now, port, frame)
    if (this.#inner.nextTimeout() <= now) this.#inner.onTimeout(now)
  }

  nextTimeout(): Nanos {
    const due = this.#waiting.length > 0 ? this.#now : Math.max(this.#now, this.#inner.nextTimeout())
    return due === NEVER ? NEVER : this.#stalls.awakeNs(due)
  }

  /** What the node has given a time of departure leaves when its process runs. */
  pollTransmit(now: Nanos): Frame | null {
    if (!this.#runs(now) || this.#waiting.length > 0) return null
    const frame = this.#inner.pollTransmit(now)
    // A NIC that makes up for lateness dates a frame back.
    if (frame !== null) frame.departNs = this.#stalls.awakeNs(Math.max(now, frame.departNs))
    return frame
  }

  #runs(now: Nanos): boolean {
    this.#now = now
    return this.#stalls.awakeNs(now) === now
  }
}
