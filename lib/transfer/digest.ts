/**
 * Digests of whole files, fed a chunk at a time.
 *
 * Measured on 1 MiB chunks, one core, Gbit/s: XXH64 (WebAssembly) 47–54, zlib.crc32 29–34, sha256 12,
 * blake2b512 5–7. XXH64 is not the limit at 20 Gbit/s and finds any accident; sha256 is there for who wants
 * to defend against a forger too.
 */
import { createHash } from 'node:crypto'
import xxhash, { type XXHashAPI } from 'xxhash-wasm'
import { TransferFailure } from './failure.js'
import type { DigestKind } from './messages.js'

export interface Digest {
  readonly kind: DigestKind
  update(bytes: Uint8Array): void
  /** Call once, at the end. */
  finish(): Uint8Array
}

/** Read at a time where no chunks set the size. */
const PIECE_BYTES = 1 << 20

let api: XXHashAPI | undefined

/** Makes a digest. Throws UNSUPPORTED for a kind that is not known. */
export async function createDigest(kind: unknown): Promise<Digest> {
  if (kind === 'XXH64') {
    api ??= await xxhash()
    return new Xxh64(api)
  }
  if (kind === 'SHA256') return new Sha256()
  throw new TransferFailure('UNSUPPORTED', `digest kind ${String(kind)} is not known; XXH64 and SHA256 are`)
}

/** Equality of two digests. */
export function sameDigest(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}

/**
 * Takes the first `bytes` of a file into `digest`, by way of `memory`, as long as `goOn` says so: the part
 * that an interrupted transfer had moved.
 */
export async function digestBeginning(
  digest: Digest,
  bytes: number,
  memory: Buffer,
  read: (into: Uint8Array, position: number) => Promise<void>,
  goOn: () => boolean,
): Promise<void> {
  for (let at = 0; at < bytes && goOn(); ) {
    const piece = memory.subarray(0, Math.min(memory.length, PIECE_BYTES, bytes - at))
    await read(piece, at)
    digest.update(piece)
    at += piece.length
  }
}

class Xxh64 implements Digest {
  readonly kind = 'XXH64'
  readonly #hash

  constructor(from: XXHashAPI) {
    this.#hash = from.create64()
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  finish(): Uint8Array {
    const out = Buffer.alloc(8)
    out.writeBigUInt64BE(BigInt.asUintN(64, this.#hash.digest()))
    return out
  }
}

class Sha256 implements Digest {
  readonly kind = 'SHA256'
  readonly #hash = createHash('sha256')

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  finish(): Uint8Array {
    return this.#hash.digest()
  }
}
