/** Checks that a lossless network loses nothing: IEEE 802.1Q, clause 36, with the headroom of annex N. */
import type { Fail } from './fail.js'

/** @param drops of one port by reason; all its traffic is lossless, and each pause has reached its peer in time */
export function checkLossless(where: string, drops: Readonly<Record<string, number>>, fail: Fail): void {
  for (const reason of ['headroomFull', 'bufferFull', 'queueFull', 'wred']) {
    const count = drops[reason] ?? 0
    if (count > 0) fail(`${where}: ${count} lossless frames dropped, ${reason}`)
  }
}
