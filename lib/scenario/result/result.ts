import type { RunSettings } from '../model/settings.js'
import type { InofResult } from './inof-result.js'

/**
 * The result of a run: the JSON contract of `weir run --json`. Times are integer nanoseconds since the run's
 * start, rates bit/s, sizes bytes. Null stands for an unknown value, such as the mean of no values. A result
 * contains all that a repetition of the run needs, and every number that Weir prints. Two virtual runs with
 * one scenario and seed differ only in `captures`, `command`, `machine` and `wallSeconds`, which come last, and in
 * `events` if one of them was captured.
 */
export interface RunResult {
  /** Version of Weir. */
  version: string
  scenario: ScenarioText
  on: 'virtual' | 'overlay' | 'veth'
  seed: number
  /** All settings of the run, with every default filled in. */
  settings: RunSettings
  /** Sums over all flows and ports. */
  totals: Totals
  /** In the order of their starts. */
  flows: FlowResult[]
  /** Every port of every switch, by switch and port number. */
  ports: PortResult[]
  /** Each direction of the links of which something was set while the run went on. Absent: there are none. */
  links?: LinkResult[]
  /** What happened to the network, in the order of the times: at most 1,000. Absent: the scenario has no events. */
  timeline?: TimelineEntry[]
  /** Which hosts were there. Absent: the scenario has no `inof`. */
  inof?: InofResult
  /** Keyed by `seriesName`. */
  series: Record<string, Series>
  /** Feedback that hosts rejected, all hosts together, connection set-up included. */
  feedback?: FeedbackResult
  /** Figures derived from the others. See `summarise`. */
  summary?: Summary
  /** Whether this machine kept up with the emulated network. Absent in virtual time. */
  realTime?: RealTimeResult
  /** In virtual time events of the network, in real time frames handled. */
  events: number
  /** Absent: nothing was captured. */
  captures?: CapturesMade
  /** The command line, as given. Absent for a run that a program has started. */
  command?: string[]
  machine: Machine
  /** Real time that the run took. */
  wallSeconds: number
}

/** The file that was run. */
export interface ScenarioText {
  name: string
  /** As the user named it. */
  file: string
  /** SHA-256 of `text`, in hexadecimal. */
  sha256: string
  /** Text of the file, without a secret key. */
  text: string
}

/** How the machine performed in a run in real time. */
export interface RealTimeResult {
  /** Measured before the run. Null: it could not be measured. */
  capacity: CapacityResult | null
  /**
   * False if more than a twentieth of the frames came late, or if the processes lost some. Then times and
   * rates show the machine and not the network.
   */
  keptUp: boolean
  /** Frames that reached a host. */
  frames: number
  /**
   * Frames among them that came later than `lateLimitNs`, a quarter of the shortest round trip of an empty
   * network.
   */
  lateFrames: number
  lateLimitNs: number
  /** lateFrames / frames. Null if there were no frames. */
  lateShare: number | null
  /** How late frames came. Percentiles have an error of at most a tenth. */
  lateNs: { mean: number; p50: number; p99: number; max: number }
  /** Frames that the processes lost, not the emulated network. */
  lostFrames: number
}

/**
 * What a machine can carry and what a scenario demands of it, both in data packets across the whole network.
 */
export interface CapacityResult {
  /** The port that was measured. See `--io`. */
  io: string
  /** Length of a data packet, headers included. */
  packetBytes: number
  /** Datagrams of that length that one thread sends and receives in a second. */
  datagramsPerSecond: number
  /** Data packets a second that this rate allows at most. */
  packetsPerSecondMost: number
  demandedPacketsPerSecond: number
  demandedBps: number
}

/** Where a run was made. */
export interface Machine {
  /** Version of Node.js. */
  node: string
  os: string
  arch: string
  cpus: number
  cpuModel: string
  memoryBytes: number
}

/** Captures of a run. */
interface CapturesMade {
  folder: string
  /** When the traffic began on the clock of the captures. Null: their clock is the time of day. */
  trafficStartNs: number | null
}

/** Sums over flows and ports. */
export interface Totals {
  flows: number
  finished: number
  /** Flows that were refused, that failed, or that the end of the run cut off. */
  unfinished: number
  refused: number
  failed: number
  ackedBytes: number
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  timeouts: number
  /** Changes to another path. */
  moves: number
  drops: number
  /** Completion times of the flows that finished. `slowdown` and `goodputBps` are of the same flows. */
  completionNs: Spread | null
  slowdown: Spread | null
  goodputBps: Spread | null
  /** Ports whose queues are deadlocked at the end of the run: each waits for another in a circle. */
  deadlockedPorts: number
  /** Frames that deadlock prevention moved to another priority. */
  movedFrames: number
  /** Sums over all watchdogs. Null: there is none. */
  watchdog: WatchdogTotals | null
}

/** Spread of values. Percentiles by nearest rank. */
export interface Spread {
  mean: number
  p50: number
  p95: number
  p99: number
  max: number
}

/** The sums of `WatchdogResult`. */
export interface WatchdogTotals {
  detected: number
  restored: number
  turnedOff: number
  droppedFrames: number
  forwardedFrames: number
  /** Time of the first event. Null: there was none. */
  firstNs: number | null
  lastNs: number | null
}

/** Counts of packets. */
export interface FeedbackResult {
  /** On connections with a key: packets without a tag, with a wrong one, or with a repeated one. */
  refused: number
  /** Telemetry that no switch can have written. */
  implausible: number
}

/** The result of one flow. */
export interface FlowResult {
  name: string
  from: string
  to: string
  /** Size of the message. */
  bytes: number
  /** When the flow was posted. */
  startNs: number
  /**
   * Completion time, from the post to the last acknowledgement at the sender. Null if the run ended before.
   */
  fctNs: number | null
  /** Completion time of this flow alone on its path: `idealFctNs` of lib/scenario/model/topology.ts. */
  idealFctNs: number
  /** fctNs / idealFctNs. Null if unfinished. */
  slowdown: number | null
  /**
   * Acknowledged payload divided by the time from the flow's start to its end (or the run's end). Null if
   * this time is zero.
   */
  goodputBps: number | null
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  timeouts: number
  /** Acknowledged payload. It is `bytes` when the flow finished. */
  ackedBytes: number
  /** Path selection, admission and failover. Absent: the scenario uses none of them. */
  paths?: FlowPathsResult
  /** Why the flow was not admitted. Absent: it was. */
  refused?: string
  /** Why its connection was lost before the flow had finished. Absent: it was not. */
  failed?: string
  /** For runs that send real bytes: whether the receiver has the same bytes. */
  digestEqual?: boolean
}

/** What path selection and failover did for one flow at its sender. */
export interface FlowPathsResult {
  /** UDP source port at the end. It decides the path among equal ones. */
  sourcePort: number
  /** Changes of path while the flow ran. */
  moves: number
  /** Path probes that were sent, and their bytes on the wire, without the answers. */
  probes: number
  probeBytes: number
  /** How long the flow waited for its admission. */
  delayedNs: number
}

/**
 * The result of one port of a switch. Features of the switch add further members, which
 * `switch-emu/core/catalogue.ts` lists.
 */
export interface PortResult {
  switch: string
  port: number
  /** Name for people, such as `s1:s2`: `portName` of lib/scenario/model/topology.ts. */
  name: string
  /** The node at the other end of the link. */
  peer: string
  rateBps: number
  /** Bytes sent, with headers. */
  txBytes: number
  /**
   * txBytes divided by what the link could have carried from the run's start to its end, 0 to 1. Null if this
   * time is zero.
   */
  utilization: number | null
  maxQueueBytes: number
  /** Mean over time. */
  meanQueueBytes: number
  ecnMarks: number
  /**
   * PFC frames by which this port paused its peer, repeated ones included. Frames that only resume do not
   * count.
   */
  pausesSent: number
  /** Time for which the peer paused at least one priority of this port, whether or not a frame waited. */
  pausedNs: number
  drops: number
  /** Drops by reason. Absent: none. `DROP_REASON_NAMES` of the switch's counters has the names. */
  dropsByReason?: Record<string, number>
  /** More about priority flow control. Absent: this switch has it off. */
  pfc?: PfcPortResult
  /**
   * Lossless priorities whose queues are deadlocked at the end of the run: each waits for another in a
   * circle. Absent: none.
   */
  deadlocked?: number[]
  /** Detection and clearance of deadlocks. Absent: the switch has no watchdog. */
  watchdog?: WatchdogResult
  /** Frames that deadlock prevention moved to another priority. Absent: the switch has no port groups. */
  movedFrames?: number
  /** Direct responses that the switch sent about congestion of this port. Absent: it sends none. */
  directResponses?: number
  /** The most bytes of packets that waited here at one time and that the switch has made: fair rates, responses, CNPs, answers. Absent: none. */
  maxOwnBytes?: number
}

/** What became of the frames of one direction of a link. */
export interface LinkResult {
  /** The port that sends into it: `s1:s2`, `h1:s1`. */
  name: string
  /** The link: `s1--s2`. It has two directions. */
  link: string
  from: string
  to: string
  /** What is set of it at the end: `down`, `loss=1%`. Empty: it is as the scenario's `links` say. */
  set: string
  /** Frames that were sent into it since something was first set. */
  frames: number
  lost: number
  /** Frames that were lost because the link was down: on their way, or sent meanwhile. */
  cut: number
  corrupted: number
  duplicated: number
  reordered: number
}

/** Entries of a timeline. Later ones are left out. */
export const TIMELINE_MAX = 1000

/** An event of the scenario that took place. */
export interface TimelineEntry {
  atNs: number
  /** For people: `s1--s2 down`, `s1--s2 down ends`. */
  event: string
}

/** Priority flow control of one port. */
interface PfcPortResult {
  /** Pauses that the peer sent, counted for each priority that they named. */
  pausesReceived: number
  /** `pausedNs` of each priority, 0 to 7. */
  pausedNsByPriority: number[]
  /** The most bytes in the switch that came in by this port with one lossless priority, headroom included. */
  maxIngressBytes: number
  /** The most headroom that one lossless priority of this port used, bytes. */
  maxHeadroomBytes: number
}

/** What the PFC watchdog of a port did, all priorities together. */
interface WatchdogResult {
  /** Deadlocks that were detected. */
  detected: number
  /** Deadlocks that ended. */
  restored: number
  /** How often the limit turned PFC off for a priority. */
  turnedOff: number
  /** Frames that the action `drop` discarded. */
  droppedFrames: number
  /**
   * Frames that were sent although the peer had paused them: by the action `forward`, or with PFC turned off.
   */
  forwardedFrames: number
  /** The first events of a switch, at most 1,000, in the order of their times. */
  events: { atNs: number; priority: number; event: 'detected' | 'restored' | 'turnedOff' | 'turnedOn' }[]
}

/** Samples over time: two columns of equal length. */
export interface Series {
  /** bytes, bps or ns. */
  unit: string
  timesNs: number[]
  values: number[]
}

/** How fairly flows shared the network in a window of time, and how well they used it. */
export interface Summary {
  /** Start of the window for the figures below. */
  fromNs: number
  toNs: number
  /**
   * Jain's index of the payload that each flow moved in the window, 1 = equal shares. Null: no flow moved
   * any.
   */
  jainIndex: number | null
  /** The busiest watched port: its name, and its utilization in the window. */
  bottleneck?: string
  bottleneckUtilization?: number
}
