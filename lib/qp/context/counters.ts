/** Running figures of one queue pair: whole numbers that only grow. */
export class QpCounters {
  // The requester.
  /** Request packets, repeated ones too. */
  requestPackets = 0
  /** Payload bytes of request packets sent for the first time. */
  requestBytes = 0
  retransmittedPackets = 0
  retransmittedBytes = 0
  /** Retransmitted although they had not been lost, and responses requested again that came twice; bytes of requests counted as whole packets. */
  spuriousPackets = 0
  spuriousBytes = 0
  timeouts = 0
  /** Tail probes among the retransmissions. */
  tailProbes = 0
  /** ACKs, NAKs and atomic responses that were in range. */
  acks = 0
  /** Those among them that said nothing new. */
  duplicateAcks = 0
  /** SACKs that were taken. */
  sacks = 0
  /** PSN sequence errors that the peer reported. */
  naks = 0
  rnrNaks = 0
  /** READ or atomic responses whose loss a later answer showed. */
  impliedNaks = 0
  readResponsePackets = 0
  readResponseBytes = 0

  // The responder.
  /** Requests carried out, in order. */
  receivedPackets = 0
  receivedBytes = 0
  /** Requests that had been carried out before, or were kept already. */
  duplicates = 0
  outOfSequence = 0
  /** ACKs, SACKs and NAKs. */
  acksSent = 0
  sacksSent = 0
  naksSent = 0
  rnrNaksSent = 0
  responsePacketsSent = 0
  responseBytesSent = 0

  /** Requests for memory that the peer may not reach: no such key, another protection domain, no right, out of bounds, closed. */
  refusedAccess = 0

  // Packets dropped without an answer, by reason.
  /** The state of the queue pair does not take it. */
  droppedState = 0
  /** BTH transport version other than 0 (IBA 9.6.1). */
  droppedVersion = 0
  /** Another partition (IBA 9.6.1). */
  droppedPartition = 0
  /** Not an opcode of the reliable connected service (IBA 9.6.1). */
  droppedOpcode = 0
  /** Those of them that are of another service. */
  otherService = 0
  /** A response to nothing that is outstanding (IBA 9.7.5.1, ghost acknowledge). */
  droppedGhost = 0
  /** A READ or atomic response other than the next one expected. */
  droppedResponseOrder = 0
  /** A SACK that cannot be true: of packets never sent, or of none at all. */
  droppedSack = 0
  /** Out of order, and further ahead than what the peer may have in flight. */
  droppedBeyondWindow = 0
  /** Out of order, without room to keep it. */
  droppedReorder = 0
  /** A repeated READ or atomic whose record is gone, or that does not match it. */
  droppedReplay = 0
}
