/**
 * The chunks of a file at the end that has it, whoever asked for the transfer. Counters say everything about its ring, and each
 * only grows:
 *
 *     credited ≤ posted ≤ loaded ≤ loading,  freed ≤ posted,  posted - credited ≤ the other end's slots
 *
 * Whichever connection is free takes the next chunk. Chunks of a connection that was lost come first.
 *
 * A chunk that did not have its digest is read again into the slot behind all others. A pipe cannot be read again: then a chunk keeps its
 * slot until it was credited, and is copied.
 */
import { assert } from '../../errors.js'
import { type ChunkPlan, REPEATS_MAX, RING_SLOTS_MAX } from './chunk-plan.js'
import { MendedChunks } from './mended.js'
import { Repeat } from './repeat.js'
import type { TransferState } from './transfer-state.js'
import { advanceCount, latestCount } from './wrapped-count.js'

/** States of a machine in which chunks move. */
export type SourceState = 'streaming' | 'committing'

/** What the other end has said of the chunks before the first of them is read. */
interface SourceBeginning {
  plan: ChunkPlan
  /** Slots of the local ring. */
  slots: number
  /** Chunks that may be posted and not credited. Default: the local ring alone sets a limit. */
  peerSlots?: number
  /** Chunks keep their local slots until they are credited. Default: until the transport has acknowledged them. */
  isHeld?: boolean
  /** Digest of the bytes that the other end has already; empty if it did not say. */
  resumeDigest: Uint8Array
  /** Several connections carry chunks: Commit waits until all have come, for it could overtake them. Default false. */
  awaitsAll?: boolean
}

export class SourceChunks {
  /** Chunks that did not have their digest, and were moved again or are to be. */
  damaged = 0
  readonly mended = new MendedChunks()
  readonly #state: TransferState<string>
  readonly #repeat = new Repeat()
  #beginning: SourceBeginning | null = null
  #loading = 0
  #loaded = 0
  #posted = 0
  #freed = 0
  #credited = 0
  /** Chunks that the transport has acknowledged, without a gap. */
  #acknowledged = 0
  /** Chunks that were handed over, and are to be handed over again. */
  #returned: number[] = []

  /** @param state of the machine whose chunks these are */
  constructor(state: TransferState<string>) {
    this.#state = state
  }

  /** Null before the other end has said where the file begins. */
  get plan(): ChunkPlan | null {
    return this.#beginning?.plan ?? null
  }

  /** The other end's digest of the bytes that it has already; empty if it did not say. */
  get resumeDigest(): Uint8Array {
    return this.#beginning!.resumeDigest
  }

  /** Chunks that are in the ring, or were. */
  get loaded(): number {
    return this.#loaded
  }

  /** Chunks handed over: to the queue pair, or to the getter. */
  get posted(): number {
    return this.#posted
  }

  /** Chunks whose local slots may be used again. */
  get freed(): number {
    return this.#freed
  }

  /** Chunks that have left the other end's ring, or that it has read. */
  get credited(): number {
    return this.#credited
  }

  /** Slot of the local ring that holds the chunk. */
  localSlotOf(chunk: number): number {
    return chunk % this.#beginning!.slots
  }

  /** Slot of the local ring for a chunk that is moved again. */
  get repeatSlot(): number {
    return this.#beginning!.slots
  }

  /** True while chunks are read in their order. */
  get streams(): boolean {
    return this.#is('streaming')
  }

  /** The chunk to read from the file next, or -1: all are read or being read, or no slot is free. */
  get toLoad(): number {
    if (!this.streams || this.#loading === this.plan!.chunks) return -1
    return this.#loading - this.#freed < this.#beginning!.slots ? this.#loading : -1
  }

  /** The chunk to hand over next, or -1: none is loaded, or the other end's ring is full. */
  get toPost(): number {
    if (!this.streams) return -1
    if (this.#returned.length > 0) return this.#returned[0]!
    if (this.#posted === this.#loaded) return -1
    const { peerSlots = Number.POSITIVE_INFINITY } = this.#beginning!
    return this.#posted - this.#credited < peerSlots ? this.#posted : -1
  }

  /** The chunk to read from the file once more, or -1. */
  get toReload(): number {
    return this.#mayRepeat ? this.#repeat.toLoad : -1
  }

  /** The chunk to hand over once more, or -1. */
  get toRepeat(): number {
    return this.#mayRepeat ? this.#repeat.toPost : -1
  }

  /** True once every chunk has been handed over: Commit may follow. */
  get readyToCommit(): boolean {
    if (!this.streams || this.#posted !== this.plan!.chunks) return false
    return !this.#beginning!.awaitsAll || this.#acknowledged === this.#posted
  }

  /** The other end is ready: the first chunk may be read. */
  begin(beginning: SourceBeginning): void {
    this.#beginning = beginning
    this.#enter('streaming')
  }

  onLoading(): void {
    this.#loading++
  }

  onLoaded(): void {
    this.#loaded++
    this.#check()
  }

  /** `toPost` has been handed over. */
  onPosted(): void {
    if (this.#returned.shift() !== undefined) return
    this.#posted++
    this.#check()
  }

  /** Their connection has ended before they came: another one takes them. */
  onReturned(chunks: readonly number[]): void {
    this.#returned.push(...chunks)
  }

  /** The slots of the first `chunks` chunks may be used again. */
  onFreed(chunks: number): void {
    this.#freed = chunks
    this.#check()
  }

  onReloading(): void {
    this.#repeat.onLoading()
  }

  onReloaded(): void {
    this.#repeat.onLoaded()
  }

  onRepeated(): void {
    this.#repeat.onPosted()
  }

  /** The slot of the chunk that was moved again may be used again. */
  onRepeatFreed(): void {
    this.#repeat.onFreed()
  }

  /** Commit has been handed over. Throws WEIR_BAD_STATE. */
  onCommitted(): void {
    this.#state.expect('streaming')
    this.#enter('committing')
  }

  /** The other end's count of chunks that have left its ring, or that it has read. @param wrapped modulo 2^32 */
  onCredit(wrapped: number): void {
    const credited = advanceCount(this.#credited, wrapped, this.#posted)
    if (credited < 0) this.#state.violated(`credit for ${wrapped} chunks, ${this.#posted} were sent`)
    else this.#credited = credited
    if (this.#isHeld) this.onFreed(this.#credited)
  }

  /** The transport has acknowledged the first `chunks` chunks: their slots are free, unless they are held until they are credited. */
  onAcknowledged(chunks: number): void {
    this.#acknowledged = chunks
    if (!this.#isHeld) this.onFreed(chunks)
  }

  /** The other end asks for a chunk that did not have its digest. @param wrapped modulo 2^32 */
  onAgain(wrapped: number): void {
    const chunk = latestCount(this.#posted, wrapped)
    const isRecent = chunk >= 0 && chunk < this.#posted && this.#posted - chunk <= 2 * RING_SLOTS_MAX
    const plan = this.plan!
    const state = this.#state
    if (plan.digestBytes === 0) state.violated('chunks have no digests')
    else if (!isRecent) state.violated(`chunk ${wrapped} again, ${this.#posted} were sent`)
    else if (++this.damaged > REPEATS_MAX) state.violated(`more than ${REPEATS_MAX} chunks again`)
    else if (this.#repeat.ask(chunk)) this.mended.note(plan, chunk)
    else state.violated(`chunk ${wrapped} again, before another has come`)
  }

  get #mayRepeat(): boolean {
    return this.streams || this.#is('committing')
  }

  get #isHeld(): boolean {
    return this.#beginning!.isHeld === true
  }

  #is(state: SourceState): boolean {
    return this.#state.current === state
  }

  #enter(state: SourceState): void {
    this.#state.enter(state)
  }

  /** A chunk would be sent before it has been read, or its slot be used again before it has left. */
  #check(): void {
    assert(
      this.#posted <= this.#loaded && this.#loaded <= this.#loading,
      'transfer: a chunk is sent that was not read',
    )
    assert(this.#freed <= this.#posted, 'transfer: a slot was given back before its chunk had left')
  }
}
