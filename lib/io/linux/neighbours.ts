import { performance } from 'node:perf_hooks'
import { KNOCK } from '../../wire/ib/knock.js'
import type { HostAddress } from '../../wire/net/address.js'
import type { MacAddress } from '../../wire/net/mac.js'
import { PORT_ROCE } from '../../wire/net/udp.js'
import { Nap } from './nap.js'
import { RouteSocket } from './route-socket.js'
import { sendDatagram } from './udp-socket.js'

/** How long a host may take to answer before the caller goes on without. Connection requests are repeated. */
const PATIENCE_MS = 3
const LOOK_EVERY_NS = 200_000
/** Nobody waits again for a host that has not answered, within this time. */
const ASK_EVERY_MS = 500

/**
 * MAC addresses to which packets for other hosts go: their own, or that of a gateway. The kernel resolves them (ARP, neighbour
 * discovery), because its tables are those of all programs here; a datagram to the host that it drops makes the kernel do so.
 */
export class Neighbours {
  readonly #own: HostAddress
  readonly #routes: RouteSocket
  readonly #nap = new Nap()
  #askedMs = Number.NEGATIVE_INFINITY

  /** Throws as RouteSocket. @param own this host's address on the interface */
  constructor(interfaceName: string, own: HostAddress) {
    this.#own = own
    this.#routes = new RouteSocket(interfaceName)
  }

  /**
   * Returns the MAC address to which packets for that host go, or undefined if nobody answers in time. It makes system calls, and may wait
   * for some milliseconds, so do not call it for every packet.
   */
  macOf(host: HostAddress): MacAddress | undefined {
    const hop = this.#routes.nextHop(host)
    const known = this.#routes.macOf(hop)
    const now = performance.now()
    if (known !== undefined || now - this.#askedMs < ASK_EVERY_MS) return known
    this.#askedMs = now
    sendDatagram(this.#own, host, PORT_ROCE, KNOCK as Uint8Array)
    for (;;) {
      const mac = this.#routes.macOf(hop)
      if (mac !== undefined || performance.now() - now > PATIENCE_MS) return mac
      this.#nap.sleep(LOOK_EVERY_NS)
    }
  }

  close(): void {
    this.#routes.close()
  }
}
