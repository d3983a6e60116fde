import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import { WireError } from '../../wire/bytes/wire-error.js'
import * as ethernet from '../../wire/net/ethernet.js'
import * as ipv6 from '../../wire/net/ipv6.js'
import * as udp from '../../wire/net/udp.js'
import * as vxlan from '../../wire/net/vxlan.js'
import { interfaceMtu } from '../interfaces/interface.js'
import { udpDrops } from '../linux/udp-drops.js'
import { PortCounters, type PortDropReason } from '../port.js'
import { DatagramSocket } from './datagram-socket.js'

const OUTER_BYTES_MAX = ipv6.BYTES + udp.BYTES + vxlan.BYTES

export interface Endpoint {
  /** Literal IPv4 or IPv6 address. */
  address: string
  port: number
}

/** One emulated link that ends at this socket. */
interface VxlanLink {
  /** VXLAN network identifier: the link's number, 0 to 2^24 - 1, unique on the socket. */
  vni: number
  /** The only endpoint with which this link exchanges frames. */
  peer: Endpoint
}

interface VxlanSocketOptions {
  pool: FramePool
  local: Endpoint
  links: VxlanLink[]
  /** `link` is the index in `links`. The callee owns the frame. */
  onFrame: (link: number, frame: Frame) => void
  onWritable?: () => void
  maxInFlight?: number
  socketBufferBytes?: number
}

/**
 * Returns the bytes of the longest IP packet that fits the datagrams of the interface with this address, and
 * a frame's slot.
 */
export function vxlanMtu(address: string, pool: FramePool): number {
  const outer = interfaceMtu(address) - OUTER_BYTES_MAX
  return Math.min(outer, pool.slotBytes) - ethernet.BYTES
}

/**
 * Ethernet frames in VXLAN over one UDP socket, for any number of emulated links. Each link has one
 * configured peer. The socket counts and drops malformed packets, packets of unknown links, and packets from
 * other peers.
 */
export class VxlanSocket {
  readonly counters = new PortCounters()
  /** Bytes of the largest inner IP packet. */
  readonly mtu: number
  readonly #pool: FramePool
  readonly #links: readonly VxlanLink[]
  readonly #indexOfVni = new Map<number, number>()
  readonly #prefixes: Buffer[]
  readonly #header = new Uint8Array(vxlan.BYTES)
  readonly #headerView = new DataView(this.#header.buffer)
  readonly #onFrame: (link: number, frame: Frame) => void
  #socket!: DatagramSocket
  #isClosed = false

  /** Binds the socket. Throws WEIR_BAD_ARGUMENT when that fails or two links share a VNI. */
  static async open(options: VxlanSocketOptions): Promise<VxlanSocket> {
    const made = new VxlanSocket(options)
    made.#socket = await DatagramSocket.open({
      pool: options.pool,
      counters: made.counters,
      address: options.local.address,
      port: options.local.port,
      maxInFlight: options.maxInFlight,
      socketBufferBytes: options.socketBufferBytes,
      onWritable: options.onWritable,
      onDatagram: (bytes, address, port) => made.#onDatagram(bytes, address, port),
    })
    return made
  }

  private constructor(options: VxlanSocketOptions) {
    this.#pool = options.pool
    this.#links = options.links
    this.#onFrame = options.onFrame
    this.mtu = vxlanMtu(options.local.address, options.pool)
    this.#prefixes = options.links.map(link => vxlanHeader(link.vni))
    for (const [index, { vni }] of options.links.entries()) {
      if (this.#indexOfVni.has(vni)) {
        throw new WeirError('WEIR_BAD_ARGUMENT', `VXLAN: two links have the VNI ${vni}; give each its own`)
      }
      this.#indexOfVni.set(vni, index)
    }
  }

  /** The UDP port to which the socket is bound. */
  get port(): number {
    return this.#socket.port
  }

  /** Counts also what the kernel has dropped until now. */
  countDrops(): PortCounters {
    if (!this.#isClosed) this.counters.drops.kernelFull = udpDrops(this.#socket.address, this.#socket.port)
    return this.counters
  }

  get receiveBudgetBytes(): number {
    return this.#socket.receiveBudgetBytes
  }

  canTransmit(): boolean {
    return this.#socket.canSend()
  }

  /** Sends a whole frame over the link with that index, and owns the frame. */
  transmit(link: number, frame: Frame): void {
    const fault = this.#faultOf(frame)
    if (fault !== null) {
      this.counters.drops[fault]++
      this.#pool.give(frame)
      return
    }
    const { peer } = this.#links[link]!
    this.#socket.send(frame, 0, this.#prefixes[link]!, peer.port, peer.address)
  }

  close(): Promise<void> {
    this.countDrops()
    this.#isClosed = true
    return this.#socket.close()
  }

  #onDatagram(bytes: Buffer, address: string, port: number): void {
    const { drops } = this.counters
    const length = bytes.length - vxlan.BYTES
    // The codecs read DataViews, and creating one costs more than copying eight bytes.
    for (let i = 0; i < vxlan.BYTES; i++) this.#header[i] = bytes[i] ?? 0
    if (length < ethernet.BYTES || vxlan.check(this.#headerView, 0, vxlan.BYTES) !== WireError.OK) {
      drops.malformed++
      return
    }
    const link = this.#indexOfVni.get(vxlan.vni(this.#headerView, 0))
    if (link === undefined) {
      drops.unknownVni++
      return
    }
    const { peer } = this.#links[link]!
    if (port !== peer.port || address !== peer.address) {
      drops.unknownPeer++
      return
    }
    if (length > this.#pool.slotBytes) {
      drops.tooLong++
      return
    }
    const frame = this.#pool.take()
    if (frame === null) {
      drops.poolEmpty++
      return
    }
    bytes.copy(frame.bytes, 0, vxlan.BYTES)
    frame.length = length
    frame.wireLength = length
    this.counters.rxFrames++
    this.counters.rxBytes += length
    this.#onFrame(link, frame)
  }

  #faultOf(frame: Frame): PortDropReason | null {
    if (!frame.materialised || frame.length < ethernet.BYTES) return 'malformed'
    return frame.length - ethernet.BYTES > this.mtu ? 'tooLong' : null
  }
}

function vxlanHeader(vni: number): Buffer {
  if (!Number.isInteger(vni) || vni < 0 || vni > 0xffffff) {
    throw new WeirError('WEIR_BAD_ARGUMENT', `VXLAN: a VNI is a whole number from 0 to 16777215, not ${vni}`)
  }
  const header = Buffer.alloc(vxlan.BYTES)
  vxlan.write(new DataView(header.buffer, header.byteOffset), 0, vni)
  return header
}
