import type { PathSettings } from '../../cc/path-settings.js'
import type { TelemetrySettings } from '../../cc/telemetry-settings.js'
import type { TransportOptions } from '../../qp/transport-options.js'
import type { LinkSettings } from '../../sim/link-options.js'
import type { Nanos } from '../../time/nanos.js'
import type { IntFormat } from '../../wire/telemetry/telemetry.js'
import type { SizeDistribution } from './size-distribution.js'
import type { VtepNetwork } from './vtep.js'

/**
 * A scenario with everything resolved: names are checked, defaults filled in, units converted. All times are
 * integer nanoseconds, all rates bit/s, all sizes bytes. `loadScenario` makes it from a YAML file. The same
 * object describes a run in virtual time, over the overlay and on veth.
 */
export interface Scenario {
  name: string
  /** The file that the scenario was read from, as the user named it. Messages quote it. */
  file: string
  /** Text of the file, without a secret key. */
  text: string
  hosts: ScenarioHost[]
  switches: ScenarioSwitch[]
  links: Link[]
  /** Virtual networks over VXLAN. Absent: there are none. */
  vtep?: VtepNetwork[]
  /** Static routes, which override the shortest paths. Absent: none. */
  routes?: StaticRoute[]
  /** What happens to the network while the traffic runs. Absent: nothing. */
  events?: NetworkEvent[]
  /** So long after a link went down or came up, switches use the shortest paths of the links that are up. Absent: never. */
  rerouteNs?: Nanos
  deadlockPrevention?: DeadlockPreventionSettings
  /** Hosts announce themselves. Absent: they do not. */
  inof?: InofSettings
  /** The controller of every flow that does not name its own. */
  cc: CcChoice
  transport: TransportSettings
  int: IntSettings
  /** How telemetry is collected and returned. lib/cc/telemetry-settings.ts has names, ranges and defaults. */
  telemetry: TelemetrySettings
  /** Path selection and admission. lib/cc/path-settings.ts has names, ranges and defaults. */
  paths: PathSettings
  /**
   * One base RTT (T) for all flows. 'measured': each connection measures its own, with idle probes, or by its first round trips where it
   * begins carefully.
   */
  baseRttNs: Nanos | 'measured'
  /** The flows that the file lists, with incasts and repetitions expanded. See `expandTraffic`. */
  flows: ScenarioFlow[]
  /** The traffic that is drawn at random. `expandTraffic` turns it into flows. */
  workloads: Workload[]
  watch: Watch
  /** The run stops at this time. Absent: it stops when the last flow is complete. */
  durationNs?: Nanos
  /** Seed of every random choice but the path hash. `withSeed` replaces it, as the command line does. */
  seed: number
  /**
   * Seed of the hash by which switches choose among equal paths. It is the file's seed, so flows keep their
   * paths when `withSeed` changes `seed`.
   */
  hashSeed: number
  /** Paths are those of so many spanning trees. Absent: all shortest paths. */
  spanningTrees?: number
}

/**
 * Returns the scenario with another seed for every random choice, also for workloads that have a seed of
 * their own.
 */
export function withSeed(scenario: Scenario, seed: number): Scenario {
  return { ...scenario, seed, workloads: scenario.workloads.map(workload => ({ ...workload, seed })) }
}

/**
 * Returns the scenario with controllers that only the run has. What follows from a controller's options is worked out once and kept, while
 * a caller may change those of its own scenario between two runs. What shared a controller still does.
 */
export function withOwnControllers(scenario: Scenario): Scenario {
  const copies = new Map<CcChoice, CcChoice>()
  const own = (cc: CcChoice): CcChoice => {
    const known = copies.get(cc)
    if (known !== undefined) return known
    const copy = { ...cc, options: { ...cc.options } }
    copies.set(cc, copy)
    return copy
  }
  const withOwn = <T extends { cc?: CcChoice }>(traffic: T): T =>
    traffic.cc === undefined ? traffic : { ...traffic, cc: own(traffic.cc) }
  return {
    ...scenario,
    cc: own(scenario.cc),
    flows: scenario.flows.map(withOwn),
    workloads: scenario.workloads.map(withOwn),
  }
}

/** A host of the network. */
export interface ScenarioHost {
  name: string
  /** IPv4 address as text, within 10.0.0.0/8. Default: 10.0.0.1, 10.0.0.2… in the file's order. */
  address: string
}

/** A switch. SONiC's names are in brackets. */
export interface ScenarioSwitch {
  name: string
  /** Switch id in telemetry: 1 to 65519, unique. Default: 1, 2… in the file's order. */
  id: number
  /** Packet memory that all ports share. Default 32 MB. */
  bufferBytes: number
  /** Bytes that one lossy egress queue may hold. Absent: as many as the whole buffer. */
  queueBytesMax?: number
  /** WRED/ECN of egress queues [WRED_PROFILE]. Absent: the switch marks nothing. */
  ecn?: EcnSettings[]
  /** Priority flow control. Absent: a full buffer drops. */
  pfc?: PfcSettings
  /**
   * Priority by DSCP [DSCP_TO_TC_MAP]. A DSCP that is not in the map has priority 0. Absent: DSCP / 8, the
   * class selectors.
   */
  dscpToTc?: Record<number, number>
  /**
   * Priority by the PCP of a VLAN tag [DOT1P_TO_TC_MAP]. A PCP that is not in the map has priority 0. Absent:
   * the DSCP decides.
   */
  pcpToTc?: Record<number, number>
  /** By priority: weight in deficit round robin, 1 to 100, or 0 = strict [SCHEDULER]. Absent: all strict. */
  weights?: number[]
  /**
   * What the switch reports as load, and whether it sends direct responses. Absent: it reports the port's
   * queue and the link's rate, and sends none.
   */
  telemetry?: SwitchTelemetry
  /** Other features of `switch-emu/core/catalogue.ts` that are on, by name. Absent: none. */
  features?: Record<string, FeatureSettings | FeatureSettings[]>
}

/** Options of a feature as its class takes them: in bytes and ns, with every default filled in. */
export type FeatureSettings = Record<string, unknown>

/** Telemetry of one switch (drafts of HPCC++: draft-02, QoS queueing; draft-01, section 6.3). */
export interface SwitchTelemetry {
  /** False: the switch writes nothing into packets that collect telemetry, like a switch without INT. */
  writes: boolean
  /**
   * Which queue is reported: that of the whole port, that of the packet's priority, or (`sojourn`) the
   * packet's own time in the switch. Default port.
   */
  queue: 'port' | 'own' | 'sojourn'
  /**
   * Which rate is reported: the link's, or the share that deficit round robin guarantees the priority.
   * Default link.
   */
  rate: 'link' | 'share'
  /** Telemetry has only ratios of rates, for paths across operators. Absent: false. */
  ratioOnly?: boolean
  /** Absent: the switch sends no responses. */
  direct?: DirectSettings
}

/** Direct responses: telemetry that a congested switch sends by itself (draft-01 of HPCC++, section 6.3). */
export interface DirectSettings {
  /** The switch responds to a packet that finds at least this many bytes in its egress queue. */
  thresholdBytes: number
  /** The switch responds to a flow at most once in this time. Default 10 us. */
  intervalNs: Nanos
  /** Absent: the receiver if the scenario's controller is receiver-based, else the sender. */
  to?: 'sender' | 'receiver'
  /**
   * Which packets the switch may respond to. `all`: packets that collect telemetry or ask for responses.
   * `subscribed`: only those that ask. Default all.
   */
  of: 'all' | 'subscribed'
}

/** WRED with ECN marking of egress queues [WRED_PROFILE]. */
export interface EcnSettings {
  /** The switch marks nothing up to this queue length [green_min_threshold]. */
  kminBytes: number
  /** The switch marks everything above this queue length [green_max_threshold]. */
  kmaxBytes: number
  /** Probability of a mark when the queue is just below kmaxBytes, 0 to 1 [green_drop_probability]. */
  pmax: number
  /**
   * When the queue's length decides: as the frame enters the queue, or as it leaves (Fast ECN). Default
   * enqueue.
   */
  at: 'enqueue' | 'dequeue'
  /** Priorities whose queues are marked. Default: all. */
  priorities: number[]
  /** Thresholds of packets of large flows [yellow_min_threshold and so on]. Absent: those above. */
  large?: Pick<EcnSettings, 'kminBytes' | 'kmaxBytes' | 'pmax'>
}

/** Priority flow control of a switch. SONiC's names in PORT_QOS_MAP and BUFFER_PROFILE are in brackets. */
export interface PfcSettings {
  /** Lossless priorities, 0 to 7 [pfc_enable]. Default [3], the priority of flows that name none. */
  priorities: number[]
  /**
   * Ingress bytes of one port and priority above which the switch pauses the upstream [static_th]. A file
   * gives either this or alpha.
   */
  xoffBytes?: number
  /** The same threshold as a multiple of the free shared memory [dynamic_th is its logarithm to base 2]. */
  alpha?: number
  /** Ingress bytes at which the upstream may resume [xon]. Default 80 % of xoffBytes; none with alpha. */
  xonBytes?: number
  /**
   * The upstream may also resume this many bytes below the threshold [xon_offset]. Default 2,288 B with
   * alpha. There is none with xoffBytes.
   */
  xonOffsetBytes?: number
  /** Bytes reserved for each port and lossless priority [size]. Default 0. */
  reservedBytes?: number
  /**
   * Bytes that each port and lossless priority may take in after its pause [xoff]. Absent: computed for each
   * link (`headroom.ts`).
   */
  headroomBytes?: number
  /** Pause time, in 512 bit times. Default 65535. */
  quanta?: number
  /** Absent: no watchdog. */
  watchdog?: WatchdogSettings
}

/** Detection and clearance of PFC deadlocks: `switch-emu/core/pfc/pfc-watchdog.ts`. */
export interface WatchdogSettings {
  /** A queue that is paused for this long without a gap is deadlocked. Default 200 ms. */
  detectionTimeNs: Nanos
  /** For this long after the detection, the queue ignores pauses. Default 200 ms. */
  restorationTimeNs: Nanos
  /**
   * What happens to the queue's frames in this time. `alert`: nothing, the deadlock is only reported. Default
   * drop.
   */
  action: 'drop' | 'forward' | 'alert'
  /** If one queue has this many deadlocks within the window, PFC is turned off for it. Absent: never. */
  limit?: { deadlocks: number; windowNs: Nanos }
}

/** Moves packets on high-risk paths to another priority: `switch-emu/core/pfc/deadlock-prevention.ts`. */
export interface DeadlockPreventionSettings {
  groups: PortGroup[]
  /** Priority of the packets that may move. Default 3. */
  from: number
  /** Their new priority, when ingress and egress port are in one group. */
  to: number
}

/** Ports of one switch. */
export interface PortGroup {
  switch: string
  ports: number[]
  /** New DSCP of packets that move. Default: 8 x `to`, or the lowest DSCP that the switch maps to `to`. */
  dscp: number
}

/** The ports by which a switch sends to a host, in place of the shortest paths. */
export interface StaticRoute {
  switch: string
  /** The host, or the switch that is an end of tunnels. */
  to: string
  /** Egress ports. Several are parallel links, among which the flow hash chooses. */
  ports: number[]
  /** From the start of the traffic. Absent: the route exists before the traffic starts. */
  startNs?: Nanos
  /** From the start of the traffic. Absent: the route stays until the end of the run. */
  endNs?: Nanos
}

/** What happens to the network while the traffic runs: once, for a while, or again and again. */
export type NetworkEvent = EventTimes & (PfcOnEvent | LinkEvent | RestartEvent)

/** When an event happens. */
export interface EventTimes {
  /** From the start of the traffic: the first time. With a random `every`, the time from which its gaps count. */
  atNs: Nanos
  /** Time between two times. Random ones count from the end of one to the beginning of the next. Absent: once. */
  every?: Spacing
  /** How often. Absent: with `every` until the end of the run, without it once. */
  repeat?: number
  /** How long it lasts. Absent: for good. */
  for?: Spacing
}

/** A time, or the mean of exponentially distributed times. */
export interface Spacing {
  ns: Nanos
  random: boolean
}

/** An operator turns PFC on again after the watchdog's limit has turned it off. */
interface PfcOnEvent {
  kind: 'pfcOn'
  switch: string
  /** Several are parallel links. */
  ports: number[]
  /** Absent: all lossless priorities of the ports. */
  priority?: number
}

/** Links change. */
interface LinkEvent {
  kind: 'link'
  /** As the file names them. */
  links: string
  /** The ends from which the directions lead away that change. */
  ends: LinkEnd[]
  /** What is set of them. */
  settings: LinkSettings
  /** True: they are as `links` of the scenario say, but for the settings. */
  reset: boolean
}

/** Switches restart. Their links are down meanwhile, and they have forgotten what they knew. */
interface RestartEvent {
  kind: 'restart'
  switches: string[]
}

/**
 * One end of a link: a node and its port. Port numbers count from 0 at each node, in the file's order of
 * links.
 */
export interface LinkEnd {
  node: string
  port: number
}

/**
 * A full-duplex link. Rate and delay hold for each direction. Defaults: those of `link` in the file, else
 * 1Gbps and 10us.
 */
export interface Link {
  a: LinkEnd
  b: LinkEnd
  rateBps: number
  /** Propagation delay, one way. */
  delayNs: Nanos
}

/** A congestion controller of `lib/cc/catalogue.ts` with the options given for it, in base units. */
export interface CcChoice {
  name: string
  /** Only the options that the file gives. The controller has defaults for the rest. */
  options: Record<string, number | string | boolean>
}

/** Settings of the reliable transport, of all hosts: `lib/qp/transport-options.ts`. */
export interface TransportSettings extends TransportOptions {
  /** Absent: that of the packets that they answer. */
  cnpPriority?: number
  /** Share of the line rate above which CNPs without a tag count, with a key. 0: they do not. */
  untaggedCnps: number
  /**
   * Secret of all hosts, 16 to 1024 bytes of text. With it hosts authenticate feedback. Absent: they do not.
   */
  key?: string
}

/** How telemetry is encoded in data packets. */
export interface IntSettings {
  /**
   * Encapsulation of telemetry. wide (default): slots of 24 bytes with full counters. compact: slots of 8
   * bytes as in the HPCC paper. The others: INT-MD 2.1 of P4.org, IFA 2.0, and the pre-allocated trace of
   * IOAM (RFC 9197).
   */
  format: IntFormat
  /** IP protocol of IFA, 0 to 255. Absent: 253. */
  ifaProtocol?: number
  /**
   * Switches that may write into a packet, 1 to 15. Default: as many as the longest path of the traffic has.
   */
  hops: number
}

/** One message from one host to another. */
export interface ScenarioFlow {
  name: string
  from: string
  to: string
  bytes: number
  startNs: Nanos
  /** UDP source port of both directions, 0xc000 to 0xffff. Absent: the NIC draws one. */
  sourcePort?: number
  /** Absent: the scenario's controller. */
  cc?: CcChoice
  /** Priority, 0 to 7. Default 3. */
  priority: number
}

/**
 * Flows that start at random: Poisson arrivals at every host, sizes from a distribution, any other host as
 * receiver.
 */
export interface Workload {
  name: string
  distribution: SizeDistribution
  /** Payload that each host sends on average, as a share of its link's rate, above 0. */
  load: number
  /** When arrivals begin. */
  startNs: Nanos
  /** For how long they go on. */
  durationNs: Nanos
  /** Absent: the seed is drawn from the run's seed. */
  seed?: number
  /** Hosts that send and receive. */
  hosts: string[]
  cc?: CcChoice
  priority: number
}

/** What is sampled during a run, for `series` of the result. */
export interface Watch {
  /** Egress queues, by switch and port. Empty: none. */
  queues: { switch: string; port: number }[]
  /** Interval of the samples; default 100 µs. */
  everyNs: Nanos
  /**
   * Also samples rate, window, bytes in flight and acknowledged bytes of each flow. Default: true if the file
   * has a `watch`.
   */
  flows: boolean
}

/** A zone of an iNOF network, and its members. */
export interface InofZone {
  zone: number
  hosts: string[]
}

/** Hosts announce themselves to their switch, and hear of each other. */
export interface InofSettings {
  /** Number of the autonomous system. */
  as: number
  reflectors: number
  /** The reflectors are programs of their own, such as BIRD. */
  external?: true
  /** How sessions with those are protected. */
  ttlSecurity?: true
  password?: string
  zones: InofZone[]
  /** Hosts that are in no zone join the default zone. */
  autoJoin: boolean
  /** Hold time of BGP sessions. 0: they have none. */
  holdSeconds: number
  /** A switch forgets a host after a silence of so long. */
  silenceSeconds: number
  /** Between a switch and a reflector, one way. */
  delayNs: Nanos
  /** Hosts with storage. */
  storage: string[]
  /** Flows take other paths when a link between switches fails. */
  failover: boolean
}
