import type { Backing } from '../../frame/backing.js'
import type { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import {
  bthOf,
  headerBytes,
  payloadAt,
  payloadOf,
  RUN_PACKETS_MAX,
  recordBytes,
  recordsAt,
} from '../../frame/frame-run.js'
import * as bth from '../../wire/ib/bth.js'
import * as ipv4 from '../../wire/net/ipv4.js'
import * as ipv6 from '../../wire/net/ipv6.js'
import * as udp from '../../wire/net/udp.js'
import type { PortCounters } from '../port.js'
import { type Libc, loadLibc, type Pointer } from './libc.js'
import { MessageBatch, writeControl } from './message-batch.js'
import {
  AF_INET,
  AF_INET6,
  IP_TOS,
  IPV6_TCLASS,
  SOCKADDR_IN_BYTES,
  SOCKADDR_IN6_BYTES,
  SOL_IP,
  SOL_IPV6,
  SOL_UDP,
  UDP_SEGMENT,
} from './udp-socket.js'

/** Datagrams of one sendmmsg. Each is one packet or a run of packets. */
const MESSAGES = 64
/** Frames that may be kept back to leave together, each with the packets behind it. */
const FRAMES = 256
/** Pieces of a frame whose payload lies outside its slot: headers; payload; pad and ICRC. */
const PIECES_PER_FRAME = 3
/** The most pieces of a frame with others behind it: two for each of them, and one. */
const PIECES_PER_RUN = PIECES_PER_FRAME + 2 * RUN_PACKETS_MAX
const PIECES = PIECES_PER_FRAME * FRAMES + PIECES_PER_RUN
/** The longest run that the kernel accepts: UDP_MAX_SEGMENTS packets, and the length of one IP packet. */
const SEGMENTS_MAX = 64
const RUN_BYTES_MAX = 65_535 - 40 - 8

/** No queue pair of a connection has it (IBA 3.5.3). */
const NO_QPN = 0
/** As many as the longest payload has. */
const ZEROS = new Uint8Array(65_536)

const EAGAIN = 11
const ENOBUFS = 105
const EIO = 5
const EINVAL = 22

export interface BatchSenderOptions {
  pool: FramePool
  counters: PortCounters
  fd: number
  family: 4 | 6
  /** Actual UDP destination ports of packets for 4791 and 4792 whose frames name no port. */
  rocePort: number
  intPort: number
}

/**
 * Sends pooled frames by sendmmsg directly from their slots, and payloads from the memory that they are in.
 * If the socket is full, it copies payloads into the slots, so that nothing refers to an application's memory
 * after `flush`. Packets whose payloads an application has transferred since `add` are lost.
 *
 * Consecutive packets of equal size to the same destination leave as one run (UDP_SEGMENT), which the kernel
 * or the network card splits. This saves most of the kernel's work. The splitting numbers the packets 0, 1,
 * 2… in the IP identification, which the ICRC covers. Weir hosts treat that field as zero, but others do not.
 * So only packets with a shim are joined, because only a Weir host understands those. Frames that must leave
 * alone are never joined.
 */
export class BatchSender {
  readonly #libc: Libc = loadLibc()
  readonly #pool: FramePool
  readonly #counters: PortCounters
  readonly #fd: number
  readonly #family: 4 | 6
  readonly #rocePort: number
  readonly #intPort: number
  /** The memory of the pool. */
  readonly #arena: Float64Array
  readonly #zeros: Float64Array
  readonly #batch = new MessageBatch(this.#libc, MESSAGES, PIECES)
  readonly #frames: (Frame | null)[] = new Array(FRAMES).fill(null)
  #frameCount = 0
  #messageCount = 0
  #pieceCount = 0
  /** Index of each frame's first piece. */
  readonly #pieceOf = new Int32Array(FRAMES)
  /** Number of frames up to the end of each message. */
  readonly #endOf = new Int32Array(MESSAGES)
  /** The first of the messages that did not fit a full socket buffer. */
  #firstUnsent = 0
  // The datagram that the next frame may join: what the kernel splits again.
  #runBytes = 0
  #runSegmentBytes = 0
  #runSegments = 0
  #runTos = 0
  #runHead: Frame | null = null
  /** Longest run, packets. 1 where the kernel cannot split runs. */
  #segmentsMax = SEGMENTS_MAX

  constructor(options: BatchSenderOptions) {
    this.#pool = options.pool
    this.#counters = options.counters
    this.#fd = options.fd
    this.#family = options.family
    this.#rocePort = options.rocePort
    this.#intPort = options.intPort
    this.#arena = Float64Array.of(this.#libc.address(options.pool.arena))
    this.#zeros = Float64Array.of(this.#libc.address(ZEROS))
  }

  /** True after `flush` could not send everything, until it can. */
  get blocked(): boolean {
    return this.#firstUnsent < this.#messageCount && this.#firstUnsent > 0
  }

  /** False: the kernel cannot split runs, so no frame may have others behind it. */
  get joins(): boolean {
    return this.#segmentsMax > 1
  }

  /** No frame is kept. */
  get isEmpty(): boolean {
    return this.#messageCount === 0
  }

  /** True if another frame can be added before the next `flush`. */
  get hasRoom(): boolean {
    return (
      this.#frameCount < FRAMES &&
      this.#messageCount < MESSAGES &&
      this.#pieceCount + PIECES_PER_RUN <= PIECES
    )
  }

  /** Keeps a frame whose UDP header is at `l4` for the next `flush`, and owns it, with what is behind it. There must be room. */
  add(frame: Frame): void {
    const at = frame.l4 + udp.BYTES
    const bytes = frame.length - at
    const packets = 1 + frame.followers
    if (!this.#hasRoom(bytes, packets) || !this.#joins(frame)) this.#begin(frame, bytes)
    const message = this.#messageCount - 1
    const index = this.#frameCount++
    this.#pieceOf[index] = this.#pieceCount
    if (frame.outside === null) this.#addPiece(this.#arena, this.#slot(frame) + at, bytes)
    else this.#addPieces(frame, frame.outside, at)
    if (frame.behind !== null) this.#addFollowers(frame.behind, frame.followers)
    this.#frames[index] = frame
    this.#endOf[message] = this.#frameCount
    this.#runSegments += packets
    this.#runBytes += packets * bytes
    // A shorter packet ends its run.
    if (bytes < this.#runSegmentBytes) this.#runHead = null
  }

  /** Sends the added frames. Returns false if the socket is full. Call it again later then. */
  flush(): boolean {
    if (this.#messageCount === 0) return true
    this.#endRun()
    this.#leaveOut()
    while (this.#firstUnsent < this.#messageCount) {
      const left = this.#messageCount - this.#firstUnsent
      const header = this.#batch.header(this.#firstUnsent)
      const sent = left === 1 ? this.#sendOne(header) : this.#libc.sendmmsg(this.#fd, header, left, 0)
      if (sent > 0) {
        this.#giveBack(this.#firstUnsent + sent, true)
        continue
      }
      const errno = this.#libc.errno()
      if (errno === EAGAIN || errno === ENOBUFS) {
        this.#bringIn()
        return false
      }
      // The device cannot split runs, or the kernel is old. From now on packets leave one by one.
      if (errno === EIO || errno === EINVAL) this.#segmentsMax = 1
      this.#giveBack(this.#firstUnsent + 1, false)
    }
    this.#clear()
    return true
  }

  /** Messages sent: 1, or -1. */
  #sendOne(header: Pointer): number {
    return this.#libc.sendmsg(this.#fd, header, 0) < 0 ? -1 : 1
  }

  /** Returns unsent frames to the pool. */
  close(): void {
    for (let i = this.#firstFrame; i < this.#frameCount; i++) {
      this.#counters.drops.closed += 1 + this.#frames[i]!.followers
      this.#pool.give(this.#frames[i]!)
    }
    this.#clear()
    this.#runHead = null
  }

  #clear(): void {
    this.#messageCount = this.#frameCount = this.#pieceCount = this.#firstUnsent = 0
  }

  /** Offset of the frame's slot in the arena. */
  #slot(frame: Frame): number {
    return frame.slot * this.#pool.slotBytes
  }

  #addPiece(base: Float64Array, offset: number, bytes: number): void {
    this.#batch.setPiece(this.#pieceCount++, base, offset, bytes)
  }

  /**
   * Adds three pieces: the bytes in the slot before the payload, the payload, and the bytes in the slot after
   * it.
   */
  #addPieces(frame: Frame, outside: Backing, at: number): void {
    const { payload, payloadLength } = frame
    const slot = this.#slot(frame)
    const end = payload + payloadLength
    outside.locate(this.#libc.address)
    this.#addPiece(this.#arena, slot + at, payload - at)
    this.#addPiece(outside.pointer, frame.outsideBase + payload, payloadLength)
    this.#addPiece(this.#arena, slot + end, frame.length - end)
  }

  /** Adds the payloads of the packets behind a frame. Between two of them lie the ICRC of one and the headers of the next. */
  #addFollowers(behind: Frame, count: number): void {
    const { payloadLength } = behind
    const outside = behind.outside!
    outside.locate(this.#libc.address)
    const records = this.#slot(behind) + recordsAt(behind)
    const step = recordBytes(behind)
    const headers = headerBytes(behind)
    this.#addPiece(this.#arena, records, headers)
    for (let i = 0; i < count; i++) {
      this.#addPiece(outside.pointer, payloadAt(behind, i), payloadLength)
      const isLast = i === count - 1
      this.#addPiece(this.#arena, records + i * step + headers, isLast ? step - headers : step)
    }
  }

  /** An application may have transferred the memory of payloads since `add`: the kernel must not look at its address. */
  #leaveOut(): void {
    for (let i = this.#firstFrame; i < this.#frameCount; i++) {
      const frame = this.#frames[i]!
      const { outside, behind } = frame
      // All payloads of a run are of one piece of memory.
      const memory = outside ?? behind?.outside ?? null
      if (memory === null || memory.isThere) continue
      this.#counters.drops.payloadGone += 1 + frame.followers
      const piece = this.#pieceOf[i]!
      if (outside !== null) {
        frame.outside = null
        this.#sendToNobody(frame, frame.bth, piece + 1)
      }
      if (behind === null) continue
      behind.outside = null
      const first = piece + (outside === null ? 1 : PIECES_PER_FRAME)
      for (let n = 0; n < frame.followers; n++)
        this.#sendToNobody(behind, bthOf(behind, n), first + 1 + 2 * n)
    }
  }

  /**
   * A packet without its payload goes to no queue pair, with zeros: the receiver drops it, also where it checks no ICRC.
   * @param bthAt in the memory of that frame
   */
  #sendToNobody({ view, payloadLength }: Frame, bthAt: number, piece: number): void {
    bth.setDestQpn(view, bthAt, NO_QPN)
    this.#batch.setPiece(piece, this.#zeros, 0, payloadLength)
  }

  /** Copies the payloads of waiting frames into slots. */
  #bringIn(): void {
    for (let i = this.#firstFrame; i < this.#frameCount; i++) {
      const frame = this.#frames[i]!
      const piece = this.#pieceOf[i]!
      const isOutside = frame.outside !== null
      if (isOutside) {
        frame.bringIn()
        this.#batch.setPiece(piece + 1, this.#arena, this.#slot(frame) + frame.payload, frame.payloadLength)
      }
      if (frame.behind !== null)
        this.#bringInFollowers(frame, frame.behind, piece + (isOutside ? PIECES_PER_FRAME : 1))
    }
  }

  /** Each payload gets a slot of its own, as long as the pool has any. */
  #bringInFollowers(head: Frame, behind: Frame, piece: number): void {
    if (behind.outside === null) return
    for (let i = 0; i < head.followers; i++) {
      const copy = this.#pool.take()
      const at = piece + 1 + 2 * i
      if (copy === null) {
        this.#counters.drops.poolEmpty++
        this.#sendToNobody(behind, bthOf(behind, i), at)
        continue
      }
      copy.bytes.set(payloadOf(behind, i))
      copy.behind = behind.behind
      behind.behind = copy
      this.#batch.setPiece(at, this.#arena, this.#slot(copy), behind.payloadLength)
    }
    behind.outside = null
  }

  /** The first frame that has not been sent. */
  get #firstFrame(): number {
    return this.#firstUnsent === 0 ? 0 : this.#endOf[this.#firstUnsent - 1]!
  }

  /** True if the last datagram takes so many more packets of so many bytes each. Only the last one of a datagram may be shorter. */
  #hasRoom(bytes: number, packets: number): boolean {
    return (
      this.#runHead !== null &&
      (packets === 1 ? bytes <= this.#runSegmentBytes : bytes === this.#runSegmentBytes) &&
      this.#runSegments + packets <= this.#segmentsMax &&
      this.#runBytes + packets * bytes <= RUN_BYTES_MAX
    )
  }

  /** True if it is for the same destination in the same class. */
  #joins(frame: Frame): boolean {
    const head = this.#runHead!
    return (
      !frame.alone &&
      this.#tosOf(frame) === this.#runTos &&
      frame.udpPort === head.udpPort &&
      udp.destinationPort(frame.view, frame.l4) === udp.PORT_INT &&
      sameDestination(head, frame, this.#family)
    )
  }

  #tosOf({ view, l3 }: Frame): number {
    return this.#family === 4 ? ipv4.tos(view, l3) : ipv6.trafficClass(view, l3)
  }

  #begin(frame: Frame, bytes: number): void {
    this.#endRun()
    const message = this.#messageCount++
    const { view } = this.#batch
    const name = this.#batch.nameAt(message)
    const toInt = udp.destinationPort(frame.view, frame.l4) === udp.PORT_INT
    view.setUint16(name + 2, this.#portOf(frame, toInt))
    if (this.#family === 4) {
      view.setUint16(name, AF_INET, true)
      view.setUint32(name + 4, ipv4.destination(frame.view, frame.l3))
    } else {
      view.setUint16(name, AF_INET6, true)
      for (let word = 0; word < 4; word++) {
        view.setUint32(name + 8 + 4 * word, ipv6.destinationWord(frame.view, frame.l3, word))
      }
    }
    this.#runHead = toInt && !frame.alone && this.#segmentsMax > 1 ? frame : null
    this.#runSegmentBytes = bytes
    this.#runTos = this.#tosOf(frame)
    this.#runSegments = 0
    this.#runBytes = 0
  }

  #portOf({ udpPort }: Frame, toInt: boolean): number {
    if (udpPort === 0) return toInt ? this.#intPort : this.#rocePort
    return toInt ? udpPort + 1 : udpPort
  }

  /** Completes the header of the last message. No further frame joins it. */
  #endRun(): void {
    const message = this.#messageCount - 1
    if (message < this.#firstUnsent) return
    const { view } = this.#batch
    const first = message === 0 ? 0 : this.#endOf[message - 1]!
    const control = this.#batch.controlAt(message)
    let end = control
    if (this.#runTos !== 0) {
      end =
        this.#family === 4
          ? writeControl(view, end, SOL_IP, IP_TOS, this.#runTos, 4)
          : writeControl(view, end, SOL_IPV6, IPV6_TCLASS, this.#runTos, 4)
    }
    if (this.#runSegments > 1) end = writeControl(view, end, SOL_UDP, UDP_SEGMENT, this.#runSegmentBytes, 2)
    const name = this.#family === 4 ? SOCKADDR_IN_BYTES : SOCKADDR_IN6_BYTES
    this.#batch.setLengths(message, name, end - control)
    const piece = this.#pieceOf[first]!
    this.#batch.setPieces(message, piece, this.#pieceCount - piece)
    this.#runHead = null
  }

  /** Returns the frames of messages before `end`, which the kernel has processed, to the pool. */
  #giveBack(end: number, sent: boolean): void {
    const counters = this.#counters
    const from = this.#firstFrame
    const to = this.#endOf[end - 1]!
    for (let i = from; i < to; i++) {
      const frame = this.#frames[i]!
      const packets = 1 + frame.followers
      if (sent) {
        counters.txFrames += packets
        counters.txBytes += packets * frame.length
      } else {
        counters.drops.txError += packets
      }
      this.#frames[i] = null
      this.#pool.give(frame)
    }
    this.#firstUnsent = end
  }
}

function sameDestination(a: Frame, b: Frame, family: 4 | 6): boolean {
  if (family === 4) return ipv4.destination(a.view, a.l3) === ipv4.destination(b.view, b.l3)
  for (let word = 0; word < 4; word++) {
    if (ipv6.destinationWord(a.view, a.l3, word) !== ipv6.destinationWord(b.view, b.l3, word)) return false
  }
  return true
}
