/**
 * A seed in which flows share everything: the path, the controller, the time. Nothing disturbs them, and they
 * run for long enough to get similar shares.
 */
import { ccOptions } from '../../../lib/cc/catalogue.js'
import { WorkOpcode } from '../../../lib/qp/queues/work.js'
import type { Random } from '../../../lib/sim/random.js'
import { MICROSECOND, type Nanos } from '../../../lib/time/nanos.js'
import { FAULTS_END_NS, MESSAGE_MAX } from '../limits.js'
import type { HostPlan, SwarmPlan, WorkPlan } from '../plan.js'

/** A race. */
export interface RacePlan {
  /** What is moved before this time belongs to the start and does not count. */
  fromNs: Nanos
  /** The lowest Jain index that passes; 0 = any. */
  least: number
  /** No window is longer than line rate x T, so no queue is longer than their sum. */
  windowed: boolean
}

const SHARE = 1 / 40
const RATE_BPS = 10e9
const DELAY_NS_MAX = 3 * MICROSECOND
const MESSAGES = 100
const FLOWS_MAX = 3
/** All flows start within it. */
const STARTS_NS = 5 * MICROSECOND
/** When counting begins: all flows run, and the burst of their start is over. */
const START_COUNTS_NS = 300 * MICROSECOND
/** The lowest Jain index: two flows, and one has a sixth of what the other has. */
const LEAST = 0.66
/**
 * Controllers that do not make flows equal in a race, which lasts for 1 to 3 ms. TIMELY has no single resting point (Zhu et al., ECN or Delay,
 * CoNEXT 2016); patched, its rates become equal within tens of ms. RTTCC shrinks the ratio of two rates by 4 % with a probe, and a race has
 * some dozens of them; test/cc/closed-loop and test/virtual/rttcc judge both.
 */
const UNEQUAL: readonly string[] = ['timely', 'rttcc']
/** Controllers whose windows begin at line rate x T and only fall from there. */
const WINDOWED = ['hpcc', 'fncc', 'rx-hpcc', 'fixed-window']
/** Messages of each flow in flight: more than the path holds. */
const DEPTH = 16

/**
 * Returns the seed's plan as a race, or unchanged. All hosts but the last send to that one, from one switch.
 * If there are two hosts, one sends all flows.
 */
export function asRace(plan: SwarmPlan, random: Random): SwarmPlan {
  if (random.next() >= SHARE) return plan
  const { hosts, links } = plan
  const receiver = hosts.length - 1
  const flows = receiver === 1 ? 2 + random.below(FLOWS_MAX - 1) : receiver
  const delayNs = 1 + random.below(DELAY_NS_MAX)
  return {
    ...plan,
    rateBps: RATE_BPS,
    bufferBytes: 2e6,
    frames: 4000,
    switchRestarts: [],
    hosts: hosts.map(({ name }) => racer(hosts[0]!, name, flows)),
    links: links.map(link => {
      const sends = hosts.some(({ name }, i) => i < receiver && name === link.a)
      return {
        a: link.a,
        b: sends ? 's1' : link.b,
        delayNs,
        rates: {},
        managementLoss: 0,
        outage: null,
        faultsEndNs: FAULTS_END_NS,
      }
    }),
    connections: Array.from({ length: flows }, (_, flow) => ({
      from: receiver === 1 ? 0 : flow,
      to: receiver,
      startNs: random.below(STARTS_NS),
      work: [writes(), []] as const,
      receives: [1, 1] as const,
      leavesAfter: null,
    })),
    interruptions: [],
    changes: { flaps: [], rehashNs: null },
    lossless: null,
    fairRates: null,
    attack: null,
    race: {
      fromNs: START_COUNTS_NS,
      least: UNEQUAL.includes(hosts[0]!.cc.name) ? 0 : LEAST,
      windowed: WINDOWED.includes(hosts[0]!.cc.name),
    },
  }
}

/**
 * All hosts are alike. HPCC++ knows how many flows share the link. Its windows come together by W_ai alone, which is W_init (1 - eta) /
 * N: in 2,000 round trips if N is 100, as by default, and there are some flows. A race lasts for some hundreds, and where W_init is 4 packets
 * that W_ai is 2 bytes: less than one packet more or less in a sample moves a window by.
 */
function racer(host: HostPlan, name: string, flows: number): HostPlan {
  const { cc } = host
  const counts = ccOptions(cc.name).some(option => option.name === 'flows')
  return {
    ...host,
    name,
    cc: counts ? { ...cc, options: { ...cc.options, flows } } : cc,
    pathMtu: Math.max(1024, host.pathMtu),
    queueDepth: DEPTH,
    packetsInFlightMax: 1024,
    reorderPackets: 256,
    retransmitTimeoutLeastNs: undefined,
    plain: false,
    priority: 0,
    paths: {},
  }
}

function writes(): WorkPlan[] {
  return Array.from({ length: MESSAGES }, () => ({ opcode: WorkOpcode.RDMA_WRITE, length: MESSAGE_MAX }))
}
