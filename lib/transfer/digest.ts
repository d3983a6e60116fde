/**
 * Digests of whole files, fed a chunk at a time.
 *
 * Measured on 1 MiB chunks, one core, Gbit/s: XXH64 native 128 and as WebAssembly 88 (it copies the bytes first), zlib.crc32 52,
 * sha256 12, blake2b512 5–7. XXH64 is not the limit at 20 Gbit/s and finds any accident; sha256 is there for who wants
 * to defend against a forger too.
 */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import xxhash from 'xxhash-wasm'
import { WeirError } from '../errors.js'
import { TransferFailure } from './failure.js'
import type { DigestKind } from './messages.js'

export interface Digest {
  readonly kind: DigestKind
  update(bytes: Uint8Array): void
  /** Digest of the bytes so far; more may follow. */
  soFar(): Uint8Array
  /** Call once, at the end. */
  finish(): Uint8Array
}

/** Read at a time where no chunks set the size. */
const PIECE_BYTES = 1 << 20

interface Xxh64Hash {
  update(bytes: Uint8Array): unknown
  digest(): bigint
}

let newXxh64: (() => Xxh64Hash) | undefined

/** Makes a digest. Throws UNSUPPORTED for a kind that is not known. */
export async function createDigest(kind: unknown): Promise<Digest> {
  if (kind === 'XXH64') {
    newXxh64 ??= nativeXxh64() ?? (await xxhash()).create64
    return new Xxh64(newXxh64())
  }
  if (kind === 'SHA256') return new Sha256()
  throw new TransferFailure('UNSUPPORTED', `digest kind ${String(kind)} is not known; XXH64 and SHA256 are`)
}

/** The digest that a user has named, XXH64 if none. Throws WEIR_BAD_ARGUMENT for one that is not known. */
export async function digestFor(name = ''): Promise<Digest> {
  return await createDigest((name || 'xxh64').toUpperCase()).catch(error => {
    throw new WeirError('WEIR_BAD_ARGUMENT', (error as Error).message)
  })
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

/** Null where the optional package is not installed. */
function nativeXxh64(): (() => Xxh64Hash) | null {
  try {
    const { Xxh64 } = createRequire(import.meta.url)('@node-rs/xxhash') as { Xxh64: new () => Xxh64Hash }
    return () => new Xxh64()
  } catch {
    return null
  }
}

class Xxh64 implements Digest {
  readonly kind = 'XXH64'
  readonly #hash: Xxh64Hash

  constructor(hash: Xxh64Hash) {
    this.#hash = hash
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  /** XXH64 looks at its state and leaves it as it is. */
  soFar(): Uint8Array {
    const out = Buffer.alloc(8)
    out.writeBigUInt64BE(BigInt.asUintN(64, this.#hash.digest()))
    return out
  }

  finish(): Uint8Array {
    return this.soFar()
  }
}

class Sha256 implements Digest {
  readonly kind = 'SHA256'
  readonly #hash = createHash('sha256')

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  soFar(): Uint8Array {
    return this.#hash.copy().digest()
  }

  finish(): Uint8Array {
    return this.#hash.digest()
  }
}
