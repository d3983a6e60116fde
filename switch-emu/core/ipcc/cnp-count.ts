/**
 * How many CNPs a queue's state is worth, from its length, the trend of that, and how far its buffer is used (white paper on lossless
 * networks, "IPCC", "Intelligently calculate the number of congestion notification messages"). With F flows that sent to the queue in the
 * interval, its length q now and q' before, and utilization u = q / full:
 *
 *     "queue length increases" (q > q'), "buffer utilization is low" (u < high)     "a small number": ceil(few x F)
 *     "queue length increases", "buffer utilization is high" (u >= high)            "more": ceil(more x F)
 *     "queue length decreases" (q <= q'), "buffer utilization is low"               none
 *     "queue length decreases", "buffer utilization is high"                        "a small number": ceil(few x F)
 *
 * Below `least` x full there is no congestion, and no CNP.
 */
export interface CnpCountOptions {
  /** Share of the flows that get one where the paper says "a small number". */
  few: number
  /** The same where it says "more". */
  more: number
  /** Utilization from which it is high, 0 to 1. */
  high: number
  /** Utilization below which nothing is sent, 0 to 1. */
  least: number
}

/** The four cases, in the order above. */
export const CASES = ['risingLow', 'risingHigh', 'fallingLow', 'fallingHigh'] as const
export type CnpCase = (typeof CASES)[number]
const RISING_LOW = 0
const RISING_HIGH = 1
const FALLING_LOW = 2
const FALLING_HIGH = 3

/** Returns the case of a queue, by its number. */
export function caseOf(queueBytes: number, beforeBytes: number, fullBytes: number, high: number): number {
  const isHigh = queueBytes >= high * fullBytes
  if (queueBytes > beforeBytes) return isHigh ? RISING_HIGH : RISING_LOW
  return isHigh ? FALLING_HIGH : FALLING_LOW
}

/** Returns the number of CNPs in that case, for so many flows. */
export function cnpCount(of: number, flows: number, { few, more }: CnpCountOptions): number {
  if (of === FALLING_LOW) return 0
  return Math.ceil((of === RISING_HIGH ? more : few) * flows)
}
