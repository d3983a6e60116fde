import { DOUBLE_0 } from '../double.js'
import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import type { PeerParameters } from './events.js'
import type { PeerIndex } from './peer-index.js'
import type { State } from './states.js'

/** Number of the connection manager's agent on Linux. */
const AGENT = 2

/** The two ends of a connection. */
export interface Ends {
  local: HostAddress
  remote: HostAddress
  /** UDP port at which the remote end receives datagrams. */
  udpPort: number
}

/** The manager's record of one connection. */
export class CmConnection {
  /** Row in the table and id in its deadline heap. */
  readonly slot: number
  /** Communication id of this end: 32 bits, never 0. */
  readonly id: number
  readonly passive: boolean
  readonly local: HostAddress
  readonly remote: HostAddress
  /** UDP port at which the peer receives datagrams. */
  readonly udpPort: number
  state: State = 'IDLE'
  /** Communication id of the peer. 0 until it is known. */
  remoteId = DOUBLE_0
  #transactionId: bigint | null = null
  /** Local QPN. 0 until the application sets it. */
  qpn = 0
  peer: PeerParameters | null = null
  /** The peer's connections, among which this one is. Null until the peer is known. */
  index: PeerIndex<CmConnection> | null = null
  /** Interval and number of the repetitions of this end's messages. */
  timeoutNs: Nanos = DOUBLE_0
  maxRetries = 0
  /** Exponent for timewait and an MRA's extension: the ACK timeout, about two packet life times. */
  lifeExponent = 0
  /** The message that waits for its answer, and its remaining repetitions. */
  pending: Uint8Array | null = null
  intervalNs: Nanos = 0
  retriesLeft = 0
  /** When the pending message was first sent, and whether its answer still measures a round trip. */
  firstSentNs: Nanos = 0
  timed = false
  /** True once `disconnected` was reported. */
  over = false
  /**
   * Remaining questions to the peer before silence means that it does not know the connection any more. -1:
   * none was asked.
   */
  challengesLeft = -1

  constructor(slot: number, id: number, passive: boolean, ends: Ends) {
    this.slot = slot
    this.id = id
    this.passive = passive
    this.local = ends.local
    this.remote = ends.remote
    this.udpPort = ends.udpPort
  }

  /** Transaction id of the handshake's messages: the REQ's. Where no REQ has come, that which it would have had. */
  get transactionId(): bigint {
    return this.#transactionId ?? transactionIdOf(this.passive ? this.remoteId : this.id)
  }

  /** A REQ has come with that transaction id. */
  onRequest(transactionId: bigint): void {
    this.#transactionId = transactionId
  }
}

/**
 * Returns the transaction id of a message that answers none. It is Linux's: the number of its management
 * agent and the communication id with its bytes reversed.
 */
export function transactionIdOf(commId: number): bigint {
  const turned =
    ((commId << 24) | ((commId & 0xff00) << 8) | ((commId >>> 8) & 0xff00) | (commId >>> 24)) >>> 0
  return BigInt(AGENT * 2 ** 32 + turned)
}
