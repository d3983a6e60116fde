/**
 * How a file is cut into chunks.
 *
 * Chunks with digests cover the whole file, and in its slot each has behind it the digest of the file's bytes up to its end. Of a chunk that
 * an earlier transfer has left at the receiving end only the digest moves. Chunks without begin where a resumed transfer goes on.
 *
 * The same holds for a chunk of nothing but zeros in a file with holes, where both ends know of it.
 *
 * A file with an open end comes out of a pipe: nobody knows its size before its last byte. Its last chunk is the one that is shorter
 * than the others, and may be empty. Such chunks have digests, and none was there before.
 */
import { assert, WeirError } from '../../errors.js'
import type { Nanos } from '../../time/nanos.js'

/** Least and greatest size of a chunk. */
export const CHUNK_BYTES_MIN = 4096
const CHUNK_BYTES_MAX = 16 * 1024 * 1024
/** Most slots of a ring. */
export const RING_SLOTS_MAX = 256
/** Most bytes of a ring: what one transfer may hold in memory at either end. */
export const RING_BYTES_MAX = 64 * 1024 * 1024

/** A chunk that does not have its digest is moved again so many times, and so many times those of a connection in all. */
export const REPEATS_OF_CHUNK_MAX = 3
export const REPEATS_MAX = 1024

/** Size of a file while nobody knows it. */
export const OPEN_END = Number.POSITIVE_INFINITY

/** Bytes of a slot behind the chunk, for its digest and its seal. */
const DIGEST_ROOM_BYTES = 64

/** Chunks of zeros that are remembered: more than are under way at either end. */
const ZEROS_KEPT = 4 * RING_SLOTS_MAX

/** Slots of a ring for a short path, and the round trip for which there is one more. */
const SLOTS_LEAST = 8
const SLOT_NS = 4_000_000

/** Further slots for each further connection: one chunk moves, and one waits for it. */
const SLOTS_A_STREAM = 2

/**
 * Slots of a ring: what is under way in a round trip has to fit, and as much again that is being written or credited. With chunks of 1 MiB
 * that is 2 Gbit/s on long paths.
 */
export function slotsFor(rttNs: Nanos, slotsMax: number, streams = 1): number {
  const more = SLOTS_A_STREAM * (Math.max(1, streams) - 1)
  return Math.min(slotsMax, SLOTS_LEAST + more + Math.ceil(rttNs / SLOT_NS))
}

/** Bytes from one slot of a ring to the next. @param digestBytes 0: chunks have no digests */
function slotBytesOf(chunkBytes: number, digestBytes: number): number {
  return digestBytes > 0 ? chunkBytes + DIGEST_ROOM_BYTES : chunkBytes
}

/** Memory for a ring of `slots` chunks with digests, and for one more chunk, which is moved again. */
export function ringBytesOf(chunkBytes: number, slots: number): number {
  return (slots + 1) * slotBytesOf(chunkBytes, DIGEST_ROOM_BYTES)
}

/** Slots that a ring has, if one is kept for a chunk with digest that is moved again. */
export function slotsIn(ringBytes: number, chunkBytes: number, digestBytes: number): number {
  const slots = Math.floor(ringBytes / slotBytesOf(chunkBytes, digestBytes))
  return digestBytes > 0 ? slots - 1 : slots
}

/** Bytes of a part that whole chunks with digests make up: all of a file that is there whole. */
export function wholeChunksOf(partBytes: number, sizeBytes: number, chunkBytes: number): number {
  return partBytes === sizeBytes ? partBytes : partBytes - (partBytes % chunkBytes)
}

export class ChunkPlan {
  /** OPEN_END before `endAt`. */
  sizeBytes: number
  readonly resumeBytes: number
  readonly chunkBytes: number
  /** Bytes of the digest of each chunk; 0: chunks have none. */
  readonly digestBytes: number
  /** Bytes of the seal behind the digest; 0: the connection is in the clear. */
  readonly sealBytes: number
  /** Bytes from one slot to the next. */
  readonly slotBytes: number
  /** Number of chunks; 0 when nothing is left to send. Infinity while the size is not known. */
  chunks: number
  /** Both ends know chunks of zeros of which the digest moves alone. */
  movesZerosAlone = false
  readonly #beginBytes: number
  /** The last chunks of zeros, each at its number modulo their count. */
  readonly #zeros: number[] = []

  /** Throws WEIR_PROTOCOL. */
  constructor(sizeBytes: number, resumeBytes: number, chunkBytes: number, digestBytes = 0, sealBytes = 0) {
    if (sizeBytes === OPEN_END) checkOpenEnd(resumeBytes, digestBytes)
    else if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) {
      throw new WeirError('WEIR_PROTOCOL', `a file has 0 to 2^53-1 bytes, not ${sizeBytes}`)
    }
    if (!Number.isSafeInteger(resumeBytes) || resumeBytes < 0 || resumeBytes > sizeBytes) {
      throw new WeirError('WEIR_PROTOCOL', `a file of ${sizeBytes} bytes cannot be resumed at ${resumeBytes}`)
    }
    checkChunkBytes(chunkBytes)
    if (digestBytes > 0 && resumeBytes !== wholeChunksOf(resumeBytes, sizeBytes, chunkBytes)) {
      throw new WeirError('WEIR_PROTOCOL', `${resumeBytes} bytes are no whole chunks of ${chunkBytes}`)
    }
    if (sealBytes > 0 && digestBytes === 0) {
      throw new WeirError('WEIR_PROTOCOL', 'chunks of a sealed connection have digests')
    }
    assert(digestBytes + sealBytes <= DIGEST_ROOM_BYTES, 'a slot has no room for digest and seal')
    this.sealBytes = sealBytes
    this.sizeBytes = sizeBytes
    this.resumeBytes = resumeBytes
    this.chunkBytes = chunkBytes
    this.digestBytes = digestBytes
    this.slotBytes = slotBytesOf(chunkBytes, digestBytes)
    this.#beginBytes = digestBytes > 0 ? 0 : resumeBytes
    this.chunks = Math.ceil((sizeBytes - this.#beginBytes) / chunkBytes)
  }

  /** The size is not known yet. */
  get isOpen(): boolean {
    return this.sizeBytes === OPEN_END
  }

  /** An open file turns out to have so many bytes: the chunk that they end in is the last. Throws WEIR_PROTOCOL. */
  endAt(sizeBytes: number): void {
    assert(this.isOpen, 'the end of a file whose size is known')
    if (!Number.isSafeInteger(sizeBytes)) {
      throw new WeirError('WEIR_PROTOCOL', `a file has 0 to 2^53-1 bytes, not ${sizeBytes}`)
    }
    this.sizeBytes = sizeBytes
    this.chunks = Math.floor(sizeBytes / this.chunkBytes) + 1
  }

  /** Position of the chunk in the file. */
  positionOf(chunk: number): number {
    return this.#beginBytes + chunk * this.chunkBytes
  }

  /** True if the receiving end had the chunk before. */
  isKept(chunk: number): boolean {
    return this.positionOf(chunk) < this.resumeBytes
  }

  /** The chunk is one of zeros, and its digest moves alone. Call before it moves. */
  noteZeros(chunk: number): void {
    this.#zeros[chunk % ZEROS_KEPT] = chunk
  }

  isZeros(chunk: number): boolean {
    return this.#zeros[chunk % ZEROS_KEPT] === chunk
  }

  /** True if no bytes of the chunk itself move. */
  movesDigestAlone(chunk: number): boolean {
    return this.isKept(chunk) || this.isZeros(chunk)
  }

  /** Where in the chunk's slot the bytes begin that move. */
  movesFrom(chunk: number): number {
    return this.movesDigestAlone(chunk) ? this.lengthOf(chunk) : 0
  }

  /** Bytes that move: those of the chunk, unless it is kept or of zeros, its digest and its seal. */
  movedBytesOf(chunk: number): number {
    return this.wholeBytesOf(chunk) - this.movesFrom(chunk)
  }

  /** Bytes that move when the chunk is moved again. */
  wholeBytesOf(chunk: number): number {
    return this.lengthOf(chunk) + this.digestBytes + this.sealBytes
  }

  /** Bytes of the file that are there when the first `chunks` are, kept ones included. */
  bytesAfter(chunks: number): number {
    return Math.min(this.sizeBytes, Math.max(this.resumeBytes, this.positionOf(chunks)))
  }

  /** Bytes of the chunk: all have `chunkBytes` but the last. */
  lengthOf(chunk: number): number {
    return Math.min(this.chunkBytes, this.sizeBytes - this.positionOf(chunk))
  }
}

/** Throws WEIR_PROTOCOL unless a file of unknown size may begin so. */
function checkOpenEnd(resumeBytes: number, digestBytes: number): void {
  if (resumeBytes === 0 && digestBytes > 0) return
  throw new WeirError('WEIR_PROTOCOL', 'a file with an open end begins at byte 0 and has chunks with digests')
}

/** Throws WEIR_PROTOCOL unless a chunk may have this size. */
function checkChunkBytes(chunkBytes: number): void {
  if (!Number.isInteger(chunkBytes) || chunkBytes < CHUNK_BYTES_MIN || chunkBytes > CHUNK_BYTES_MAX) {
    throw new WeirError(
      'WEIR_PROTOCOL',
      `a chunk has ${CHUNK_BYTES_MIN} to ${CHUNK_BYTES_MAX} bytes, not ${chunkBytes}`,
    )
  }
}

/** Throws WEIR_PROTOCOL unless a ring may have this shape. */
export function checkRing(chunkBytes: number, slots: number): void {
  checkChunkBytes(chunkBytes)
  if (
    !Number.isInteger(slots) ||
    slots < 1 ||
    slots > RING_SLOTS_MAX ||
    slots * chunkBytes > RING_BYTES_MAX
  ) {
    throw new WeirError(
      'WEIR_PROTOCOL',
      `a ring has 1 to ${RING_SLOTS_MAX} slots and at most ${RING_BYTES_MAX} bytes, not ${slots} × ${chunkBytes}`,
    )
  }
}
