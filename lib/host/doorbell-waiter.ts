import type { Waiter } from '../io/waiter.js'
import type { Nanos } from '../time/nanos.js'
import type { Doorbell } from './doorbell.js'

/**
 * While the port's waiter waits, it does not see the bell, so work of another thread waits until the end of a
 * nap.
 */
const NAP_MOST_NS: Nanos = 30_000

/** Waits for packets of a port and for work of another thread at the same time. */
export class DoorbellWaiter implements Waiter {
  readonly #doorbell: Doorbell
  readonly #port: Waiter | null

  /** @param port the port's own waiter, which the port closes. Null if the event loop watches the port */
  constructor(doorbell: Doorbell, port: Waiter | null) {
    this.#doorbell = doorbell
    this.#port = port
  }

  look(): boolean {
    return this.#doorbell.isRung || (this.#port?.look() ?? false)
  }

  wait(ns: Nanos): boolean {
    if (this.#doorbell.isRung) return true
    if (this.#port?.wait(Math.min(ns, NAP_MOST_NS))) return true
    if (this.#port === null && ns > 0) this.#doorbell.nap(ns / 1e6)
    return this.#doorbell.isRung
  }

  arm(callback: () => void): void {
    this.#doorbell.sleep()
    if (this.#doorbell.isRung) callback()
    else this.#port?.arm(callback)
  }

  async close(): Promise<void> {}
}
