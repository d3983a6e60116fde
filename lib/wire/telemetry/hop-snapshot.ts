import { DOUBLE_0 } from '../../double.js'

/**
 * The state of a hop at the moment at which a packet's first bit leaves. One object is reused for every
 * packet. Each encapsulation writes the fields that it has.
 */
export class HopSnapshot {
  /** u16. */
  switchId = 0
  /** Port that the packet came in by, u16. */
  ingressPort = 0
  /** Port that it leaves by, u16. */
  egressPort = 0
  /** Rate of the egress link, bit/s. */
  rateBps = DOUBLE_0
  /** When the packet had arrived completely, ns. */
  arrivalNs = DOUBLE_0
  /** When its first bit leaves, ns. */
  startNs = DOUBLE_0
  /** Bytes that the egress port had sent before this packet. */
  txBytes = DOUBLE_0
  /** Bytes that wait behind the packet in the egress port. */
  qlenBytes = DOUBLE_0
  /** Priority of the queue that it leaves, 0 to 7. */
  priority = 0
  /** ECN field of its IP header as it leaves, 0 to 3. */
  ecn = 0
  /** TTL or hop limit with which it leaves, 0 to 255. */
  ttl = 0
}
