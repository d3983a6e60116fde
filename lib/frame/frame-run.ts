import { assert } from '../errors.js'
import type { Backing } from './backing.js'
import type { Frame } from './frame.js'
import type { FramePool } from './frame-pool.js'

/** Packets of the longest run: what Linux takes as one datagram (UDP_MAX_SEGMENTS). */
export const RUN_PACKETS_MAX = 64
/** Bytes of the UDP payloads of a run: what one IP packet holds. */
const RUN_BYTES_MAX = 65_535 - 40 - 8
const UDP_HEADER_BYTES = 8
const ICRC_BYTES = 4

/**
 * A run: consecutive packets of one work request that are written together. Its head is written as every packet is. Those behind the
 * head have its headers but for one word, so they are no frames yet. One more slot, the `behind` of the head, holds the headers once
 * and then a record of each packet: what stands between UDP header and payload, and the ICRC. Payloads stay where they are, one behind
 * the other.
 *
 * A port that sends runs whole gets all that with the head (`handOver`). For other ports each packet becomes a frame when its turn has
 * come (`shift`).
 */
export class FrameRun {
  readonly #pool: FramePool
  readonly #gathers: boolean
  /** Headers and records of the run that is being written or handed out. */
  #behind: Frame | null = null
  #next = 0
  #end = 0

  /**
   * @param pool that the frames are taken from
   * @param gathers see Port.gathers
   */
  constructor(pool: FramePool, gathers: boolean) {
    this.#pool = pool
    this.#gathers = gathers
  }

  /** Packets that have not been handed out. */
  get size(): number {
    return this.#end - this.#next
  }

  /** Most packets that can follow that head: their records fit into a slot, and all of them into a datagram. */
  room(head: Frame): number {
    if (this.#pool.available === 0) return 0
    const packetBytes = head.length - head.l4 - UDP_HEADER_BYTES
    const inSlot = Math.floor((head.bytes.length - recordsAt(head)) / recordBytes(head))
    return Math.min(RUN_PACKETS_MAX - 1, inSlot, Math.floor(RUN_BYTES_MAX / packetBytes) - 1)
  }

  /**
   * Begins a run behind that head. The last one must have left.
   *
   * @param packets that follow the head: 1 to `room`
   * @param backing where their payloads lie, as long as the head's, one behind the other from byte `offset` on
   */
  begin(head: Frame, packets: number, backing: Backing, offset: number): void {
    assert(this.#behind === null, 'run: the last one has not left')
    assert(packets > 0 && packets <= this.room(head), 'run: it is too long')
    const behind = this.#pool.take()!
    behind.follow(head)
    behind.outside = backing
    behind.outsideBase = offset
    const from = head.l4 + UDP_HEADER_BYTES
    const { view } = behind
    const step = recordBytes(behind)
    for (let at = from; at < head.payload; at += 4) {
      const word = view.getInt32(at)
      const first = recordsAt(behind) + at - from
      for (let i = 0; i < packets; i++) view.setInt32(first + i * step, word)
    }
    this.#behind = behind
    this.#next = 0
    this.#end = packets
  }

  /** The memory of the records. */
  get view(): DataView {
    return this.#behind!.view
  }

  /** Where the BTH of packet `i` lies in `view`, from 0 behind the head. */
  bthAt(i: number): number {
    return bthOf(this.#behind!, i)
  }

  /** Where its ICRC lies. */
  icrcAt(i: number): number {
    const behind = this.#behind!
    return recordsAt(behind) + (i + 1) * recordBytes(behind) - ICRC_BYTES
  }

  /** The memory of the payloads. */
  get memory(): Backing {
    return this.#behind!.outside!
  }

  /** Where the payload of packet `i` lies in `memory`. */
  payloadAt(i: number): number {
    return payloadAt(this.#behind!, i)
  }

  /** All of the run leaves with its head. */
  handOver(head: Frame): void {
    head.behind = this.#behind
    head.followers = this.#end
    this.#behind = null
    this.#next = this.#end = 0
  }

  /**
   * The next packet as a frame, which the caller owns from now on. Null when all have been handed out, or the pool has none, or their
   * memory is no longer there: then they are lost.
   */
  shift(): Frame | null {
    const behind = this.#behind
    if (behind === null) return null
    if (!behind.outside!.isThere) {
      this.abandon()
      return null
    }
    const frame = followerOf(behind, this.#next, this.#pool)
    if (frame === null) return null
    if (!this.#gathers) frame.bringIn()
    if (++this.#next === this.#end) this.abandon()
    return frame
  }

  /** Gives back what has not been handed out. */
  abandon(): void {
    if (this.#behind !== null) this.#pool.give(this.#behind)
    this.#behind = null
    this.#next = this.#end = 0
  }
}

/** Packet `i` behind a head, from 0, as a frame of its own; its payload lies outside. Null if the pool has none. */
export function followerOf(behind: Frame, i: number, pool: FramePool): Frame | null {
  const frame = pool.take()
  if (frame === null) return null
  frame.follow(behind)
  const from = behind.l4 + UDP_HEADER_BYTES
  const record = recordsAt(behind) + i * recordBytes(behind)
  for (let at = from; at < behind.payload; at += 4)
    frame.view.setInt32(at, behind.view.getInt32(record + at - from))
  const icrc = behind.view.getInt32(record + headerBytes(behind))
  frame.view.setInt32(frame.payload + frame.payloadLength, icrc)
  frame.outside = behind.outside
  frame.outsideBase = payloadAt(behind, i) - frame.payload
  return frame
}

/** Where the payload of packet `i` lies in the memory `behind.outside`. */
export function payloadAt(behind: Frame, i: number): number {
  return behind.outsideBase + i * behind.payloadLength
}

/** Where the BTH of packet `i` lies in the memory of `behind`. */
export function bthOf(behind: Frame, i: number): number {
  return recordsAt(behind) + i * recordBytes(behind) + behind.bth - behind.l4 - UDP_HEADER_BYTES
}

export function payloadOf(behind: Frame, i: number): Uint8Array {
  return behind.outside!.view(payloadAt(behind, i), behind.payloadLength)
}

/** Where the records begin in the slot: behind the headers. */
export function recordsAt(behind: Frame): number {
  return (behind.payload + 3) & ~3
}

/** Bytes of a record, of which the last four are the ICRC. */
export function recordBytes(behind: Frame): number {
  return headerBytes(behind) + ICRC_BYTES
}

/** Bytes between the UDP header and the payload. */
export function headerBytes(behind: Frame): number {
  return behind.payload - behind.l4 - UDP_HEADER_BYTES
}
