/** A time of a file, as the functions of node:fs take it. They take a negative number for the present, and a Date as it is. */
export function fileTime(timeMs: number): number | Date {
  return timeMs < 0 ? new Date(Math.round(timeMs)) : timeMs / 1000
}
