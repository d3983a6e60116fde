/** Counters of a connection manager. They only increase. */
export class CmCounters {
  /** Datagrams queued, including repetitions. */
  sent = 0
  repeated = 0
  received = 0
  /** Answers that were dropped because the outbox was full. */
  outboxFull = 0
  /** Valid messages that change nothing in their connection's state, mostly duplicates. */
  ignored = 0
  /** Dropped: not a message of the connection manager, of a wrong length or version. */
  malformed = 0
  /** Dropped: no connection has these communication ids. */
  unknown = 0
  /** Dropped: from another address than the connection's peer, or than the GID in the message. */
  wrongSource = 0
  /** Dropped: a DREQ for another queue pair. */
  wrongQpn = 0
  /**
   * Dropped: a DREQ or REJ that would end an established connection, without the proof that the peer sent it.
   */
  unprovenEnds = 0
  /** Challenges: questions to the peer of an established connection whether it still knows it. */
  challenges = 0
  /** Requests refused for lack of room. */
  noResources = 0
  /** Questions for a datagram port that were refused: nobody has it, or they name another host. */
  sidrRefused = 0
  /** Connections that were ended to make room before their peer confirmed them. */
  unconfirmedCutShort = 0
  /** Connections that left timewait early to make room. */
  timewaitCutShort = 0
}
