/**
 * A time of a file, as the functions of node:fs take it. They take a negative number for the present, and a Date as it is. They cut a number to the
 * microsecond, and seconds since 1970 in a number are exact to a quarter of one: so it is a little more than the microsecond that is meant.
 */
export function fileTime(timeMs: number): number | Date {
  if (timeMs < 0) return new Date(Math.round(timeMs))
  const microseconds = Math.floor(timeMs * 1000 + 0.2)
  return (microseconds + 0.4) / 1e6
}
