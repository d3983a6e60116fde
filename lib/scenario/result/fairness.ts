/** Figures that summarise many values: Jain's index, percentiles, means. */

/**
 * Returns Jain's fairness index, (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe 1984): 1 when all values are
 * equal, 1/n when one has everything. Returns NaN if there are no values or all are zero.
 */
export function jainIndex(values: readonly number[]): number {
  let sum = 0
  let squares = 0
  for (const value of values) {
    sum += value
    squares += value * value
  }
  return squares === 0 ? Number.NaN : (sum * sum) / (values.length * squares)
}

/**
 * Returns the smallest of the values that at least the share `p` (0 to 1) of them does not exceed (nearest
 * rank). Returns NaN if there are no values.
 */
export function percentile(values: readonly number[], p: number): number {
  if (values.length === 0) return Number.NaN
  const sorted = Float64Array.from(values).sort()
  const rank = Math.ceil(p * sorted.length) - 1
  return sorted[Math.min(sorted.length - 1, Math.max(0, rank))]!
}

/** Returns the middle value, or the lower of the two middle ones. Returns NaN if there are no values. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** Returns NaN if there are no values. */
export function mean(values: readonly number[]): number {
  let sum = 0
  for (const value of values) sum += value
  return values.length === 0 ? Number.NaN : sum / values.length
}
