/** Figures that sum up many: Jain's index, percentiles, means. */

/**
 * Jain's fairness index, (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe 1984): 1 when all are equal, 1/n when one has
 * everything. NaN for no values, or all zero: there is nothing that could be shared.
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
 * The value that the share `p` (0 to 1) of the values does not exceed: nearest rank, so it is always one of them.
 * NaN for no values.
 */
export function percentile(values: readonly number[], p: number): number {
  if (values.length === 0) return Number.NaN
  const sorted = Float64Array.from(values).sort()
  const rank = Math.ceil(p * sorted.length) - 1
  return sorted[Math.min(sorted.length - 1, Math.max(0, rank))]!
}

/** The value in the middle, or the lower of the two in the middle; NaN for no values. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** NaN for no values. */
export function mean(values: readonly number[]): number {
  let sum = 0
  for (const value of values) sum += value
  return values.length === 0 ? Number.NaN : sum / values.length
}
