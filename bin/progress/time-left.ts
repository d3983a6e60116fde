const MINUTE = 60
const HOUR = 3600

/** Text for people: `45s left`, from two minutes on `27min left`, from two hours on `3h 5min left`. Null: nobody knows. */
export function timeLeft(seconds: number | null): string {
  if (seconds === null) return '- left'
  if (seconds < 2 * MINUTE) return `${Math.ceil(seconds)}s left`
  const minutes = Math.ceil(seconds / MINUTE)
  if (seconds < 2 * HOUR) return `${minutes}min left`
  return `${Math.floor(minutes / 60)}h ${minutes % 60}min left`
}
