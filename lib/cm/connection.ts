import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import type { PeerParameters } from './events.js'
import type { State } from './states.js'

/** Between whom a connection is. */
export interface Ends {
  local: HostAddress
  remote: HostAddress
  /** UDP port at which the remote end takes datagrams. */
  udpPort: number
}

/** One connection as the manager keeps it. */
export class CmConnection {
  /** Row in the table and source of its deadline heap. */
  readonly slot: number
  /** Communication id of this end: 32 bits, never 0. */
  readonly id: number
  readonly passive: boolean
  readonly local: HostAddress
  readonly remote: HostAddress
  /** UDP port at which the peer takes datagrams. */
  readonly udpPort: number
  state: State = 'IDLE'
  /** Communication id of the peer, 0 until it is known. */
  remoteId = 0
  /** Transaction id of the handshake's messages: the REQ's. */
  transactionId = 0n
  /** Local QPN, 0 until the application has given it. */
  qpn = 0
  peer: PeerParameters | null = null
  /** Interval and number of the repetitions of this end's messages. */
  timeoutNs: Nanos = 0
  maxRetries = 0
  /** Exponent that timewait and an MRA's extension are reckoned by: the ACK timeout, about two life times. */
  lifeExponent = 0
  /** The message that waits for its answer, and what is left of its repetitions. */
  pending: Uint8Array | null = null
  intervalNs: Nanos = 0
  retriesLeft = 0
  /** When the pending message was first sent, and whether its answer still measures a round trip. */
  firstSentNs: Nanos = 0
  timed = false
  /** `disconnected` was reported. */
  over = false
  /** Questions to the peer that are left before its silence means that it no longer knows the connection; -1: none was asked. */
  challengesLeft = -1

  constructor(slot: number, id: number, passive: boolean, ends: Ends) {
    this.slot = slot
    this.id = id
    this.passive = passive
    this.local = ends.local
    this.remote = ends.remote
    this.udpPort = ends.udpPort
  }
}
