import { WeirError } from '../../errors.js'
import { HostAddress } from '../../wire/net/address.js'
import { type Libc, loadLibc } from './libc.js'

export const AF_INET = 2
export const AF_INET6 = 10
const SOCK_DGRAM = 2
const SOCK_NONBLOCK = 0o4000
const SOCK_CLOEXEC = 0o2000000

export const SOL_IP = 0
export const SOL_SOCKET = 1
export const SOL_UDP = 17
export const SOL_IPV6 = 41

const SO_REUSEADDR = 2
const SO_SNDBUF = 7
const SO_RCVBUF = 8
const SO_SNDBUFFORCE = 32
const SO_RCVBUFFORCE = 33
/** Its control message has the same number. */
export const SO_TIMESTAMPNS = 35
export const SO_RXQ_OVFL = 40
const SO_MEMINFO = 55
export const IP_TOS = 1
const IP_MTU_DISCOVER = 10
const IP_RECVTOS = 13
const IPV6_MTU_DISCOVER = 23
const IPV6_RECVTCLASS = 66
export const IPV6_TCLASS = 67
const PMTUDISC_DO = 2
const UDP_NO_CHECK6_RX = 102
export const UDP_SEGMENT = 103
export const UDP_GRO = 104

const MEMINFO_BYTES = 36
/** `struct sockaddr_in` and `sockaddr_in6`. */
export const SOCKADDR_IN_BYTES = 16
export const SOCKADDR_IN6_BYTES = 28

const ERRNO_NAMES: Record<number, string> = {
  1: 'EPERM: not permitted',
  13: 'EACCES: not permitted',
  22: 'EINVAL: not supported by this kernel',
  24: 'EMFILE: too many open files',
  98: 'EADDRINUSE: the port is taken',
  99: 'EADDRNOTAVAIL: the address is not one of this machine',
}

interface UdpSocketOptions {
  /** Literal IPv4 or IPv6 address of this machine. */
  address: string
  /** Port; 0 = any free one. */
  port: number
  /**
   * For a socket that only sends. Other sockets of this user may bind the same address and port if they set
   * this too. The receive buffer is as small as the kernel allows. Default false.
   */
  shared?: boolean
  /** SO_RCVBUF and SO_SNDBUF. Without CAP_NET_ADMIN the kernel's limit applies. */
  bufferBytes: number
}

/**
 * A UDP socket by system calls that never block. It reports TOS, times of arrival, joined datagrams (GRO) and losses of its
 * queue. It sends with DF and IP identification 0 (IP_PMTUDISC_DO on a socket that is not connected). It receives over IPv6 also
 * what has no UDP checksum.
 */
export class UdpSocket {
  readonly fd: number
  readonly family: 4 | 6
  readonly port: number
  readonly #libc: Libc = loadLibc()
  readonly #memory = new MemoryInfo()

  /** Throws WEIR_BAD_ARGUMENT when the address cannot be bound, WEIR_UNSUPPORTED without system calls. */
  constructor(options: UdpSocketOptions) {
    const libc = this.#libc
    const address = HostAddress.parse(options.address)
    this.family = address.family
    this.fd = libc.socket(
      this.family === 4 ? AF_INET : AF_INET6,
      SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
      0,
    )
    if (this.fd < 0) throw failure('open', libc.errno())
    if (options.shared) this.#set(SOL_SOCKET, SO_REUSEADDR, 1)
    const name = sockaddr(address, options.port)
    if (libc.bind(this.fd, name, name.length) < 0) {
      const errno = libc.errno()
      this.close()
      throw failure(`bind ${options.address} port ${options.port} for`, errno)
    }
    this.port = this.#boundPort()
    this.#grow(SO_RCVBUF, SO_RCVBUFFORCE, options.shared ? 0 : options.bufferBytes)
    this.#grow(SO_SNDBUF, SO_SNDBUFFORCE, options.bufferBytes)
    this.#set(SOL_SOCKET, SO_RXQ_OVFL, 1)
    if (!options.shared) this.#set(SOL_SOCKET, SO_TIMESTAMPNS, 1)
    if (this.family === 4) {
      this.#set(SOL_IP, IP_MTU_DISCOVER, PMTUDISC_DO)
      this.#set(SOL_IP, IP_RECVTOS, 1)
    } else {
      this.#set(SOL_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DO)
      this.#set(SOL_IPV6, IPV6_RECVTCLASS, 1)
      // RoCEv2 leaves the checksum of UDP 0, also over IPv6; the kernel would drop such datagrams (RFC 6935).
      this.#set(SOL_UDP, UDP_NO_CHECK6_RX, 1)
    }
  }

  /** Asks the kernel to join datagrams of one sender. Returns false if it cannot (before Linux 5.0). */
  enableGro(): boolean {
    return this.#set(SOL_UDP, UDP_GRO, 1)
  }

  /** The effective SO_RCVBUF, in the kernel's own count. */
  get receiveBufferBytes(): number {
    return this.#get(SOL_SOCKET, SO_RCVBUF)
  }

  /**
   * Kernel memory charged for the receive queue, bytes (SO_MEMINFO, SK_MEMINFO_RMEM_ALLOC; 0 before Linux
   * 4.12). Datagrams that were read count until the kernel releases their memory: see KernelQueue.
   */
  receiveMemoryBytes(): number {
    const { bytes, length, view } = this.#memory
    view.setInt32(MEMINFO_BYTES, MEMINFO_BYTES, true)
    const failed = this.#libc.getsockopt(this.fd, SOL_SOCKET, SO_MEMINFO, bytes, length) < 0
    return failed ? 0 : view.getUint32(0, true)
  }

  close(): void {
    this.#libc.close(this.fd)
  }

  #grow(name: number, force: number, bytes: number): void {
    if (!this.#set(SOL_SOCKET, force, bytes)) this.#set(SOL_SOCKET, name, bytes)
  }

  #set(level: number, name: number, value: number): boolean {
    return this.#libc.setsockopt(this.fd, level, name, new Uint8Array(Int32Array.of(value).buffer), 4) === 0
  }

  #get(level: number, name: number): number {
    const value = new Int32Array(1)
    const length = Int32Array.of(4)
    this.#libc.getsockopt(this.fd, level, name, new Uint8Array(value.buffer), new Uint8Array(length.buffer))
    return value[0]!
  }

  #boundPort(): number {
    const name = new Uint8Array(SOCKADDR_IN6_BYTES)
    const length = Int32Array.of(name.length)
    this.#libc.getsockname(this.fd, name, new Uint8Array(length.buffer))
    return (name[2]! << 8) | name[3]!
  }
}

/** Sends a UDP datagram. Nothing says whether it has arrived. */
export function sendDatagram(from: HostAddress, to: HostAddress, port: number, bytes: Uint8Array): void {
  const libc = loadLibc()
  const fd = libc.socket(from.family === 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
  if (fd < 0) return
  const [source, destination] = [sockaddr(from, 0), sockaddr(to, port)]
  const isReady =
    libc.bind(fd, source, source.length) === 0 && libc.connect(fd, destination, destination.length) === 0
  if (isReady) libc.send(fd, bytes, bytes.length, 0)
  libc.close(fd)
}

/** The buffer for SO_MEMINFO: nine words of 32 bits (linux/sock_diag.h), and their length after them. */
class MemoryInfo {
  readonly bytes = new Uint8Array(MEMINFO_BYTES + 4)
  readonly length = this.bytes.subarray(MEMINFO_BYTES)
  readonly view = new DataView(this.bytes.buffer)
}

/** `struct sockaddr_in` or `sockaddr_in6`. */
function sockaddr(address: HostAddress, port: number): Uint8Array {
  const isV4 = address.family === 4
  const bytes = new Uint8Array(isV4 ? SOCKADDR_IN_BYTES : SOCKADDR_IN6_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, isV4 ? AF_INET : AF_INET6, true)
  view.setUint16(2, port)
  if (isV4) view.setUint32(4, address.ipv4)
  else bytes.set(address.gid, 8)
  return bytes
}

function failure(what: string, errno: number): WeirError {
  const why = ERRNO_NAMES[errno] ?? `error ${errno}`
  return new WeirError(
    'WEIR_BAD_ARGUMENT',
    `cannot ${what} a UDP socket (${why}); choose a local address and a free port`,
  )
}
