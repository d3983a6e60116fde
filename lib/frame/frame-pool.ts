import { WeirError } from '../errors.js'
import { Backing } from './backing.js'
import { Frame } from './frame.js'
import { IFA_PROTOCOL, ifaProtocolFault } from './ifa-protocol.js'

/** Room for a 4,096-byte payload with every header that Weir writes, and telemetry of 15 hops in any encapsulation. */
export const SLOT_BYTES = 4864
/** Room for headers alone: for virtual time, where payloads are not materialised. */
export const HEADER_SLOT_BYTES = 512
/** Slots of one slab, where slots do not lie in one piece. */
const SLAB_SLOTS = 256
/** List entries of the frames that are free, at first. */
const FREE_FIRST = 64

/**
 * A bounded number of frames, made lazily and reused for ever. Whoever takes a frame owns it until it hands it on or
 * gives it back; running out is back-pressure (`take` returns null), never growth.
 *
 * All slots lie in one piece of memory, which the system provides page by page as it is touched: a port passes the system offsets
 * into it. A port may have room of its own behind the slots: `arena.copyWithin` from there to a slot is the one way to copy that
 * makes no object. Where no port has the frames, slots may lie in slabs, which are made as they are needed.
 */
export class FramePool {
  readonly capacity: number
  readonly slotBytes: number
  /** The one piece, or null. */
  readonly #piece: Uint8Array | null
  /** The same, as something whose address is kept. */
  readonly memory: Backing | null
  /** Where the next slots lie, if not in one piece. */
  #slab = new ArrayBuffer(0)
  /** IP protocol that IFA has in the network of these frames, 0 to 255: IANA has assigned none. */
  readonly ifaProtocol: number
  readonly #roomBytes: number
  #roomUsed = 0
  #made = 0
  readonly #frames: Frame[] = []
  /** Slots that nobody owns: the first `#freeCount`. It has room for all that are made. */
  #free = new Int32Array(FREE_FIRST)
  #freeCount = 0

  /**
   * @param capacity number of slots, 1 to 1,048,576
   * @param slotBytes size of each, 256 to 65,536
   * @param roomBytes for `reserve`, 0 to 64 MiB
   * @param ifaProtocol IP protocol of IFA, 0 to 255, none that other packets of hosts have
   * @param layout `slabs` for frames that never meet a port: there is no `arena` and no room then
   */
  constructor(
    capacity: number,
    slotBytes: number = SLOT_BYTES,
    roomBytes = 0,
    ifaProtocol: number = IFA_PROTOCOL,
    layout: 'piece' | 'slabs' = 'piece',
  ) {
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > 1 << 20) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `frame pool: capacity is 1 to ${1 << 20}, not ${capacity}`)
    }
    if (!Number.isInteger(slotBytes) || slotBytes < 256 || slotBytes > 65_536) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `frame pool: a slot has 256 to 65536 bytes, not ${slotBytes}`)
    }
    if (!Number.isInteger(roomBytes) || roomBytes < 0 || roomBytes > 1 << 26) {
      throw new WeirError('WEIR_BAD_ARGUMENT', `frame pool: room is 0 to ${1 << 26} bytes, not ${roomBytes}`)
    }
    const fault = ifaProtocolFault(ifaProtocol)
    if (fault !== null) throw new WeirError('WEIR_BAD_ARGUMENT', fault)
    this.capacity = capacity
    this.ifaProtocol = ifaProtocol
    this.slotBytes = slotBytes
    this.#piece = layout === 'piece' ? new Uint8Array(capacity * slotBytes + roomBytes) : null
    this.memory = this.#piece === null ? null : new Backing(this.#piece)
    this.#roomBytes = roomBytes
  }

  /**
   * The memory of all slots, slot n from n * slotBytes on, and then of the room for ports. Throws WEIR_BAD_STATE where slots lie in
   * slabs.
   */
  get arena(): Uint8Array {
    if (this.#piece !== null) return this.#piece
    throw new WeirError(
      'WEIR_BAD_STATE',
      'frame pool: its slots lie in slabs, and ports need them in one piece; make the pool with the layout `piece`',
    )
  }

  /** An empty frame, or null when all are in use. */
  take(): Frame | null {
    if (this.#freeCount > 0) {
      const frame = this.#frames[this.#free[--this.#freeCount]!]!
      frame.taken = true
      frame.reset()
      return frame
    }
    if (this.#made === this.capacity) return null
    return this.#make()
  }

  /**
   * Gives a frame back, and what is behind it. Throws WEIR_INTERNAL for one that was given back already, or that belongs to another
   * pool.
   */
  give(frame: Frame): void {
    const { behind } = frame
    this.#giveOne(frame)
    if (behind === null) return
    frame.behind = null
    this.give(behind)
  }

  #giveOne(frame: Frame): void {
    // The messages are made only when they are needed: this runs for every packet.
    if (!frame.taken) throw new WeirError('WEIR_INTERNAL', `frame ${frame.slot} was given back twice`)
    if (this.#frames[frame.slot] !== frame) {
      throw new WeirError('WEIR_INTERNAL', `frame ${frame.slot} was given to a pool that it is not of`)
    }
    frame.taken = false
    // Otherwise an idle frame would keep that memory from being collected.
    frame.outside = null
    this.#free[this.#freeCount++] = frame.slot
  }

  /** Frames that `take` returns before it returns null. */
  get available(): number {
    return this.capacity - this.inUse
  }

  /** Frames that somebody owns now: 0 when everything has been handed back. */
  get inUse(): number {
    return this.#made - this.#freeCount
  }

  /**
   * Sets aside `bytes` of the room, for good; returns their offset in `arena`. Throws WEIR_FULL if that much is not
   * left.
   */
  reserve(bytes: number): number {
    if (bytes > this.#roomBytes - this.#roomUsed) {
      throw new WeirError(
        'WEIR_FULL',
        `frame pool: ${bytes} bytes of room are asked for; make the pool with more`,
      )
    }
    const at = this.capacity * this.slotBytes + this.#roomUsed
    this.#roomUsed += bytes
    return at
  }

  #make(): Frame {
    const slot = this.#made++
    if (this.#made > this.#free.length) this.#makeRoom()
    const frame = new Frame(slot, this.#memoryOf(slot), this.memory)
    frame.ifaProtocol = this.ifaProtocol
    frame.taken = true
    this.#frames.push(frame)
    return frame
  }

  #memoryOf(slot: number): Buffer | DataView {
    const bytes = this.slotBytes
    if (this.#piece !== null) return Buffer.from(this.#piece.buffer, slot * bytes, bytes)
    const at = slot % SLAB_SLOTS
    if (at === 0) this.#slab = new ArrayBuffer(Math.min(SLAB_SLOTS, this.capacity - slot) * bytes)
    return new DataView(this.#slab, at * bytes, bytes)
  }

  #makeRoom(): void {
    const free = new Int32Array(2 * this.#free.length)
    free.set(this.#free)
    this.#free = free
  }
}
