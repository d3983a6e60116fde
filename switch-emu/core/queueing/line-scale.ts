/** On slower lines packets take a good part of a round trip: eight of 1,500 bytes more than 20 us. */
const SLOW_BPS = 4.8e9

/** Returns the rate by which bytes of a queue become time. Slow lines count as one of 4.8 Gbit/s, so that thresholds stay above a packet. */
export function scaleBps(rateBps: number): number {
  return Math.max(rateBps, SLOW_BPS)
}
