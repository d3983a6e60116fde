import type { QueueFeatures } from './queue-features.js'

/** A queue of so much time has no more use than a longer one. */
const DELAY_MOST_NS = 256_000
const DELAY_SCALE_NS = 1000

/**
 * Returns what a period was worth, 0 to 1: `weight` x throughput + (1 - weight) x score of the delay, the form of ACC (Yan et al., SIGCOMM
 * 2021), where the score falls with the logarithm of the queue:
 *
 *     score = 1 - log(1 + delay / 1 us) / log(1 + 256)
 *
 * A period in which the switch had to pause its senders has score 0: ECN came too late.
 */
export function utilityOf({ throughput, delayNs, pausesSent }: QueueFeatures, weight: number): number {
  const scale = Math.log2(1 + DELAY_MOST_NS / DELAY_SCALE_NS)
  const score = pausesSent > 0 ? 0 : Math.max(0, 1 - Math.log2(1 + delayNs / DELAY_SCALE_NS) / scale)
  return weight * Math.min(1, throughput) + (1 - weight) * score
}
