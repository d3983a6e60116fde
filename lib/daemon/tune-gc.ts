import { setFlagsFromString } from 'node:v8'

/**
 * Sets V8's garbage collector for a process that makes one short-lived buffer per packet. Nearly none outlives the next
 * scavenge, so threads would have nothing to share, and would only take the cores from the packets. A young
 * generation that stays small reuses memory that is still in the cache. HACKING.md has the figures.
 *
 * V8 reads both flags at each collection, so they may be set in a running process. For its concurrent marking
 * that is not so.
 */
export function tuneGarbageCollection(): void {
  setFlagsFromString('--no-parallel-scavenge')
  setFlagsFromString('--semi-space-growth-factor=1')
}
