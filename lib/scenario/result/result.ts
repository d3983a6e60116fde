import type { RunSettings } from '../model/settings.js'

/**
 * What a run leaves behind: the JSON contract of `weir run --json`. Times are integer nanoseconds since the
 * run's start, rates bit/s, sizes bytes. Null is what is not known, as the mean of nothing. What a run is repeated from and every
 * number that is printed are in it. Two virtual runs of one scenario and seed differ in `captures`, `command`, `machine` and
 * `wallSeconds` alone, which come last.
 */
export interface RunResult {
  /** Version of Weir. */
  version: string
  scenario: ScenarioText
  on: 'virtual' | 'overlay' | 'veth'
  seed: number
  /** All that the run went by, every default filled in. */
  settings: RunSettings
  /** Sums over all flows and ports. */
  totals: Totals
  /** In the order of their starts. */
  flows: FlowResult[]
  /** Every port of every switch, by switch and port number. */
  ports: PortResult[]
  /** Keyed by `seriesName`. */
  series: Record<string, Series>
  /** Feedback that hosts did not believe, all together, connection set-up included. */
  feedback?: FeedbackResult
  /** Figures derived from the others; see `summarise`. */
  summary?: Summary
  /** Whether this machine kept up with the emulated network; absent in virtual time. */
  realTime?: RealTimeResult
  /** Events of the virtual network, or frames handled in real time. */
  events: number
  /** Absent: nothing was captured. */
  captures?: CapturesMade
  /** The command line, as given; absent for a run that a program has made. */
  command?: string[]
  machine: Machine
  /** Real time that the run took. */
  wallSeconds: number
}

/** The file that was run. */
export interface ScenarioText {
  name: string
  /** As given. */
  file: string
  /** Digest of `text`, in hexadecimal. */
  sha256: string
  /** What the file says, with a secret key left out. */
  text: string
}

/** What a run in real time shows of the machine. */
export interface RealTimeResult {
  /** Seen before the run; null: it could not be measured. */
  capacity: CapacityResult | null
  /** False if more than a twentieth of the frames came late, or some were lost between the processes: times and rates are then the machine's. */
  keptUp: boolean
  /** Frames that reached a host. */
  frames: number
  /** Frames of these that came later than `lateLimitNs`, a quarter of the shortest round trip of an empty network. */
  lateFrames: number
  lateLimitNs: number
  /** lateFrames / frames; null if there were none. */
  lateShare: number | null
  /** How late frames came, percentiles right within a tenth. */
  lateNs: { mean: number; p50: number; p99: number; max: number }
  /** Frames lost between the processes, not by the emulated network. */
  lostFrames: number
}

/** What a machine can carry, and what a scenario demands of it: packets of data across the whole network. */
export interface CapacityResult {
  /** The port that was measured; see `--io`. */
  io: string
  /** Length of a data packet, headers included. */
  packetBytes: number
  /** Datagrams of that length that one thread sends and receives. */
  datagramsPerSecond: number
  /** What that allows, at most. */
  packetsPerSecondMost: number
  demandedPacketsPerSecond: number
  demandedBps: number
}

/** Where a run was made. */
export interface Machine {
  /** Version of Node. */
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
  /** When the traffic began, on the captures' clock; null: their clock is the time of day. */
  trafficStartNs: number | null
}

/** Flows and ports summed up. */
export interface Totals {
  flows: number
  finished: number
  /** Refused, failed, or cut off when the run's time was up. */
  unfinished: number
  refused: number
  failed: number
  ackedBytes: number
  retransmittedBytes: number
  /** Packets that were retransmitted and had not been lost. */
  spuriousRetransmissions: number
  timeouts: number
  /** Moves to other paths. */
  moves: number
  drops: number
  /** Flows that finished, as `slowdown` and `goodputBps`. */
  completionNs: Spread | null
  slowdown: Spread | null
  goodputBps: Spread | null
  /** Ports whose queues wait for themselves in a circle at the end of the run. */
  deadlockedPorts: number
  /** Frames that deadlock prevention has moved to another priority. */
  movedFrames: number
  /** All watchdogs together; null: there is none. */
  watchdog: WatchdogTotals | null
}

/** How values are spread; percentiles by nearest rank. */
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
  /** Time of the first event; null: there was none. */
  firstNs: number | null
  lastNs: number | null
}

/** Packets. */
export interface FeedbackResult {
  /** On connections with a key: without a tag, with a wrong one, or a second time. */
  refused: number
  /** Telemetry that no switch can have written. */
  implausible: number
}

/** What became of one flow. */
export interface FlowResult {
  name: string
  from: string
  to: string
  /** Size of the message. */
  bytes: number
  /** When it was posted. */
  startNs: number
  /** From the post to the completion at the sender, the last acknowledgement; null if the run ended before. */
  fctNs: number | null
  /** The same for this flow alone on its path: `idealFctNs` of lib/scenario/model/topology.ts. */
  idealFctNs: number
  /** fctNs / idealFctNs, null if unfinished. */
  slowdown: number | null
  /** Payload acknowledged, over the time from its start to its end (or the run's end); null: that is no time. */
  goodputBps: number | null
  retransmittedBytes: number
  /** Packets that were retransmitted and had not been lost. */
  spuriousRetransmissions: number
  timeouts: number
  /** Payload acknowledged in all: `bytes` when it finished. */
  ackedBytes: number
  /** Path selection and admission; absent: the scenario has none. */
  paths?: FlowPathsResult
  /** Why the flow was not admitted; absent: it was. */
  refused?: string
  /** Why its connection was lost before it had finished; absent: it was not. */
  failed?: string
  /** Where real bytes were sent: whether those that arrived are the same. */
  digestEqual?: boolean
}

/** What path selection did for one flow, at its sender. */
export interface FlowPathsResult {
  /** UDP source port at the end: the entropy of the path taken. */
  sourcePort: number
  /** Other paths taken while it ran. */
  moves: number
  /** Path probes sent, and their bytes on the wire; answers not included. */
  probes: number
  probeBytes: number
  /** How long it waited to be admitted. */
  delayedNs: number
}

/** What one port of a switch did. Features of the switch add members of their own, as they stand in `switch-emu/core/catalogue.ts`. */
export interface PortResult {
  switch: string
  port: number
  /** For people: `portName` of lib/scenario/model/topology.ts, `s1:s2`. */
  name: string
  /** The node at the other end of the link. */
  peer: string
  rateBps: number
  /** Bytes sent, headers included. */
  txBytes: number
  /** txBytes over what the link could have carried from the run's start to its end, 0 to 1; null: that is no time. */
  utilization: number | null
  maxQueueBytes: number
  /** Mean over time. */
  meanQueueBytes: number
  ecnMarks: number
  /** PFC frames by which this port has paused its peer, repeated ones too; frames that only resume do not count. */
  pausesSent: number
  /** Time for which the peer paused at least one priority of this port, whether or not anything waited. */
  pausedNs: number
  drops: number
  /** Drops by reason; absent: none. Names: `DROP_REASON_NAMES` of the switch's counters. */
  dropsByReason?: Record<string, number>
  /** More of priority flow control; absent: it is off at this switch. */
  pfc?: PfcPortResult
  /** Lossless priorities whose queues wait for themselves in a circle at the end of the run; absent: none. */
  deadlocked?: number[]
  /** Detection and clearance of deadlocks; absent: the switch has no watchdog. */
  watchdog?: WatchdogResult
  /** Frames that deadlock prevention has moved to another priority; absent: the switch has no port groups. */
  movedFrames?: number
  /** Responses that the switch has sent by itself about congestion of this port; absent: it sends none. */
  directResponses?: number
}

/** Priority flow control of one port. */
interface PfcPortResult {
  /** Pauses that the peer has sent, counted for each priority that they named. */
  pausesReceived: number
  /** `pausedNs` of each priority, 0 to 7. */
  pausedNsByPriority: number[]
  /** Most bytes in the switch that came in by this port with one lossless priority, headroom included. */
  maxIngressBytes: number
  /** Most bytes of headroom that one lossless priority of this port took. */
  maxHeadroomBytes: number
}

/** What the PFC watchdog of a port did, all priorities together. */
interface WatchdogResult {
  /** Deadlocks. */
  detected: number
  /** Deadlocks that are over. */
  restored: number
  /** Times that the upper limit has turned PFC off for a priority. */
  turnedOff: number
  /** Frames thrown away, by action `drop`. */
  droppedFrames: number
  /** Frames that were sent although the peer had paused them, by action `forward` or with PFC turned off. */
  forwardedFrames: number
  /** The first of a switch, at most 1,000, in the order of their times. */
  events: { atNs: number; priority: number; event: 'detected' | 'restored' | 'turnedOff' | 'turnedOn' }[]
}

/** Samples over time: two columns of equal length. */
export interface Series {
  /** bytes, bps or ns. */
  unit: string
  timesNs: number[]
  values: number[]
}

/** How fairly flows shared the network over a window of time, and how well they used it. */
export interface Summary {
  /** Start of the window that the figures below are taken over. */
  fromNs: number
  toNs: number
  /** Jain's index over the payload that each flow moved in the window, 1 = equal shares; null: nothing was moved. */
  jainIndex: number | null
  /** The busiest watched port: its name and its utilization in the window. */
  bottleneck?: string
  bottleneckUtilization?: number
}
