/**
 * Connections between two NICs of one program, whose network is not to carry how they begin and end. Both ends agree by the rules by
 * which they always do. Where only messages of the connection manager can say what there is to be said, these are handed over.
 */
import type { MemoryTable } from '../qp/memory/memory.js'
import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import type { Flow } from './flow/flow.js'
import type { Nic } from './nic.js'
import type { Connection, ConnectionHandler, ConnectOptions, Listener, Verbs } from './types.js'

/**
 * The verbs of a NIC whose connections all reach one other NIC of this program, without packets: a connection is established, or
 * refused, when `connect` returns, and its handler has been called.
 */
export class NearVerbs implements Verbs {
  readonly memory: MemoryTable
  readonly address: HostAddress
  readonly #own: Nic
  readonly #other: Nic
  readonly #roundTripNs: Nanos

  /** @param roundTripNs that the network would have taken for a datagram and its answer, 0 = not known */
  constructor(own: Nic, other: Nic, roundTripNs: Nanos) {
    this.memory = own.memory
    this.address = own.address
    this.#own = own
    this.#other = other
    this.#roundTripNs = roundTripNs
  }

  listen(port: number, listener: Listener): void {
    this.#own.listen(port, listener)
  }

  unlisten(port: number): void {
    this.#own.unlisten(port)
  }

  /** As Nic. @param remote the other NIC's address */
  connect(
    now: Nanos,
    remote: HostAddress,
    port: number,
    handler: ConnectionHandler,
    options: ConnectOptions = {},
  ): Connection {
    const joined = this.#own.join(now, this.#other, port, handler, options, this.#roundTripNs)
    if (joined !== null) return joined
    const connection = this.#own.connect(now, remote, port, handler, options)
    introduce(now, this.#own, this.#other, this.#roundTripNs)
    return connection
  }
}

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
  // The end that receives counts as a sender's for a while: mostly that one is not idle yet.
  if (!isQuiet || !other.isIdle(now, peer) || !one.isIdle(now, flow)) return false
  one.release(now, flow)
  other.release(now, peer)
  return true
}
