/** Long work of this thread lets its packets and other work have their turn. */
import { setImmediate } from 'node:timers/promises'

const TURN_MS = 5

export class Breather {
  #sinceMs = performance.now()

  /** Call often: it waits seldom. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#sinceMs < TURN_MS) return
    await setImmediate()
    this.#sinceMs = performance.now()
  }
}
