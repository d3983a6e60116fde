import { setFlagsFromString } from 'node:v8'

/**
 * Tunes V8's garbage collector for a process that runs a scenario in virtual time, where flows come and go. V8 makes objects of a kind in
 * old space once most of that kind have outlived a scavenge; while it has compiled little and its young generation is small, those of a
 * flow may. From then on each flow's lie in old space until the whole heap is collected, and keep alive what they refer to, which is most
 * of the flow. docs/measured/virtual-time.md has the figures.
 *
 * V8 reads the flag when it compiles, so a process sets it before it runs the scenario.
 */
export function tuneGarbageCollection(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
