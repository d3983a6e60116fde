/** Chunks that are being read from a file or written to it: a few at a time, done with in their order. */
import { assert } from '../../errors.js'

/** With one, the disk would rest while its end is noticed; more only fill the cache. */
export const CHUNKS_UNDER_WAY_MAX = 3

export class ChunksUnderWay {
  readonly #chunks: { bytes: Uint8Array; done: Promise<void> }[] = []

  get full(): boolean {
    return this.#chunks.length === CHUNKS_UNDER_WAY_MAX
  }

  get empty(): boolean {
    return this.#chunks.length === 0
  }

  /** @param done settles when nothing touches `bytes` any more */
  add(bytes: Uint8Array, done: Promise<void>): void {
    assert(!this.full, 'more chunks under way than may be')
    // Nobody may be waiting for it yet when it fails.
    done.catch(() => {})
    this.#chunks.push({ bytes, done })
  }

  /** Ends the oldest one: resolves with its bytes, or throws the error that it failed with. */
  async takeOldest(): Promise<Uint8Array> {
    const { bytes, done } = this.#chunks[0]!
    try {
      await done
    } finally {
      this.#chunks.shift()
    }
    return bytes
  }

  /** Resolves when others may use the memory of all of them. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#chunks.map(({ done }) => done))
    this.#chunks.length = 0
  }
}
