import { WeirError } from '../../errors.js'
import type { HostAddress } from '../../wire/net/address.js'
import { type Libc, loadLibc } from './libc.js'
import { DROP_ALL } from './roce-filter.js'
import { attachFilter } from './socket-filter.js'
import { AF_INET, AF_INET6 } from './udp-socket.js'

const SOCK_RAW = 3
const SOCK_NONBLOCK = 0o4000
const SOCK_CLOEXEC = 0o2000000

/**
 * Occupies an IP protocol whose packets a packet socket receives. Without it the kernel would answer
 * "protocol unreachable" (RFC 1122, section 3.2.2.1). `UdpGuard` does the same for a UDP port.
 */
export class ProtocolGuard {
  readonly #libc: Libc = loadLibc()
  readonly #fd: number

  /** Throws WEIR_UNSUPPORTED without CAP_NET_RAW. */
  constructor(address: HostAddress, protocol: number) {
    const family = address.family === 4 ? AF_INET : AF_INET6
    this.#fd = this.#libc.socket(family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol)
    if (this.#fd < 0) {
      throw new WeirError(
        'WEIR_UNSUPPORTED',
        `IP protocol ${protocol}: no raw socket (error ${this.#libc.errno()}); run as root, or in a user namespace`,
      )
    }
    attachFilter(this.#fd, DROP_ALL)
  }

  close(): void {
    this.#libc.close(this.#fd)
  }
}
