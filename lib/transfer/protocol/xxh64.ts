/**
 * XXH64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), whose state can be kept and restored. One instance of
 * the WebAssembly of hash-wasm computes all digests: each has its state beside it.
 */
// The file of this digest alone: the package's main one has 22.
import hashWasm from 'hash-wasm/dist/xxhash64.umd.min.js'

const machine = await hashWasm.createXXHash64()

export class Xxh64 {
  #state: Uint8Array = machine.init().save()
  #marked = this.#state

  update(bytes: Uint8Array): void {
    machine.load(this.#state)
    machine.update(bytes)
    this.#state = machine.save()
  }

  /** Digest of the bytes so far, big-endian; more may follow. */
  digest(): Uint8Array {
    machine.load(this.#state)
    return machine.digest('binary')
  }

  /** Remembers what has been taken in so far. */
  mark(): void {
    this.#marked = this.#state
  }

  /** Forgets what has been taken in since `mark`. */
  back(): void {
    this.#state = this.#marked
  }
}
