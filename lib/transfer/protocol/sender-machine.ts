/**
 * The sender's side of the transfer protocol as a pure state machine: which message may come when, which
 * chunk may be read and which may be sent. No I/O, no clock.
 *
 * A chunk's local slot is free again once its WRITE has completed, its remote slot once it was credited.
 */
import { ChunkPlan, checkRing, slotsIn } from './chunk-plan.js'
import { TransferFailure } from './failure.js'
import type { Ready, TransferMessage } from './messages.js'
import { SourceMachine, type SourceState } from './source-machine.js'

type OwnState = 'connecting' | 'offered' | 'held'

/** Which messages of the receiver are in turn in which state. */
const IN_TURN: Record<OwnState | SourceState, readonly string[]> = {
  connecting: [],
  offered: ['held', 'ready', 'refuse', 'fail'],
  held: ['held', 'ready', 'refuse', 'fail'],
  streaming: ['credit', 'again', 'fail'],
  committing: ['credit', 'again', 'done', 'fail'],
}

export class SenderMachine extends SourceMachine<OwnState> {
  readonly #sizeBytes: number
  readonly #ringBytes: number
  readonly #digestBytes: number
  #ready: Ready | null = null
  #completed = 0

  /**
   * @param ringBytes memory for the local ring
   * @param peer name of the receiver for messages
   * @param digestBytes of the digests that the Offer has made possible; 0: none
   */
  constructor(sizeBytes: number, ringBytes: number, peer: string, digestBytes = 0) {
    super('connecting', IN_TURN, peer)
    this.#sizeBytes = sizeBytes
    this.#ringBytes = ringBytes
    this.#digestBytes = digestBytes
  }

  /** The receiver's Ready; null before. */
  get ready(): Ready | null {
    return this.#ready
  }

  get completedChunks(): number {
    return this.#completed
  }

  /** Address in the receiver's ring where the chunk goes. */
  remoteAddressOf(chunk: number): number {
    const ready = this.#ready!
    return ready.address + (chunk % ready.slots) * this.plan!.slotBytes
  }

  /** The chunk to WRITE next, or -1: none is loaded, or the receiver's ring is full. */
  override get chunkToPost(): number {
    const chunk = super.chunkToPost
    return chunk - this.creditedChunks < (this.#ready?.slots ?? 0) ? chunk : -1
  }

  /** The connection stands and the Offer has been handed over. */
  onOffered(): void {
    this.expect('connecting')
    this.enter('offered')
  }

  /** The transport has acknowledged the oldest unacknowledged chunk. */
  onCompleted(): void {
    this.#completed++
  }

  /** The transport has acknowledged the chunk that was moved again. */
  onRepeatCompleted(): void {
    this.repeat.onFreed()
  }

  protected get freedChunks(): number {
    return this.#completed
  }

  protected override take(message: TransferMessage): void {
    if (message.body === 'ready') this.#onReady(message.ready)
    else if (message.body === 'held') this.enter('held')
    else super.take(message)
  }

  #onReady(ready: Ready): void {
    let plan: ChunkPlan
    const digestBytes = ready.chunkDigests ? this.#digestBytes : 0
    try {
      checkRing(ready.chunkBytes, ready.slots)
      plan = new ChunkPlan(this.#sizeBytes, ready.resumeBytes, ready.chunkBytes, digestBytes)
    } catch (error) {
      this.violated((error as Error).message)
      return
    }
    const slots = slotsIn(this.#ringBytes, ready.chunkBytes, digestBytes)
    if (slots < 1) {
      const text = `${this.peer} asks for chunks of ${ready.chunkBytes} bytes, too long for this end's memory of ${this.#ringBytes}: restart one of the daemons with another --chunk`
      this.fail(new TransferFailure('UNSUPPORTED', text))
      return
    }
    this.#ready = ready
    this.begin(plan, Math.min(slots, ready.slots), ready.resumeDigest)
  }
}
