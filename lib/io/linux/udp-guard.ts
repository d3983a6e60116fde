import type { HostAddress } from '../../wire/net/address.js'
import { DROP_ALL } from './roce-filter.js'
import { attachFilter } from './socket-filter.js'
import { UdpSocket } from './udp-socket.js'

/**
 * Holds a UDP port whose packets are taken by a packet socket. The kernel finds a socket, gives it nothing, and so
 * does not answer; otherwise it would send "port unreachable" (RFC 1122, section 4.1.3.1). A second daemon on the
 * port is refused.
 */
export class UdpGuard {
  readonly #socket: UdpSocket

  /** Throws WEIR_BAD_ARGUMENT when the port is taken. */
  constructor(address: HostAddress, port: number) {
    this.#socket = new UdpSocket({ address: address.toString(), port, shared: false, bufferBytes: 0 })
    attachFilter(this.#socket.fd, DROP_ALL)
  }

  close(): void {
    this.#socket.close()
  }
}
