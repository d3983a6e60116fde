/** What a connection manager counts; all only grow. */
export class CmCounters {
  /** Datagrams queued, repetitions included. */
  sent = 0
  repeated = 0
  received = 0
  /** Not queued because the outbox was full. */
  outboxFull = 0
  /** Sound messages that change nothing in their connection's state: duplicates, mostly. */
  ignored = 0
  /** Dropped: not a message of the connection manager, of a wrong length or version. */
  malformed = 0
  /** Dropped: no connection has these communication ids. */
  unknown = 0
  /** Dropped: from another address than the connection's peer, or than the GID that it speaks of. */
  wrongSource = 0
  /** Dropped: a DREQ for another queue pair. */
  wrongQpn = 0
  /** Dropped: a DREQ or REJ that would end an established connection, without the proof that its peer sends it. */
  unprovenEnds = 0
  /** Times that the peer of an established connection was asked whether it still knows it. */
  challenges = 0
  /** Requests refused for want of room. */
  noResources = 0
  /** Connections that a peer has asked for and not confirmed, ended to make room. */
  unconfirmedCutShort = 0
  /** Connections that left timewait early to make room. */
  timewaitCutShort = 0
}
