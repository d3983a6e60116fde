import type { PathSettings } from '../../cc/path-settings.js'
import type { TelemetrySettings } from '../../cc/telemetry-settings.js'
import type { TransportOptions } from '../../qp/transport-options.js'
import type { Nanos } from '../../time/nanos.js'
import type { IntFormat } from '../../wire/telemetry/telemetry.js'
import type { SizeDistribution } from './size-distribution.js'

/**
 * A scenario with everything resolved: names checked, defaults filled in, units gone. All times are integer
 * nanoseconds, all rates bit/s, all sizes bytes. `loadScenario` makes it from a YAML file; the same object
 * drives a run in virtual time, over the overlay and on veth.
 */
export interface Scenario {
  name: string
  /** The file it was read from, as given, for messages. */
  file: string
  /** What the file says, with a secret key left out. */
  text: string
  hosts: ScenarioHost[]
  switches: ScenarioSwitch[]
  links: Link[]
  /** Static routes, which override the shortest paths; absent: none. */
  routes?: StaticRoute[]
  /** What is done to the switches while the traffic runs; absent: nothing. */
  events?: NetworkEvent[]
  deadlockPrevention?: DeadlockPreventionSettings
  /** The controller of every flow that does not name its own. */
  cc: CcChoice
  transport: TransportSettings
  int: IntSettings
  /** How telemetry is collected and brought back; names, ranges and defaults are those of lib/cc/telemetry-settings.ts. */
  telemetry: TelemetrySettings
  /** DocumentPath selection and admission; names, ranges and defaults are those of lib/cc/path-settings.ts. */
  paths: PathSettings
  /** One T for all flows, or 'measured': idle probes find each connection's own. */
  baseRttNs: Nanos | 'measured'
  /** The flows that the file lists one by one, incasts and repetitions written out. See `expandTraffic`. */
  flows: ScenarioFlow[]
  /** The flows that are drawn at random; `expandTraffic` turns them into flows. */
  workloads: Workload[]
  watch: Watch
  /** The run stops at this time, finished or not. Absent: when the last flow is complete. */
  durationNs?: Nanos
  /** Seed of every random choice of the run but the hash of paths; the command line may override it: `withSeed`. */
  seed: number
  /** Seed of the hash by which switches choose among equal paths: the file's, so that paths stay the same over seeds. */
  hashSeed: number
}

/** The scenario with another seed for every random choice, those of workloads with a seed of their own included. */
export function withSeed(scenario: Scenario, seed: number): Scenario {
  return { ...scenario, seed, workloads: scenario.workloads.map(workload => ({ ...workload, seed })) }
}

/** A host of the network. */
export interface ScenarioHost {
  name: string
  /** IPv4 address as text, within 10.0.0.0/8. Default: 10.0.0.1, 10.0.0.2… in the file's order. */
  address: string
}

/** A switch, with SONiC's names in brackets. */
export interface ScenarioSwitch {
  name: string
  /** What the switch writes into telemetry: 1 to 65519, unique. Default: 1, 2… in the file's order. */
  id: number
  /** Packet memory shared by all ports. Default 32 MB. */
  bufferBytes: number
  /** Bytes that may wait in one lossy egress queue. Absent: the whole buffer. */
  queueBytesMax?: number
  /** WRED/ECN of egress queues [WRED_PROFILE]; absent: nothing is marked. */
  ecn?: EcnSettings[]
  /** Priority flow control; absent: a full buffer drops. */
  pfc?: PfcSettings
  /** Priority by DSCP [DSCP_TO_TC_MAP]; those not named have 0. Absent: DSCP / 8, the class selectors. */
  dscpToTc?: Record<number, number>
  /** Priority by the PCP of a VLAN tag [DOT1P_TO_TC_MAP]; those not named have 0. Absent: the DSCP decides. */
  pcpToTc?: Record<number, number>
  /** By priority: weight in deficit round robin, 1 to 100, or 0 = strict [SCHEDULER]. Absent: all strict. */
  weights?: number[]
  /** What the switch reports of load, and whether it sends direct responses; absent: of ports and links, and no. */
  telemetry?: SwitchTelemetry
  /** Other features of `switch-emu/core/catalogue.ts` that are on, by name; absent: none. */
  features?: Record<string, FeatureSettings | FeatureSettings[]>
}

/** Options of a feature as its class gets them: in bytes and ns, every default filled in. */
export type FeatureSettings = Record<string, unknown>

/** Telemetry of one switch (drafts of HPCC++: draft-02, QoS queueing; draft-01, section 6.3). */
export interface SwitchTelemetry {
  /** False: the switch writes nothing into packets that collect telemetry, as one that knows no INT. */
  writes: boolean
  /** Queue of the whole port, of the packet's priority, or its own time in the switch. Default port. */
  queue: 'port' | 'own' | 'sojourn'
  /** The link's rate, or the share that deficit round robin guarantees the priority. Default link. */
  rate: 'link' | 'share'
  /** Telemetry has only ratios of rates, for paths across operators. Absent: no. */
  ratioOnly?: boolean
  /** Absent: the switch sends nothing by itself. */
  direct?: DirectSettings
}

/** Telemetry that a congested switch sends by itself (draft-01 of HPCC++, section 6.3). */
export interface DirectSettings {
  /** A packet that finds at least this many bytes in its egress queue is answered. */
  thresholdBytes: number
  /** A flow is answered at most once in this time. Default 10 us. */
  intervalNs: Nanos
  /** Absent: the receiver if the scenario's controller works there, else the sender. */
  to?: 'sender' | 'receiver'
  /** Packets that collect telemetry or ask for answers, or only those that ask. Default all. */
  of: 'all' | 'subscribed'
}

/** WRED with ECN marking of egress queues [WRED_PROFILE]. */
export interface EcnSettings {
  /** Up to this queue nothing is marked [green_min_threshold]. */
  kminBytes: number
  /** Above this queue everything is marked [green_max_threshold]. */
  kmaxBytes: number
  /** Probability of a mark as the queue nears kmaxBytes, 0 to 1 [green_drop_probability]. */
  pmax: number
  /** Marked as frames enter the queue, by its length then, or as they leave it (Fast ECN). Default enqueue. */
  at: 'enqueue' | 'dequeue'
  /** Priorities whose queues are marked. Default: all. */
  priorities: number[]
}

/** In brackets what SONiC calls it in PORT_QOS_MAP and BUFFER_PROFILE. */
export interface PfcSettings {
  /** Priorities that are lossless, 0 to 7 [pfc_enable]. Default 3 alone, where flows are by default. */
  priorities: number[]
  /** Ingress bytes of one port and priority above which the upstream is paused [static_th]. Either this or alpha. */
  xoffBytes?: number
  /** The same as a multiple of the shared memory that is free [dynamic_th, which is its logarithm to base 2]. */
  alpha?: number
  /** Ingress bytes at which the upstream may resume [xon]. Default 80 % of xoffBytes; none with alpha. */
  xonBytes?: number
  /** The upstream may resume so many bytes below the threshold, too [xon_offset]. Default 2,288 B with alpha; none with xoffBytes. */
  xonOffsetBytes?: number
  /** Bytes that each port and lossless priority has for itself [size]. Default 0. */
  reservedBytes?: number
  /** Bytes that each may still take in after its pause [xoff]; absent: worked out from each link (`headroom.ts`). */
  headroomBytes?: number
  /** Pause time, in 512 bit times. Default 65535. */
  quanta?: number
  /** Absent: nothing is detected. */
  watchdog?: WatchdogSettings
}

/** Detection and clearance of PFC deadlocks: `switch-emu/core/pfc/pfc-watchdog.ts`. */
export interface WatchdogSettings {
  /** A queue that is paused for so long without a gap is deadlocked. Default 200 ms. */
  detectionTimeNs: Nanos
  /** For so long it does not obey pauses then. Default 200 ms. */
  restorationTimeNs: Nanos
  /** What happens to its frames meanwhile; alert: nothing is done. Default drop. */
  action: 'drop' | 'forward' | 'alert'
  /** So many deadlocks of one queue within the window turn PFC off for it; absent: never. */
  limit?: { deadlocks: number; windowNs: Nanos }
}

/** Another priority for packets on high-risk paths: `switch-emu/core/pfc/deadlock-prevention.ts`. */
export interface DeadlockPreventionSettings {
  groups: PortGroup[]
  /** Priority of the packets that are looked at. Default 3. */
  from: number
  /** Priority that they move to when they come in and go out by ports of one group. */
  to: number
}

/** Ports of one switch. */
export interface PortGroup {
  switch: string
  ports: number[]
  /** DSCP that packets get that move. Default: 8 x `to`, or the lowest that the switch maps to it. */
  dscp: number
}

/** How a switch sends to a host, whatever the shortest path is. */
export interface StaticRoute {
  switch: string
  /** The host. */
  to: string
  /** Egress ports: several are parallel links, among which the flow hash chooses. */
  ports: number[]
  /** From the start of the traffic; absent: the route is there from the very beginning. */
  startNs?: Nanos
  /** Absent: to the end of the run. */
  endNs?: Nanos
}

/** An operator restores PFC that the watchdog's limit has turned off. */
export interface NetworkEvent {
  /** From the start of the traffic. */
  atNs: Nanos
  switch: string
  /** Several are parallel links. */
  ports: number[]
  /** Absent: all lossless priorities. */
  priority?: number
}

/** One end of a link: a node and its port. Ports count per node from 0, in the file's order of links. */
export interface LinkEnd {
  node: string
  port: number
}

/** A full-duplex link; rate and delay hold for each direction. Defaults: `link` of the file, else 1Gbps and 10us. */
export interface Link {
  a: LinkEnd
  b: LinkEnd
  rateBps: number
  /** Propagation delay, one way. */
  delayNs: Nanos
}

/** A congestion controller of `lib/cc/catalogue.ts` and the options given for it, already in base units. */
export interface CcChoice {
  name: string
  /** Only what the file gives; the controller's defaults hold for the rest. */
  options: Record<string, number | string | boolean>
}

/** Settings of the reliable transport, of all hosts: `lib/qp/transport-options.ts`. */
export interface TransportSettings extends TransportOptions {
  /** Secret of all hosts, 16 to 1024 bytes of text: feedback is authenticated with it. Absent: it is not. */
  key?: string
}

/** How telemetry lies in data packets. */
export interface IntSettings {
  /**
   * Encapsulation of telemetry: slots of 24 bytes with full counters (wide, the default) or of 8 bytes as in the HPCC paper
   * (compact), INT-MD 2.1 of P4.org, IFA 2.0, or the pre-allocated trace of IOAM (RFC 9197).
   */
  format: IntFormat
  /** IP protocol of IFA, 0 to 255. Absent: 253. */
  ifaProtocol?: number
  /** Switches that may write into a packet, 1 to 15. Default: the number on the longest path of the traffic. */
  hops: number
}

/** One message from one host to another. */
export interface ScenarioFlow {
  name: string
  from: string
  to: string
  bytes: number
  startNs: Nanos
  /** UDP source port of both directions, 0xc000 to 0xffff; absent: the NIC draws one. */
  sourcePort?: number
  /** Absent: the scenario's. */
  cc?: CcChoice
  /** 0 to 7. Default 3. */
  priority: number
}

/** Flows that arrive at random: Poisson arrivals at every host, sizes from a distribution, any other host as receiver. */
export interface Workload {
  name: string
  distribution: SizeDistribution
  /** Payload that each host is to send, as a share of its own link's rate, above 0. */
  load: number
  /** Arrivals begin here… */
  startNs: Nanos
  /** …and end this much later. */
  durationNs: Nanos
  /** Absent: drawn from the run's seed. */
  seed?: number
  /** Hosts that send and receive. */
  hosts: string[]
  cc?: CcChoice
  priority: number
}

/** What is sampled during a run, for `series` of the result. */
export interface Watch {
  /** Egress queues, by switch and port; empty: none. */
  queues: { switch: string; port: number }[]
  /** Interval of the samples; default 100 µs. */
  everyNs: Nanos
  /** Adds rate, window, bytes in flight and bytes acknowledged of each flow. Default: if the file has a `watch`. */
  flows: boolean
}
