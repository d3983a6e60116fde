/** How a file is cut into chunks. Chunk 0 begins where a resumed transfer goes on. */
import { WeirError } from '../errors.js'
import type { Nanos } from '../time/nanos.js'

/** Least and greatest size of a chunk. */
export const CHUNK_BYTES_MIN = 4096
export const CHUNK_BYTES_MAX = 16 * 1024 * 1024
/** Most slots of a ring. */
export const RING_SLOTS_MAX = 256
/** Most bytes of a ring: what one transfer may hold in memory at either end. */
export const RING_BYTES_MAX = 64 * 1024 * 1024

/** Slots of a ring for a short path, and the round trip for which there is one more. */
const SLOTS_LEAST = 8
const SLOT_NS = 4_000_000

/**
 * Slots of a ring: what is under way in a round trip has to fit, and as much again that is being written or credited. With chunks of 1 MiB
 * that is 2 Gbit/s on long paths.
 */
export function slotsFor(rttNs: Nanos, slotsMax: number): number {
  return Math.min(slotsMax, SLOTS_LEAST + Math.ceil(rttNs / SLOT_NS))
}

export class ChunkPlan {
  readonly sizeBytes: number
  readonly resumeBytes: number
  readonly chunkBytes: number
  /** Number of chunks; 0 when nothing is left to send. */
  readonly chunks: number

  constructor(sizeBytes: number, resumeBytes: number, chunkBytes: number) {
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) {
      throw new WeirError('WEIR_PROTOCOL', `a file has 0 to 2^53-1 bytes, not ${sizeBytes}`)
    }
    if (!Number.isSafeInteger(resumeBytes) || resumeBytes < 0 || resumeBytes > sizeBytes) {
      throw new WeirError('WEIR_PROTOCOL', `a file of ${sizeBytes} bytes cannot be resumed at ${resumeBytes}`)
    }
    checkChunkBytes(chunkBytes)
    this.sizeBytes = sizeBytes
    this.resumeBytes = resumeBytes
    this.chunkBytes = chunkBytes
    this.chunks = Math.ceil((sizeBytes - resumeBytes) / chunkBytes)
  }

  /** Position of the chunk in the file. */
  positionOf(chunk: number): number {
    return this.resumeBytes + chunk * this.chunkBytes
  }

  /** Bytes of the chunk: all have `chunkBytes` but the last. */
  lengthOf(chunk: number): number {
    return Math.min(this.chunkBytes, this.sizeBytes - this.positionOf(chunk))
  }
}

/** Throws WEIR_PROTOCOL unless a chunk may have this size. */
export function checkChunkBytes(chunkBytes: number): void {
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
