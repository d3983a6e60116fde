/**
 * The state machine of the end that has the file, whoever asked for the transfer. Counters of chunks say
 * everything about its ring, and each only grows:
 *
 *     credited ≤ posted ≤ loaded ≤ loading,  freed ≤ posted
 *
 * A chunk that did not have its digest is read again into the slot behind all others.
 */
import { type ChunkPlan, REPEATS_MAX, RING_SLOTS_MAX } from './chunk-plan.js'
import { TransferFailure } from './failure.js'
import { advanceCount, TransferMachine } from './machine.js'
import type { TransferMessage } from './messages.js'
import { Repeat } from './repeat.js'

export type SourceState = 'streaming' | 'committing'

export abstract class SourceMachine<State extends string> extends TransferMachine<State | SourceState> {
  #plan: ChunkPlan | null = null
  #resumeDigest: Uint8Array = new Uint8Array()
  #slots = 0
  #loading = 0
  #loaded = 0
  #posted = 0
  #credited = 0
  #path = ''
  /** The chunk that is moved again. */
  protected readonly repeat = new Repeat()

  get plan(): ChunkPlan | null {
    return this.#plan
  }

  /** The other end's digest of the bytes that it has already; empty if it did not say. */
  get resumeDigest(): Uint8Array {
    return this.#resumeDigest
  }

  /** Path of the delivered file, as the other end names it. */
  get path(): string {
    return this.#path
  }

  /** Chunks that are in the ring, or were. */
  get loadedChunks(): number {
    return this.#loaded
  }

  /** Chunks handed over: to the queue pair, or to the getter. */
  get postedChunks(): number {
    return this.#posted
  }

  /** Chunks that have left the other end's ring, or that it has read. */
  get creditedChunks(): number {
    return this.#credited
  }

  /** Slot of the local ring that holds the chunk. */
  localSlotOf(chunk: number): number {
    return chunk % this.#slots
  }

  /** Slot of the local ring for a chunk that is moved again. */
  get repeatSlot(): number {
    return this.#slots
  }

  /** The chunk to read from the file once more, or -1. */
  get chunkToReload(): number {
    return this.#mayRepeat ? this.repeat.toLoad : -1
  }

  /** The chunk to hand over once more, or -1. */
  get chunkToRepeat(): number {
    return this.#mayRepeat ? this.repeat.toPost : -1
  }

  get #mayRepeat(): boolean {
    return this.state === 'streaming' || this.state === 'committing'
  }

  /** The chunk to read from the file next, or -1: all are read or being read, or no slot is free. */
  get chunkToLoad(): number {
    if (this.state !== 'streaming' || this.#loading === this.#plan!.chunks) return -1
    return this.#loading - this.freedChunks < this.#slots ? this.#loading : -1
  }

  /** The chunk to hand over next, or -1. */
  get chunkToPost(): number {
    return this.state === 'streaming' && this.#posted < this.#loaded ? this.#posted : -1
  }

  /** True once every chunk has been handed over: Commit may follow. */
  get readyToCommit(): boolean {
    return this.state === 'streaming' && this.#posted === this.#plan!.chunks
  }

  onLoading(): void {
    this.#loading++
  }

  onLoaded(): void {
    this.#loaded++
  }

  onPosted(): void {
    this.#posted++
  }

  onReloading(): void {
    this.repeat.onLoading()
  }

  onReloaded(): void {
    this.repeat.onLoaded()
  }

  onRepeated(): void {
    this.repeat.onPosted()
  }

  /** Commit has been handed over. */
  onCommitted(): void {
    this.expect('streaming')
    this.enter('committing')
  }

  /** Chunks whose local slots may be used again. */
  protected abstract get freedChunks(): number

  protected begin(plan: ChunkPlan, slots: number, resumeDigest: Uint8Array): void {
    this.#plan = plan
    this.#resumeDigest = resumeDigest
    this.#slots = slots
    this.enter('streaming')
  }

  protected take(message: TransferMessage): void {
    if (message.body === 'credit') this.#onCredit(message.credit.chunks)
    else if (message.body === 'again') this.#onAgain(message.again.chunk)
    else if (message.body === 'refuse') this.fail(TransferFailure.fromPeer(message.refuse, this.peer))
    else if (message.body === 'fail') this.fail(TransferFailure.fromPeer(message.fail, this.peer))
    else if (message.body === 'done') {
      this.#path = message.done.path
      this.enter('done')
    }
  }

  #onCredit(chunks: number): void {
    const credited = advanceCount(this.#credited, chunks, this.#posted)
    if (credited < 0) this.violated(`credit for ${chunks} chunks, ${this.#posted} were sent`)
    else this.#credited = credited
  }

  #onAgain(wrapped: number): void {
    const chunk = this.#posted - ((((this.#posted - wrapped) % 2 ** 32) + 2 ** 32) % 2 ** 32)
    const isRecent = chunk >= 0 && chunk < this.#posted && this.#posted - chunk <= 2 * RING_SLOTS_MAX
    if (this.#plan!.digestBytes === 0) this.violated('chunks have no digests')
    else if (!isRecent) this.violated(`chunk ${wrapped} again, ${this.#posted} were sent`)
    else if (++this.damagedChunks > REPEATS_MAX) this.violated(`more than ${REPEATS_MAX} chunks again`)
    else if (this.repeat.ask(chunk)) this.mended.note(this.#plan!, chunk)
    else this.violated(`chunk ${wrapped} again, before another has come`)
  }
}
