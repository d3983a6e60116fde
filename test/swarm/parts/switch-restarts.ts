/** Switches that restart while the network runs, and links that lose in bursts or delay by random times. */
import type { FaultRates } from '../../../lib/sim/faults.js'
import type { Random } from '../../../lib/sim/random.js'
import { MICROSECOND, MILLISECOND, type Nanos } from '../../../lib/time/nanos.js'

/** A switch restarts: it forgets what it has learned, and its links are down meanwhile. */
export interface SwitchRestartPlan {
  switch: number
  atNs: Nanos
  /** Time of its start. */
  forNs: Nanos
}

/** When all have begun. */
const RESTARTS_NS = 4 * MILLISECOND

/**
 * @param switches number of switches. A start takes at most one timeout, so that retries do not run out
 * @param lossless few such networks are disturbed, because then frames may be lost
 */
export function switchRestartPlans(
  random: Random,
  switches: number,
  ackTimeoutNs: Nanos,
  lossless: boolean,
): SwitchRestartPlan[] {
  if (random.next() >= (lossless ? 0.03 : 0.15)) return []
  const atNs = random.below(RESTARTS_NS)
  return [{ switch: random.below(switches), atNs, forNs: 1 + random.below(ackTimeoutNs) }]
}

/** Adds bursts and jitter to the faults of some links. Headroom does not allow for jitter, so links without faults get none. */
export function withBursts(random: Random, rates: FaultRates): FaultRates {
  if (random.next() >= 0.3 || Object.keys(rates).length === 0) return rates
  const burst = 1 + random.below(6)
  const jitterNs = random.below(100 * MICROSECOND)
  return { ...rates, jitterNs, ...((rates.loss ?? 0) > 0 && { burst }) }
}
