/**
 * The side that serves a file which the other end gets, as a pure state machine: which message may come when,
 * which chunk may be read from the file, which the getter may learn of. No I/O, no clock.
 *
 * The getter says how the ring is cut into slots; a slot is free again once its chunk was credited.
 */
import type { WeirError } from '../../errors.js'
import { ChunkPlan, checkRing, slotsIn } from './chunk-plan.js'
import { unknownVersion } from './failure.js'
import type { TransferMachine } from './machine.js'
import { type Filled, type Ready, type Request, TRANSFER_VERSION, type TransferMessage } from './messages.js'
import { SourceChunks, type SourceState } from './source-chunks.js'
import { TransferState } from './transfer-state.js'
import { wrapped } from './wrapped-count.js'

type State = 'waiting' | 'opening' | 'offered' | SourceState

/** Which messages of the getter are in turn in which state. */
const IN_TURN: Record<State, readonly string[]> = {
  waiting: ['request'],
  opening: [],
  offered: ['ready', 'fail'],
  streaming: ['credit', 'again', 'fail'],
  committing: ['credit', 'again', 'done', 'fail'],
}

export class ServerMachine implements TransferMachine {
  readonly chunks: SourceChunks
  readonly #state: TransferState<State>
  readonly #ringBytes: number
  #request: Request | null = null
  #sizeBytes = 0
  #digestBytes = 0
  /** Bytes of each chunk's seal. */
  sealBytes = 0

  /** @param ringBytes memory that the getter may READ */
  constructor(ringBytes: number) {
    this.#state = new TransferState<State>('waiting', IN_TURN, 'the getter')
    this.chunks = new SourceChunks(this.#state)
    this.#ringBytes = ringBytes
  }

  get state(): string {
    return this.#state.current
  }

  get failure(): WeirError | null {
    return this.#state.failure
  }

  get ended(): boolean {
    return this.#state.ended
  }

  /** What was asked for; null before. */
  get request(): Request | null {
    return this.#request
  }

  /** The file is open and the memory is registered: the Offer goes out. @param digestBytes as of SenderMachine */
  onOffered(sizeBytes: number, digestBytes = 0): void {
    this.#state.expect('opening')
    this.#sizeBytes = sizeBytes
    this.#digestBytes = digestBytes
    this.#state.enter('offered')
  }

  /** What the Filled message that goes out now says: all chunks in the ring, and which of the new ones are zeros. */
  takeFilled(): Pick<Filled, 'chunks' | 'zeros'> {
    const zeros: number[] = []
    for (let chunk = this.chunks.toPost; chunk >= 0; chunk = this.chunks.toPost) {
      if (this.chunks.plan!.isZeros(chunk)) zeros.push(wrapped(chunk))
      this.chunks.onPosted()
    }
    return { chunks: wrapped(this.chunks.posted), zeros }
  }

  /** The getter hears that the chunk which it wants again stands in the ring. It asks for another only when it has that one. */
  onRepeated(): void {
    this.chunks.onRepeated()
    this.chunks.onRepeatFreed()
  }

  onMessage(message: TransferMessage): void {
    if (!this.#state.admits(message)) return
    if (message.body === 'request') this.#onRequest(message.request)
    else if (message.body === 'ready') this.#onReady(message.ready)
    else if (message.body === 'credit') this.#onCredit(message.credit.chunks)
    else if (message.body === 'again') this.chunks.onAgain(message.again.chunk)
    else if (message.body === 'done') this.#onDone()
  }

  fail(failure: WeirError): void {
    this.#state.fail(failure)
  }

  #onRequest(request: Request): void {
    this.#request = request
    if (request.version === TRANSFER_VERSION) this.#state.enter('opening')
    else this.fail(unknownVersion(request.version))
  }

  #onReady({ chunkBytes, slots, resumeBytes, resumeDigest, chunkDigests, zerosAlone }: Ready): void {
    const digestBytes = chunkDigests ? this.#digestBytes : 0
    try {
      checkRing(chunkBytes, slots)
      if (slots <= slotsIn(this.#ringBytes, chunkBytes, digestBytes)) {
        const plan = new ChunkPlan(this.#sizeBytes, resumeBytes, chunkBytes, digestBytes, this.sealBytes)
        plan.movesZerosAlone = zerosAlone === true && digestBytes > 0
        this.chunks.begin({ plan, slots, resumeDigest })
      } else this.#state.violated(`${slots} slots of ${chunkBytes} bytes in a ring of ${this.#ringBytes}`)
    } catch (error) {
      this.#state.violated((error as Error).message)
    }
  }

  /** The getter has READ those chunks: there is no ring but this end's. */
  #onCredit(chunks: number): void {
    this.chunks.onCredit(chunks)
    this.chunks.onFreed(this.chunks.credited)
  }

  /** It is the last credit too: the getter sends none while an earlier one is on its way. */
  #onDone(): void {
    const { posted, plan } = this.chunks
    if (posted !== plan!.chunks) {
      this.#state.violated(`done after ${posted} of ${plan!.chunks} chunks`)
      return
    }
    this.#onCredit(wrapped(posted))
    this.#state.enter('done')
  }
}
