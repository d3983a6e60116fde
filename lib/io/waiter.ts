import type { Nanos } from '../time/nanos.js'

/** Reports arrivals on a port that Node's event loop does not watch, because system calls opened it. */
export interface Waiter {
  /** Returns true if something has arrived, and may read it (`Port.receive` returns it). Does not yield the core. */
  look(): boolean
  /**
   * Waits until something has arrived, at most `ns`, and returns true if it has. Blocks the thread. With 0 it
   * only yields the core.
   */
  wait(ns: Nanos): boolean
  /**
   * Calls `callback` once when something has arrived, at no cost until then. It may also call it when nothing
   * has. An armed waiter ignores further calls.
   */
  arm(callback: () => void): void
  /** Resolves when no wait is under way. */
  close(): Promise<void>
}
