/**
 * The chunks of a file at the end that writes it, whoever asked for the transfer. Counters say everything about its ring, and
 * each only grows:
 *
 *     credited ≤ written or arrived,  written ≤ writing ≤ arrived,  arrived - written ≤ slots
 *
 * Where several connections bring chunks, they come in any order. Those behind a gap wait in the ring.
 *
 * A chunk that does not have its digest is the one that would be written next. It holds up those behind it until it has come again.
 */
import { assert } from '../../errors.js'
import { type ChunkPlan, REPEATS_MAX, REPEATS_OF_CHUNK_MAX } from './chunk-plan.js'
import { TransferFailure } from './failure.js'
import { MendedChunks } from './mended.js'
import { PrefixCount } from './prefix-count.js'
import type { TransferState } from './transfer-state.js'
import { wrapped } from './wrapped-count.js'

/** States of a machine from the opening of the file on. */
export type SinkState = 'opening' | 'receiving' | 'committing'

export class SinkChunks {
  /** Chunks that did not have their digest, and are to be moved again or were. */
  damaged = 0
  readonly mended = new MendedChunks()
  readonly #state: TransferState<string>
  readonly #creditedOnce: 'written' | 'arrived'
  #plan: ChunkPlan | null = null
  #slots = 0
  readonly #arrived = new PrefixCount()
  #writing = 0
  #written = 0
  #credited = 0
  /** The chunk that has to come again, or -1, and whether it was asked for. */
  #wanted = -1
  #isAskedFor = false
  /** How often that chunk, or the last such, was found damaged. */
  #timesDamaged = 0
  #lastDamaged = -1
  #worthBytes = 0

  /**
   * @param state of the machine whose chunks these are
   * @param creditedOnce when the slot of a chunk that the other end fills is free: once this end has written the chunk, or once the
   * chunk has arrived
   */
  constructor(state: TransferState<string>, creditedOnce: 'written' | 'arrived') {
    this.#state = state
    this.#creditedOnce = creditedOnce
  }

  /** Null before the file is open. */
  get plan(): ChunkPlan | null {
    return this.#plan
  }

  /** Slots of the local ring. */
  get slots(): number {
    return this.#slots
  }

  /** Chunks that are in the ring, or were, without a gap. */
  get arrived(): number {
    return this.#arrived.count
  }

  /** Chunks that have come behind a gap. */
  get arrivedBeyond(): number {
    return this.#arrived.beyond
  }

  /** One more than the last chunk that has come, also behind a gap. */
  get arrivedEnd(): number {
    return this.#arrived.end
  }

  hasArrived(chunk: number): boolean {
    return this.#arrived.has(chunk)
  }

  /** Chunks that are in the file. */
  get written(): number {
    return this.#written
  }

  /** Slot of the local ring that holds the chunk. */
  slotOf(chunk: number): number {
    return chunk % this.#slots
  }

  /** True while chunks may come and be written. */
  get moves(): boolean {
    return this.#is('receiving') || this.#is('committing')
  }

  /** The chunk to write to the file next, or -1: all that have arrived are written or being written. */
  get toWrite(): number {
    return this.moves && this.#wanted < 0 && this.#writing < this.arrived ? this.#writing : -1
  }

  /** The chunk to ask for again, or -1. */
  get toAskFor(): number {
    return this.moves && !this.#isAskedFor ? this.#wanted : -1
  }

  /** The chunk that has been asked for again and has not come, or -1. */
  get awaited(): number {
    return this.#isAskedFor ? this.#wanted : -1
  }

  /**
   * Bytes from the file's first on that are worth keeping after a failure by damaged chunks: the intake has found the part up to
   * there right. Infinity: all bytes. 0: none, the transfer has failed otherwise.
   */
  get worthBytes(): number {
    return this.#worthBytes
  }

  /** True when the other end does not know yet about slots that are free. */
  get creditDue(): boolean {
    return this.moves && this.#credited < this.#creditable
  }

  /** True once Commit has come and every chunk is in the file. */
  get readyToFinish(): boolean {
    return this.#is('committing') && this.#written === this.#plan!.chunks
  }

  /** The file is open: chunks may come. @param slots of the local ring */
  begin(plan: ChunkPlan, slots: number): void {
    this.#plan = plan
    this.#slots = slots
    this.#state.enter('receiving' satisfies SinkState)
  }

  /** A chunk is in the ring. */
  onArrived(chunk: number): void {
    assert(this.#arrived.add(chunk), 'transfer: a chunk has come twice')
    assert(chunk - this.#written < this.#slots, 'transfer: a chunk has come whose slot is in use')
    this.#check()
  }

  /** The chunk to write next does not have its digest. Fails the transfer if that has happened too often. */
  onDamaged(): void {
    const chunk = this.#writing
    const plan = this.#plan!
    this.#timesDamaged = chunk === this.#lastDamaged ? this.#timesDamaged + 1 : 1
    this.#lastDamaged = chunk
    if (this.#timesDamaged <= REPEATS_OF_CHUNK_MAX && this.damaged < REPEATS_MAX) {
      this.damaged++
      this.mended.note(plan, chunk)
      this.#wanted = chunk
      return
    }
    const isOfPart = plan.isKept(chunk) && this.#timesDamaged === 1
    const from = plan.positionOf(chunk)
    this.#worthBytes = isOfPart ? from : Number.POSITIVE_INFINITY
    this.#state.fail(isOfPart ? partDiffers(from) : this.#alwaysDamaged(chunk))
  }

  onAskedAgain(): void {
    this.#isAskedFor = true
  }

  /** The chunk that was asked for again has come. */
  onCameAgain(): void {
    this.#wanted = -1
    this.#isAskedFor = false
  }

  onWriting(): void {
    this.#writing++
    this.#check()
  }

  onWritten(): void {
    this.#written++
    this.#check()
  }

  /** Value for the Credit message that goes out now. */
  takeCredit(): number {
    this.#credited = this.#creditable
    return wrapped(this.#credited)
  }

  /** Chunks whose slots the other end may fill again. */
  get #creditable(): number {
    return this.#creditedOnce === 'written' ? this.#written : this.arrived
  }

  #is(state: SinkState): boolean {
    return this.#state.current === state
  }

  /** A chunk would be written before it has come, or over one that has not been written. */
  #check(): void {
    assert(
      this.#written <= this.#writing && this.#writing <= this.arrived,
      'transfer: a chunk is written that has not come',
    )
    assert(
      this.arrived - this.#written <= this.#slots,
      'transfer: more chunks have come than the ring has slots',
    )
  }

  #alwaysDamaged(chunk: number): TransferFailure {
    const plan = this.#plan!
    const from = plan.positionOf(chunk)
    const where = `bytes ${from} to ${from + plan.lengthOf(chunk) - 1} of the file`
    const how =
      this.#timesDamaged > REPEATS_OF_CHUNK_MAX
        ? `were damaged ${this.#timesDamaged} times`
        : `are damaged, after ${this.damaged} chunks that were moved again`
    return new TransferFailure(
      'DIGEST_MISMATCH',
      `${where} ${how}: they do not have the digest stated for them`,
    )
  }
}

function partDiffers(from: number): TransferFailure {
  const text = `more than ${REPEATS_MAX} chunks of what an earlier transfer has left are damaged: all from byte ${from} on is to be moved again`
  return new TransferFailure('PART_DIFFERS', text)
}
