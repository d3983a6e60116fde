/** What many seeds have reached together. */
import type { Outcome, Reached } from './world.js'

/** Sums of `Reached`, and how many seeds there were. */
export interface Totals extends Reached {
  seeds: number
  failed: number
}

/** Adds a seed's outcome to the totals; null: it is the first one. */
export function added(totals: Totals | null, { findings, reached }: Outcome): Totals {
  const sums: Totals = { ...reached, seeds: 1, failed: findings.length > 0 ? 1 : 0 }
  if (totals !== null) for (const [key, value] of Object.entries(totals)) sums[key as keyof Totals] += value
  return sums
}
