import type { Frame } from '../frame/frame.js'
import type { Node } from '../frame/node.js'
import { DeadlineHeap } from '../time/deadline-heap.js'
import { type Nanos, NEVER } from '../time/nanos.js'

/**
 * Things to do at given times of a network, as a node of it: flows that start, samples that are taken. It is
 * for what happens now and then; frames never come here.
 */
export class Agenda implements Node {
  readonly #deadlines = new DeadlineHeap()
  readonly #entries: { everyNs: Nanos; act: (now: Nanos) => void }[] = []

  /**
   * Calls `act` at `at`; with `everyNs`, again and again at that interval. At equal times what was added first goes
   * first.
   */
  add(at: Nanos, act: (now: Nanos) => void, everyNs: Nanos = 0): void {
    this.#entries.push({ everyNs, act })
    this.#deadlines.set(this.#deadlines.add(), at)
  }

  nextTimeout(): Nanos {
    return this.#deadlines.firstTime()
  }

  onTimeout(now: Nanos): void {
    while (this.#deadlines.firstTime() <= now) {
      const id = this.#deadlines.first()
      const entry = this.#entries[id]!
      this.#deadlines.set(id, entry.everyNs > 0 ? this.#deadlines.timeOf(id) + entry.everyNs : NEVER)
      entry.act(now)
    }
  }

  onFrame(_now: Nanos, _port: number, _frame: Frame): void {}

  pollTransmit(_now: Nanos): Frame | null {
    return null
  }
}
