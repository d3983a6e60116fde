/**
 * Connections between two NICs of one program, whose network is not to carry how they begin and end. Both ends agree by the messages
 * of the connection manager as they always do; only the way of these messages is another.
 */
import type { Nanos } from '../time/nanos.js'
import type { Flow } from './flow/flow.js'
import type { Nic } from './nic.js'

/**
 * Carries the management datagrams that two NICs have for each other at once, and those that answer them: a connection that one of them
 * has begun is established then, or refused.
 *
 * @param roundTripNs that the network would have taken for a datagram and its answer, 0 = not known
 */
export function introduce(now: Nanos, one: Nic, other: Nic, roundTripNs: Nanos): void {
  while (one.handOver(now, other, roundTripNs) || other.handOver(now, one, roundTripNs));
}

/**
 * Frees both ends of a connection, without packets. False, and nothing happens, as long as an end has something to send or waits for
 * something, or a packet of theirs may be on its way: one end has sent a packet that the other has not received. (Where packets were lost
 * this is so for good.)
 *
 * @param flow of `one`
 */
export function part(now: Nanos, one: Nic, other: Nic, flow: Flow): boolean {
  const peer = other.table.find(flow.qp.remoteQpn)
  if (peer === null) return false
  const isQuiet = flow.sentFrames === peer.receivedFrames && peer.sentFrames === flow.receivedFrames
  if (!isQuiet || !one.isIdle(now, flow) || !other.isIdle(now, peer)) return false
  one.release(now, flow)
  other.release(now, peer)
  return true
}
