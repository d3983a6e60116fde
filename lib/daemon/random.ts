/** Unguessable numbers for keys, PSNs and ids, drawn from the system a batch at a time. */
import { getRandomValues } from 'node:crypto'

/** A source of unsigned 32-bit whole numbers. */
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
