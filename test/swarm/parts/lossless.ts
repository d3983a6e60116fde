/** Priority flow control in a network of the swarm: one lossless priority for everything, with or without a watchdog. */
import { headroomBytes } from '../../../lib/scenario/model/headroom.js'
import type { Random } from '../../../lib/sim/random.js'
import { MILLISECOND, type Nanos } from '../../../lib/time/nanos.js'
import type { SwitchOptions } from '../../../switch-emu/core/switch.js'
import { pick } from './pick.js'

/** The priority of all packets, those of the connection manager too; its DSCP is the class selector. */
export const LOSSLESS_PRIORITY = 3
/** All DSCPs of the class, because packets that ask switches for answers have a different one. */
const DSCPS = Array.from({ length: 8 }, (_, i) => 8 * LOSSLESS_PRIORITY + i)
/** The longest frame: 4 KiB, headers, 15 hops of telemetry. */
const FRAME_BYTES_MAX = 5000

/** Pauses are counted in so many bit times (IEEE 802.1Q, clause 36). */
const QUANTUM_BITS = 512

/** Settings of PFC, the same at all switches. */
export interface LosslessPlan {
  /** Bytes of one port above which its peer is paused. */
  xoffBytes: number
  quanta: number
  /** Null: nobody detects deadlocks. */
  watchdog: {
    detectionNs: Nanos
    restorationNs: Nanos
    action: 'drop' | 'forward' | 'alert'
    limited: boolean
  } | null
}

/**
 * @param reroutes paths change, so queues may wait for each other in a circle, which needs a watchdog
 * @param pauseNsMost longest pause: a queue is held as long when the resume is lost
 */
export function losslessPlan(
  random: Random,
  reroutes: boolean,
  rateBps: number,
  pauseNsMost: Nanos,
): LosslessPlan | null {
  if (random.next() >= 0.25) return null
  const watchdog = {
    detectionNs: (1 + random.below(20)) * MILLISECOND,
    restorationNs: (1 + random.below(20)) * MILLISECOND,
    action: pick(random, ['drop', 'forward', ...(reroutes ? [] : ['alert' as const])] as const),
    limited: random.next() < 0.3,
  }
  return {
    xoffBytes: pick(random, [1000, 6000, 20_000]),
    quanta: Math.min(
      pick(random, [100, 5000, 65_535]),
      Math.floor((pauseNsMost * rateBps) / QUANTUM_BITS / 1e9),
    ),
    watchdog: reroutes || random.next() < 0.5 ? watchdog : null,
  }
}

/** Options of a switch. @param links of its ports, by port */
export function losslessOptions(
  plan: LosslessPlan,
  links: readonly { rateBps: number; delayNs: Nanos }[],
): Pick<SwitchOptions, 'features' | 'classifier' | 'bufferBytes'> {
  const priorities = [LOSSLESS_PRIORITY]
  const headroom = links.map(link => headroomBytes(link, FRAME_BYTES_MAX))
  const own = headroom.reduce((sum, bytes) => sum + bytes, 0)
  const { watchdog } = plan
  return {
    // Every port may reach its threshold at once.
    bufferBytes: own + links.length * (plan.xoffBytes + FRAME_BYTES_MAX),
    classifier: { dscp: Object.fromEntries(DSCPS.map(dscp => [dscp, LOSSLESS_PRIORITY])) },
    features: {
      pfc: {
        priorities,
        xoffBytes: plan.xoffBytes,
        xonBytes: Math.floor(0.8 * plan.xoffBytes),
        headroomBytes: headroom,
        quanta: plan.quanta,
      },
      ...(watchdog !== null && {
        watchdog: {
          detectionTimeNs: watchdog.detectionNs,
          restorationTimeNs: watchdog.restorationNs,
          action: watchdog.action,
          priorities,
          ...(watchdog.limited && { limit: { deadlocks: 3, windowNs: 1000 * MILLISECOND } }),
        },
      }),
    },
  }
}
