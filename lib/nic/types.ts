import type { OptionValues } from '../cc/options.js'
import type { PathSettings } from '../cc/path-options.js'
import type { TelemetrySettings } from '../cc/telemetry-options.js'
import type { WeirError } from '../errors.js'
import type { DomainId, MemoryTable } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import type { ReceiveSource } from '../qp/queues/receive-queue.js'
import type { ReceiveWork, SendWork } from '../qp/queues/work.js'
import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'

/**
 * What an application sees of the NIC. Calls take `now` like everything else; handlers are called from within the
 * NIC's own processing, and may post work, connect or disconnect at once.
 */
export interface Verbs {
  readonly memory: MemoryTable
  readonly address: HostAddress
  /** Accepts connections to a CM port number (RDMA_PS_TCP), 1 to 65535. Throws WEIR_BAD_STATE if it is taken. */
  listen(port: number, listener: Listener): void
  /** Stops accepting; established connections live on. */
  unlisten(port: number): void
  /** Starts a connection; the handler learns the result. Throws WEIR_FULL when the QP table is full. */
  connect(
    now: Nanos,
    remote: HostAddress,
    port: number,
    handler: ConnectionHandler,
    options?: ConnectOptions,
  ): Connection
}

/**
 * Options of a connection. `cc`, `telemetry` and `paths` are frozen, since connections that are given the same objects share what follows from
 * them. (A `Host` freezes copies: what a program gives to it may be changed for the next connection.)
 */
export interface ConnectOptions {
  /** UDP port of RoCEv2 at the peer, 1 to 65534. Default: the same as this host's. */
  udpPort?: number
  /** True: repeats the request for as long as the connection manager does, although ICMP says that nobody listens. Default false. */
  patient?: boolean
  /** What the user calls the peer: its key may be known by that name. */
  peerName?: string | undefined
  /** At most 56 bytes for the peer's listener, 16 of a NIC with a secret. A peer that is no Weir host gets 56, with zeros behind. */
  privateData?: Uint8Array
  /** Controller of this connection's own data; default: the NIC's. */
  cc?: { name: string; options: OptionValues }
  /** How this end's telemetry of the connection is collected and brought back; what is not given is the NIC's. */
  telemetry?: Partial<TelemetrySettings>
  /** How this end chooses the connection's path, and whether it is admitted; what is not given is the NIC's. */
  paths?: Partial<PathSettings>
  /**
   * Payload bytes of a full packet, 256, 512, 1024, 2048 or 4096; the smaller of both ends' counts. Default: the NIC's, or as many as fill
   * a packet (`NicConfig.packetBytesMax`). Of a queue pair that is made by hand: just as many, the same at both ends, as far as packets take
   * them without telemetry; by default the NIC's.
   */
  pathMtu?: number
  /** T, when it is known; otherwise idle probes measure it after the handshake. */
  baseRttNs?: Nanos
  /**
   * UDP source port of both directions, 0xc000 to 0xffff: the entropy for ECMP. Default: drawn at random. With path selection
   * it is the first of those that are probed.
   */
  sourcePort?: number
  /** Priority of the connection's packets, both ways, 0 to 7: it chooses their DSCP. Default: the NIC's. */
  priority?: number
}

/** The other end of a queue pair that two programs connect without the connection manager. */
export interface QueuePairPeer {
  /** 2 to 0xffffff. */
  qpn: number
  /** First PSN that it sends with, 24 bits. */
  psn: number
}

/** A queue pair without a peer: what the other end's program has to learn. */
export interface UnconnectedQueuePair {
  qpn: number
  /** First PSN that this end sends with. */
  psn: number
}

/** A connection that has been requested, as its observer sees it: see lib/io/ports/reachability.ts. */
export interface Connecting {
  readonly remote: HostAddress
  /** UDP port of RoCEv2 at the peer. */
  readonly udpPort: number
  /** False once it has been answered, or has ended. */
  readonly waits: boolean
  /** Nobody listens there: ends the request with that error, unless it has been answered. */
  giveUp(now: Nanos, why: WeirError): void
}

/** Decides about an incoming connection. Throw a WeirError to reject it: its message travels to the peer. */
export interface Listener {
  accept(now: Nanos, request: ConnectionRequest): ConnectionHandler
}

/** A peer asks a listener for a connection. */
export interface ConnectionRequest {
  remote: HostAddress
  /** UDP port of RoCEv2 at the peer. */
  udpPort: number
  port: number
  privateData: Uint8Array
}

/** One application's end of a connection. */
export interface ConnectionHandler {
  /**
   * Protection domain of the connection: work and peers reach regions of this one only. Made by `Verbs.memory.newDomain`. Default: that of
   * all regions that are registered without one. A server of peers that do not trust each other gives each a domain of its own.
   */
  readonly domain?: DomainId
  /** Receives that the connection shares with others (IBA 10.2.9): it takes none by `postReceive`. Default: its own. */
  readonly receiveSource?: ReceiveSource | null
  /** Passive side: at most 80 bytes for the connecting peer, in its `peerPrivateData`. Asked after `onCreated`. */
  acceptData?(): Uint8Array
  /**
   * The queue pair may send. Receives may be posted earlier, from `onCreated`. An error that it throws ends the connection (`NicConfig.defects`),
   * and `onClosed` says so.
   */
  onEstablished(now: Nanos, connection: Connection): void
  /** The queue pair exists and can take receives; nothing arrives before this returns. */
  onCreated?(now: Nanos, connection: Connection): void
  /** A work request completed. `completion` is reused: keep nothing of it. */
  onCompletion(now: Nanos, connection: Connection, completion: Completion): void
  /**
   * The end, once, after the last completion. `error` is null after an orderly disconnect by either side; a Weir host also
   * tells its peer what has failed, and then `error` says that.
   */
  onClosed(now: Nanos, connection: Connection, error: WeirError | null): void
}

/** An application's end of a connection. */
export interface Connection {
  readonly id: number
  readonly remote: HostAddress
  /** What the peer's application said at connect. Of a peer that is no Weir host: 56 bytes, or 196 of its answer, with zeros behind. */
  readonly peerPrivateData: Uint8Array
  readonly established: boolean
  /** Digest of what both ends have said of the connection as they made it, the same at both; empty before they have. */
  readonly agreed: Uint8Array
  /** What seals memory for the peer; absent or null: the connection is in the clear. */
  readonly seal?: ConnectionSeal | null
  /** Payload bytes of a full packet. */
  readonly pathMtu: number
  /**
   * False when the send queue is full: try again after a completion. False, too, once the connection is closed.
   * Throws on malformed work.
   */
  postSend(now: Nanos, work: SendWork): boolean
  postReceive(work: ReceiveWork): boolean
  /**
   * Closes in order: work still in the queues is flushed with an error status. @param error of an established connection: why this
   * end gives it up, which both ends' handlers learn
   */
  disconnect(now: Nanos, error?: WeirError): void
  readonly stats: ConnectionStats
}

/** Seals memory that WRITEs and READs move, so that nobody but the peer reads it or makes it up. */
export interface ConnectionSeal {
  readonly peer: SealedPeer
  /** Bytes that follow a sealed piece. */
  readonly trailerBytes: number
  /**
   * Seals the piece where it lies. `index` and `position` say which one it is: the peer has to say the same to open it.
   * @param trailer at least `trailerBytes`
   */
  sealPiece(bytes: Uint8Array, trailer: Uint8Array, index: number, position: number): void
  /** Opens a piece where it lies. Returns false if it is not what the peer has sealed as that piece: its bytes are worthless then. */
  openPiece(bytes: Uint8Array, trailer: Uint8Array, index: number, position: number): boolean
}

/** Who is at the other end of a sealed connection. */
export interface SealedPeer {
  /** As the file of known peers calls it; '' where hosts know each other by a secret alone. */
  name: string
  /** Its public key in text; '' likewise. */
  key: string
}

/** Running figures of one connection, always current. */
export interface ConnectionStats {
  /** The controller that decides, and why it is that one; empty until the connection may send. */
  controller: string
  controllerReason: string
  /** What the peer does for this end's controller, what it refuses to do, and what this end does for the peer's: in words, for people. */
  feedbackGranted: readonly string[]
  feedbackRefused: readonly string[]
  feedbackGiven: readonly string[]
  /** T in use, 0 until it is known. */
  baseRttNs: Nanos
  /** Last round-trip time seen. */
  rttNs: Nanos
  rateBps: number
  /** Payload bytes that may be in flight; 0 = no window bounds them, or none is known yet. */
  windowBytes: number
  inFlightBytes: number
  sentBytes: number
  ackedBytes: number
  retransmittedBytes: number
  /** Packets among those that had not been lost, and their bytes: requests as whole packets. Of READs the requesting end counts them. */
  spuriousRetransmissions: number
  spuriousBytes: number
  timeouts: number
  /** Queue of the fullest hop in the last telemetry, bytes. */
  pathQueueBytes: number
  /** How long a packet waits in all queues of the last telemetry, ns. */
  pathQueueNs: number
  /** Hops in the last telemetry. */
  pathHops: number
  /** Feedback packets, on a connection with a key, that were not authentic: no tag, a wrong one, or a repeated one. */
  refusedFeedback: number
  /** Telemetry that no switch can have written, or that no second one confirmed: it was ignored. */
  implausibleTelemetry: number
  /** Request packets of the peer that were carried out, in order. */
  receivedPackets: number
  /** Packets of the peer that were of another service than a reliable connection, and were dropped: the other queue pair has that one. */
  otherService: number
  /** UDP source port that this end sends from: the entropy of its path. */
  sourcePort: number
  /** How often the flow has changed to another path while it ran. */
  pathMoves: number
  /** Path probes sent, and their bytes on the wire; each answer takes as many. */
  pathProbes: number
  pathProbeBytes: number
  /** U of the flow's path when it was last probed, 0 = not known. */
  pathUtilization: number
  /** How long the flow waited until a path had room for it. */
  admissionDelayNs: Nanos
}
