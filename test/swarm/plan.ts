/**
 * What one seed of the swarm represents: a network, its hosts' options, the faults, the connections and their
 * work.
 */
import { ccNames } from '../../lib/cc/catalogue.js'
import type { PathSettings } from '../../lib/cc/path-settings.js'
import type { TelemetrySettings } from '../../lib/cc/telemetry-settings.js'
import { WeirError } from '../../lib/errors.js'
import { FramePool } from '../../lib/frame/frame-pool.js'
import { nicSettings, RECOVERIES, type Recovery, STARTS, type Start } from '../../lib/nic/config.js'
import { WorkOpcode } from '../../lib/qp/queues/work.js'
import type { FaultRates } from '../../lib/sim/faults.js'
import { Random } from '../../lib/sim/random.js'
import { MICROSECOND, MILLISECOND, type Nanos } from '../../lib/time/nanos.js'
import { HostAddress } from '../../lib/wire/net/address.js'
import { FORMAT_NAMES, type IntFormat } from '../../lib/wire/telemetry/telemetry.js'
import { FAULTS_END_NS, MESSAGE_MAX } from './limits.js'
import { type AttackPlan, attackPlan } from './parts/attacker.js'
import { type ChangesPlan, changesPlan, reroutes } from './parts/changes.js'
import { type FairRatesPlan, fairRatesPlan, obeyingHost } from './parts/fair-rates.js'
import { LOSSLESS_PRIORITY, type LosslessPlan, losslessPlan } from './parts/lossless.js'
import { pick } from './parts/pick.js'
import { asRace, type RacePlan } from './parts/race.js'
import { type SwitchRestartPlan, switchRestartPlans, withBursts } from './parts/switch-restarts.js'

export interface HostPlan {
  name: string
  pathMtu: number
  recovery: Recovery
  start: Start
  ackEveryPackets: number
  queueDepth: number
  packetsInFlightMax: number
  reorderPackets: number
  cc: { name: string; options: Record<string, number> }
  int: { format: IntFormat; hops: number }
  telemetry: Partial<TelemetrySettings>
  paths: Partial<PathSettings>
  retransmitTimeoutLeastNs: Nanos | undefined
  /** First PSNs lie just under the wrap of 24 bits. */
  psnNearWrap: boolean
  /** It is no Weir host: its connection manager sends nothing of Weir's. */
  plain: boolean
  priority: number
}

export interface LinkPlan {
  a: string
  b: string
  delayNs: Nanos
  rates: FaultRates
  /** Chance that a datagram of the connection manager is lost. */
  managementLoss: number
  /** From when to when nothing passes. */
  outage: readonly [Nanos, Nanos] | null
  /** When its faults end. */
  faultsEndNs: Nanos
}

export interface WorkPlan {
  opcode: WorkOpcode
  length: number
  /** COMPARE_AND_SWAP: it compares with the current value. */
  matches?: boolean
}

export interface ConnectionPlan {
  from: number
  to: number
  startNs: Nanos
  /** Work of the end that connects, and of the one that accepts. */
  work: readonly [readonly WorkPlan[], readonly WorkPlan[]]
  /** Receives that each end keeps posted. */
  receives: readonly [number, number]
  /**
   * The end that connects leaves after this many completions, whatever is under way. Null: when everything is
   * done.
   */
  leavesAfter: number | null
}

export interface Interruption {
  host: number
  atNs: Nanos
  /** How long it does nothing. Null: it restarts and has forgotten everything. */
  pauseNs: Nanos | null
}

/** What switches send by themselves. */
interface DirectPlan {
  thresholdBytes: number
  to: 'sender' | 'receiver'
  of: 'all' | 'subscribed'
}

export interface SwarmPlan {
  seed: number
  rateBps: number
  bufferBytes: number
  ackTimeoutNs: Nanos
  ipv6: boolean
  secret: string | null
  /** Frames of all hosts and switches. A small number causes back-pressure. */
  frames: number
  directResponses: DirectPlan | null
  fairRates: FairRatesPlan | null
  lossless: LosslessPlan | null
  changes: ChangesPlan
  switchRestarts: readonly SwitchRestartPlan[]
  attack: AttackPlan | null
  race: RacePlan | null
  switches: readonly string[]
  hosts: readonly HostPlan[]
  links: readonly LinkPlan[]
  connections: readonly ConnectionPlan[]
  interruptions: readonly Interruption[]
}

const MTUS = [256, 512, 1024, 2048, 4096]
const RATES_BPS = [100e6, 1e9, 10e9, 100e9]
export function planOf(seed: number): SwarmPlan {
  const random = new Random(seed)
  const chance = (share: number) => random.next() < share
  const hostCount = 2 + random.below(3)
  const ackTimeoutNs = pick(random, [16, 64]) * MILLISECOND
  const format = pick(random, FORMAT_NAMES)
  const names = Array.from({ length: hostCount }, (_, i) => `h${i + 1}`)
  const hosts = names.map(name => hostPlan(random, name, chance(0.9) ? format : pick(random, FORMAT_NAMES)))
  const { switches, links: smooth, inner } = networkPlan(random, names, ackTimeoutNs)
  const bursts = random.fork('bursts')
  const links = smooth.map(link => withBursts(bursts, link, ackTimeoutNs))
  const connections = crowded(
    random.fork('crowd'),
    Array.from({ length: 1 + random.below(6) }, () => connectionPlan(random, hostCount)),
  )
  const interruptions = interruptionPlans(random, connections, ackTimeoutNs)
  const secret = chance(0.3) ? 'a secret of the whole swarm' : null
  const several = switches.length > 3
  const rateBps = pick(random, RATES_BPS)
  // Each part draws for itself, so that it can change without the others.
  const changes = changesPlan(random.fork('changes'), inner, several, ackTimeoutNs)
  const lossless = losslessPlan(random.fork('lossless'), reroutes(changes), rateBps, ackTimeoutNs)
  const plain = secret === null ? plainHosts(random.fork('plain peers'), hostCount) : new Set<number>()
  const fairRates = fairRatesPlan(random.fork('fair rates'), hosts)
  const plan: SwarmPlan = {
    seed,
    rateBps,
    bufferBytes: pick(random, [10e3, 30e3, 200e3]),
    ackTimeoutNs,
    ipv6: chance(0.2),
    secret,
    frames: pick(random, [48, 200, 600]),
    directResponses: directPlan(random.fork('direct responses')),
    fairRates,
    lossless,
    changes,
    switchRestarts: switchRestartPlans(
      random.fork('switch restarts'),
      switches.length,
      ackTimeoutNs,
      lossless !== null,
    ),
    attack: attackPlan(random.fork('attack'), links.length, secret !== null),
    race: null,
    switches,
    hosts: hosts.map((host, i) => ({
      ...(fairRates?.obeying.has(i) === true ? obeyingHost(host) : host),
      // A plain peer does not agree on the smaller path MTU, so all have the same.
      ...(plain.size > 0 && { pathMtu: hosts[0]!.pathMtu }),
      plain: plain.has(i),
      priority: lossless === null ? 0 : LOSSLESS_PRIORITY,
    })),
    links,
    connections,
    interruptions,
  }
  return asRace(plan, random.fork('race'))
}

/** In some plans all connections begin together and lead to one host, whose link then has a queue. */
function crowded(random: Random, connections: ConnectionPlan[]): ConnectionPlan[] {
  if (random.next() >= 0.4) return connections
  const [{ startNs }] = connections as [ConnectionPlan]
  return connections.map(connection => {
    const from = connection.from === 0 ? connection.to : connection.from
    return { ...connection, from, to: 0, startNs: startNs + random.below(20 * MICROSECOND) }
  })
}

function plainHosts(random: Random, hosts: number): Set<number> {
  const found = new Set<number>()
  if (random.next() < 0.15) found.add(random.below(hosts))
  return found
}

function directPlan(random: Random): DirectPlan | null {
  if (random.next() >= 0.4) return null
  return {
    thresholdBytes: pick(random, [1000, 5000, 20_000]),
    to: pick(random, ['sender', 'sender', 'receiver']),
    of: pick(random, ['all', 'subscribed']),
  }
}

function hostPlan(random: Random, name: string, format: IntFormat): HostPlan {
  const chance = (share: number) => random.next() < share
  const telemetry: Partial<TelemetrySettings> = {
    collect: chance(0.25) ? 'probe' : 'data',
    everyPackets: chance(0.3) ? 1 + random.below(16) : 1,
    everyBytes: chance(0.1) ? 5000 : 0,
    probeShare: chance(0.5) ? 1 : 0.01,
    plain: chance(0.2),
    answer: chance(0.25) ? 'notify' : 'ack',
    hops: chance(0.2) && format !== 'compact' ? 'busiest' : 'all',
    subscribe: chance(0.2) ? pick(random, ['flag', 'dscp'] as const) : 'off',
    subscribeEvery: 1 + random.below(4),
  }
  const paths: Partial<PathSettings> = chance(0.3)
    ? {
        count: 1 + random.below(4),
        start: pick(random, ['choose', 'hash'] as const),
        move: pick(random, ['never', 'idle', 'drain'] as const),
        margin: chance(0.5) ? 0.1 : 0,
        intervalNs: chance(0.5) ? 0 : random.below(200) * MICROSECOND,
        ...admissionPlan(random.fork(`admission ${name}`)),
      }
    : {}
  const host: HostPlan = {
    name,
    pathMtu: pick(random, MTUS),
    recovery: chance(0.75) ? 'selective' : pick(random, RECOVERIES),
    start: pick(random, STARTS),
    ackEveryPackets: chance(0.5) ? 1 : random.below(20),
    queueDepth: 1 + random.below(16),
    packetsInFlightMax: 2 ** (3 + random.below(8)),
    reorderPackets: chance(0.3) ? 2 + random.below(30) : 256,
    cc: { name: pick(random, ccNames()), options: {} },
    int: { format, hops: 1 + random.below(5) },
    telemetry,
    paths,
    retransmitTimeoutLeastNs: chance(0.4) ? (1 + random.below(5)) * MILLISECOND : undefined,
    psnNearWrap: chance(0.5),
    plain: false,
    priority: 0,
  }
  return { ...host, telemetry: accepted(host) }
}

/** New flows wait for a path that is less used than the bound, or are refused. */
function admissionPlan(random: Random): Partial<PathSettings> {
  if (random.next() >= 0.4) return {}
  return {
    admission: pick(random, [0.01, 0.3, 0.95]),
    admissionWaitNs: pick(random, [0, 100 * MICROSECOND, 20 * MILLISECOND]),
    admissionQueue: 1 + random.below(3),
  }
}

/** The host's settings of telemetry without those that are refused with the others. */
function accepted({ cc, int, telemetry }: HostPlan): Partial<TelemetrySettings> {
  let kept: Partial<TelemetrySettings> = {}
  for (const [name, value] of Object.entries(telemetry)) {
    const more = { ...kept, [name]: value }
    const address = HostAddress.parse('10.0.0.1')
    try {
      nicSettings({
        address,
        pool: new FramePool(1),
        random: () => 0,
        lineRateBps: 1e9,
        cc,
        int,
        telemetry: more,
      })
      kept = more
    } catch (error) {
      if (!(error instanceof WeirError && error.code === 'WEIR_BAD_ARGUMENT')) throw error
    }
  }
  return kept
}

/** A chain, or two spines with at most as many leaves as there are hosts. Each host is at one switch. */
function networkPlan(random: Random, hosts: readonly string[], ackTimeoutNs: Nanos) {
  const count = 1 + random.below(3)
  const chain = count < 3 || random.next() < 0.5
  const switches = Array.from({ length: count }, (_, i) => `s${i + 1}`)
  const joins: [string, string][] = []
  if (chain) for (let i = 1; i < count; i++) joins.push([`s${i}`, `s${i + 1}`])
  else {
    switches.push('s4')
    // s1 and s2 are leaves, s3 and s4 spines: two paths between hosts of different leaves.
    for (const leaf of ['s1', 's2']) for (const spine of ['s3', 's4']) joins.push([leaf, spine])
  }
  const inner = joins.map((_, link) => link)
  const leaves = chain ? switches : ['s1', 's2']
  for (const host of hosts) joins.push([host, pick(random, leaves)])
  const kind = random.below(4)
  const links = joins.map(([a, b]): LinkPlan => {
    const isFaulty = kind > 0 && random.next() < 0.4
    return {
      a,
      b,
      delayNs: 1 + random.below(20 * MICROSECOND),
      rates: isFaulty ? faultRates(random) : {},
      managementLoss: isFaulty && random.next() < 0.3 ? 0.1 : 0,
      outage: isFaulty && random.next() < 0.2 ? span(random, ackTimeoutNs) : null,
      faultsEndNs: FAULTS_END_NS,
    }
  })
  return { switches, links, inner }
}

/** Each fault is on or off. Together they lose at most 5 % of the packets on a link. */
function faultRates(random: Random): FaultRates {
  const upTo = (most: number) => (random.next() < 0.5 ? 0 : random.next() * most)
  return {
    loss: upTo(0.03),
    duplication: upTo(0.1),
    corruption: upTo(0.02),
    reorder: upTo(0.2),
    reorderNs: 1 + random.below(200 * MICROSECOND),
  }
}

/** At most one timeout long, so that retries do not run out. */
function span(random: Random, ackTimeoutNs: Nanos): readonly [Nanos, Nanos] {
  const from = random.below(5 * MILLISECOND)
  return [from, from + random.below(ackTimeoutNs)]
}

/** They happen when a connection begins or is busy, when they matter. */
function interruptionPlans(
  random: Random,
  connections: readonly ConnectionPlan[],
  ackTimeoutNs: Nanos,
): Interruption[] {
  const plans: Interruption[] = []
  const add = (pauseNs: Nanos | null) => {
    const { from, to, startNs } = pick(random, connections)
    const atNs = startNs + random.below(pick(random, [20 * MICROSECOND, MILLISECOND, 100 * MILLISECOND]))
    plans.push({ host: random.next() < 0.5 ? from : to, atNs, pauseNs })
  }
  if (random.next() < 0.25) add(1 + random.below(ackTimeoutNs))
  if (random.next() < 0.2) add(null)
  return plans
}

function connectionPlan(random: Random, hosts: number): ConnectionPlan {
  const from = random.below(hosts)
  // READs in both directions: each end's responses compete with its requests.
  const opcodes = random.next() < 0.1 ? [WorkOpcode.RDMA_READ] : OPCODES
  const to = (from + 1 + random.below(hosts - 1)) % hosts
  const work = [
    works(random, 1 + random.below(16), opcodes),
    works(random, random.below(2) * random.below(8), opcodes),
  ] as const
  return {
    from,
    to,
    startNs: random.below(3 * MILLISECOND),
    work,
    receives: [1 + random.below(8), 1 + random.below(8)],
    leavesAfter: random.next() < 0.1 ? random.below(work[0].length + 1) : null,
  }
}

const OPCODES = [
  WorkOpcode.SEND,
  WorkOpcode.SEND_WITH_IMM,
  WorkOpcode.SEND_WITH_INV,
  WorkOpcode.RDMA_WRITE,
  WorkOpcode.RDMA_WRITE_WITH_IMM,
  WorkOpcode.RDMA_READ,
  WorkOpcode.COMPARE_AND_SWAP,
  WorkOpcode.FETCH_AND_ADD,
]

function works(random: Random, count: number, opcodes: readonly WorkOpcode[]): WorkPlan[] {
  return Array.from({ length: count }, () => {
    const opcode = pick(random, opcodes)
    if (opcode === WorkOpcode.FETCH_AND_ADD) return { opcode, length: 8 }
    if (opcode === WorkOpcode.COMPARE_AND_SWAP) return { opcode, length: 8, matches: random.next() < 0.7 }
    const most = random.next() < 0.5 ? 600 : MESSAGE_MAX
    return { opcode, length: random.below(most + 1) }
  })
}
