/** What the connection manager reports to its user, through `pollEvent`. */
import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'

/**
 * What one end learns of the other's queue pair, seen from this end: `responderResources` is what the peer will
 * issue and this end has to serve, `initiatorDepth` what the peer serves and this end may issue. (In the messages
 * they stand the other way about; librdmacm swaps them too.)
 */
export interface PeerParameters {
  /** 24 bits. */
  qpn: number
  /** First PSN to send with. */
  startingPsn: number
  responderResources: number
  initiatorDepth: number
  /** 0 to 7, 7 = for ever: for this end's queue pair. */
  rnrRetry: number
  srq: boolean
  caGuid: bigint
  /** Exponent, 4.096 us * 2^n: for this end's queue pair. */
  ackTimeoutExponent: number
}

/** A peer asks for a connection: answer with `accept` or `reject`. */
export interface ConnectRequest extends PeerParameters {
  type: 'connectRequest'
  /** The connection's id here: argument of the commands, key of all its events. */
  id: number
  remote: HostAddress
  /** UDP port at which it takes datagrams. */
  udpPort: number
  local: HostAddress
  /** The port that it asks for. */
  port: number
  /** The active side's port. */
  sourcePort: number
  /** Bytes; 0 when the peer leaves it open. */
  pathMtu: number
  /** 0 to 7: for this end's queue pair. */
  retryCount: number
  /** 20 bits, 0 = none. */
  flowLabel: number
  /** UDP source port of both directions, or 0 without a flow label: then both QPNs give it. */
  udpSourcePort: number
  trafficClass: number
  /** 56 bytes, zero padded. */
  privateData: Uint8Array
}

export interface Established {
  type: 'established'
  id: number
  peer: PeerParameters
  /** How this end knows: the active one by the REP, the passive one by an RTU or by data. */
  by: 'rep' | 'rtu' | 'data'
  /**
   * From the first sending of this end's message to its answer, when it was sent only once: an upper bound of T,
   * for it includes the peer's processing. Null when it was repeated, or data stood in for the answer.
   */
  roundTripNs: Nanos | null
  /** 196 bytes of the REP, zero padded; empty on the passive side. */
  privateData: Uint8Array
}

/** The connection came to nothing: the peer, or the stack itself on seeing the peer's REP, refused. */
export interface Rejected {
  type: 'rejected'
  id: number
  /** A `Reason` of rej.ts, or a code unknown to the standard. */
  reason: number
  /** The additional information as far as the peer counts it, at most 72 bytes. */
  information: Uint8Array
  /** 148 bytes, zero padded. */
  privateData: Uint8Array
}

/** The connection came to nothing: no answer after all repetitions. */
interface TimedOut {
  type: 'timedOut'
  id: number
}

/**
 * The connection is over: by this end's `disconnect`, the peer's DREQ, a DREQ that was never answered, a new
 * connection of the peer's that claims the same queue pair, or a REJ after it was established.
 */
export interface Disconnected {
  type: 'disconnected'
  id: number
  cause: 'local' | 'peer' | 'timeout' | 'stale' | 'rejected'
  /** Private data of the peer's DREQ: 220 bytes, zero padded. Empty for any other cause. */
  privateData: Uint8Array
}

/**
 * Somebody in the name of the peer claims that its queue pair belongs to another connection: ask the peer on the
 * queue pair, and call `confirm` when it answers. The event comes again each second; after 8 s of silence the connection ends.
 */
interface Challenged {
  type: 'challenged'
  id: number
}

/** Packets of the connection can no longer be on their way: its QPN may be used again. */
interface TimewaitEnded {
  type: 'timewaitEnded'
  id: number
  /** The local QPN; 0 when none was ever given. */
  qpn: number
}

export type CmEvent =
  | ConnectRequest
  | Established
  | Rejected
  | TimedOut
  | Disconnected
  | TimewaitEnded
  | Challenged
