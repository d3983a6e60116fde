import type { ConnectRequest } from '../cm/events.js'
import { udpSourcePortOfQpns } from '../cm/flow-label.js'

/** Where UDP source ports of RoCEv2 lie: 0xc000 and the 14 bits above (IBA annex 17; what a CM flow label can tell). */
const FIRST = 0xc000
const COUNT = 0x4000

/**
 * The UDP source ports that this host can send from: a connection's is its entropy for ECMP. Two hosts whose port can send
 * from a few alone have the same ones as a rule, so that both directions of a connection have the same.
 */
export class SourcePorts {
  readonly #ports: readonly number[] | null

  /** @param ports at least one; null: any from 0xc000 to 0xffff */
  constructor(ports: readonly number[] | null) {
    this.#ports = ports
  }

  /** Different ones. */
  get count(): number {
    return this.#ports?.length ?? COUNT
  }

  /** The one of that number, modulo `count`: of a random number, any. @param number whole, 0 to 2^32 - 1 */
  at(number: number): number {
    return this.#ports === null ? FIRST + (number % COUNT) : this.#ports[number % this.#ports.length]!
  }

  /** What a connection sends from. @param asked undefined: any; @param random 32-bit whole numbers */
  choose(asked: number | undefined, random: () => number): number {
    return asked === undefined ? this.at(random()) : this.nearest(asked)
  }

  /** The passive end's: the peer's, or what Linux would take if that does not tell one. @param qpn of this end */
  ofRequest(request: ConnectRequest, qpn: number): number {
    return this.nearest(request.udpSourcePort || udpSourcePortOfQpns(qpn, request.qpn))
  }

  /** `port` itself if packets can leave by it; otherwise always the same one of those by which they can. */
  nearest(port: number): number {
    return this.#ports === null || this.#ports.includes(port) ? port : this.at(port)
  }
}
