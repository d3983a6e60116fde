/**
 * The receiver's side of the transfer protocol as a pure state machine: which message may come when, which
 * chunk is due, which may be written, which credit is owed. No I/O, no clock.
 *
 * The sender WRITEs into the ring, so that a slot is free once its chunk is in the file.
 */
import { ChunkPlan } from './chunk-plan.js'
import { DIGEST_BYTES } from './digest.js'
import type { DigestKind } from './messages.js'
import { SinkMachine, type SinkState } from './sink-machine.js'

/** Which messages of the sender are in turn in which state. */
const IN_TURN: Record<'waiting' | SinkState, readonly string[]> = {
  waiting: ['offer'],
  opening: ['fail'],
  receiving: ['commit', 'fail'],
  committing: ['fail'],
}

export class ReceiverMachine extends SinkMachine<'waiting'> {
  readonly #chunkBytes: number

  constructor(chunkBytes: number) {
    super('waiting', IN_TURN, 'the sender')
    this.#chunkBytes = chunkBytes
  }

  /** The file is open and the memory is registered: Ready goes out. @param slots of the ring */
  onOpened(resumeBytes: number, slots: number): void {
    if (this.state !== 'opening') return
    this.slots = slots
    const { size, chunkDigests, digest } = this.offer!
    const digestBytes = chunkDigests ? DIGEST_BYTES[digest as DigestKind] : 0
    this.begin(new ChunkPlan(size, resumeBytes, this.#chunkBytes, digestBytes))
  }

  /** A WRITE with immediate has put `bytes` of a chunk into the ring. Returns that chunk, or -1 if it fails the transfer. */
  onChunk(immediate: number, bytes: number): number {
    if (this.ended) return -1
    const again = this.awaitedChunk
    if (again >= 0 && immediate === again % 2 ** 32) {
      if (bytes === this.plan!.lengthOf(again) + this.plan!.digestBytes) {
        this.onCameAgain()
        return again
      }
      this.violated(`chunk ${again} again with ${bytes} bytes`)
      return -1
    }
    const wrong = this.#wrongWithChunk(immediate, bytes)
    if (wrong) {
      this.violated(wrong)
      return -1
    }
    this.onArrived()
    return this.arrivedChunks - 1
  }

  protected get creditable(): number {
    return this.writtenChunks
  }

  #wrongWithChunk(immediate: number, bytes: number): string | null {
    if (this.state !== 'receiving') return `a chunk in state ${this.state}`
    const chunk = this.arrivedChunks
    if (chunk === this.plan!.chunks) return 'a chunk after the last one'
    if (chunk - this.writtenChunks === this.slots) return 'a chunk without credit'
    if (immediate !== chunk % 2 ** 32) return `chunk ${immediate} where ${chunk} is due`
    const due = this.plan!.movedBytesOf(chunk)
    return bytes === due ? null : `chunk ${chunk} has ${bytes} bytes, ${due} are due`
  }

  protected override takeCommit(digest: Uint8Array): void {
    if (this.arrivedChunks === this.plan!.chunks) super.takeCommit(digest)
    else this.violated(`commit after ${this.arrivedChunks} of ${this.plan!.chunks} chunks`)
  }
}
