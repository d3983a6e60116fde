/**
 * Time as the whole project counts it: integer nanoseconds in a `number`, exact for 104 days.
 *
 * The protocol code never reads a clock. `now` is handed in as the first argument, and a deadline is
 * handed out as a time on the same scale, or NEVER.
 */
export type Nanos = number

/** The deadline of something that waits for no time at all. */
export const NEVER: Nanos = Number.POSITIVE_INFINITY

export const MICROSECOND: Nanos = 1_000
export const MILLISECOND: Nanos = 1_000_000
export const SECOND: Nanos = 1_000_000_000

/** Nanoseconds that `bytes` take on a link of `rateBps` bits per second, rounded up to a whole one. */
export function serialisationNs(bytes: number, rateBps: number): Nanos {
  return Math.ceil((bytes * 8e9) / rateBps)
}
