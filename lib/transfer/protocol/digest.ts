/**
 * Digests of whole files, fed a chunk at a time.
 *
 * XXH64 is a fifth of SHA-256's work. It finds any accident; SHA-256 is there for who wants to defend against a forger too.
 *
 * A receiver goes back to the chunk before a damaged one, which only hash-wasm's XXH64 can do. A sender never goes back:
 * it takes the native package where that is installed.
 */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { WeirError } from '../../errors.js'
import { TransferFailure } from './failure.js'
import type { DigestKind } from './messages.js'
import { Xxh64 } from './xxh64.js'

export interface Digest {
  readonly kind: DigestKind
  update(bytes: Uint8Array): void
  /** Digest of the bytes so far; more may follow. */
  soFar(): Uint8Array
  /** Call once, at the end. */
  finish(): Uint8Array
}

export interface RestorableDigest extends Digest {
  /** Remembers what has been taken in so far. */
  mark(): void
  /** Forgets what has been taken in since `mark`, which was called before. */
  back(): void
}

/** Bytes of a digest of each kind. */
export const DIGEST_BYTES: Readonly<Record<DigestKind, number>> = { XXH64: 8, SHA256: 32 }

/** Read at a time where no chunks set the size. */
const PIECE_BYTES = 1 << 20

interface NativeXxh64 {
  update(bytes: Uint8Array): unknown
  digest(): bigint
}

/** Null where the optional package is not installed. */
const newNativeXxh64 = nativeXxh64()

/** Makes the fastest digest of this kind. Throws UNSUPPORTED for a kind that is not known. */
export function createDigest(kind: unknown): Digest {
  if (kind === 'XXH64' && newNativeXxh64 !== null) return new NativeXxh64Digest(newNativeXxh64())
  return createRestorableDigest(kind)
}

/** Makes a digest that can go back. Throws UNSUPPORTED for a kind that is not known. */
export function createRestorableDigest(kind: unknown): RestorableDigest {
  if (kind === 'XXH64') return new Xxh64Digest()
  if (kind === 'SHA256') return new Sha256()
  throw new TransferFailure('UNSUPPORTED', `digest kind ${String(kind)} is not known; XXH64 and SHA256 are`)
}

/** The digest that a user has named, XXH64 if none. Throws WEIR_BAD_ARGUMENT for one that is not known. */
export function digestFor(name = ''): Digest {
  try {
    return createDigest((name || 'xxh64').toUpperCase())
  } catch (error) {
    throw new WeirError('WEIR_BAD_ARGUMENT', (error as Error).message)
  }
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

function nativeXxh64(): (() => NativeXxh64) | null {
  try {
    const { Xxh64 } = createRequire(import.meta.url)('@node-rs/xxhash') as { Xxh64: new () => NativeXxh64 }
    return () => new Xxh64()
  } catch {
    return null
  }
}

class NativeXxh64Digest implements Digest {
  readonly kind = 'XXH64'
  readonly #hash: NativeXxh64

  constructor(hash: NativeXxh64) {
    this.#hash = hash
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  /** Big-endian, as XXH64's canonical representation. */
  soFar(): Uint8Array {
    const out = Buffer.alloc(DIGEST_BYTES.XXH64)
    out.writeBigUInt64BE(BigInt.asUintN(64, this.#hash.digest()))
    return out
  }

  finish(): Uint8Array {
    return this.soFar()
  }
}

class Xxh64Digest implements RestorableDigest {
  readonly kind = 'XXH64'
  readonly #hash = new Xxh64()

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  soFar(): Uint8Array {
    return this.#hash.digest()
  }

  finish(): Uint8Array {
    return this.#hash.digest()
  }

  mark(): void {
    this.#hash.mark()
  }

  back(): void {
    this.#hash.back()
  }
}

class Sha256 implements RestorableDigest {
  readonly kind = 'SHA256'
  #hash = createHash('sha256')
  #marked = this.#hash

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes)
  }

  soFar(): Uint8Array {
    return this.#hash.copy().digest()
  }

  finish(): Uint8Array {
    return this.#hash.digest()
  }

  mark(): void {
    this.#marked = this.#hash.copy()
  }

  back(): void {
    // Twice is allowed too.
    this.#hash = this.#marked.copy()
  }
}
