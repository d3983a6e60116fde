/** Digests of the last chunks: the other end may ask for any of these chunks again. */
import { assert } from '../../errors.js'
import { RING_SLOTS_MAX } from './chunk-plan.js'

/** More than the chunks that are loaded and that the other end has not found right yet. */
const MOST = 4 * RING_SLOTS_MAX

export class ChunkDigests {
  readonly #digestBytes: number
  readonly #bytes: Uint8Array
  #chunks = 0

  constructor(digestBytes: number) {
    this.#digestBytes = digestBytes
    this.#bytes = new Uint8Array(MOST * digestBytes)
  }

  /** The digest of the next chunk. */
  add(digest: Uint8Array): void {
    assert(digest.length === this.#digestBytes, 'a digest of another kind')
    this.#bytes.set(digest, (this.#chunks++ % MOST) * this.#digestBytes)
  }

  has(chunk: number): boolean {
    return chunk >= 0 && chunk < this.#chunks && chunk >= this.#chunks - MOST
  }

  of(chunk: number): Uint8Array {
    assert(this.has(chunk), 'a chunk whose digest was forgotten')
    const at = (chunk % MOST) * this.#digestBytes
    return this.#bytes.subarray(at, at + this.#digestBytes)
  }
}
