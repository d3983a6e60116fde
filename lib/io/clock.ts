import { performance } from 'node:perf_hooks'
import type { Nanos } from '../time/nanos.js'

/** Returns integer nanoseconds of a monotonic clock that began when the process did. */
export function monotonicNs(): Nanos {
  return Math.round(performance.now() * 1e6)
}

/**
 * Returns the time of day at which `monotonicNs` was 0, nanoseconds since 1970. It ignores later changes of
 * the system's clock.
 */
export function clockEpochNs(): bigint {
  return BigInt(Math.round(performance.timeOrigin * 1e3)) * 1000n
}

/**
 * Returns `monotonicNs` at a time of day, milliseconds since 1970. It ignores later changes of the system's
 * clock.
 */
export function monotonicNsAt(unixMs: number): Nanos {
  return Math.round((unixMs - performance.timeOrigin) * 1e6)
}
