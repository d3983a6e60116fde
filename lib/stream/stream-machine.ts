/**
 * One end of a stream on a reliable connection. It does no input or output and knows no time: it gets completions, and posts work.
 *
 * Each segment is a SEND into a receive that the peer has granted, so there is always a receive for it, and what may be on the way is bounded
 * by memory that exists. The receiver grants a receive again when its reader has taken the segment: that is the back-pressure. Messages
 * without data (grants, the answer to END) have receives of their own, `CONTROL_RECEIVES`, so that neither direction waits for the reader of
 * the other one.
 */
import { assert, WeirError } from '../errors.js'
import type { MemoryRegion } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from '../qp/queues/work.js'
import { WorkStatus } from '../qp/queues/work-status.js'
import { checkFlags, Flag, flagsOf, GRANTS, grantedOf, immediateOf, type StreamWords } from './words.js'

/**
 * Messages without data that a peer may have on the way. A grant follows when half of the receives are free again, and all that can become
 * free had been granted before by messages that this end has handled: so two and a rounded half of grants, and one answer to END.
 */
export const CONTROL_RECEIVES = 4

const Id = { DATA: 0, GRANT: 1, END: 2, END_ARRIVED: 3 } as const

/** The queue pair of a stream. Both return false once it has ended. */
interface StreamLink {
  postSend(work: SendWork): boolean
  postReceive(work: ReceiveWork): boolean
}

/** Memory of a stream. */
export interface StreamShape {
  segmentBytes: number
  /** Receives for data. */
  receives: number
  /** Segments that may be on the way to the peer, or wait for it. */
  sends: number
}

interface Segment {
  bytes: Uint8Array
  endsMessage: boolean
}

interface Arrived {
  slot: number
  length: number
  flags: number
}

export function memoryBytesOf({ segmentBytes, receives, sends }: StreamShape): number {
  return segmentBytes * (receives + CONTROL_RECEIVES + sends)
}

/** All receives of an end, in `region`. The active end posts them before it connects. */
export function receivesOf({ segmentBytes, receives }: StreamShape, region: MemoryRegion): ReceiveWork[] {
  return Array.from({ length: receives + CONTROL_RECEIVES }, (_, slot) =>
    receiveOf(slot, segmentBytes, region),
  )
}

function receiveOf(slot: number, segmentBytes: number, region: MemoryRegion): ReceiveWork {
  return { id: slot, region, offset: slot * segmentBytes, length: segmentBytes }
}

export class StreamMachine {
  readonly #shape: StreamShape
  readonly #link: StreamLink
  readonly #region: MemoryRegion
  /** Longest segment that the peer takes; 0 before it has said so. */
  #segmentBytes = 0
  #peerReceives = 0

  /** Receives that the peer has granted, and segments sent, since the beginning, modulo GRANTS. */
  #peerGranted = 0
  #sent = 0
  /** Segments whose SEND has not completed. */
  #inFlight = 0
  /** The send slot that is being filled, and its bytes. It goes out when it is flushed, or when more follows. */
  #slot = 0
  #filled = 0

  /** Receives granted by this end, how many of them the peer knows of, and segments that came, modulo GRANTS. */
  #granted: number
  #told = 0
  #received = 0
  readonly #arrived: Arrived[] = []

  #endSent = false
  #endReceived = false
  /** The answer to the peer's END has arrived there. */
  #answerDelivered = false
  #endConfirmed = false

  /** @param region of at least `memoryBytesOf(shape)` */
  constructor(shape: StreamShape, link: StreamLink, region: MemoryRegion) {
    assert(region.length >= memoryBytesOf(shape), 'stream: its memory is too short')
    this.#shape = shape
    this.#link = link
    this.#region = region
    this.#granted = shape.receives
  }

  // ---- Getters

  /** END has been sent and everything before it has arrived at the peer. */
  get endConfirmed(): boolean {
    return this.#endConfirmed
  }

  /** Nothing more will come, and all that came has been read. */
  get readEnded(): boolean {
    return this.#endReceived && this.#arrived.length === 0
  }

  get hasArrived(): boolean {
    return this.#arrived.length > 0
  }

  /** Both directions have ended, and the peer knows that too: the connection may be closed. */
  get finished(): boolean {
    return this.#endConfirmed && this.#answerDelivered
  }

  /** Both directions have ended as far as this end is concerned: a connection that closes now has lost nothing. */
  get complete(): boolean {
    return this.#endConfirmed && this.#endReceived
  }

  // ---- Commands

  /**
   * The receives of this end (`receivesOf`) are posted, and the peer has said what it takes. The passive end grants at once. The active end waits for that: it
   * knows then that the peer has receives.
   */
  start(peer: StreamWords, isPassive: boolean): void {
    this.#segmentBytes = Math.min(peer.segmentBytes, this.#shape.segmentBytes)
    this.#peerReceives = peer.receives
    if (!isPassive) return
    this.#peerGranted = peer.receives
    this.#grant()
  }

  /** Takes bytes from `from` on, as far as there is room. Returns the offset of the first one that was not taken. */
  write(bytes: Uint8Array, from: number): number {
    assert(!this.#endSent, 'stream: data after the end')
    let at = from
    while (at < bytes.length) {
      if (this.#filled > 0 && this.#filled === this.#segmentBytes) this.#send(0)
      if (!this.#hasRoom()) break
      const length = Math.min(bytes.length - at, this.#segmentBytes - this.#filled)
      this.#region.bytes!.set(bytes.subarray(at, at + length), this.#offsetOfSend(this.#slot) + this.#filled)
      this.#filled += length
      at += length
    }
    return at
  }

  /** Sends what has been written. */
  flush(): void {
    if (this.#filled > 0) this.#send(0)
  }

  /** Ends a message. Returns false if it is empty and there is no room for that. */
  endMessage(): boolean {
    if (this.#filled === 0 && !this.#hasRoom()) return false
    this.#send(Flag.MESSAGE_END)
    return true
  }

  /** Ends this direction. Returns false while the peer has granted no receive for that. */
  end(): boolean {
    if (this.#endSent) return true
    this.flush()
    if (this.#credits === 0) return false
    this.#endSent = true
    this.#sent = (this.#sent + 1) % GRANTS
    this.#post(Id.END, Flag.DATA | Flag.END, 0, 0)
    return true
  }

  /** Takes the oldest segment, copied, and grants its receive again. Null: there is none. */
  read(): Segment | null {
    const arrived = this.#arrived.shift()
    if (arrived === undefined) return null
    const { slot, length, flags } = arrived
    const offset = slot * this.#shape.segmentBytes
    const bytes = Uint8Array.prototype.slice.call(this.#region.bytes!, offset, offset + length)
    this.#postReceive(slot)
    this.#granted = (this.#granted + 1) % GRANTS
    if (!this.#endReceived && 2 * this.#untold >= this.#shape.receives) this.#grant()
    return { bytes, endsMessage: (flags & Flag.MESSAGE_END) !== 0 }
  }

  // ---- Events

  /** Throws WEIR_PROTOCOL when the peer does not keep to the format: the connection is to be ended then. */
  onCompletion(completion: Completion): void {
    // The end of the connection says why work failed.
    if (completion.status !== WorkStatus.SUCCESS) return
    if (completion.isReceive) this.#onReceived(completion)
    else if (completion.id === Id.DATA) this.#inFlight--
    else if (completion.id === Id.END_ARRIVED) this.#answerDelivered = true
  }

  #onReceived({ id: slot, hasImmediate, immediate, byteLength: length }: Completion): void {
    const flags = flagsOf(immediate)
    if (!hasImmediate) throw new WeirError('WEIR_PROTOCOL', 'stream: a message has no immediate')
    checkFlags(flags)
    this.#onGrant(grantedOf(immediate))
    if ((flags & Flag.DATA) !== 0) this.#onData({ slot, length, flags })
    else {
      if ((flags & Flag.END_ARRIVED) !== 0) this.#onEndConfirmed()
      this.#postReceive(slot)
    }
  }

  #onGrant(granted: number): void {
    this.#peerGranted = granted
    if (this.#credits <= this.#peerReceives) return
    throw new WeirError('WEIR_PROTOCOL', 'stream: the peer grants more receives than it has')
  }

  #onData(arrived: Arrived): void {
    if (this.#endReceived) throw new WeirError('WEIR_PROTOCOL', 'stream: data after the end')
    if (this.#received === this.#granted)
      throw new WeirError('WEIR_PROTOCOL', 'stream: the peer sends more than it was granted')
    this.#received = (this.#received + 1) % GRANTS
    if ((arrived.flags & Flag.END) === 0) {
      this.#arrived.push(arrived)
      return
    }
    this.#endReceived = true
    this.#post(Id.END_ARRIVED, Flag.END_ARRIVED, 0, 0)
  }

  #onEndConfirmed(): void {
    if (!this.#endSent)
      throw new WeirError('WEIR_PROTOCOL', 'stream: the peer confirms an end that was not sent')
    this.#endConfirmed = true
  }

  // ---- Work

  get #credits(): number {
    return (this.#peerGranted - this.#sent + GRANTS) % GRANTS
  }

  /** Receives that the peer may use again and does not know of. */
  get #untold(): number {
    return (this.#granted - this.#told + GRANTS) % GRANTS
  }

  /** A slot is being filled, or there is one, and a receive for it. */
  #hasRoom(): boolean {
    return this.#filled > 0 || (this.#inFlight < this.#shape.sends && this.#credits > 0)
  }

  #send(flags: number): void {
    const offset = this.#offsetOfSend(this.#slot)
    this.#sent = (this.#sent + 1) % GRANTS
    this.#inFlight++
    this.#slot = (this.#slot + 1) % this.#shape.sends
    const length = this.#filled
    this.#filled = 0
    this.#post(Id.DATA, Flag.DATA | flags, offset, length)
  }

  #grant(): void {
    this.#post(Id.GRANT, 0, 0, 0)
  }

  #offsetOfSend(slot: number): number {
    const { receives, segmentBytes } = this.#shape
    return (receives + CONTROL_RECEIVES + slot) * segmentBytes
  }

  #post(id: number, flags: number, offset: number, length: number): void {
    this.#told = this.#granted
    const immediate = immediateOf(flags, this.#granted)
    // False only after the end of the connection, which is reported by itself.
    this.#link.postSend({
      id,
      opcode: WorkOpcode.SEND_WITH_IMM,
      region: this.#region,
      offset,
      length,
      immediate,
    })
  }

  #postReceive(slot: number): void {
    this.#link.postReceive(receiveOf(slot, this.#shape.segmentBytes, this.#region))
  }
}
