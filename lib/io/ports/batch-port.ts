import { Backing } from '../../frame/backing.js'
import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import { followerOf } from '../../frame/frame-run.js'
import { ReceivedRun } from '../../frame/received-run.js'
import { WireError } from '../../wire/bytes/wire-error.js'
import { HostAddress } from '../../wire/net/address.js'
import * as udp from '../../wire/net/udp.js'
import { parseFrame } from '../../wire/parse.js'
import { interfaceMtu } from '../interfaces/interface.js'
import { BatchReceiver, PLACES, RECEIVER_ROOM_BYTES } from '../linux/batch-receiver.js'
import { FdWaiter } from '../linux/fd-waiter.js'
import { SenderPool } from '../linux/sender-pool.js'
import { UdpSocket } from '../linux/udp-socket.js'
import { type Port, PortCounters, type PortDropReason } from '../port.js'
import { openEach, sourcePortsFor } from '../source-port.js'
import type { Waiter } from '../waiter.js'
import { KERNEL_OVERHEAD } from './datagram-socket.js'
import { HEADER_BYTES_V4, HEADER_BYTES_V6, HeaderWriter4, HeaderWriter6 } from './dgram-headers.js'
import { frameFault } from './frame-fault.js'
import { PlacedFrame } from './placed-frame.js'
import { receiveBufferBytes, SOCKET_BUFFER_BYTES } from './socket-buffers.js'

interface BatchPortOptions {
  /** A pool with RECEIVER_ROOM_BYTES of room. */
  pool: FramePool
  /** A literal address of this host. */
  address: string
  /**
   * UDP ports to bind. It is also the destination of frames whose `udpPort` is 0. Frames always contain 4791
   * and 4792, which are the default.
   */
  rocePort?: number
  intPort?: number
  /** Bytes of the largest IP packet. Default: the MTU of the interface that has the address. */
  mtu?: number
  /** Requested SO_RCVBUF and SO_SNDBUF. Default: what `receiveBufferBytes` returns, and 8 MiB. */
  socketBufferBytes?: number
  /** Number of source ports to send from, each with a socket, 1 to 64. Default 16. */
  sourcePorts?: number
}

/**
 * Payloads of datagrams of at least this length are lent: only the headers before the payload and pad and
 * ICRC after it are copied into the slot.
 */
const LEND_FROM_BYTES = 4096
/**
 * Room for the headers of a packet with telemetry of 15 hops. A packet with longer headers is copied as a
 * whole.
 */
const HEADERS_BYTES = 448
/** Pad and ICRC. */
const TAIL_BYTES = 8

/** Each so many looks for arrivals look at the socket that the last frame has not come by. */
const LOOKS_ASIDE = 4
/** Reads in a row that do not empty a socket, before the other one has a turn: 64 datagrams or runs, 4 MiB at most. */
const READS_IN_ROW = 8

/** How long the port waits before it tries a full socket again, ms. */
const RETRY_MS = 1
const SOURCE_PORTS = 16

/**
 * Linux's fast port. One system call carries many packets and sends runs of them as one datagram (GSO and
 * GRO), directly from the frames' slots and from the memory of the payloads. Long received payloads are lent:
 * they remain where the kernel has put them until the next `receive`. The port sees and sets TOS, so ECN
 * works. It needs koffi and no privileges. Like DgramPort, it sends from UDP ports of its own.
 */
export class BatchPort implements Port {
  readonly mtu: number
  readonly gathers = true
  readonly sendsRuns = true
  readonly takesRuns = true
  readonly seesMarks = true
  readonly seesHops = false
  readonly seesIds = false
  readonly choosesIds = true
  readonly counters = new PortCounters()
  readonly waiter: Waiter
  readonly receiveBudgetBytes: number
  readonly #pool: FramePool
  /** The pool's memory, and the part of it into which the receivers read. */
  readonly #arena: DataView
  readonly #room: Backing
  /** What lies behind the frame that was returned last. */
  readonly #run: ReceivedRun
  readonly #family: 4 | 6
  /** Bytes of a frame before its UDP payload. */
  readonly #headerBytes: number
  readonly #sockets: UdpSocket[] = []
  readonly #roce: Receiving
  readonly #int: Receiving
  readonly #senders: SenderPool
  readonly #headers4: HeaderWriter4
  readonly #headers6: HeaderWriter6
  readonly #gid = new Uint8Array(16)
  /** The socket that is read now. The two sockets share the receive buffers. */
  #current: Receiving
  #looks = 0
  /** A look has found what is read now, and times since then that the other socket was left to the next look. */
  #isPolled = false
  #aside = 0
  /** Reads that have not emptied `#current`, since the other socket was looked at. */
  #readsInRow = 0
  /** By place in the room: datagrams as frames where they are. */
  readonly #placed: readonly PlacedFrame[]
  /** `#current` has found the next datagram already. */
  #peeked = false
  #isFull = false
  #retry: NodeJS.Timeout | null = null
  #closed = false
  #writable = () => {}

  /**
   * Throws WEIR_UNSUPPORTED without koffi or Linux, and WEIR_BAD_ARGUMENT when an address or port cannot be
   * bound.
   */
  constructor(options: BatchPortOptions) {
    const { pool, address, rocePort = udp.PORT_ROCE, intPort = udp.PORT_INT } = options
    const { sourcePorts = SOURCE_PORTS } = options
    const local = HostAddress.parse(address)
    this.#pool = pool
    this.#family = local.family
    this.#headerBytes = local.family === 4 ? HEADER_BYTES_V4 : HEADER_BYTES_V6
    this.#headers4 = new HeaderWriter4(local.ipv4)
    this.#headers6 = new HeaderWriter6(local.gid)
    this.mtu = options.mtu ?? interfaceMtu(address)
    const { socketBufferBytes } = options
    const open = (port: number, shared: boolean) => {
      const bufferBytes = socketBufferBytes ?? (shared ? SOCKET_BUFFER_BYTES : receiveBufferBytes())
      const socket = new UdpSocket({ address, port, shared, bufferBytes })
      this.#sockets.push(socket)
      return socket
    }
    try {
      const roce = open(rocePort, false)
      const int = open(intPort, false)
      roce.enableGro()
      int.enableGro()
      const room = pool.reserve(RECEIVER_ROOM_BYTES)
      this.#arena = new DataView(pool.arena.buffer)
      this.#room = new Backing(pool.arena.subarray(room, room + RECEIVER_ROOM_BYTES))
      this.#run = new ReceivedRun(this.#room)
      this.#placed = Array.from(
        { length: PLACES },
        (_, place) => new PlacedFrame(pool, room, place, this.#headerBytes, LEND_FROM_BYTES),
      )
      this.#roce = new Receiving(new BatchReceiver(pool, roce, room), udp.PORT_ROCE)
      this.#int = new Receiving(new BatchReceiver(pool, int, room), udp.PORT_INT)
      this.#current = this.#int
      this.receiveBudgetBytes = Math.floor(roce.receiveBufferBytes / KERNEL_OVERHEAD)
      const { counters } = this
      const sockets = openEach(sourcePortsFor(rocePort, sourcePorts), port => open(port, true))
      this.#senders = new SenderPool({ pool, counters, rocePort, intPort, sockets })
      this.waiter = new FdWaiter([roce.fd, int.fd], undefined, () => this.#look())
    } catch (error) {
      for (const socket of this.#sockets) socket.close()
      throw error
    }
  }

  get sourcePorts(): readonly number[] {
    return this.#senders.ports
  }

  get run(): ReceivedRun | null {
    return this.#run.count > 0 ? this.#run : null
  }

  waitingBytes(): number {
    this.#skipTaken()
    return this.#closed ? 0 : this.#roce.receiver.waitingBytes() + this.#int.receiver.waitingBytes()
  }

  receive(): Frame | null {
    while (this.#find()) {
      const from = this.#current
      const frame = this.#take(from)
      if (frame === null) continue
      this.#beginRun(from.receiver)
      return frame
    }
    return null
  }

  peek(): Frame | null {
    if (!this.#find()) return null
    this.#peeked = true
    const { receiver, port } = this.#current
    const { place, bytes } = receiver
    if (place < 0 || bytes >= LEND_FROM_BYTES) return null
    const placed = this.#placed[place]!
    const { frame } = placed
    if (!placed.hasHeaders(receiver, port)) this.#writeHeaders(frame, receiver, port)
    frame.l3 = -1
    frame.arrivedNs = receiver.arrivedNs
    return frame
  }

  skip(): void {
    this.#peeked = false
    this.#countLost()
    this.counters.rxFrames++
    this.counters.rxBytes += this.#headerBytes + this.#current.receiver.bytes
  }

  /** Finds the next datagram, which `#current` has then. */
  #find(): boolean {
    if (this.#closed) return false
    if (this.#peeked) {
      this.#peeked = false
      return true
    }
    this.#skipTaken()
    if (this.#isTurnOver() && this.#findAside()) return true
    // The socket of the last frame is first: the next one probably comes there too, and an empty look takes a system call.
    if (this.#current.receiver.next()) return true
    // Who polls looks at the other one soon.
    if (this.#isPolled && ++this.#aside % LOOKS_ASIDE !== 0) {
      this.#isPolled = false
      return false
    }
    this.#isPolled = false
    return this.#findAside()
  }

  /** A flood on `#current` has had its turn. */
  #isTurnOver(): boolean {
    return this.#current.receiver.isToReadOn && ++this.#readsInRow >= READS_IN_ROW
  }

  /** As `#find`, by the other socket. If there is nothing, `#current` stays. */
  #findAside(): boolean {
    this.#readsInRow = 0
    this.#current = this.#other
    if (this.#current.receiver.next()) return true
    this.#current = this.#other
    return false
  }

  /** The socket that is not read now. */
  get #other(): Receiving {
    return this.#current === this.#int ? this.#roce : this.#int
  }

  /** True if something has come, which has been read then: to ask the kernel whether there is something takes a system call more. */
  #look(): boolean {
    if (this.#closed || this.#peeked) return this.#peeked
    this.#skipTaken()
    this.#isPolled = this.#current.receiver.look()
    if (this.#isPolled || ++this.#looks % LOOKS_ASIDE !== 0 || !this.#other.receiver.look())
      return this.#isPolled
    this.#current = this.#other
    this.#isPolled = true
    return true
  }

  canTransmit(): boolean {
    return !this.#isFull
  }

  transmit(frame: Frame): void {
    const fault = this.#faultOf(frame)
    if (fault !== null) {
      this.counters.drops[fault] += 1 + frame.followers
      this.#pool.give(frame)
    } else if (frame.behind === null || this.#senders.joins) this.#add(frame)
    else this.#addEach(frame, frame.behind, frame.followers)
  }

  #add(frame: Frame): void {
    if (!this.#senders.add(frame)) this.flush()
  }

  /** The kernel cannot split runs: each packet leaves by itself. */
  #addEach(head: Frame, behind: Frame, followers: number): void {
    head.behind = null
    head.followers = 0
    this.#add(head)
    for (let i = 0; i < followers; i++) {
      const frame = followerOf(behind, i, this.#pool)
      if (frame === null) this.counters.drops.poolEmpty++
      else this.transmit(frame)
    }
    this.#pool.give(behind)
  }

  flush(): void {
    if (this.#closed || this.#senders.flush()) return
    this.#isFull = true
    this.#retry ??= setTimeout(this.#tryAgain, RETRY_MS)
  }

  /** Never calls back, because the waiter reports arrivals. */
  onReadable(_callback: () => void): void {}

  onWritable(callback: () => void): void {
    this.#writable = callback
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.flush()
    this.#closed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#senders.close()
    await this.waiter.close()
    for (const socket of this.#sockets) socket.close()
  }

  readonly #tryAgain = (): void => {
    this.#retry = null
    if (this.#closed) return
    this.#isFull = false
    this.flush()
    if (!this.#isFull) this.#writable()
  }

  /** Returns the receiver's datagram as a frame, or null if it is dropped. */
  #take({ receiver, port }: Receiving): Frame | null {
    const { drops } = this.counters
    this.#countLost()
    const { bytes } = receiver
    const start = this.#headerBytes
    if (start + bytes > this.#pool.slotBytes) {
      drops.tooLong++
      return null
    }
    const frame = this.#pool.take()
    if (frame === null) {
      drops.poolEmpty++
      return null
    }
    this.#writeHeaders(frame, receiver, port)
    if (bytes < LEND_FROM_BYTES || !this.#lend(frame, start, receiver.at, bytes)) {
      this.#pool.arena.copyWithin(frame.bytes.byteOffset + start, receiver.at, receiver.at + bytes)
    }
    frame.arrivedNs = receiver.arrivedNs
    this.counters.rxFrames++
    this.counters.rxBytes += frame.length
    return frame
  }

  #writeHeaders(frame: Frame, { view, sourceAt, sourcePort, tos, bytes }: BatchReceiver, port: number): void {
    if (this.#family === 4) {
      this.#headers4.write(frame, view.getUint32(sourceAt), sourcePort, port, bytes, tos)
    } else {
      for (let i = 0; i < 16; i++) this.#gid[i] = view.getUint8(sourceAt + i)
      this.#headers6.write(frame, this.#gid, sourcePort, port, bytes, tos)
    }
  }

  /**
   * Copies the bytes around the payload, and parses the frame. Returns false if the payload is at another
   * place than assumed.
   */
  #lend(frame: Frame, start: number, at: number, bytes: number): boolean {
    const slot = frame.bytes.byteOffset + start
    this.#pool.arena.copyWithin(slot, at, at + HEADERS_BYTES)
    for (let n = bytes - TAIL_BYTES; n < bytes; n += 4) {
      this.#arena.setInt32(slot + n, this.#arena.getInt32(at + n))
    }
    const isFound =
      parseFrame(frame) === WireError.OK && frame.payload >= 0 && frame.payload <= start + HEADERS_BYTES
    if (!isFound) {
      frame.l3 = -1
      return false
    }
    frame.outside = this.#room
    frame.outsideBase = at - start - (this.#room.bytes.byteOffset - this.#pool.arena.byteOffset)
    return true
  }

  #beginRun(receiver: BatchReceiver): void {
    const at = receiver.at + receiver.bytes - (this.#room.bytes.byteOffset - this.#pool.arena.byteOffset)
    this.#run.begin(at, receiver.bytes, this.#headerBytes, receiver.following)
  }

  /** The caller has taken packets of the run. */
  #skipTaken(): void {
    const { taken, packetBytes } = this.#run
    if (taken > 0) {
      this.#current.receiver.skip(taken)
      this.counters.rxFrames += taken
      this.counters.rxBytes += taken * (this.#headerBytes + packetBytes)
    }
    this.#run.begin(0, 0, 0, 0)
  }

  #countLost(): void {
    this.counters.drops.kernelFull = this.#roce.receiver.overflows + this.#int.receiver.overflows
  }

  #faultOf(frame: Frame): PortDropReason | null {
    if (this.#closed) return 'closed'
    if (this.#isFull) return 'txFull'
    return frameFault(frame, this.#family, this.mtu)
  }
}

/** A receiving socket, and the UDP port in frames from it. */
class Receiving {
  readonly receiver: BatchReceiver
  readonly port: number

  constructor(receiver: BatchReceiver, port: number) {
    this.receiver = receiver
    this.port = port
  }
}
