/**
 * The side that serves a file which the other end gets, as a pure state machine: which message may come when,
 * which chunk may be read from the file, which the getter may learn of. No I/O, no clock.
 *
 * The getter says how the ring is cut into slots; a slot is free again once its chunk was credited.
 */
import { ChunkPlan, checkRing, slotsIn } from './chunk-plan.js'
import { TransferFailure } from './failure.js'
import { type Ready, type Request, TRANSFER_VERSION, type TransferMessage } from './messages.js'
import { SourceMachine, type SourceState } from './source-machine.js'

type OwnState = 'waiting' | 'opening' | 'offered'

/** Which messages of the getter are in turn in which state. */
const IN_TURN: Record<OwnState | SourceState, readonly string[]> = {
  waiting: ['request'],
  opening: [],
  offered: ['ready', 'fail'],
  streaming: ['credit', 'again', 'fail'],
  committing: ['credit', 'again', 'done', 'fail'],
}

export class ServerMachine extends SourceMachine<OwnState> {
  readonly #ringBytes: number
  #request: Request | null = null
  #sizeBytes = 0
  #digestBytes = 0

  /** @param ringBytes memory that the getter may READ */
  constructor(ringBytes: number) {
    super('waiting', IN_TURN, 'the getter')
    this.#ringBytes = ringBytes
  }

  /** What was asked for; null before. */
  get request(): Request | null {
    return this.#request
  }

  /** The file is open and the memory is registered: the Offer goes out. @param digestBytes as of SenderMachine */
  onOffered(sizeBytes: number, digestBytes = 0): void {
    this.expect('opening')
    this.#sizeBytes = sizeBytes
    this.#digestBytes = digestBytes
    this.enter('offered')
  }

  /** Value for the Filled message that goes out now: all chunks in the ring. */
  takeFilled(): number {
    while (this.chunkToPost >= 0) this.onPosted()
    return this.postedChunks % 2 ** 32
  }

  /** The getter hears that the chunk which it wants again stands in the ring. It asks for another only when it has that one. */
  override onRepeated(): void {
    this.repeat.onFreed()
  }

  protected get freedChunks(): number {
    return this.creditedChunks
  }

  protected override take(message: TransferMessage): void {
    if (message.body === 'request') this.#onRequest(message.request)
    else if (message.body === 'ready') this.#onReady(message.ready)
    else if (message.body === 'done' && this.creditedChunks < this.plan!.chunks)
      this.violated(`done after ${this.creditedChunks} of ${this.plan!.chunks} chunks`)
    else super.take(message)
  }

  #onRequest(request: Request): void {
    this.#request = request
    if (request.version === TRANSFER_VERSION) this.enter('opening')
    else {
      const text = `version ${request.version} of the transfer protocol is not known here, ${TRANSFER_VERSION} is`
      this.fail(new TransferFailure('UNSUPPORTED', text))
    }
  }

  #onReady({ chunkBytes, slots, resumeBytes, resumeDigest, chunkDigests }: Ready): void {
    const digestBytes = chunkDigests ? this.#digestBytes : 0
    try {
      checkRing(chunkBytes, slots)
      if (slots <= slotsIn(this.#ringBytes, chunkBytes, digestBytes)) {
        this.begin(new ChunkPlan(this.#sizeBytes, resumeBytes, chunkBytes, digestBytes), slots, resumeDigest)
      } else this.violated(`${slots} slots of ${chunkBytes} bytes in a ring of ${this.#ringBytes}`)
    } catch (error) {
      this.violated((error as Error).message)
    }
  }
}
