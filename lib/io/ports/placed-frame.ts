import { Frame } from '../../frame/frame.js'
import type { FramePool } from '../../frame/frame-pool.js'
import { type BatchReceiver, HEADROOM_BYTES, PLACE_BYTES } from '../linux/batch-receiver.js'

/** It is of no pool. */
const NO_SLOT = -1

/**
 * A frame over a place of the receivers' room: the datagram lies where the kernel has put it, with headers before it. Most datagrams of an
 * exchange of single messages come from the same sender and have the same length, so the headers of the last one are right.
 */
export class PlacedFrame {
  readonly frame: Frame
  // The datagram whose headers lie there. An IPv6 address is not kept: those headers are written each time.
  #source = -1
  #ports = 0
  #bytes = 0
  #tos = 0

  /**
   * @param room offset of the room in the pool's memory
   * @param headerBytes before the datagram, at most HEADROOM_BYTES
   * @param bytesMax of a datagram
   */
  constructor(
    { arena, memory }: FramePool,
    room: number,
    place: number,
    headerBytes: number,
    bytesMax: number,
  ) {
    const at = arena.byteOffset + room + place * PLACE_BYTES + HEADROOM_BYTES - headerBytes
    this.frame = new Frame(NO_SLOT, Buffer.from(arena.buffer, at, headerBytes + bytesMax), memory)
  }

  /** True if the headers of the datagram that the receiver has found there are written. If not, the caller writes them. */
  hasHeaders({ view, sourceAt, sourcePort, bytes, tos, family }: BatchReceiver, port: number): boolean {
    const source = family === 4 ? view.getUint32(sourceAt) : -1
    const ports = sourcePort * 0x10000 + port
    const isKnown =
      source >= 0 &&
      source === this.#source &&
      ports === this.#ports &&
      bytes === this.#bytes &&
      tos === this.#tos
    this.#source = source
    this.#ports = ports
    this.#bytes = bytes
    this.#tos = tos
    return isKnown
  }
}
