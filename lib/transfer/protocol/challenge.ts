/** Whether the peer of a session is still there, asked by somebody who waits for what the session holds. No clock. */
import { type Nanos, NEVER, SECOND } from '../../time/nanos.js'

/**
 * The transport gives a dead peer up sooner. A peer that the transport still hears, and that takes no message in, is alive.
 */
const ANSWER_WITHIN_NS = 30 * SECOND

export class Challenge {
  #asking: ((isThere: boolean) => void)[] = []
  #deadlineNs: Nanos = NEVER

  /** A message is on its way. Resolves to whether the peer's transport has acknowledged it; to true if nobody knows after 30 s. */
  begin(now: Nanos): Promise<boolean> {
    this.#deadlineNs = Math.min(this.#deadlineNs, now + ANSWER_WITHIN_NS)
    return new Promise(resolve => {
      this.#asking.push(resolve)
    })
  }

  /** Call now and then. */
  tick(now: Nanos): void {
    if (now >= this.#deadlineNs) this.answer(true)
  }

  /** It is known. */
  answer(isThere: boolean): void {
    this.#deadlineNs = NEVER
    for (const resolve of this.#asking.splice(0)) resolve(isThere)
  }
}
