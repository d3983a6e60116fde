/**
 * For how long a sender keeps a drop rate above the bound.
 *
 * The drop rate at a time is that of the last four round trips, so that one burst of a round trip counts for at most four. A round trip is
 * the longest of the path: with the queue full.
 */
import { SPAN_NS } from './bottleneck.js'

export const SHARE_MOST = 0.01
export const ROUND_TRIPS_MOST = 10
export const AVERAGED = 4

/** Round trips for which the drop rate stays above `SHARE_MOST`, at most. */
export function longestAbove(
  came: readonly number[],
  dropped: readonly number[],
  roundTripNs: number,
): number {
  const spans = Math.max(1, Math.round(roundTripNs / SPAN_NS))
  const trips = Math.ceil(came.length / spans)
  const sum = (counts: readonly number[], from: number, to: number) => {
    let total = 0
    for (let i = Math.max(0, from) * spans; i < to * spans; i++) total += counts[i] ?? 0
    return total
  }
  let longest = 0
  let lasting = 0
  for (let trip = 1; trip <= trips; trip++) {
    const share = sum(dropped, trip - AVERAGED, trip) / Math.max(1, sum(came, trip - AVERAGED, trip))
    lasting = share > SHARE_MOST ? lasting + 1 : 0
    longest = Math.max(longest, lasting)
  }
  return longest
}
