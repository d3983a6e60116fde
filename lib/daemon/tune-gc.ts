import { setFlagsFromString } from 'node:v8'

/**
 * Tunes V8's garbage collector for a process that makes one short-lived buffer per packet. Hardly any of them
 * survives a scavenge, so parallel scavenging gains nothing and takes cores from the packets. A small young
 * generation reuses memory that is in the cache. docs/measured/v8.md has the figures.
 *
 * V8 reads both flags at each collection, so a running process may set them. This does not
 * hold for the flag of concurrent marking.
 */
export function tuneGarbageCollection(): void {
  setFlagsFromString('--no-parallel-scavenge')
  setFlagsFromString('--semi-space-growth-factor=1')
}
