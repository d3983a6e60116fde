/** Messages of unreliable connections that were dropped, by reason: nobody learns of them (IBA 9.8.2). */
export class UnreliableCounters {
  /** Packets. */
  sent = 0
  /** Messages. */
  received = 0
  /** Packets from another host, of another service, version or partition. */
  droppedOpcode = 0
  /** Packets of messages of which one has been lost. */
  droppedSequence = 0
  /** A packet too short or too long for its place in the message. */
  droppedLength = 0
  /** A key, a right or an address that the memory does not have. */
  droppedAccess = 0
  /** No receive was posted. */
  droppedNoReceive = 0
  /** A SEND longer than its receive. */
  droppedNoRoom = 0
}
