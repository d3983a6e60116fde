/**
 * Time in the whole project: integer nanoseconds in a `number`, exact for 104 days.
 *
 * The protocol code never reads a clock. Callers pass `now` as the first argument. The code returns its
 * deadline on the same scale, or NEVER.
 */
export type Nanos = number

/** The deadline of an object that waits for no time. */
export const NEVER: Nanos = Number.POSITIVE_INFINITY

export const MICROSECOND: Nanos = 1_000
export const MILLISECOND: Nanos = 1_000_000
export const SECOND: Nanos = 1_000_000_000

/** Returns the nanoseconds that `bytes` take on a link of `rateBps` bits per second, rounded up. */
export function serialisationNs(bytes: number, rateBps: number): Nanos {
  return Math.ceil((bytes * 8e9) / rateBps)
}

/** Returns `ns` doubled so many times: what a timer becomes whose ends nobody has answered. */
export function doubled(ns: Nanos, times: number): Nanos {
  // Mostly nothing has to be doubled, and a power is a call of the C library, in the way of each packet.
  return times === 0 ? ns : ns * 2 ** times
}
