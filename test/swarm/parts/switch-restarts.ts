/** Switches that restart while the network runs, and links that lose in bursts or delay by random times. */
import type { Random } from '../../../lib/sim/random.js'
import { MICROSECOND, MILLISECOND, type Nanos } from '../../../lib/time/nanos.js'
import type { LinkPlan } from '../plan.js'

/** A switch restarts: it forgets what it has learned, and its links are down meanwhile. */
export interface SwitchRestartPlan {
  switch: number
  atNs: Nanos
  /** Time of its start. */
  forNs: Nanos
}

/** Starts that fit into a timeout. */
const START_TIMEOUTS = 4
/** Timeouts for which links lose in bursts: fewer than there are retries. */
const BURST_TIMEOUTS = 3
/** When all have begun. */
const RESTARTS_NS = 4 * MILLISECOND

/**
 * @param switches number of switches. A start takes a quarter of a timeout at most: outages may add up, and retries must not run out
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
  return [{ switch: random.below(switches), atNs, forNs: 1 + random.below(ackTimeoutNs / START_TIMEOUTS) }]
}

/**
 * Adds bursts and jitter to the faults of some links. Headroom does not allow for jitter, so links without faults get none. A burst lasts
 * frames, not time: where one sender is left that tries once in a timeout, it can take all retries. So faults end before that.
 */
export function withBursts(random: Random, link: LinkPlan, ackTimeoutNs: Nanos): LinkPlan {
  const { rates } = link
  if (random.next() >= 0.3 || Object.keys(rates).length === 0) return link
  const burst = 1 + random.below(6)
  const jitterNs = random.below(100 * MICROSECOND)
  if ((rates.loss ?? 0) === 0) return { ...link, rates: { ...rates, jitterNs } }
  return { ...link, rates: { ...rates, jitterNs, burst }, faultsEndNs: BURST_TIMEOUTS * ackTimeoutNs }
}
