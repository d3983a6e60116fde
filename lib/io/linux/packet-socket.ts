/**
 * A packet socket (AF_PACKET, packet(7)) on one network interface sends and receives whole Ethernet frames.
 * Constants and structures are those of linux/if_packet.h.
 */
import { WeirError } from '../../errors.js'
import { type Libc, loadLibc, type Pointer } from './libc.js'

const AF_PACKET = 17
const SOCK_RAW = 3
const SOCK_CLOEXEC = 0o2000000
const SOL_SOCKET = 1
const SO_ERROR = 4
const SO_SNDBUFFORCE = 32
const SOL_PACKET = 263
const PACKET_RX_RING = 5
const PACKET_STATISTICS = 6
const PACKET_VERSION = 10
const PACKET_RESERVE = 12
const PACKET_IGNORE_OUTGOING = 23
/** Every protocol. */
const ETH_P_ALL = 0x0003
const PROT_READ_WRITE = 3
const MAP_SHARED = 1
const SOCKADDR_LL_BYTES = 20
/** `struct ifreq`: the name, then the argument of the request. */
const IFREQ_BYTES = 40
const IFNAME_BYTES = 16
const SIOCGIFMTU = 0x8921
const EPERM = 1
const ENOMEM = 12

/**
 * Send buffer, bytes: frames that the kernel may hold for the interface. A late wake-up may send so many at
 * once.
 */
const SEND_BUFFER_BYTES = 8 << 20

const TPACKET_V2 = 1

export class PacketSocket {
  readonly fd: number
  readonly #libc: Libc
  readonly #interface: string
  readonly #value = new Uint8Array(4)
  readonly #valueView = new DataView(this.#value.buffer)
  readonly #statistics = new Uint8Array(12)
  readonly #statisticsView = new DataView(this.#statistics.buffer)
  readonly #statisticsBytes = new Uint8Array(4)
  #ring: { address: Pointer; bytes: number } | null = null
  #closed = false

  /**
   * Opens a socket that receives nothing before `bind`. Throws WEIR_UNSUPPORTED where packet sockets are not
   * available: not Linux, no koffi, no CAP_NET_RAW.
   *
   * @param name of the interface, for messages and `bind`
   */
  constructor(name: string) {
    this.#libc = loadLibc()
    this.#interface = name
    this.fd = this.#libc.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)
    if (this.fd >= 0) return
    const errno = this.#libc.errno()
    const mend =
      errno === EPERM
        ? 'they need the capability CAP_NET_RAW: run as root, or in a user namespace'
        : `error ${errno}`
    throw new WeirError('WEIR_UNSUPPORTED', `packet socket on ${name}: ${mend}`)
  }

  /**
   * Sets the options for a port of a switch or host. The ring leaves `reserveBytes` of room before each
   * frame.
   */
  configure(reserveBytes: number): void {
    this.#set('PACKET_VERSION', PACKET_VERSION, TPACKET_V2)
    this.#set('PACKET_RESERVE', PACKET_RESERVE, reserveBytes)
    // Frames that this or another socket sends out of the interface do not come back.
    this.#set('PACKET_IGNORE_OUTGOING', PACKET_IGNORE_OUTGOING, 1)
    this.configureSending()
  }

  /**
   * Sets the options for a socket that only sends. Frames pass the interface's queueing discipline, because
   * with PACKET_QDISC_BYPASS neither captures nor `tc` would see them.
   */
  configureSending(): void {
    // In a user namespace the usual limit applies, and the buffer keeps its size.
    this.#write(0, SEND_BUFFER_BYTES)
    this.#libc.setsockopt(this.fd, SOL_SOCKET, SO_SNDBUFFORCE, this.#value, 4)
  }

  /**
   * Makes the receive ring and maps it. Returns its memory, which `close` unmaps. Throws WEIR_FULL when the
   * kernel has no memory for it.
   *
   * @param request `struct tpacket_req`, as words
   * @param bytes length of the ring
   */
  mapRing(request: readonly number[], bytes: number): ArrayBuffer {
    const value = new Uint8Array(request.length * 4)
    const view = new DataView(value.buffer)
    for (const [i, word] of request.entries()) view.setUint32(i * 4, word, true)
    if (this.#libc.setsockopt(this.fd, SOL_PACKET, PACKET_RX_RING, value, value.length) < 0) {
      this.#fail(`a receive ring of ${bytes} bytes`)
    }
    const address = this.#libc.mmap(0, bytes, PROT_READ_WRITE, MAP_SHARED, this.fd, 0)
    // -1 as an unsigned number.
    if (address > Number.MAX_SAFE_INTEGER) this.#fail(`mapping a ring of ${bytes} bytes`)
    this.#ring = { address, bytes }
    return this.#libc.memory(address, bytes)
  }

  /**
   * Binds to the interface and begins to receive. Throws WEIR_BAD_ARGUMENT when there is no such interface in
   * this namespace.
   *
   * @param protocol ETH_P_ALL, or 0 to receive nothing
   */
  bind(protocol = ETH_P_ALL): void {
    const index = this.#libc.ifNameToIndex(this.#interface)
    if (index === 0) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `packet socket: there is no interface ${this.#interface} here`)
    }
    const address = new Uint8Array(SOCKADDR_LL_BYTES)
    const view = new DataView(address.buffer)
    view.setUint16(0, AF_PACKET, true)
    view.setUint16(2, protocol)
    view.setInt32(4, index, true)
    if (this.#libc.bind(this.fd, address, SOCKADDR_LL_BYTES) < 0) this.#fail('bind')
  }

  /** Bytes of the largest IP packet on the interface. */
  mtu(): number {
    const request = new Uint8Array(IFREQ_BYTES)
    request.set(Buffer.from(this.#interface).subarray(0, IFNAME_BYTES - 1))
    if (this.#libc.ioctl(this.fd, SIOCGIFMTU, request) < 0) this.#fail('SIOCGIFMTU')
    return new DataView(request.buffer).getInt32(IFNAME_BYTES, true)
  }

  /** Frames for which the ring had no room since the last call of this or `takeSeen`. */
  takeDrops(): number {
    return this.#takeStatistics(4)
  }

  /**
   * Frames that the kernel showed to this socket since the last call of this or `takeDrops`, with those that
   * it dropped.
   */
  takeSeen(): number {
    return this.#takeStatistics(0)
  }

  /** Reading resets all of `struct tpacket_stats` to 0. */
  #takeStatistics(at: number): number {
    new DataView(this.#statisticsBytes.buffer).setUint32(0, this.#statistics.length, true)
    const { fd } = this
    const done = this.#libc.getsockopt(
      fd,
      SOL_PACKET,
      PACKET_STATISTICS,
      this.#statistics,
      this.#statisticsBytes,
    )
    return done < 0 ? 0 : this.#statisticsView.getUint32(at, true)
  }

  /**
   * Returns the pending error of the socket (for example the interface went down) as an errno, or 0. Reading
   * it clears it.
   */
  takeError(): number {
    const bytes = new Uint8Array([4, 0, 0, 0])
    this.#libc.getsockopt(this.fd, SOL_SOCKET, SO_ERROR, this.#value, bytes)
    return this.#valueView.getInt32(0, true)
  }

  /** Unmaps the ring and closes the socket. Do not access the ring's memory after this. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#ring !== null) this.#libc.munmap(this.#ring.address, this.#ring.bytes)
    this.#libc.close(this.fd)
  }

  #set(what: string, option: number, value: number): void {
    this.#write(0, value)
    if (this.#libc.setsockopt(this.fd, SOL_PACKET, option, this.#value, 4) < 0) this.#fail(what)
  }

  #write(at: number, value: number): void {
    this.#valueView.setInt32(at, value, true)
  }

  #fail(what: string): never {
    const errno = this.#libc.errno()
    const text = `packet socket on ${this.#interface}: ${what}: error ${errno}`
    if (errno === ENOMEM) {
      throw new WeirError('WEIR_FULL', `${text}, not enough memory; use a smaller ring or fewer ports`)
    }
    throw new WeirError('WEIR_UNSUPPORTED', text)
  }
}

/** Bytes of the largest IP packet on the interface of that name. Throws as PacketSocket does. */
export function interfaceMtuOf(name: string): number {
  const socket = new PacketSocket(name)
  try {
    return socket.mtu()
  } finally {
    socket.close()
  }
}
