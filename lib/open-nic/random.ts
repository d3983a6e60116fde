/** Unguessable numbers for keys, PSNs and ids. The system is asked for a batch at a time. */
import { getRandomValues } from 'node:crypto'

/** Returns a source of unsigned 32-bit integers. */
export function systemRandom(): () => number {
  const batch = new Uint32Array(256)
  let at = batch.length
  return () => {
    if (at === batch.length) {
      getRandomValues(batch)
      at = 0
    }
    return batch[at++]!
  }
}
