/**
 * Digests of whole files, fed a chunk at a time.
 *
 * Measured on 1 MiB chunks, one core, Gbit/s: XXH64 native 128 and as WebAssembly 88 (it copies the bytes first, and can go back), zlib.crc32 52,
 * sha256 12, blake2b512 5–7. XXH64 is not the limit at 20 Gbit/s and finds any accident; sha256 is there for who wants
 * to defend against a forger too.
 */
import { createHash, type Hash } from 'node:crypto'
import { createRequire } from 'node:module'
import { WeirError } from '../errors.js'
import { TransferFailure } from './failure.js'
import type { DigestKind } from './messages.js'
import { Xxh64 as RestorableXxh64 } from './xxh64.js'

export interface Digest {
  readonly kind: DigestKind
  update(bytes: Uint8Array): void
  /** Digest of the bytes so far; more may follow. */
  soFar(): Uint8Array
  /** Call once, at the end. */
  finish(): Uint8Array
  /** Remembers what has been taken in so far. */
  mark(): void
  /** Forgets what has been taken in since `mark`. Returns false if it cannot: it is of no use then. */
  back(): boolean
}

/** Bytes of a digest of each kind. */
export const DIGEST_BYTES: Readonly<Record<DigestKind, number>> = { XXH64: 8, SHA256: 32 }

/** Read at a time where no chunks set the size. */
const PIECE_BYTES = 1 << 20

interface Xxh64Hash {
  update(bytes: Uint8Array): unknown
  digest(): bigint
  mark?(): void
  back?(): void
}

let newNative: (() => Xxh64Hash) | null | undefined

/**
 * Makes a digest. Throws UNSUPPORTED for a kind that is not known.
 * @param goesBack whether `back` has to work, which makes XXH64 slower. Default false
 */
export function createDigest(kind: unknown, goesBack = false): Digest {
  if (kind === 'XXH64') {
    newNative ??= nativeXxh64()
    return new Xxh64(newNative && !goesBack ? newNative() : new RestorableXxh64())
  }
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

  mark(): void {
    this.#hash.mark?.()
  }

  back(): boolean {
    this.#hash.back?.()
    return this.#hash.back !== undefined
  }
}

class Sha256 implements Digest {
  readonly kind = 'SHA256'
  #hash = createHash('sha256')
  #marked: Hash | null = null

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

  back(): boolean {
    if (this.#marked === null) return false
    this.#hash = this.#marked
    this.#marked = null
    return true
  }
}
