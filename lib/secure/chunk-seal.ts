import type { ConnectionSeal, SealedPeer } from '../nic/types.js'
import {
  aboutOf,
  NUMBER_BYTES,
  RecordKind,
  type RecordOpener,
  type RecordSealer,
  TAG_BYTES,
} from './records.js'

/** Bytes that follow sealed memory: tag and number. */
export const SEAL_BYTES = TAG_BYTES + NUMBER_BYTES

/**
 * Seals memory that WRITEs and READs move, where it lies. A piece says its number, because pieces that are moved again come out of turn. What
 * it is, and where it belongs, is covered: whoever takes each index once takes no piece twice, and none in the place of another.
 */
export class ChunkSeal implements ConnectionSeal {
  readonly peer: SealedPeer
  readonly trailerBytes = SEAL_BYTES
  readonly #sealer: RecordSealer
  readonly #opener: RecordOpener

  constructor(peer: SealedPeer, sealer: RecordSealer, opener: RecordOpener) {
    this.peer = peer
    this.#sealer = sealer
    this.#opener = opener
  }

  sealPiece(bytes: Uint8Array, trailer: Uint8Array, index: number, position: number): void {
    const about = aboutOf(RecordKind.CHUNK, index, position, bytes.length)
    const number = this.#sealer.seal(bytes, bytes, trailer, about)
    const at = Buffer.from(trailer.buffer, trailer.byteOffset, trailer.length)
    at.writeUIntBE(number, TAG_BYTES, NUMBER_BYTES)
  }

  openPiece(bytes: Uint8Array, trailer: Uint8Array, index: number, position: number): boolean {
    const at = Buffer.from(trailer.buffer, trailer.byteOffset, trailer.length)
    const about = aboutOf(RecordKind.CHUNK, index, position, bytes.length)
    const number = at.readUIntBE(TAG_BYTES, NUMBER_BYTES)
    return this.#opener.open(number, bytes, bytes, at.subarray(0, TAG_BYTES), about)
  }
}
