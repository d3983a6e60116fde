import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import { HostAddress } from '../../wire/net/address.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as udp from '../../wire/net/udp.js'
import { AddressCache } from '../interfaces/address-cache.js'
import { interfaceMtu } from '../interfaces/interface.js'
import { type Port, PortCounters } from '../port.js'
import { SourcePortIndex, sourcePortsFor } from '../source-port.js'
import { DatagramSocket, IN_FLIGHT_MAX } from './datagram-socket.js'
import { HEADER_BYTES_V4, HEADER_BYTES_V6, HeaderWriter4, HeaderWriter6 } from './dgram-headers.js'
import { frameFault } from './frame-fault.js'
import { FrameRing } from './frame-ring.js'
import { PeerSockets } from './peer-sockets.js'
import { SOCKET_BUFFER_BYTES } from './socket-buffers.js'

export interface DgramPortOptions {
  pool: FramePool
  /** A literal address of this host. Default 127.0.0.1, which no other host can reach. */
  address?: string
  /**
   * UDP ports to bind. It is also the destination of frames whose `udpPort` is 0. Frames always contain 4791
   * and 4792, which are the default.
   */
  rocePort?: number
  intPort?: number
  /** Bytes of the largest IP packet. Default: the MTU of the interface that has the address. */
  mtu?: number
  /** Received frames that may wait for `receive`, a power of two. Default 1024. */
  ringFrames?: number
  maxInFlight?: number
  socketBufferBytes?: number
  /** Number of source ports to send from, 1 to 64. Default 4. Each has a socket for each of its peers. */
  sourcePorts?: number
}

const SOURCE_PORTS = 4
/** Sockets for peers, of all source ports together. */
const PEER_SOCKETS_MAX = 128

/** The sockets of one source port. */
interface Sending {
  /** Sends to peers without a connected socket. It receives nothing. */
  any: DatagramSocket
  peers: PeerSockets
}

/**
 * The portable port: ordinary UDP sockets, no privileges, any OS. The kernel handles the headers up to UDP:
 * the port removes them on transmit and writes them again on receive. It does not see ECN and the IP ID, and
 * sends every datagram from one of a few source ports (`sourcePorts`).
 *
 * The source ports differ from the ports that it receives by. So many sockets, each connected to a peer (see
 * PeerSocket), can share a source port, while no other process can bind the receiving ports. The connected
 * sockets send the packets with a shim: those of flows that telemetry paces, and their acknowledgements.
 */
export class DgramPort implements Port {
  readonly mtu: number
  readonly gathers = false
  readonly sendsRuns = false
  readonly takesRuns = true
  readonly seesMarks = false
  readonly seesHops = false
  readonly seesIds = false
  readonly choosesIds = false
  readonly counters = new PortCounters()
  readonly address: string
  readonly waiter = null
  readonly #pool: FramePool
  readonly #ring: FrameRing
  readonly #rocePort: number
  readonly #intPort: number
  readonly #family: 4 | 6
  readonly #addresses = new AddressCache()
  readonly #headers4: HeaderWriter4
  readonly #headers6: HeaderWriter6
  #roce!: DatagramSocket
  #int!: DatagramSocket
  #sending: Sending[] = []
  #sourcePorts: readonly number[] = []
  #sendingOf!: SourcePortIndex
  #closed = false
  #readable = () => {}
  #writable = () => {}

  /** Binds its sockets. Throws WEIR_BAD_ARGUMENT when the address or a port cannot be bound. */
  static async open(options: DgramPortOptions): Promise<DgramPort> {
    const port = new DgramPort(options)
    const common = {
      pool: options.pool,
      counters: port.counters,
      maxInFlight: options.maxInFlight ?? IN_FLIGHT_MAX,
      socketBufferBytes: options.socketBufferBytes ?? SOCKET_BUFFER_BYTES,
      onWritable: () => port.#writable(),
    }
    const opened: DatagramSocket[] = []
    const open = async (localPort: number, shared: boolean, onDatagram: OnDatagram) => {
      const socket = await DatagramSocket.open({
        ...common,
        address: port.address,
        port: localPort,
        shared,
        onDatagram,
      })
      opened.push(socket)
      return socket
    }
    const receiver = (localPort: number, frames: number) =>
      open(localPort, false, (bytes, address, from) => port.#onDatagram(bytes, address, from, frames))
    try {
      port.#roce = await receiver(port.#rocePort, udp.PORT_ROCE)
      port.#int = await receiver(port.#intPort, udp.PORT_INT)
      const ignore = () => {}
      const senders: DatagramSocket[] = []
      for (const from of sourcePortsFor(port.#rocePort, options.sourcePorts ?? SOURCE_PORTS)) {
        await open(from, true, ignore).then(
          socket => senders.push(socket),
          // Another process has the port. The remaining ports suffice.
          () => {},
        )
      }
      if (senders.length === 0) senders.push(await open(0, true, ignore))
      const peersMax = Math.ceil(PEER_SOCKETS_MAX / senders.length)
      const each = { ...common, localAddress: port.address, peersMax }
      port.#sending = senders.map(any => ({ any, peers: new PeerSockets({ ...each, localPort: any.port }) }))
      port.#sourcePorts = senders.map(any => any.port)
      port.#sendingOf = new SourcePortIndex(port.sourcePorts)
    } catch (error) {
      await Promise.all(opened.map(socket => socket.close()))
      throw error
    }
    return port
  }

  private constructor(options: DgramPortOptions) {
    this.address = options.address ?? '127.0.0.1'
    const local = HostAddress.parse(this.address)
    this.#family = local.family
    this.#pool = options.pool
    this.#ring = new FrameRing(options.ringFrames ?? 1024)
    this.#rocePort = options.rocePort ?? udp.PORT_ROCE
    this.#intPort = options.intPort ?? udp.PORT_INT
    this.mtu = options.mtu ?? interfaceMtu(this.address)
    this.#headers4 = new HeaderWriter4(local.ipv4)
    this.#headers6 = new HeaderWriter6(local.gid)
  }

  get sourcePorts(): readonly number[] {
    return this.#sourcePorts
  }

  get receiveBudgetBytes(): number {
    return this.#roce.receiveBudgetBytes
  }

  waitingBytes(): number {
    return Number.NaN
  }

  receive(): Frame | null {
    return this.#ring.shift()
  }

  canTransmit(): boolean {
    for (const { any, peers } of this.#sending) if (!any.canSend() || !peers.canSend()) return false
    return true
  }

  transmit(frame: Frame): void {
    const fault = frameFault(frame, this.#family, this.mtu)
    if (fault !== null) {
      this.counters.drops[fault]++
      this.#pool.give(frame)
      return
    }
    const { l3, l4, view } = frame
    const address =
      this.#family === 4
        ? this.#addresses.text4(ipv4.destination(view, l3))
        : this.#addresses.text6(view, l3 + 24)
    const start = l4 + udp.BYTES
    const { any, peers } = this.#sending[this.#sendingOf.of(udp.sourcePort(view, l4))]!
    if (udp.destinationPort(view, l4) === udp.PORT_ROCE) {
      any.send(frame, start, null, frame.udpPort || this.#rocePort, address)
      return
    }
    const intPort = frame.udpPort === 0 ? this.#intPort : frame.udpPort + 1
    const peer = this.#closed ? null : peers.find(address, intPort)
    if (peer === null) any.send(frame, start, null, intPort, address)
    else if (peers.canSend()) peer.send(frame, start)
    else {
      this.counters.drops.txFull++
      this.#pool.give(frame)
    }
  }

  /** The port keeps no frames back. */
  flush(): void {}

  onReadable(callback: () => void): void {
    this.#readable = callback
  }

  onWritable(callback: () => void): void {
    this.#writable = callback
  }

  async close(): Promise<void> {
    this.#closed = true
    const sending = this.#sending.flatMap(({ any, peers }) => [any.close(), peers.close()])
    await Promise.all([this.#roce.close(), this.#int.close(), ...sending])
    this.#ring.giveAll(this.#pool)
  }

  #onDatagram(bytes: Buffer, address: string, from: number, localPort: number): void {
    const { drops } = this.counters
    const start = this.#family === 4 ? HEADER_BYTES_V4 : HEADER_BYTES_V6
    if (this.#ring.full) {
      drops.ringFull++
      return
    }
    if (start + bytes.length > this.#pool.slotBytes) {
      drops.tooLong++
      return
    }
    const frame = this.#pool.take()
    if (frame === null) {
      drops.poolEmpty++
      return
    }
    if (this.#family === 4) {
      this.#headers4.write(frame, this.#addresses.ipv4Of(address), from, localPort, bytes.length)
    } else {
      this.#headers6.write(frame, this.#addresses.gidOf(address), from, localPort, bytes.length)
    }
    frame.bytes.set(bytes, start)
    this.counters.rxFrames++
    this.counters.rxBytes += frame.length
    const wasEmpty = this.#ring.size === 0
    this.#ring.push(frame)
    if (wasEmpty) this.#readable()
  }
}

type OnDatagram = (bytes: Buffer, address: string, port: number) => void
