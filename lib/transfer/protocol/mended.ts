/** Damaged chunks of a part that an earlier transfer has left: they are moved again. */
import type { ChunkPlan } from './chunk-plan.js'

export class MendedChunks {
  /** Bytes by position in the file. */
  readonly #chunks = new Map<number, number>()

  /** The chunk is moved again. It counts if it is of that part. */
  note(plan: ChunkPlan, chunk: number): void {
    if (plan.isKept(chunk)) this.#chunks.set(plan.positionOf(chunk), plan.lengthOf(chunk))
  }

  /** Takes in those of another attempt. */
  add(others: MendedChunks): void {
    for (const [position, bytes] of others.#chunks) this.#chunks.set(position, bytes)
  }

  /** Bytes of the chunks that begin before a position. */
  bytesBefore(position: number): number {
    let sum = 0
    for (const [at, bytes] of this.#chunks) if (at < position) sum += bytes
    return sum
  }
}
