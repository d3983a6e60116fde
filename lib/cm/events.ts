/** The events of the connection manager, for `pollEvent`. */
import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'

/**
 * What one end learns of the other's queue pair, from this end's point of view: `responderResources` is what
 * the peer issues and this end serves, `initiatorDepth` what the peer serves and this end may issue. The
 * messages have them the other way round, and librdmacm swaps them too.
 */
export interface PeerParameters {
  /** 24 bits. */
  qpn: number
  /** First PSN to send with. */
  startingPsn: number
  responderResources: number
  initiatorDepth: number
  /** 0 to 7, 7 = without limit, for this end's queue pair. */
  rnrRetry: number
  srq: boolean
  caGuid: bigint
  /** Exponent, 4.096 us * 2^n, for this end's queue pair. */
  ackTimeoutExponent: number
}

/** A peer requests a connection. Answer with `accept` or `reject`. */
export interface ConnectRequest extends PeerParameters {
  type: 'connectRequest'
  /** The connection's id here: the argument of commands, and part of all its events. */
  id: number
  remote: HostAddress
  /** UDP port at which it receives datagrams. */
  udpPort: number
  local: HostAddress
  /** The requested port. */
  port: number
  /** The active side's port. */
  sourcePort: number
  /** Bytes. 0 when the peer leaves it open. */
  pathMtu: number
  /** 0 to 7, for this end's queue pair. */
  retryCount: number
  /** 20 bits, 0 = none. */
  flowLabel: number
  /** UDP source port of both directions. 0 without a flow label: then both QPNs determine it. */
  udpSourcePort: number
  trafficClass: number
  /** 56 bytes, zero padded. */
  privateData: Uint8Array
  /** 40 bytes of the REQ that mean nothing in InfiniBand, zero padded; fewer: it has no room for them. */
  spare: Uint8Array
}

export interface Established {
  type: 'established'
  id: number
  peer: PeerParameters
  /** How this end learned it: the active one by the REP, the passive one by an RTU or by data. */
  by: 'rep' | 'rtu' | 'data'
  /**
   * Time from the first sending of this end's message to its answer. It is an upper bound of T, because it
   * includes the peer's processing. Null when the message was repeated, or when data replaced the answer.
   */
  roundTripNs: Nanos | null
  /** 196 bytes of the REP, zero padded. Empty on the passive side. */
  privateData: Uint8Array
}

/** The connection was refused: by the peer, or by this stack when it got the peer's REP. */
export interface Rejected {
  type: 'rejected'
  id: number
  /** A `Reason` of rej.ts, or a code that the standard does not define. */
  reason: number
  /** The valid bytes of the additional information, at most 72. */
  information: Uint8Array
  /** 148 bytes, zero padded. */
  privateData: Uint8Array
}

/** The connection failed: no answer after all repetitions. */
interface TimedOut {
  type: 'timedOut'
  id: number
}

/**
 * The connection has ended: by this end's `disconnect`, the peer's DREQ, a DREQ without an answer, a new
 * connection of the peer that claims the same queue pair, or a REJ after it was established.
 */
export interface Disconnected {
  type: 'disconnected'
  id: number
  cause: 'local' | 'peer' | 'timeout' | 'stale' | 'rejected'
  /** Private data of the peer's DREQ: 220 bytes, zero padded. Empty for any other cause. */
  privateData: Uint8Array
}

/**
 * A message in the peer's name claims its queue pair for another connection. Ask the peer on the queue pair,
 * and call `confirm` when it answers. The event is repeated each second. After 8 s of silence the connection
 * ends.
 */
interface Challenged {
  type: 'challenged'
  id: number
}

/** No packet of the connection can be in flight any more, so its QPN may be used again. */
interface TimewaitEnded {
  type: 'timewaitEnded'
  id: number
  /** The local QPN. 0 when none was set. */
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
