import type { Nanos } from '../time/nanos.js'

/** Sees what comes in by a port that Node's event loop does not watch, because system calls opened it. */
export interface Waiter {
  /** True if something has come in. Keeps the core. */
  look(): boolean
  /**
   * Waits until something has come in, at most `ns`; true if it has. Blocks the thread; with 0 it only yields the
   * core.
   */
  wait(ns: Nanos): boolean
  /**
   * Has `callback` called once when something has come in, at no cost until then. It may also be called when nothing
   * has. What is armed already stays as it is.
   */
  arm(callback: () => void): void
  /** Resolves when nothing waits any more. */
  close(): Promise<void>
}
