import { WeirError } from '../../errors.js'
import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import { type Nanos, SECOND } from '../../time/nanos.js'
import * as ethernet from '../../wire/net/ethernet.js'
import { writeL4Checksum } from '../../wire/net/l4-checksum.js'
import { parseFrame } from '../../wire/parse.js'
import type { ArrivalClock } from '../linux/arrival-clock.js'
import { FdWaiter } from '../linux/fd-waiter.js'
import { type Libc, loadLibc, type Pointer } from '../linux/libc.js'
import { PacketSocket } from '../linux/packet-socket.js'
import {
  RING_RESERVE_BYTES,
  RxRing,
  TP_STATUS_CSUMNOTREADY,
  TP_STATUS_VLAN_TPID_VALID,
  TP_STATUS_VLAN_VALID,
} from '../linux/rx-ring.js'
import { attachFilter, type FilterInstruction } from '../linux/socket-filter.js'
import { TxBatch } from '../linux/tx-batch.js'
import type { WallClock } from '../linux/wall-clock.js'
import { type Port, PortCounters, type PortDropReason } from '../port.js'
import type { Waiter } from '../waiter.js'
import { FrameRing } from './frame-ring.js'

/** Frames that one system call sends. */
const TX_FRAMES = 256
/** Up to this length a loop copies faster than a system call. */
const SHORT_COPY_BYTES = 192
const TAG_BYTES = ethernet.TAGGED_BYTES - ethernet.BYTES
/** Offset of a VLAN tag: after both addresses. */
const TAG_AT = 12

export interface PacketPortOptions {
  pool: FramePool
  /** Name of the network interface, in this process's namespace. */
  interface: string
  /** Locked memory for frames that wait to be received, 128 KiB to 256 MiB. Default 8 MiB. */
  ringBytes?: number
  /** Classic BPF that returns 0 for frames to reject. Default: the port receives everything. */
  filter?: readonly FilterInstruction[]
  /**
   * True: drops frames for which the kernel has no room, and counts them. A slow queueing discipline on the
   * interface is a cause. Use it for a thread with several ports, which must not wait for one. Default false:
   * sending waits for room.
   */
  dropsWhenFull?: boolean
}

/**
 * Raw frames on a network interface. It receives everything, with every header, mark and VLAN tag, and sends
 * frames unchanged. Frames leave directly from the pool's memory, many by one call.
 *
 * The kernel handles incoming packets too. UdpGuard and ProtocolGuard keep it from answering them. Frames
 * longer than a slot of the pool are dropped, so an interface's segmentation offloads (TSO, GSO, GRO) must be
 * off.
 */
export class PacketPort implements Port {
  readonly sourcePorts = null
  readonly mtu: number
  readonly #pool: FramePool
  readonly #libc: Libc
  readonly #socket: PacketSocket
  readonly #ring: RxRing
  readonly #ringBytes: number
  readonly #ringAddress: Pointer
  readonly #arenaAddress: Pointer
  readonly gathers = false
  readonly sendsRuns = false
  readonly takesRuns = false
  readonly seesMarks = true
  readonly seesHops = true
  readonly seesIds = true
  readonly choosesIds = true
  readonly #counters = new PortCounters()
  readonly #tx: TxBatch
  /** The frames in `#tx`, in its order. */
  readonly #leaving = new FrameRing(TX_FRAMES)
  #waiter: FdWaiter | null = null
  #closed = false

  /**
   * Throws WEIR_UNSUPPORTED without Linux, koffi or CAP_NET_RAW, WEIR_BAD_ARGUMENT when there is no such
   * interface, and WEIR_FULL without memory for the ring.
   */
  constructor(options: PacketPortOptions) {
    const { pool, ringBytes = 8 << 20 } = options
    if (!Number.isInteger(ringBytes) || ringBytes < 1 << 17 || ringBytes > 1 << 28) {
      throw new WeirError(
        'WEIR_BAD_ARGUMENT',
        `packet port: ringBytes is 131072 to 268435456, not ${ringBytes}`,
      )
    }
    this.#pool = pool
    this.#libc = loadLibc()
    this.#arenaAddress = this.#libc.address(pool.arena)
    this.#tx = new TxBatch(this.#libc, TX_FRAMES, options.dropsWhenFull ?? false)
    this.#socket = new PacketSocket(options.interface)
    try {
      this.#socket.configure(RING_RESERVE_BYTES)
      this.#ring = new RxRing(this.#socket, pool.slotBytes, ringBytes)
      this.#ringBytes = this.#ring.bytes.length
      this.#ringAddress = this.#libc.address(this.#ring.bytes)
      if (options.filter !== undefined) attachFilter(this.fd, options.filter)
      this.#socket.bind()
      this.mtu = Math.min(this.#socket.mtu(), pool.slotBytes - ethernet.TAGGED_BYTES)
    } catch (error) {
      this.#socket.close()
      throw error
    }
  }

  /** Readable when a frame or an error waits: see `onError`. */
  get fd(): number {
    return this.#socket.fd
  }

  /** Created at the first access. A driver of several ports waits for their `fd`s together instead. */
  get waiter(): Waiter {
    this.#waiter ??= new FdWaiter([this.fd], () => this.onError())
    return this.#waiter
  }

  get receiveBudgetBytes(): number {
    return this.#ringBytes >> 1
  }

  /**
   * Includes, as `kernelFull`, the frames that the kernel dropped until now for lack of room in the ring.
   * Reading them takes a system call.
   */
  get counters(): PortCounters {
    if (!this.#closed) this.#counters.drops.kernelFull += this.#socket.takeDrops()
    return this.#counters
  }

  waitingBytes(): number {
    return Number.NaN
  }

  receive(): Frame | null {
    if (this.#closed) return null
    const ring = this.#ring
    while (ring.next()) {
      const frame = this.#take()
      ring.release()
      if (frame !== null) return frame
    }
    return null
  }

  /**
   * Returns how long before the reading of `clock` the kernel received the frame that `receive` returned
   * last, ns. It is negative if the frame came later. A change of the time of day in between makes it wrong
   * by as much.
   */
  ageNs(clock: WallClock): Nanos {
    return (clock.seconds - this.#ring.seconds) * SECOND + (clock.nanoseconds - this.#ring.nanoseconds)
  }

  /** Returns when the kernel received the frame that `receive` returned last, by `clock`. */
  arrivedNs(clock: ArrivalClock): Nanos {
    return clock.arrivedNs(this.#ring.seconds, this.#ring.nanoseconds)
  }

  /** A full batch is sent at once, so there is always room. */
  canTransmit(): boolean {
    return !this.#closed
  }

  transmit(frame: Frame): void {
    const fault = this.#faultOf(frame)
    if (fault !== null) {
      this.#counters.drops[fault]++
      this.#pool.give(frame)
      return
    }
    this.#tx.add(this.#addressOf(frame), frame.length)
    this.#leaving.push(frame)
    if (this.#leaving.full) this.flush()
  }

  flush(): void {
    const batch = this.#tx
    let first = 0
    while (first < batch.count) {
      const sent = batch.send(this.fd, first)
      for (let i = 0; i < sent; i++) this.#onSent()
      // The kernel refused one frame, but may take the next ones. ENOBUFS: the peer's backlog or the queueing
      // discipline is full.
      if (sent <= 0) this.#onRefused()
      first += Math.max(1, sent)
    }
    batch.count = 0
  }

  /**
   * Counts and clears an error that makes `fd` readable without a frame, for example that the interface went
   * down.
   */
  onError(): void {
    if (!this.#closed && this.#socket.takeError() !== 0) this.#counters.rxErrors++
  }

  /** Never calls back, because the waiter reports arrivals. */
  onReadable(_callback: () => void): void {}

  /** Never calls back, because there is always room. */
  onWritable(_callback: () => void): void {}

  async close(): Promise<void> {
    if (this.#closed) return
    this.flush()
    this.#counters.drops.kernelFull += this.#socket.takeDrops()
    this.#closed = true
    await this.#waiter?.close()
    this.#socket.close()
  }

  /** Copies the ring's current frame to a slot of the pool. Returns null if it has to be dropped. */
  #take(): Frame | null {
    const ring = this.#ring
    const { drops } = this.#counters
    const tagBytes = (ring.status & TP_STATUS_VLAN_VALID) === 0 ? 0 : TAG_BYTES
    const length = ring.capturedBytes + tagBytes
    if (ring.capturedBytes < ring.frameBytes || length > this.#pool.slotBytes) {
      drops.tooLong++
      return null
    }
    if (ring.capturedBytes < ethernet.BYTES) {
      drops.malformed++
      return null
    }
    const frame = this.#pool.take()
    if (frame === null) {
      drops.poolEmpty++
      return null
    }
    frame.length = length
    frame.wireLength = length
    if (tagBytes === 0) this.#copy(frame, 0, 0, length)
    else this.#copyTagged(frame)
    if ((ring.status & TP_STATUS_CSUMNOTREADY) !== 0) finishChecksum(frame)
    this.#counters.rxFrames++
    this.#counters.rxBytes += length
    return frame
  }

  /** Copies `bytes` of the ring's frame from offset `from` to offset `to` of the slot. */
  #copy(frame: Frame, to: number, from: number, bytes: number): void {
    const ring = this.#ring
    const source = ring.offset + from
    if (bytes > SHORT_COPY_BYTES) {
      this.#libc.memcpy(this.#addressOf(frame) + to, this.#ringAddress + source, bytes)
      return
    }
    const { view } = frame
    let i = 0
    for (; i + 4 <= bytes; i += 4) view.setInt32(to + i, ring.view.getInt32(source + i, true), true)
    for (; i < bytes; i++) view.setUint8(to + i, ring.view.getUint8(source + i))
  }

  /** Copies the frame and inserts the VLAN tag that the kernel removed. */
  #copyTagged(frame: Frame): void {
    const ring = this.#ring
    this.#copy(frame, 0, 0, TAG_AT)
    const isKnown = (ring.status & TP_STATUS_VLAN_TPID_VALID) !== 0
    frame.view.setUint16(TAG_AT, isKnown ? ring.vlanTpid : ethernet.TYPE_VLAN)
    frame.view.setUint16(TAG_AT + 2, ring.vlanTci)
    this.#copy(frame, TAG_AT + TAG_BYTES, TAG_AT, ring.capturedBytes - TAG_AT)
  }

  #addressOf(frame: Frame): Pointer {
    return this.#arenaAddress + frame.slot * this.#pool.slotBytes
  }

  #onSent(): void {
    const frame = this.#leaving.shift()!
    this.#counters.txFrames++
    this.#counters.txBytes += frame.length
    this.#pool.give(frame)
  }

  #onRefused(): void {
    this.#counters.drops.txError++
    this.#pool.give(this.#leaving.shift()!)
  }

  #faultOf(frame: Frame): PortDropReason | null {
    if (this.#closed) return 'closed'
    if (!frame.materialised || frame.length < ethernet.BYTES) return 'malformed'
    return frame.length > this.mtu + ethernet.headerBytes(frame.view, 0) ? 'tooLong' : null
  }
}

/** Completes the L4 checksum that the sender's kernel left to a NIC. A veth has none. */
function finishChecksum(frame: Frame): void {
  parseFrame(frame)
  if (frame.l3 >= 0) writeL4Checksum(frame.view, frame.l3, frame.length)
}
