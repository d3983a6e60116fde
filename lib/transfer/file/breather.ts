/** Long work of this thread lets its packets and other work have their turn. */
import { setImmediate } from 'node:timers/promises'

const TURN_MS = 5

export class Breather {
  #sinceMs = performance.now()

  /** True if the others have waited for a turn of this. */
  get isDue(): boolean {
    return performance.now() - this.#sinceMs >= TURN_MS
  }

  /** Call often: it waits seldom. */
  async breathe(): Promise<void> {
    if (!this.isDue) return
    await setImmediate()
    this.#sinceMs = performance.now()
  }
}
