import { setFlagsFromString } from 'node:v8'

/**
 * Sets V8's garbage collector for a process that makes one short-lived buffer per packet. Nearly none outlives the next
 * scavenge, so that there is nothing to share among threads: they would only take the cores from the
 * packets. And a young generation that stays small reuses memory that is still in the cache.
 * Measured on two cores, transfers of 1 GB in alternating pairs: a quarter less resident memory in every run, 7 % less CPU time
 * in one and none in another.
 *
 * Both flags are read at each collection, so that they may be set in a running process; for V8's concurrent
 * marking that is not so.
 */
export function tuneGarbageCollection(): void {
  setFlagsFromString('--no-parallel-scavenge')
  setFlagsFromString('--semi-space-growth-factor=1')
}
