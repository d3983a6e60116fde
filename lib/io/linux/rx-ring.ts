/**
 * The receive ring of a packet socket (TPACKET_V2). The kernel fills slots with frames. This process empties
 * them in order, without system calls.
 */
import type { PacketSocket } from './packet-socket.js'

/** `struct tpacket2_hdr`. */
const STATUS = 0
const LENGTH = 4
const SNAPPED_LENGTH = 8
const MAC = 12
const SECONDS = 16
const NANOSECONDS = 20
const VLAN_TCI = 24
const VLAN_TPID = 26
/**
 * Bytes from a slot's start to the frame, at most: header, link-layer address, alignment of the IP header,
 * reserve.
 */
const FRAME_OFFSET_MAX = 96
const BLOCK_BYTES = 1 << 16

/** The slot belongs to the kernel. */
const TP_STATUS_USER = 0x1
/** The L4 checksum is not computed, because the sender's kernel left it to a NIC. */
export const TP_STATUS_CSUMNOTREADY = 0x8
/** The kernel removed a VLAN tag from the frame. */
export const TP_STATUS_VLAN_VALID = 0x10
/** `vlanTpid` has the tag's type. */
export const TP_STATUS_VLAN_TPID_VALID = 0x40

/**
 * With this room before each frame its first byte is at an offset of 2 modulo 4, and its IP header is
 * aligned.
 */
export const RING_RESERVE_BYTES = 2

/**
 * `next` moves to the next frame and sets the fields. `release` ends the use of the frame.
 *
 * Each frame has a slot of the longest frame's size. TPACKET_V3 packs frames into blocks and holds many times
 * more short frames in the same memory. But there a frame can be read only when its block is full or a
 * millisecond old, and forwarding became no cheaper (docs/measured/system-calls.md).
 */
export class RxRing {
  /** The ring's memory, in which frames lie. */
  readonly bytes: Uint8Array
  readonly view: DataView
  /** Offset of the frame's first byte in `bytes`. */
  offset = 0
  /** Bytes of the frame in the ring. */
  capturedBytes = 0
  /** Length of the frame. More than `capturedBytes` if its slot had no room for all. */
  frameBytes = 0
  /** A sum of TP_STATUS_ constants. */
  status = 0
  vlanTci = 0
  vlanTpid = 0
  /** Time of day at which the kernel received the frame. */
  seconds = 0
  nanoseconds = 0
  readonly #words: Int32Array
  readonly #slotBytes: number
  readonly #slotsPerBlock: number
  readonly #slots: number
  #slot = 0
  /** Offset of the current slot. */
  #at = 0

  /**
   * @param frameBytes length of the longest frame
   * @param bytes most bytes of the ring, which is locked memory
   */
  constructor(socket: PacketSocket, frameBytes: number, bytes: number) {
    this.#slotBytes = (FRAME_OFFSET_MAX + frameBytes + 15) & ~15
    this.#slotsPerBlock = Math.floor(BLOCK_BYTES / this.#slotBytes)
    const blocks = Math.max(1, Math.floor(bytes / BLOCK_BYTES))
    this.#slots = blocks * this.#slotsPerBlock
    const request = [BLOCK_BYTES, blocks, this.#slotBytes, this.#slots]
    const memory = socket.mapRing(request, blocks * BLOCK_BYTES)
    this.bytes = new Uint8Array(memory)
    this.view = new DataView(memory)
    this.#words = new Int32Array(memory)
  }

  /**
   * Moves to the next frame. Returns false when there is none. The previous frame must have been released.
   */
  next(): boolean {
    const at = this.#at
    // After an atomic load, every processor reads the frame later than the status.
    const status = Atomics.load(this.#words, (at + STATUS) >> 2)
    if ((status & TP_STATUS_USER) === 0) return false
    const { view } = this
    this.status = status
    this.offset = at + view.getUint16(at + MAC, true)
    this.capturedBytes = view.getInt32(at + SNAPPED_LENGTH, true)
    this.frameBytes = view.getInt32(at + LENGTH, true)
    this.vlanTci = view.getUint16(at + VLAN_TCI, true)
    this.vlanTpid = view.getUint16(at + VLAN_TPID, true)
    this.seconds = view.getUint32(at + SECONDS, true)
    this.nanoseconds = view.getUint32(at + NANOSECONDS, true)
    return true
  }

  /** Releases the frame. The kernel may overwrite it. */
  release(): void {
    Atomics.store(this.#words, (this.#at + STATUS) >> 2, 0)
    this.#slot = this.#slot + 1 === this.#slots ? 0 : this.#slot + 1
    const block = Math.floor(this.#slot / this.#slotsPerBlock)
    this.#at = block * BLOCK_BYTES + (this.#slot - block * this.#slotsPerBlock) * this.#slotBytes
  }
}
