import type { Frame } from '../frame/frame.js'
import type { Node } from '../frame/node.js'
import { DeadlineHeap } from '../time/deadline-heap.js'
import { type Nanos, NEVER } from '../time/nanos.js'

/** Things to do at given times of a network, as a node of it: flows that start. It is for what happens now and then; frames never come here. */
export class Agenda implements Node {
  readonly #deadlines = new DeadlineHeap()
  readonly #acts: ((now: Nanos) => void)[] = []

  /** Calls `act` at `at`. At equal times what was added first goes first. */
  add(at: Nanos, act: (now: Nanos) => void): void {
    this.#acts.push(act)
    this.#deadlines.set(this.#deadlines.add(), at)
  }

  /**
   * Calls `act` at each of those times, with the place of the time among them.
   * @param timesNs in order
   */
  addSeries(timesNs: Float64Array, act: (now: Nanos, i: number) => void): void {
    const id = this.#acts.length
    let next = 0
    const goOn = (now: Nanos) => {
      while (next < timesNs.length && timesNs[next]! <= now) act(now, next++)
      if (next < timesNs.length) this.#deadlines.set(id, timesNs[next]!)
    }
    this.add(timesNs[0] ?? NEVER, goOn)
  }

  nextTimeout(): Nanos {
    return this.#deadlines.firstTime()
  }

  onTimeout(now: Nanos): void {
    while (this.#deadlines.firstTime() <= now) {
      const id = this.#deadlines.first()
      this.#deadlines.set(id, NEVER)
      this.#acts[id]!(now)
    }
  }

  onFrame(_now: Nanos, _port: number, _frame: Frame): void {}

  pollTransmit(_now: Nanos): Frame | null {
    return null
  }
}
