import { createRequire } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import { HostAddress } from '../../wire/net/address.js'
import * as ethernet from '../../wire/net/ethernet.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as udp from '../../wire/net/udp.js'
import { AddressCache } from '../interfaces/address-cache.js'
import { interfaceMtu } from '../interfaces/interface.js'
import { type Port, PortCounters, type PortDropReason } from '../port.js'
import { DatagramSocket, IN_FLIGHT_MAX, KERNEL_OVERHEAD } from './datagram-socket.js'
import { frameFault } from './frame-fault.js'
import { FrameRing } from './frame-ring.js'

interface RawPortOptions {
  pool: FramePool
  /** A literal IPv4 address of this host. */
  address: string
  /**
   * UDP ports to occupy. It is also the destination of frames whose `udpPort` is 0. Frames always contain
   * 4791 and 4792, which are the default.
   */
  rocePort?: number
  intPort?: number
  /** Bytes of the largest IP packet. Default: the MTU of the interface that has the address. */
  mtu?: number
  /** Received frames that may wait for `receive`, a power of two. Default 1024. */
  ringFrames?: number
  /** Frames in the socket that it has not sent. Default 256. */
  maxInFlight?: number
}

/** The part of the package raw-socket that is used. The package has no types. */
interface RawSocket {
  on(event: 'message', listener: (packet: Buffer, source: string) => void): void
  on(event: 'error', listener: (error: Error) => void): void
  on(event: 'close', listener: () => void): void
  send(
    packet: Buffer,
    offset: number,
    length: number,
    address: string,
    done: (error: Error | null) => void,
  ): void
  setOption(level: number, option: number, value: number): void
  close(): void
}

const PROTOCOL_UDP = 17
const IPPROTO_IP = 0
const IP_HDRINCL = process.platform === 'linux' ? 3 : 2
const SOL_SOCKET = process.platform === 'linux' ? 1 : 0xffff
const SO_RCVBUF = process.platform === 'linux' ? 8 : 0x1002
const SO_SNDBUF = process.platform === 'linux' ? 7 : 0x1001
const BUFFER_BYTES = 4 << 20
/** The smallest receive buffer, because nobody reads what arrives at the sockets that occupy the ports. */
const GUARD_BUFFER_BYTES = 65_536
const L3 = ethernet.BYTES
const MAC_HERE = 0x0200_0000_0001
const MAC_THERE = 0x0200_0000_0002

/**
 * All open ports. Without a reference from here, the package's sockets would be collected as garbage and
 * closed, even while they are polled.
 */
const OPEN = new Set<RawPort>()

/**
 * Whole IPv4 packets by a raw socket. It sees and sets TOS, so ECN and DSCP work, sees the IP identification,
 * and sends from the source port in the frame. It works where the package raw-socket compiles, and needs
 * CAP_NET_RAW. Two plain sockets occupy the ports, because otherwise the kernel would answer "port
 * unreachable".
 */
export class RawPort implements Port {
  readonly mtu: number
  readonly sourcePorts = null
  readonly receiveBudgetBytes = Math.floor(BUFFER_BYTES / KERNEL_OVERHEAD)
  readonly gathers = false
  readonly sendsRuns = false
  readonly takesRuns = false
  readonly seesMarks = true
  readonly seesHops = true
  readonly seesIds = true
  readonly choosesIds = true
  readonly counters = new PortCounters()
  readonly waiter = null
  readonly #pool: FramePool
  readonly #ring: FrameRing
  readonly #local: number
  readonly #rocePort: number
  readonly #intPort: number
  readonly #maxInFlight: number
  readonly #addresses = new AddressCache()
  readonly #socket: RawSocket
  #guards: DatagramSocket[] = []
  #inFlight = 0
  #blocked = false
  #closed = false
  #readable = () => {}
  #writable = () => {}

  /**
   * Throws WEIR_UNSUPPORTED without the package or the right to use raw sockets, and on a worker thread.
   * Throws WEIR_BAD_ARGUMENT for an IPv6 address, or when an address or port cannot be bound.
   */
  static async open(options: RawPortOptions): Promise<RawPort> {
    if (HostAddress.parse(options.address).family === 6) {
      const hint = 'choose --io batch or dgram'
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `raw sockets show no header of IPv6 (${options.address}): ${hint}`,
      )
    }
    const port = new RawPort(options, openRaw())
    try {
      for (const number of [port.#rocePort, port.#intPort])
        port.#guards.push(await port.#hold(options, number))
    } catch (error) {
      await port.close()
      throw error
    }
    return port
  }

  private constructor(options: RawPortOptions, socket: RawSocket) {
    this.#pool = options.pool
    this.#ring = new FrameRing(options.ringFrames ?? 1024)
    this.#local = HostAddress.parse(options.address).ipv4
    this.#rocePort = options.rocePort ?? udp.PORT_ROCE
    this.#intPort = options.intPort ?? udp.PORT_INT
    this.#maxInFlight = options.maxInFlight ?? IN_FLIGHT_MAX
    this.mtu = options.mtu ?? interfaceMtu(options.address)
    this.#socket = socket
    socket.on('message', packet => this.#onPacket(packet))
    socket.on('error', () => this.counters.rxErrors++)
    OPEN.add(this)
  }

  waitingBytes(): number {
    return Number.NaN
  }

  receive(): Frame | null {
    return this.#ring.shift()
  }

  canTransmit(): boolean {
    if (this.#inFlight < this.#maxInFlight) return true
    this.#blocked = true
    return false
  }

  transmit(frame: Frame): void {
    const fault = this.#faultOf(frame)
    if (fault !== null) {
      this.counters.drops[fault]++
      this.#pool.give(frame)
      return
    }
    const { view, l3, l4, bytes, length } = frame
    const toInt = udp.destinationPort(view, l4) === udp.PORT_INT
    const rocePort = frame.udpPort || this.#rocePort
    const intPort = frame.udpPort === 0 ? this.#intPort : frame.udpPort + 1
    udp.setDestinationPort(view, l4, toInt ? intPort : rocePort)
    const address = this.#addresses.text4(ipv4.destination(view, l3))
    this.#inFlight++
    this.#socket.send(bytes, l3, length - l3, address, error => this.#onSent(frame, error))
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
    if (this.#closed) return
    while (this.#inFlight > 0) await new Promise(resolve => setImmediate(resolve))
    this.#closed = true
    OPEN.delete(this)
    await new Promise<void>(resolve => {
      this.#socket.on('close', resolve)
      this.#socket.close()
    })
    await Promise.all(this.#guards.map(guard => guard.close()))
    this.#ring.giveAll(this.#pool)
  }

  #hold({ address, pool }: RawPortOptions, port: number): Promise<DatagramSocket> {
    return DatagramSocket.open({
      pool,
      counters: new PortCounters(),
      address,
      port,
      socketBufferBytes: GUARD_BUFFER_BYTES,
      onDatagram: () => {},
    })
  }

  /** Every UDP packet of this machine arrives here. Most are not for this port. */
  #onPacket(packet: Buffer): void {
    const { drops } = this.counters
    const headerBytes = packet.length < ipv4.BYTES ? 0 : (packet[0]! & 15) * 4
    if (headerBytes < ipv4.BYTES || packet.length < headerBytes + udp.BYTES) return
    if (packet.readUInt32BE(16) !== this.#local) return
    const to = packet.readUInt16BE(headerBytes + 2)
    if (to !== this.#rocePort && to !== this.#intPort) return
    if (this.#ring.full) drops.ringFull++
    else if (L3 + packet.length > this.#pool.slotBytes) drops.tooLong++
    else {
      const frame = this.#pool.take()
      if (frame === null) drops.poolEmpty++
      else this.#keep(frame, packet, headerBytes, to === this.#intPort ? udp.PORT_INT : udp.PORT_ROCE)
    }
  }

  #keep(frame: Frame, packet: Buffer, headerBytes: number, port: number): void {
    ethernet.write(frame.view, 0, MAC_HERE, MAC_THERE, ethernet.TYPE_IPV4)
    frame.bytes.set(packet, L3)
    frame.length = frame.wireLength = L3 + packet.length
    udp.setDestinationPort(frame.view, L3 + headerBytes, port)
    // Some kernels write the length without the header, in the machine's byte order. This restores the
    // correct one.
    ipv4.setTotalLength(frame.view, L3, packet.length)
    ipv4.updateChecksum(frame.view, L3)
    this.counters.rxFrames++
    this.counters.rxBytes += frame.length
    const wasEmpty = this.#ring.size === 0
    this.#ring.push(frame)
    if (wasEmpty) this.#readable()
  }

  #onSent(frame: Frame, error: Error | null): void {
    this.#inFlight--
    if (error === null) {
      this.counters.txFrames++
      this.counters.txBytes += frame.length
    } else this.counters.drops.txError++
    this.#pool.give(frame)
    if (this.#blocked && this.#inFlight <= this.#maxInFlight >> 1) {
      this.#blocked = false
      this.#writable()
    }
  }

  #faultOf(frame: Frame): PortDropReason | null {
    if (this.#closed) return 'closed'
    if (this.#inFlight >= this.#maxInFlight) return 'txFull'
    return frameFault(frame, 4, this.mtu)
  }
}

/** Returns why raw sockets are not available here, or null if they are. */
export function rawFault(): string | null {
  try {
    openRaw().close()
    return null
  } catch (error) {
    return (error as Error).message
  }
}

function openRaw(): RawSocket {
  const unsupported = (why: string) => new WeirError('WEIR_UNSUPPORTED', `raw sockets: ${why}`)
  // The package polls on libuv's default loop. On another thread nothing would ever arrive.
  if (!isMainThread) {
    throw unsupported(
      "the package raw-socket works on a process's main thread only; choose --io batch or dgram",
    )
  }
  let raw: { createSocket(options: { protocol: number; bufferSize: number }): RawSocket }
  try {
    raw = createRequire(import.meta.url)('raw-socket')
  } catch (cause) {
    throw unsupported(whyNotLoaded((cause as NodeJS.ErrnoException).code))
  }
  try {
    const socket = raw.createSocket({ protocol: PROTOCOL_UDP, bufferSize: 65_535 })
    socket.setOption(IPPROTO_IP, IP_HDRINCL, 1)
    socket.setOption(SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES)
    socket.setOption(SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES)
    return socket
  } catch (cause) {
    throw unsupported(
      `${(cause as Error).message}; run as root, or give node CAP_NET_RAW, or choose --io dgram`,
    )
  }
}

/** @param code of the error with which the package did not load */
function whyNotLoaded(code: string | undefined): string {
  const compiler = 'with a C++ compiler at hand'
  return code === 'ERR_DLOPEN_FAILED'
    ? `the package raw-socket does not load: it was compiled for another version of Node.js than this one (${process.version}), or for another system; ${compiler}: npm rebuild raw-socket; or choose --io dgram`
    : `needs the optional package raw-socket; install it, ${compiler}, with: npm install --include=optional && npm rebuild raw-socket; or choose --io dgram`
}
