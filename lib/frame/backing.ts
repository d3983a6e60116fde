/** Most views that one backing keeps: 0.5 MB of objects. */
const VIEWS_MAX = 1 << 12
/** The smallest path MTU: a long message is never cut into smaller pieces. */
const BYTES_PER_VIEW = 256

const NONE = new Uint8Array(0)

/**
 * Memory for payloads outside the frames' slots: a memory region's, or a port's receive buffer. A frame refers to it
 * and so keeps it from being collected. It stays where it is, unless an application transfers its ArrayBuffer, or makes it shorter than that.
 *
 * To look at a piece of it takes a view, and views are objects. Long messages are cut into the same pieces again and
 * again, so their views are kept, and steady traffic makes none.
 */
export class Backing {
  readonly bytes: Uint8Array
  /**
   * Address of its first byte in this process, once `locate` has asked for it; 0 before. In an array of one, which can be passed on
   * without making an object for the number.
   */
  readonly pointer = new Float64Array(1)
  readonly #length: number
  #views: Uint8Array[] = []
  #mask = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.#length = bytes.length
  }

  /** False where an application has transferred its ArrayBuffer, or made it too short: there is nothing at its address. */
  get isThere(): boolean {
    return this.bytes.length === this.#length
  }

  /** Sets `pointer`. @param addressOf returns the address of the first byte of a view */
  locate(addressOf: (view: Uint8Array) => number): void {
    if (this.pointer[0] === 0) this.pointer[0] = addressOf(this.bytes)
  }

  /** The `length` bytes from `at` on; the caller has checked that they are inside. */
  view(at: number, length: number): Uint8Array {
    if (length === 0) return NONE
    if (this.#mask === 0) this.#makeRoom()
    // Pieces of one size that follow each other get adjacent places.
    const index = (at / length) & this.#mask
    const kept = this.#views[index]!
    if (kept.length === length && kept.byteOffset === this.bytes.byteOffset + at) return kept
    const made = new Uint8Array(this.bytes.buffer, this.bytes.byteOffset + at, length)
    this.#views[index] = made
    return made
  }

  #makeRoom(): void {
    const views = Math.min(VIEWS_MAX, 2 ** Math.ceil(Math.log2(2 + this.bytes.length / BYTES_PER_VIEW)))
    this.#views = new Array(views).fill(NONE)
    this.#mask = views - 1
  }
}
