import type { ConnectRequest } from '../../cm/events.js'
import { udpSourcePortOfQpns } from '../../cm/flow-label.js'

/** Where UDP source ports of RoCEv2 lie: 0xc000 and the 14 bits above (IBA annex 17; what a CM flow label can name). */
const FIRST = 0xc000
const COUNT = 0x4000

/**
 * The UDP source ports that this host can send from; a connection's source port is its entropy for ECMP. Two hosts
 * whose ports can send from only a few normally have the same ones, so that both directions of a connection use the
 * same.
 */
export class SourcePorts {
  readonly #ports: readonly number[] | null

  /** @param ports at least one; null: any from 0xc000 to 0xffff */
  constructor(ports: readonly number[] | null) {
    this.#ports = ports
  }

  /** How many different ports there are. */
  get count(): number {
    return this.#ports?.length ?? COUNT
  }

  /**
   * The port with that index, modulo `count`: a random index gives a random port. @param number whole, 0 to 2^32 - 1
   */
  at(number: number): number {
    return this.#ports === null ? FIRST + ((number % COUNT) | 0) : this.#ports[number % this.#ports.length]!
  }

  /** The source port of a new connection. @param asked undefined: any; @param random 32-bit whole numbers */
  choose(asked: number | undefined, random: () => number): number {
    return asked === undefined ? this.at(random()) : this.nearest(asked)
  }

  /**
   * The passive end's source port: the peer's or, if the request does not name it, the one that Linux would take.
   * @param qpn of this end
   */
  ofRequest(request: ConnectRequest, qpn: number): number {
    return this.nearest(request.udpSourcePort || udpSourcePortOfQpns(qpn, request.qpn))
  }

  /** `port` itself if packets can leave from it, else one of those from which they can: the same for equal `port`s. */
  nearest(port: number): number {
    return this.#ports === null || this.#ports.includes(port) ? port : this.at(port)
  }
}
