/** Finds out whether the peer of a session is still there, for somebody who waits for what the session holds. No clock. */
import { type Nanos, NEVER, SECOND } from '../../time/nanos.js'

/**
 * The transport gives a dead peer up sooner. So a peer that acknowledges no message for this long is alive, and slow.
 */
const ANSWER_WITHIN_NS = 30 * SECOND

export class Challenge {
  #asking: ((isThere: boolean) => void)[] = []
  #deadlineNs: Nanos = NEVER

  /** A message is in flight. Resolves to whether the peer's transport has acknowledged it, after 30 s to true. */
  begin(now: Nanos): Promise<boolean> {
    this.#deadlineNs = Math.min(this.#deadlineNs, now + ANSWER_WITHIN_NS)
    return new Promise(resolve => {
      this.#asking.push(resolve)
    })
  }

  /** Call about once a second. */
  tick(now: Nanos): void {
    if (now >= this.#deadlineNs) this.answer(true)
  }

  /** Answers everybody who asks. */
  answer(isThere: boolean): void {
    this.#deadlineNs = NEVER
    for (const resolve of this.#asking.splice(0)) resolve(isThere)
  }
}
