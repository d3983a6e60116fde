/** Switches that work out fair rates (RoCC), and hosts that obey them beside hosts that do not. */
import type { Random } from '../../../lib/sim/random.js'
import { MICROSECOND } from '../../../lib/time/nanos.js'
import type { RoccOptions } from '../../../switch-emu/core/telemetry/rocc.js'
import type { HostPlan } from '../plan.js'
import { pick } from './pick.js'

/** What each switch does, and which hosts, by index, have the controller for it. */
export interface FairRatesPlan {
  options: RoccOptions
  obeying: ReadonlySet<number>
}

const SHARE = 0.15
const NAME = 'rocc'

export function fairRatesPlan(random: Random, hosts: readonly HostPlan[]): FairRatesPlan | null {
  if (random.next() >= SHARE) return null
  const qRefBytes = pick(random, [undefined, 500, 10_000])
  return {
    options: {
      flows: pick(random, [1, 4, 1024]),
      // Shorter ones alone are more events than a run may have, where transfers take seconds.
      intervalNs: pick(random, [undefined, 20 * MICROSECOND, 100 * MICROSECOND]),
      ageNs: pick(random, [undefined, 1 * MICROSECOND]),
      ...(qRefBytes !== undefined && { qRefBytes }),
    },
    // Others hear fair rates that are none of their business.
    obeying: new Set(hosts.flatMap((_, i) => (random.next() < 0.6 ? [i] : []))),
  }
}

/** The host's settings with the controller that obeys. Its telemetry is that of a host that needs none. */
export function obeyingHost(host: HostPlan): HostPlan {
  return { ...host, cc: { name: NAME, options: {} }, telemetry: {} }
}
