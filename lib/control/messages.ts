/**
 * The messages of proto/control.proto as plain objects. That file describes each field. Names end in units;
 * Bps is bit/s.
 */

import { MessageCodec, messageType } from '../proto/proto.js'
import { CONTROL_MESSAGE_BYTES_MAX } from './framing.js'

/** Asks the daemon to send a file. */
interface SendRequest {
  path: string
  host: string
  directory: string
  name: string
  overwrite: boolean
  digest: string
  /** 0 = none. */
  retries: number
  /** UDP port of the host. 0 = the daemon's own port number. */
  port: number
  /** Name to use if `name` is a folder. '' = a folder is an error. */
  nameInFolder: string
  /** Unix socket of the client, in place of `path`. '' = none. */
  pipe: string
  /** Connections that carry the file. 0 = 1. */
  streams: number
}

/** Asks the daemon to send files and folders over one connection. */
interface SendTreeRequest {
  /** Absolute paths; name '' = the contents of the folder. */
  roots: { path: string; name: string }[]
  host: string
  directory: string
  overwrite: boolean
  digest: string
  retries: number
  port: number
  /** Leaves links out that lead out of the tree. */
  skipLinks: boolean
  /** Globs. */
  exclude: string[]
  include: string[]
  /** Nothing moves. */
  dryRun: boolean
  /** Files are compared by digests. */
  checksum: boolean
  /** What the source does not have is deleted: so many files and folders at most. */
  delete: boolean
  deleteMost: number
  /** Connections that carry the files. 0 = 1. */
  streams: number
}

/** Asks the daemon to get a file of another host. */
interface GetRequest {
  host: string
  path: string
  directory: string
  overwrite: boolean
  name: string
  digest: string
  /** 0 = none. */
  retries: number
  /** UDP port of the host. 0 = the daemon's own port number. */
  port: number
  /** Name to use if `name` is a folder. '' = a folder is an error. */
  nameInFolder: string
  /** Unix socket of the client, in place of `directory`. '' = none. */
  pipe: string
  /** Connections that carry the file. 0 = 1. */
  streams: number
}

/** Asks the daemon to get files and folders of another host over one connection. */
interface GetTreeRequest extends Omit<SendTreeRequest, 'roots'> {
  paths: string[]
}

/** For laboratories: asks the daemon to send bytes from memory. */
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

/** Asks the daemon to measure the path to another host. */
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
  /** UDP port of the host. 0 = the daemon's own port number. */
  port: number
}

/** Asks the daemon to listen for TCP connections and to carry them. */
export interface TunnelRequest {
  listenAddress: string
  listenPort: number
  /** The daemon that dials. */
  host: string
  /** Its UDP port. 0 = the daemon's own port number. */
  port: number
  /** '' = clients name it, by SOCKS5. */
  targetHost: string
  targetPort: number
  /** Credentials of SOCKS5. Both '' = clients need none. */
  name: string
  password: string
}

/** A host that announces itself to its switch. */
export interface InofInfo {
  /** Addresses of hosts that share a zone with it, at most 1,000. */
  peers: string[]
  /** Links that were said to have failed, and flows that have taken another path because of that. */
  linkFailures: number
  moves: number
}

/** How a tunnel stands. */
export interface TunnelFigures {
  /** ADDRESS:PORT. */
  listening: string
  live: number
  accepted: number
  refused: number
  lastRefusal: string
}

/** A TCP connection that the daemon carries. */
export interface TunnelInfo {
  direction: 'in' | 'out'
  peer: string
  target: string
  client: string
  seconds: number
  sentBytes: number
  receivedBytes: number
}

/** Cancels a transfer of the daemon, or a request of this connection. One of the two fields is present. */
interface CancelRequest {
  transferId: string
  requestId: number
}

/** The body of each kind of request. */
export interface RequestBodies {
  status: object
  send: SendRequest
  sendTree: SendTreeRequest
  get: GetRequest
  getTree: GetTreeRequest
  traffic: TrafficRequest
  cancel: CancelRequest
  stop: object
  listTransfers: object
  perf: PerfRequest
  ping: object
  tunnel: TunnelRequest
}

/** What path selection and admission did for a flow at its sender. */
export interface PathFigures {
  sourcePort: number
  moves: number
  probes: number
  probeBytes: number
  delayedNs: number
}

/** Progress of a transfer or a flow. The daemon sends it a few times a second. */
export interface Progress {
  transferId: string
  /** Bytes of the file or flow that are acknowledged or on disk. */
  bytes: number
  totalBytes: number
  /** Rate that congestion control allows now. */
  rateBps: number
  /** Bytes that congestion control allows in flight. 0: not known yet. */
  windowBytes: number
  /** Payload acknowledged since the last progress. */
  goodputBps: number
  /** Queue of the hop with the longest one in the last telemetry. */
  pathQueueBytes: number
  /** Hops in the last telemetry. 0: there was none. */
  pathHops: number
  /** Last round trip. */
  rttNs: number
  /** Round trip of the idle path. 0: not known yet. */
  baseRttNs: number
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  timeouts: number
  /** Changes of path of a transfer, in all attempts. */
  pathMoves: number
  /** Chunks whose digest was wrong, and which were moved again. */
  damagedChunks: number
  /**
   * State of a transfer: connecting, held, waiting; of a send: offered, streaming, committing; of a get: asked, opening,
   * receiving, committing.
   */
  state: string
  paths: PathFigures | null
  /** Connections that the transfer has begun. */
  attempts: number
  /** Number of this retry. 0 = this attempt is no retry, or something has arrived since it began. */
  retry: number
  /** Retries without progress that are allowed. */
  retries: number
  /** Time until the next attempt begins. */
  retryInMs: number
  controller: string
  controllerReason: string
  /** Files of a tree that have arrived or were there before, and all its files. 0: no tree. */
  files: number
  totalFiles: number
  sealedWith: string
  /** Connections that carry the transfer now or have carried it. */
  streams: number
  /** Figures of a tunnel. */
  tunnel?: TunnelFigures | null
}

/** The status of a daemon. */
export interface StatusReply {
  version: string
  pid: number
  address: string
  /** UDP port of RoCEv2. */
  port: number
  inbox: string
  /** The port by which frames are sent, as `--io` names it. */
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
  /** Chunks of transfers with a wrong digest since the start. */
  damagedChunks: number
  /** Folder whose files others may get. Empty: none. */
  share: string
  /** Feedback packets that failed authentication. */
  refusedFeedback: number
  /** Packets whose telemetry no switch can have written. */
  implausibleTelemetry: number
  /** UDP port of packets with telemetry. */
  intPort: number
  /** At most 200 of them. */
  connections: ConnectionInfo[]
  /** All of them. */
  connectionCount: number
  /** Counts by layer and reason, such as `port.kernelFull`. */
  drops: Record<string, number>
  /** Bytes of the longest IP packet that the interface takes. */
  mtu: number
  /** Payload of a full packet towards a Weir host that fills its packets too. 0: `pathMtu`. */
  filledPayload: number
  /** always, or none: towards Weir hosts that say the same. */
  icrc: string
  /** TCP connections that it carries, 100 at most, and their number. */
  tunnels: TunnelInfo[]
  tunnelCount: number
  /** Targets that it dials for other hosts. */
  allowTunnel: string[]
  sealsBy: string
  publicKey: string
  sealedConnections: number
  refusedHandshakes: number
  /** Port at which it answers clients of perftest; 0: it does not. */
  perftestPort: number
  perftestClients: number
  perftestServed: number
  perftestLeftEarly: number
  perftestTurnedAway: number
  /** What iNOF has reported to this host. null: it does not announce itself. */
  inof: InofInfo | null
}

/** A connection of the daemon's NIC. */
export interface ConnectionInfo {
  id: number
  peer: string
  /** UDP port of RoCEv2 at the peer. */
  port: number
  state: string
  active: boolean
  /** The controller that decides, by its name in the catalogue, and why it was chosen. */
  congestionControl: string
  controllerReason: string
  /**
   * Agreed feedback: what the peer grants this end's controller, what it refuses, and what this end grants
   * the peer's.
   */
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
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  receivedBytes: number
  timeouts: number
  pathQueueBytes: number
  pathHops: number
  sourcePort: number
  refusedFeedback: number
  implausibleTelemetry: number
  /** Payload of a full packet. */
  pathMtu: number
  /** Both ends leave out the ICRC of packets. */
  withoutIcrc: boolean
  /** Changes of path while it ran. */
  pathMoves: number
}

/** The result of a send or a get. */
export interface TransferReply {
  transferId: string
  /** Where the file is now: in the receiver's inbox, or on this machine. */
  path: string
  bytes: number
  /** Bytes that an earlier, interrupted transfer delivered, and those of a folder's files that were there already. */
  resumedBytes: number
  /** From the beginning of the first attempt, with pauses. */
  seconds: number
  goodputBps: number
  /** Sum over all attempts. */
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  timeouts: number
  /** Changes of path, in all attempts. */
  pathMoves: number
  /** xxh64 or sha256. */
  digestKind: string
  digest: Uint8Array
  baseRttNs: number
  /** The longest queue in telemetry of the path. */
  maxPathQueueBytes: number
  /** Connections that the transfer used. */
  attempts: number
  /** Attempts that began at byte 0 although an earlier one had delivered something. */
  restarts: number
  /** Chunks with a wrong digest, which were moved again, in all attempts. */
  damagedChunks: number
  /** The controller at the end, and why it was chosen. */
  controller: string
  controllerReason: string
  /** Who was at the other end of the last connection, if it was sealed; '' in the clear. */
  sealedWith: string
  /** Connections that carried the file in the last attempt. */
  streams: number
  /** What files and folders that were sent together are. null: it was one file. */
  tree: TreeTotals | null
}

/** What a tree has. */
export interface TreeTotals {
  files: number
  /** Files that were not there with the same size and time. */
  movedFiles: number
  folders: number
  /** Symbolic and hard ones. */
  links: number
  /** What was left out: sockets, pipes, devices, and links that lead out. */
  skipped: number
  /** Bytes of those movedFiles. */
  movedBytes: number
  /** Paths of files that a dry run would move, the first of them if they are many. */
  wouldMove: string[]
  /** What the source does not have, and was deleted or would be. */
  deletedFiles: number
  deletedFolders: number
  /** Paths of what a dry run would delete, the first of them; those of folders end with a slash. */
  wouldDelete: string[]
}

/** The result of a flow from memory. */
export interface TrafficReply {
  name: string
  bytes: number
  startUnixMs: number
  fctNs: number
  goodputBps: number
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  timeouts: number
  baseRttNs: number
  paths: PathFigures | null
}

/**
 * The result of a measurement. Figures named `remote` are of what the other end sent, in bidirectional runs.
 */
export interface PerfReply {
  messages: number
  bytes: number
  /** Measured time, without the warm-up. */
  seconds: number
  goodputBps: number
  /** Rate of the best 100 ms. */
  peakBps: number
  latency: Latency | null
  retransmittedBytes: number
  /** Retransmitted packets of which the original had arrived. */
  spuriousRetransmissions: number
  /** CPU time of this host's daemon, and of the other host's. */
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
  /** Bytes of the longest IP packet that this end's interface takes. */
  mtu: number
  /** Who is at the other end of sealed connections; empty: they are in the clear. */
  sealedWith: string
}

/** Times, ns. */
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

/** The body of each kind of answer. */
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
  tunnel: object
}

export type RequestKind = keyof RequestBodies
export type ResponseKind = keyof ResponseBodies

/** A decoded request. `body` names the field that is present. */
export type ControlRequest = { id: number; body?: RequestKind } & Partial<RequestBodies>
export type ControlResponse = { id: number; body?: ResponseKind } & Partial<ResponseBodies>

/** A message with fields left out. Those have their default. */
export type Loose<T> = { [K in keyof T]?: T[K] extends (infer E)[] ? Loose<E>[] : T[K] }
/** A response with fields left out. */
export type ResponseContent = { [K in ResponseKind]?: Loose<ResponseBodies[K]> }
export type RequestContent = { [K in RequestKind]?: Loose<RequestBodies[K]> }

const FILE = 'control.proto'
const PATHS = ['path', 'paths', 'directory', 'name', 'nameInFolder', 'pipe']
const WITH_PATHS = ['SendRequest', 'SendTreeRequest', 'GetRequest', 'GetTreeRequest', 'TreeRoot']
const REQUEST_NAMES = WITH_PATHS.flatMap(type => PATHS.map(field => `${type}.${field}`))
const RESPONSE_NAMES = [
  'TransferReply.path',
  'TreeCounts.wouldMove',
  'TreeCounts.wouldDelete',
  'TransferInfo.name',
  'StatusReply.inbox',
  'StatusReply.share',
]
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

/** Names of what a request says. */
export function requestFields(kind: RequestKind): readonly string[] {
  return requests.fieldsOf(kind)
}
