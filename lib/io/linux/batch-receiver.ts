import { UNKNOWN_ARRIVAL } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import type { Nanos } from '../../time/nanos.js'
import { ArrivalClock } from './arrival-clock.js'
import { KernelQueue } from './kernel-queue.js'
import { type Libc, loadLibc } from './libc.js'
import { CMSG_HEADER_BYTES, CONTROL_BYTES, MessageBatch, NAME_BYTES } from './message-batch.js'
import {
  IP_TOS,
  IPV6_TCLASS,
  SO_RXQ_OVFL,
  SO_TIMESTAMPNS,
  SOL_IP,
  SOL_IPV6,
  SOL_SOCKET,
  SOL_UDP,
  UDP_GRO,
  type UdpSocket,
} from './udp-socket.js'

/** Datagrams of one recvmmsg. They are few, so that they are still in the cache when they are copied. */
const MESSAGES = 8
/** The longest run that the kernel joins, bytes. */
const BUFFER_BYTES = 65_536
/** Room before each of them for the headers of a frame, so that a datagram can become one where it is. */
export const HEADROOM_BYTES = 64
export const PLACE_BYTES = HEADROOM_BYTES + BUFFER_BYTES
export const RECEIVER_ROOM_BYTES = MESSAGES * PLACE_BYTES
/** Places that a message can have in the room. */
export const PLACES = MESSAGES

const MSG_DONTWAIT = 0x40

/**
 * Reads datagrams by recvmmsg into buffers after the pool's slots, and returns them one by one. It splits
 * runs that the kernel has joined (UDP_GRO).
 */
export class BatchReceiver {
  /** The datagram that `next` found: its offset in the pool's arena, and its length. */
  at = 0
  bytes = 0
  /**
   * Its sender's port, its traffic class, and the offset of its sender's address in `view`: 4 or 16 bytes.
   */
  sourcePort = 0
  tos = 0
  sourceAt = 0
  /** When the kernel received it, or its run: see ArrivalClock. */
  arrivedNs: Nanos = UNKNOWN_ARRIVAL
  /** Datagrams that were lost because the socket's queue was full, as the kernel counts them, modulo 2^32. */
  overflows = 0
  readonly view: DataView
  readonly #libc: Libc = loadLibc()
  readonly #batch = new MessageBatch(this.#libc, MESSAGES, MESSAGES)
  readonly #socket: UdpSocket
  readonly #arrivals = new ArrivalClock()
  readonly #roomAt: number
  #count = 0
  #message = 0
  /** Where the current message's next segment begins, where the message ends, and the length of a segment. */
  #segmentAt = 0
  #endAt = 0
  #segmentBytes = 0
  #drained = false
  /** The last look. */
  #foundNothing = false
  readonly #queue: KernelQueue
  /** True if the last call of `next` found nothing. */
  #empty = true

  /**
   * @param room offset of RECEIVER_ROOM_BYTES in the pool's arena, which several receivers may share in turn
   */
  constructor(pool: FramePool, socket: UdpSocket, room: number) {
    this.#socket = socket
    this.#queue = new KernelQueue(socket.receiveBufferBytes)
    this.#roomAt = room
    this.view = this.#batch.view
    const arena = Float64Array.of(this.#libc.address(pool.arena))
    for (let i = 0; i < MESSAGES; i++) {
      this.#batch.setPiece(i, arena, room + i * PLACE_BYTES + HEADROOM_BYTES, BUFFER_BYTES)
      this.#batch.setPieces(i, i, 1)
    }
  }

  get family(): 4 | 6 {
    return this.#socket.family
  }

  /** True while datagrams that have been read are still to be returned, so that the room is in use. */
  get busy(): boolean {
    return this.#segmentAt < this.#endAt || this.#message < this.#count
  }

  /** The last read has found as many as it asked for, and all of them have been returned: more may have come. */
  get isToReadOn(): boolean {
    return !this.busy && !this.#drained && !this.#empty
  }

  /**
   * Payload bytes that wait: those that were read but not returned, and those in the kernel. It makes a
   * system call if the last `next` found something.
   */
  waitingBytes(): number {
    if (this.#empty) return 0
    let bytes = this.#endAt - this.#segmentAt
    for (let message = this.#message; message < this.#count; message++) bytes += this.#batch.moved(message)
    return bytes + this.#queue.sample(this.#socket.receiveMemoryBytes())
  }

  /**
   * Reads what has arrived, if nothing is left to be returned. True if there is something. Where looks find nothing in between, datagrams
   * come one by one: then it reads one, and what comes behind it is for the next look.
   */
  look(): boolean {
    if (this.busy) return true
    const found = this.#foundNothing && !this.#drained ? this.#readOne() : this.#read()
    this.#foundNothing = !found
    return found
  }

  /**
   * Finds the next datagram, and reads more when none is left. Returns false if there is none. The call after
   * that reads again.
   */
  next(): boolean {
    if (this.#segmentAt >= this.#endAt && !this.#nextMessage()) return false
    this.at = this.#segmentAt
    this.bytes = Math.min(this.#segmentBytes, this.#endAt - this.#segmentAt)
    this.#segmentAt += this.bytes
    return true
  }

  /**
   * The place in the room of the datagram that `next` found, 0 to before PLACES, or -1: it is part of a run. Those that came alone have
   * HEADROOM_BYTES before them.
   */
  get place(): number {
    const message = this.#message - 1
    return this.bytes === this.#batch.moved(message) ? message : -1
  }

  /** Datagrams of the same length, sender and class that lie right behind the one that `next` found. */
  get following(): number {
    return Math.floor((this.#endAt - this.#segmentAt) / this.#segmentBytes)
  }

  /** `next` is not to return the next `count` datagrams, at most `following`. */
  skip(count: number): void {
    this.#segmentAt += count * this.#segmentBytes
  }

  #nextMessage(): boolean {
    for (;;) {
      if (this.#message === this.#count && !this.#read()) return this.#isEmpty()
      const message = this.#message++
      const length = this.#batch.moved(message)
      this.#segmentAt = this.#roomAt + message * PLACE_BYTES + HEADROOM_BYTES
      this.#endAt = this.#segmentAt + length
      if (length === 0) continue
      const name = this.#batch.nameAt(message)
      this.sourcePort = this.view.getUint16(name + 2)
      this.sourceAt = name + (this.#socket.family === 4 ? 4 : 8)
      this.tos = 0
      this.arrivedNs = UNKNOWN_ARRIVAL
      this.#segmentBytes = length
      this.#readControl(this.#batch.controlAt(message), this.#batch.controlLength(message))
      return true
    }
  }

  #isEmpty(): false {
    this.#empty = true
    this.#queue.onEmpty()
    return false
  }

  #read(): boolean {
    this.#message = this.#count = 0
    // The last read returned fewer datagrams than it asked for, so the queue was empty. The caller learns
    // this once.
    if (this.#drained) {
      this.#drained = false
      return false
    }
    for (let i = 0; i < MESSAGES; i++) this.#batch.setLengths(i, NAME_BYTES, CONTROL_BYTES)
    const count = this.#libc.recvmmsg(this.#socket.fd, this.#batch.headers, MESSAGES, MSG_DONTWAIT, 0)
    if (count <= 0) return false
    this.#took(count)
    this.#drained = count < MESSAGES
    return true
  }

  #readOne(): boolean {
    this.#message = this.#count = 0
    this.#batch.setLengths(0, NAME_BYTES, CONTROL_BYTES)
    const bytes = this.#libc.recvmsg(this.#socket.fd, this.#batch.headers, MSG_DONTWAIT)
    if (bytes < 0) return false
    this.#batch.setMoved(0, bytes)
    this.#took(1)
    this.#drained = true
    return true
  }

  /** So many messages have been read. */
  #took(count: number): void {
    this.#count = count
    this.#empty = false
    // The lengths are nearly always those of the last call, and only the queue's measurement depends on them.
    for (let i = 0; i < count; i++)
      this.#queue.onRead(this.#batch.moved(i), this.#segmentBytes || BUFFER_BYTES)
  }

  #readControl(at: number, bytes: number): void {
    const { view } = this
    const end = at + bytes
    while (at + CMSG_HEADER_BYTES <= end) {
      const length = view.getUint32(at, true)
      if (length < CMSG_HEADER_BYTES) return
      const level = view.getInt32(at + 8, true)
      const type = view.getInt32(at + 12, true)
      const value = at + CMSG_HEADER_BYTES
      if (level === SOL_UDP && type === UDP_GRO) this.#segmentBytes = Math.max(1, view.getInt32(value, true))
      else if (level === SOL_IP && type === IP_TOS) this.tos = view.getUint8(value)
      else if (level === SOL_IPV6 && type === IPV6_TCLASS) this.tos = view.getUint8(value)
      else if (level === SOL_SOCKET && type === SO_TIMESTAMPNS)
        this.arrivedNs = this.#arrivals.arrivedNs(
          view.getUint32(value, true),
          view.getUint32(value + 8, true),
        )
      else if (level === SOL_SOCKET && type === SO_RXQ_OVFL) this.overflows = view.getUint32(value, true)
      at += (length + 7) & ~7
    }
  }
}
