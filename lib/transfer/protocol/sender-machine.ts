/**
 * The sender's side of the transfer protocol as a pure state machine: which message may come when, which
 * chunk may be read and which may be sent. No I/O, no clock.
 *
 * A chunk's local slot is free again once its WRITE has completed, its remote slot once it was credited.
 */
import type { WeirError } from '../../errors.js'
import { ChunkPlan, checkRing, slotsIn } from './chunk-plan.js'
import { TransferFailure } from './failure.js'
import type { TransferMachine } from './machine.js'
import type { LaneChunks, Ready, TransferMessage } from './messages.js'
import { PrefixCount } from './prefix-count.js'
import { SourceChunks, type SourceState } from './source-chunks.js'
import { TransferState } from './transfer-state.js'
import { wrapped } from './wrapped-count.js'

type State = 'connecting' | 'offered' | 'held' | SourceState

/** Which messages of the receiver are in turn in which state. */
const IN_TURN: Record<State, readonly string[]> = {
  connecting: [],
  offered: ['held', 'ready', 'refuse', 'fail'],
  held: ['held', 'ready', 'refuse', 'fail'],
  streaming: ['credit', 'again', 'missing', 'fail'],
  committing: ['credit', 'again', 'done', 'fail'],
}

export class SenderMachine implements TransferMachine {
  readonly chunks: SourceChunks
  readonly #state: TransferState<State>
  readonly #sizeBytes: number
  readonly #ringBytes: number
  readonly #peer: string
  readonly #digestBytes: number
  #ready: Ready | null = null
  /** Chunks that the transport has acknowledged. */
  readonly #completed = new PrefixCount()
  /** Chunks of further connections that have ended, by their numbers: the receiver has been asked which have come. */
  readonly #lost = new Map<number, readonly number[]>()
  #path = ''
  /** Bytes of each chunk's seal. */
  sealBytes = 0

  /**
   * @param sizeBytes OPEN_END of a pipe
   * @param ringBytes memory for the local ring
   * @param peer name of the receiver for messages
   * @param digestBytes of the digests that the Offer has made possible; 0: none
   */
  constructor(sizeBytes: number, ringBytes: number, peer: string, digestBytes = 0) {
    this.#state = new TransferState<State>('connecting', IN_TURN, peer)
    this.chunks = new SourceChunks(this.#state)
    this.#sizeBytes = sizeBytes
    this.#ringBytes = ringBytes
    this.#peer = peer
    this.#digestBytes = digestBytes
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

  /** The receiver's Ready; null before. */
  get ready(): Ready | null {
    return this.#ready
  }

  /** Path of the delivered file, as the receiver names it. */
  get path(): string {
    return this.#path
  }

  /** Address in the receiver's ring where the chunk goes. */
  remoteAddressOf(chunk: number): number {
    const ready = this.#ready!
    return ready.address + (chunk % ready.slots) * this.chunks.plan!.slotBytes
  }

  /** The connection stands and the Offer has been handed over. */
  onOffered(): void {
    this.#state.expect('connecting')
    this.#state.enter('offered')
  }

  /** The transport has acknowledged the chunk. */
  onCompleted(chunk: number): void {
    this.#completed.add(chunk)
    this.chunks.onAcknowledged(this.#completed.count)
  }

  /** A further connection has ended. Nobody here knows which of its chunks have come. Returns the question for the receiver. */
  onLaneLost(lane: number, chunks: readonly number[]): LaneChunks {
    this.#lost.set(lane, chunks)
    return { lane, chunks: chunks.map(wrapped) }
  }

  /** The chunk that is moved again has been handed over. */
  onRepeated(): void {
    this.chunks.onRepeated()
  }

  /** The transport has acknowledged the chunk that was moved again. */
  onRepeatCompleted(): void {
    this.chunks.onRepeatFreed()
  }

  onMessage(message: TransferMessage): void {
    if (!this.#state.admits(message)) return
    if (message.body === 'held') this.#state.enter('held')
    else if (message.body === 'ready') this.#onReady(message.ready)
    else if (message.body === 'credit') this.chunks.onCredit(message.credit.chunks)
    else if (message.body === 'again') this.chunks.onAgain(message.again.chunk)
    else if (message.body === 'missing') this.#onMissing(message.missing)
    else if (message.body === 'done') {
      this.#path = message.done.path
      this.#state.enter('done')
    }
  }

  fail(failure: WeirError): void {
    this.#state.fail(failure)
  }

  #onMissing({ lane, chunks }: LaneChunks): void {
    const lost = this.#lost.get(lane) ?? []
    const missing = lost.filter(chunk => chunks.includes(wrapped(chunk)))
    if (!this.#lost.delete(lane) || missing.length !== chunks.length) {
      this.#state.violated(`chunks are missing that stream ${lane} did not carry`)
      return
    }
    this.chunks.onReturned(missing)
    for (const chunk of lost) if (!missing.includes(chunk)) this.onCompleted(chunk)
  }

  #onReady(ready: Ready): void {
    let plan: ChunkPlan
    const digestBytes = ready.chunkDigests ? this.#digestBytes : 0
    try {
      checkRing(ready.chunkBytes, ready.slots)
      plan = new ChunkPlan(this.#sizeBytes, ready.resumeBytes, ready.chunkBytes, digestBytes, this.sealBytes)
    } catch (error) {
      this.#state.violated((error as Error).message)
      return
    }
    const slots = slotsIn(this.#ringBytes, ready.chunkBytes, digestBytes)
    if (slots < 1) {
      const text = `${this.#peer} asks for chunks of ${ready.chunkBytes} bytes, too long for this end's memory of ${this.#ringBytes}: restart one of the daemons with another --chunk`
      this.fail(new TransferFailure('UNSUPPORTED', text))
      return
    }
    plan.movesZerosAlone = ready.zerosAlone === true && digestBytes > 0 && !plan.isOpen
    this.#ready = ready
    const { resumeDigest, slots: peerSlots, laneKey } = ready
    const isHeld = plan.isOpen
    const awaitsAll = laneKey !== undefined && laneKey.length > 0
    this.chunks.begin({ plan, slots: Math.min(slots, peerSlots), peerSlots, resumeDigest, isHeld, awaitsAll })
  }
}
