/**
 * The messages of proto/control.proto as plain objects; what each field means stands there. Names end in units; Bps is
 * bit/s.
 */

import { MessageCodec, messageType } from '../proto/proto.js'
import { CONTROL_MESSAGE_BYTES_MAX } from './framing.js'

/** Has the daemon send a file. */
interface SendRequest {
  path: string
  host: string
  directory: string
  name: string
  overwrite: boolean
  digest: string
  /** 0 = none. */
  retries: number
  /** UDP port of the host; 0 = that of this daemon. */
  port: number
  /** Name within the folder `name`, if there is one; '' = that is an error. */
  nameInFolder: string
}

/** Has the daemon get a file of another host. */
interface GetRequest {
  host: string
  path: string
  directory: string
  overwrite: boolean
  name: string
  digest: string
  /** 0 = none. */
  retries: number
  /** UDP port of the host; 0 = that of this daemon. */
  port: number
  /** Name within the folder `name`, if there is one; '' = that is an error. */
  nameInFolder: string
}

/** Laboratory use: has the daemon send bytes from memory. */
export interface TrafficRequest {
  name: string
  host: string
  bytes: number
  startUnixMs: number
  congestionControl: string
  options: Record<string, number>
  /** 0 = the daemon's priority. */
  priorityPlusOne: number
  /** 0 = any. */
  sourcePort: number
}

/** Has the daemon measure the way to another host. */
export interface PerfRequest {
  host: string
  test: string
  op: string
  size: number
  qps: number
  depth: number
  iterations: number
  durationNs: number
  warmupNs: number
  bidirectional: boolean
  busyPoll: boolean
  pathMtu: number
  congestionControl: string
  options: Record<string, number>
  telemetry: string[]
  paths: string[]
  /** UDP port of the host; 0 = that of this daemon. */
  port: number
}

/** Cancels a transfer of the daemon, or a request of this connection; the other field is left out. */
interface CancelRequest {
  transferId: string
  requestId: number
}

/** What each kind of request carries. */
export interface RequestBodies {
  status: object
  send: SendRequest
  get: GetRequest
  traffic: TrafficRequest
  cancel: CancelRequest
  stop: object
  listTransfers: object
  perf: PerfRequest
  ping: object
}

/** What path selection and admission did for a flow, at its sender. */
export interface PathFigures {
  sourcePort: number
  moves: number
  probes: number
  probeBytes: number
  delayedNs: number
}

/** How a transfer or a flow stands; sent a few times a second. */
export interface Progress {
  transferId: string
  /** Bytes of the file or flow that are acknowledged or on disk so far. */
  bytes: number
  totalBytes: number
  /** Pace that congestion control allows now. */
  rateBps: number
  /** Bytes that it lets be in flight; 0: not known yet. */
  windowBytes: number
  /** Payload acknowledged since the last progress. */
  goodputBps: number
  /** Queue of the fullest hop in the last telemetry. */
  pathQueueBytes: number
  /** Hops in it; 0: there was none. */
  pathHops: number
  /** Last round trip. */
  rttNs: number
  /** Round trip of the idle path, 0 until it is known. */
  baseRttNs: number
  retransmittedBytes: number
  /** Packets among them that had not been lost. */
  spuriousRetransmissions: number
  timeouts: number
  /** Chunks of a transfer that did not have their digest, and were moved again. */
  damagedChunks: number
  /** What a transfer does: connecting, offered, held, streaming, committing; asked, opening, receiving; waiting. */
  state: string
  paths: PathFigures | null
  /** Connections that the transfer has begun. */
  attempts: number
  /** 0 = it is not one after a loss, or something has arrived since. */
  retry: number
  /** Attempts that it may make in a row without progress. */
  retries: number
  /** Until the next attempt begins. */
  retryInMs: number
  controller: string
  controllerReason: string
}

/** What the daemon says of itself. */
export interface StatusReply {
  version: string
  pid: number
  address: string
  /** UDP port of RoCEv2. */
  port: number
  inbox: string
  /** How frames are sent, as `--io` names it. */
  io: string
  congestionControl: string
  lineRateBps: number
  pathMtu: number
  uptimeSeconds: number
  residentBytes: number
  /** Transfers under way. */
  transfers: number
  /** Bytes of transfers since the start. */
  receivedBytes: number
  sentBytes: number
  /** Chunks of transfers that did not have their digest, since the start. */
  damagedChunks: number
  /** Folder whose files others may get; empty: none. */
  share: string
  /** Packets of feedback that were not authentic. */
  refusedFeedback: number
  /** Packets whose telemetry no switch can have written. */
  implausibleTelemetry: number
  /** UDP port of packets with telemetry. */
  intPort: number
  /** At most 200 of them. */
  connections: ConnectionInfo[]
  /** All of them. */
  connectionCount: number
  /** By reason, as in `port.kernelFull`. */
  drops: Record<string, number>
}

/** A connection of the daemon's NIC. */
export interface ConnectionInfo {
  id: number
  peer: string
  /** UDP port of RoCEv2 at the peer. */
  port: number
  state: string
  active: boolean
  /** The controller that decides, of the names of the catalogue, and why it is that one. */
  congestionControl: string
  controllerReason: string
  /** What the peer does for the controller of this end, what it refuses, and what this end does for the peer's. */
  feedbackGranted: string[]
  feedbackRefused: string[]
  feedbackGiven: string[]
  baseRttNs: number
  rttNs: number
  rateBps: number
  windowBytes: number
  inFlightBytes: number
  sentBytes: number
  ackedBytes: number
  retransmittedBytes: number
  /** Packets among them that had not been lost. */
  spuriousRetransmissions: number
  receivedBytes: number
  timeouts: number
  pathQueueBytes: number
  pathHops: number
  sourcePort: number
  refusedFeedback: number
  implausibleTelemetry: number
}

/** The outcome of a send or a get. */
export interface TransferReply {
  transferId: string
  /** Where the file is now: in the receiver's inbox, or on this machine. */
  path: string
  bytes: number
  /** Delivered by an earlier, interrupted transfer. */
  resumedBytes: number
  /** From the beginning of the first attempt, pauses included. */
  seconds: number
  goodputBps: number
  /** Over all attempts. */
  retransmittedBytes: number
  /** Packets among them that had not been lost. */
  spuriousRetransmissions: number
  timeouts: number
  /** xxh64 or sha256. */
  digestKind: string
  digest: Uint8Array
  baseRttNs: number
  /** Longest queue that telemetry has shown on the path. */
  maxPathQueueBytes: number
  /** Connections that it took. */
  attempts: number
  /** Attempts that began from byte 0 although something had arrived. */
  restarts: number
  /** Over all attempts: chunks that did not have their digest, and were moved again. */
  damagedChunks: number
  /** The controller that decided at the end, and why it was that one. */
  controller: string
  controllerReason: string
}

/** The outcome of a flow from memory. */
export interface TrafficReply {
  name: string
  bytes: number
  startUnixMs: number
  fctNs: number
  goodputBps: number
  retransmittedBytes: number
  /** Packets among them that had not been lost. */
  spuriousRetransmissions: number
  timeouts: number
  baseRttNs: number
  paths: PathFigures | null
}

/** What was measured; figures named `remote` are of what the other end sent, when bidirectional. */
export interface PerfReply {
  messages: number
  bytes: number
  /** That were measured, warm-up left out. */
  seconds: number
  goodputBps: number
  /** Rate of the best 100 ms. */
  peakBps: number
  latency: Latency | null
  retransmittedBytes: number
  /** Packets among them that had not been lost. */
  spuriousRetransmissions: number
  /** CPU time of this host's daemon, and of the other one. */
  cpuSeconds: number
  remoteCpuSeconds: number
  remoteMessages: number
  remoteBytes: number
  remoteGoodputBps: number
  remotePeakBps: number
  /** Messages in flight of each queue pair. */
  depth: number
  /** Payload bytes of a packet. */
  pathMtu: number
  baseRttNs: number
  io: string
  controller: string
  controllerReason: string
}

/** Times in ns. */
interface Latency {
  count: number
  min: number
  max: number
  mean: number
  stdev: number
  p50: number
  p90: number
  p99: number
  p999: number
  p9999: number
  histogram: { fromNs: number; count: number }[]
}

/** A transfer that is under way. */
export interface TransferInfo {
  transferId: string
  direction: 'send' | 'receive' | 'get' | 'serve'
  name: string
  peer: string
  progress: Progress | null
}

/** What each kind of answer carries. */
export interface ResponseBodies {
  error: { code: string; message: string }
  progress: Progress
  status: StatusReply
  transfer: TransferReply
  traffic: TrafficReply
  cancel: { found: boolean }
  stop: object
  listTransfers: { transfers: TransferInfo[] }
  perf: PerfReply
  ping: object
}

export type RequestKind = keyof RequestBodies
export type ResponseKind = keyof ResponseBodies

/** A decoded request: `body` names the field that is present. */
export type ControlRequest = { id: number; body?: RequestKind } & Partial<RequestBodies>
export type ControlResponse = { id: number; body?: ResponseKind } & Partial<ResponseBodies>

/** Fields that are left out have their default. */
export type Loose<T> = { [K in keyof T]?: T[K] extends (infer E)[] ? Loose<E>[] : T[K] }
/** A response as it is handed in: its fields may be left out. */
export type ResponseContent = { [K in ResponseKind]?: Loose<ResponseBodies[K]> }
export type RequestContent = { [K in RequestKind]?: Loose<RequestBodies[K]> }

const FILE = 'control.proto'
const PATHS = ['path', 'directory', 'name', 'nameInFolder']
const REQUEST_NAMES = ['SendRequest', 'GetRequest'].flatMap(type => PATHS.map(field => `${type}.${field}`))
const RESPONSE_NAMES = ['TransferReply.path', 'TransferInfo.name', 'StatusReply.inbox', 'StatusReply.share']
export const requests = new MessageCodec<ControlRequest>(
  messageType(FILE, 'weir.control.Request'),
  CONTROL_MESSAGE_BYTES_MAX,
  REQUEST_NAMES,
)
export const responses = new MessageCodec<ControlResponse>(
  messageType(FILE, 'weir.control.Response'),
  CONTROL_MESSAGE_BYTES_MAX,
  RESPONSE_NAMES,
)
