/** Nodes for tests of the network: a test says what they send and when, and they record what they get. */
import type { Frame } from '../../lib/frame/frame.js'
import type { FramePool } from '../../lib/frame/frame-pool.js'
import type { Node } from '../../lib/frame/node.js'
import { type Nanos, NEVER } from '../../lib/time/nanos.js'

interface Planned {
  at: Nanos
  port: number
  tag: number
  serialisationNs: Nanos
}

/** Sends frames at given times by given ports; a frame carries its tag in its first four bytes. */
export class StubNode implements Node {
  readonly received: { now: Nanos; port: number; tag: number }[] = []
  /** Called for every frame that arrives. */
  onArrival: (now: Nanos, tag: number) => void = () => {}
  readonly #pool: FramePool
  readonly #plan: Planned[] = []

  constructor(pool: FramePool) {
    this.#pool = pool
  }

  /** Plans a frame whose last bit leaves `serialisationNs` after `at`. */
  send(at: Nanos, port: number, tag: number, serialisationNs: Nanos = 0): void {
    this.#plan.push({ at, port, tag, serialisationNs })
    this.#plan.sort((a, b) => a.at - b.at)
  }

  onFrame(now: Nanos, port: number, frame: Frame): void {
    const tag = frame.view.getUint32(0)
    this.received.push({ now, port, tag })
    this.#pool.give(frame)
    this.onArrival(now, tag)
  }

  onTimeout(_now: Nanos): void {}

  nextTimeout(): Nanos {
    return this.#plan[0]?.at ?? NEVER
  }

  pollTransmit(now: Nanos): Frame | null {
    const next = this.#plan[0]
    if (next === undefined || next.at > now) return null
    const frame = this.#pool.take()
    if (frame === null) throw new Error('the pool of the test is empty')
    this.#plan.shift()
    frame.view.setUint32(0, next.tag)
    frame.length = 64
    frame.wireLength = 64
    frame.port = next.port
    frame.departNs = now + next.serialisationNs
    return frame
  }
}
