/** Waits for a peer's WRITE by its last byte, as ib_write_lat does: WRITEs make no completions at the end that they go to. */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

/** After a longer wait the looks are further apart, so that a slow peer does not cost a core. */
const BUSY_MS = 5
const LOOK_EVERY_MS = 1

/** Resolves with true once `bytes[at]` is `value`, with false once `ended` says that it never will be. */
export async function byteIs(
  bytes: Uint8Array,
  at: number,
  value: number,
  ended: () => boolean,
): Promise<boolean> {
  const busyUntil = performance.now() + BUSY_MS
  while (Atomics.load(bytes, at) !== value) {
    if (ended()) return false
    await (performance.now() < busyUntil ? turn() : sleep(LOOK_EVERY_MS))
  }
  return true
}
