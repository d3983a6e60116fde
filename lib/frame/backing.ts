/** Views that are kept at most: 0.5 MB of objects. */
const VIEWS_MAX = 1 << 12
/** The smallest path MTU: the pieces that a long message is sent in. */
const BYTES_PER_VIEW = 256

const NONE = new Uint8Array(0)

/**
 * Memory outside of the frames' slots that payloads lie in: that of a region, or what a port receives into. A frame refers to it
 * and so keeps it from being collected. It stays where it is: an ArrayBuffer must not be transferred or resized while it is in use.
 *
 * Whoever wants a piece of it wants a view, and views are objects. Those of the packets of long messages are the same ones
 * again and again: they are kept, so that steady traffic makes none.
 */
export class Backing {
  readonly bytes: Uint8Array
  /**
   * Where its first byte lies in this process, once a port has asked the system; 0 before. One number, which can be handed
   * on in its array without an object being made for it.
   */
  readonly pointer = new Float64Array(1)
  #views: Uint8Array[] = []
  #mask = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  /** The `length` bytes from `at` on; the caller has checked that they are inside. */
  view(at: number, length: number): Uint8Array {
    if (length === 0) return NONE
    if (this.#mask === 0) this.#makeRoom()
    // Pieces of one size that follow each other get places that follow each other.
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
