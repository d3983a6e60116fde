/**
 * A seed in which flows share everything: the path, the controller, the time. Nothing disturbs them, and they run for long enough to
 * have like shares.
 */
import { WorkOpcode } from '../../../lib/qp/work.js'
import type { Random } from '../../../lib/sim/random.js'
import { MICROSECOND, type Nanos } from '../../../lib/time/nanos.js'
import { MESSAGE_MAX } from '../limits.js'
import type { SwarmPlan, WorkPlan } from '../plan.js'

/** A race. */
export interface RacePlan {
  /** What is moved until this time is the start's, and does not count. */
  fromNs: Nanos
  /** The lowest Jain index that passes. */
  least: number
}

const SHARE = 1 / 40
const RATE_BPS = 10e9
const DELAY_NS_MAX = 3 * MICROSECOND
const MESSAGES = 100
const FLOWS_MAX = 3
/** Within it all start. */
const STARTS_NS = 5 * MICROSECOND
/** Bytes of each flow in flight: more than the path holds. */
const DEPTH = 16

/** The seed's plan as a race, or as it is. */
export function asRace(plan: SwarmPlan, random: Random): SwarmPlan {
  if (random.next() >= SHARE) return plan
  const flows = 2 + random.below(FLOWS_MAX - 1)
  const [from, to] = plan.hosts
  const host = {
    ...from!,
    pathMtu: Math.max(1024, from!.pathMtu),
    queueDepth: DEPTH,
    packetsInFlightMax: 1024,
    reorderPackets: 256,
    retransmitTimeoutLeastNs: undefined,
    plain: false,
    paths: {},
  }
  const connection = () => ({
    from: 0,
    to: 1,
    startNs: random.below(STARTS_NS),
    work: [writes(), []] as [WorkPlan[], WorkPlan[]],
    receives: [1, 1] as [number, number],
    leavesAfter: null,
  })
  return {
    ...plan,
    rateBps: RATE_BPS,
    bufferBytes: 2e6,
    frames: 4000,
    hosts: [{ ...host, name: from!.name }, { ...host, name: to!.name }, ...plan.hosts.slice(2)],
    links: plan.links.map(link => ({
      ...link,
      delayNs: 1 + (link.delayNs % DELAY_NS_MAX),
      rates: {},
      managementLoss: 0,
      outage: null,
    })),
    connections: Array.from({ length: flows }, connection),
    interruptions: [],
    changes: { flaps: [], rehashNs: null },
    lossless: null,
    attack: null,
    race: { fromNs: 300 * MICROSECOND, least: 0.5 },
  }
}

function writes(): WorkPlan[] {
  return Array.from({ length: MESSAGES }, () => ({ opcode: WorkOpcode.RDMA_WRITE, length: MESSAGE_MAX }))
}
