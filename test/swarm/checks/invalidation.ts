/** Checks that a SEND with invalidate invalidates the region that it names, and no other (IBA 9.4.1.1.3). */
import type { MemoryRegion } from '../../../lib/qp/memory/memory.js'
import type { Fail } from './fail.js'

/**
 * A SEND has been received.
 *
 * @param invalidatedKey of its completion
 * @param region that the sender has named, null: none
 */
export function checkInvalidated(
  what: string,
  invalidatedKey: number,
  region: MemoryRegion | null,
  fail: Fail,
): void {
  const wanted = region?.key ?? 0
  if (invalidatedKey !== wanted) fail(`${what} took back key ${invalidatedKey}, not ${wanted}`)
  if (region?.valid) fail(`${what} left its region valid`)
}

/** The peer has left. Regions that it did not name are still valid. */
export function checkKept(spares: readonly MemoryRegion[], named: number, fail: Fail): void {
  const lost = spares.slice(named).filter(({ valid }) => !valid).length
  if (lost > 0) fail(`${lost} regions are invalid that no SEND has named`)
}
