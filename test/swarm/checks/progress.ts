/** Checks that a run ends: in time, and in a bounded number of events. */
import { type Nanos, SECOND } from '../../../lib/time/nanos.js'
import type { Fail } from './fail.js'

/** With more events something repeats for ever. */
export const EVENTS_MAX = 3_000_000

/** True if the run has used up its events. @param events so far */
export function checkEvents(events: number, fail: Fail): boolean {
  if (events <= EVENTS_MAX) return false
  fail(`${events} events: something goes round in circles`)
  return true
}

/**
 * @param open names of what has not ended
 * @param limitNs within which everything had to end
 */
export function checkEnded(what: string, open: readonly string[], limitNs: Nanos, fail: Fail): void {
  if (open.length > 0) fail(`${open.join(', ')}: ${what} after ${limitNs / SECOND} s`)
}
