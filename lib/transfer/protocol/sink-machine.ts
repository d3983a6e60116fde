/**
 * The state machine of the end that writes the file, whoever asked for the transfer. Counters of chunks say
 * everything about its ring, and each only grows:
 *
 *     credited ≤ creditable,  written ≤ writing ≤ arrived,  arrived - written ≤ slots
 *
 * A chunk that does not have its digest is the one that would be written next. It holds up those behind it until it has come again.
 */
import { assert } from '../../errors.js'
import { type ChunkPlan, REPEATS_MAX, REPEATS_OF_CHUNK_MAX } from './chunk-plan.js'
import { TransferFailure } from './failure.js'
import { TransferMachine } from './machine.js'
import { type Offer, TRANSFER_VERSION, type TransferMessage } from './messages.js'

/** As far as a Date reaches. */
const TIME_MS_MAX = 8.64e15

export type SinkState = 'opening' | 'receiving' | 'committing'

export abstract class SinkMachine<State extends string> extends TransferMachine<State | SinkState> {
  protected slots = 0
  #offer: Offer | null = null
  #plan: ChunkPlan | null = null
  #arrived = 0
  #writing = 0
  #written = 0
  #credited = 0
  #digest: Uint8Array | null = null
  /** The chunk that has to come again, or -1, and whether it was asked for. */
  #damaged = -1
  #isAskedFor = false
  /** How often that chunk, or the last such, was found damaged. */
  #timesDamaged = 0
  #lastDamaged = -1
  #worthBytes = 0

  get offer(): Offer | null {
    return this.#offer
  }

  get plan(): ChunkPlan | null {
    return this.#plan
  }

  /** The other end's digest; null before Commit. */
  get digest(): Uint8Array | null {
    return this.#digest
  }

  /** Chunks that are in the ring, or were. */
  get arrivedChunks(): number {
    return this.#arrived
  }

  get writtenChunks(): number {
    return this.#written
  }

  /** Slot of the local ring that holds the chunk. */
  slotOf(chunk: number): number {
    return chunk % this.slots
  }

  /** True while chunks may come and be written. */
  get receives(): boolean {
    return this.state === 'receiving' || this.state === 'committing'
  }

  /** The chunk to write to the file next, or -1: all that have arrived are written or being written. */
  get chunkToWrite(): number {
    return this.receives && this.#damaged < 0 && this.#writing < this.#arrived ? this.#writing : -1
  }

  /** The chunk to ask for again, or -1. */
  get chunkToAskFor(): number {
    return this.receives && !this.#isAskedFor ? this.#damaged : -1
  }

  /** The chunk that has been asked for again and has not come, or -1. */
  get awaitedChunk(): number {
    return this.#isAskedFor ? this.#damaged : -1
  }

  /**
   * Bytes from the file's first on that are worth keeping where chunks were damaged too often: what was there of them that has
   * been looked at is right. Infinity: all. 0 where the transfer has failed otherwise.
   */
  get worthBytes(): number {
    return this.#worthBytes
  }

  /** True when the other end does not know yet about slots that are free. */
  get creditDue(): boolean {
    return this.receives && this.#credited < this.creditable
  }

  /** True once Commit has come and every chunk is in the file. */
  get readyToFinish(): boolean {
    return this.state === 'committing' && this.#written === this.#plan!.chunks
  }

  /** The chunk to write next does not have its digest. Fails the transfer if that has happened too often. */
  onDamaged(): void {
    const chunk = this.#writing
    const plan = this.#plan!
    this.#timesDamaged = chunk === this.#lastDamaged ? this.#timesDamaged + 1 : 1
    this.#lastDamaged = chunk
    if (this.#timesDamaged <= REPEATS_OF_CHUNK_MAX && this.damagedChunks < REPEATS_MAX) {
      this.damagedChunks++
      this.mended.note(plan, chunk)
      this.#damaged = chunk
      return
    }
    const isOfPart = plan.isKept(chunk) && this.#timesDamaged === 1
    const from = plan.positionOf(chunk)
    this.#worthBytes = isOfPart ? from : Number.POSITIVE_INFINITY
    this.fail(isOfPart ? partDiffers(from) : this.#alwaysDamaged(chunk))
  }

  onAskedAgain(): void {
    this.#isAskedFor = true
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
    this.#credited = this.creditable
    return this.#credited % 2 ** 32
  }

  /** The file is in place. */
  onFinished(): void {
    if (this.state === 'committing') this.enter('done')
  }

  /** Chunks whose slots at the other end's disposal are free. */
  protected abstract get creditable(): number

  protected onArrived(): void {
    this.#arrived++
    this.#check()
  }

  /** A chunk would be written before it has come, or over one that has not been written. */
  #check(): void {
    assert(
      this.#written <= this.#writing && this.#writing <= this.#arrived,
      'transfer: a chunk is written that has not come',
    )
    assert(
      this.#arrived - this.#written <= this.slots,
      'transfer: more chunks have come than the ring has slots',
    )
  }

  /** The chunk that was asked for again has come. */
  protected onCameAgain(): void {
    this.#damaged = -1
    this.#isAskedFor = false
  }

  #alwaysDamaged(chunk: number): TransferFailure {
    const plan = this.#plan!
    const from = plan.positionOf(chunk)
    const where = `bytes ${from} to ${from + plan.lengthOf(chunk) - 1} of the file`
    const how =
      this.#timesDamaged > REPEATS_OF_CHUNK_MAX
        ? `were damaged ${this.#timesDamaged} times`
        : `are damaged, after ${this.damagedChunks} chunks that were moved again`
    return new TransferFailure(
      'DIGEST_MISMATCH',
      `${where} ${how}: they do not have the digest stated for them`,
    )
  }

  protected begin(plan: ChunkPlan): void {
    this.#plan = plan
    this.enter('receiving')
  }

  protected take(message: TransferMessage): void {
    if (message.body === 'offer') this.takeOffer(message.offer)
    else if (message.body === 'commit') this.takeCommit(message.commit.digest)
    else if (message.body === 'fail') this.fail(TransferFailure.fromPeer(message.fail, this.peer))
  }

  protected takeOffer(offer: Offer): void {
    this.#offer = offer
    if (offer.version !== TRANSFER_VERSION) {
      const text = `version ${offer.version} of the transfer protocol is not known here, ${TRANSFER_VERSION} is`
      this.fail(new TransferFailure('UNSUPPORTED', text))
    } else if (!Number.isSafeInteger(offer.size) || !(Math.abs(offer.mtimeMs) <= TIME_MS_MAX)) {
      this.violated('an offer whose size or time is out of range')
    } else {
      this.enter('opening')
    }
  }

  protected takeCommit(digest: Uint8Array): void {
    this.#digest = digest
    this.enter('committing')
  }
}

function partDiffers(from: number): TransferFailure {
  const text = `more than ${REPEATS_MAX} chunks of what an earlier transfer has left are damaged: all from byte ${from} on is to be moved again`
  return new TransferFailure('PART_DIFFERS', text)
}
