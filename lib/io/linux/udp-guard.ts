import type { HostAddress } from '../../wire/net/address.js'
import { DROP_ALL } from './roce-filter.js'
import { attachFilter } from './socket-filter.js'
import { UdpSocket } from './udp-socket.js'

/**
 * Occupies a UDP port whose packets a packet socket receives. The kernel finds this socket, delivers nothing
 * to it, and sends no answer. Otherwise it would send "port unreachable" (RFC 1122, section 4.1.3.1). A
 * second daemon on the port fails.
 */
export class UdpGuard {
  readonly #socket: UdpSocket

  /** Throws WEIR_BAD_ARGUMENT when the port is in use. */
  constructor(address: HostAddress, port: number) {
    this.#socket = new UdpSocket({ address: address.toString(), port, shared: false, bufferBytes: 0 })
    attachFilter(this.#socket.fd, DROP_ALL)
  }

  close(): void {
    this.#socket.close()
  }
}
