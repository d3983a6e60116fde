/**
 * The receiver's side of the transfer protocol as a pure state machine: which message may come when, which
 * chunk is due, which may be written, which credit is owed. No I/O, no clock.
 *
 * The sender WRITEs into the ring, so that a slot is free once its chunk is in the file.
 */
import type { WeirError } from '../../errors.js'
import { ChunkPlan, OPEN_END, RING_SLOTS_MAX } from './chunk-plan.js'
import { DIGEST_BYTES } from './digest.js'
import type { DigestKind, LaneChunks, Offer, TransferMessage } from './messages.js'
import { SinkChunks, type SinkState } from './sink-chunks.js'
import { type SinkMachine, takeOffer } from './sink-machine.js'
import { TransferState } from './transfer-state.js'
import { advanceCount, latestCount, wrapped } from './wrapped-count.js'

type State = 'waiting' | SinkState

/** Which messages of the sender are in turn in which state. */
const IN_TURN: Record<State, readonly string[]> = {
  waiting: ['offer'],
  opening: ['fail'],
  receiving: ['commit', 'lost', 'fail'],
  committing: ['fail'],
}

export class ReceiverMachine implements SinkMachine {
  readonly chunks: SinkChunks
  readonly #state: TransferState<State>
  readonly #chunkBytes: number
  #offer: Offer | null = null
  #digest: Uint8Array | null = null
  /** Several connections may bring chunks, so that they come in any order. */
  #hasLanes = false
  /** Bytes of each chunk's seal. */
  sealBytes = 0

  constructor(chunkBytes: number) {
    this.#state = new TransferState<State>('waiting', IN_TURN, 'the sender')
    this.chunks = new SinkChunks(this.#state, 'written')
    this.#chunkBytes = chunkBytes
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

  get offer(): Offer | null {
    return this.#offer
  }

  get digest(): Uint8Array | null {
    return this.#digest
  }

  /**
   * The file is open and the memory is registered: Ready goes out.
   * @param slots of the ring; @param hasLanes several connections may bring chunks
   */
  onOpened(resumeBytes: number, slots: number, hasLanes = false): void {
    if (this.#state.current !== 'opening') return
    this.#hasLanes = hasLanes
    const { chunkDigests, digest, openEnd } = this.#offer!
    const size = openEnd ? OPEN_END : this.#offer!.size
    const digestBytes = chunkDigests ? DIGEST_BYTES[digest as DigestKind] : 0
    const plan = new ChunkPlan(size, resumeBytes, this.#chunkBytes, digestBytes, this.sealBytes)
    plan.movesZerosAlone = digestBytes > 0 && !plan.isOpen
    this.chunks.begin(plan, slots)
  }

  /** A WRITE with immediate has put `bytes` of a chunk into the ring. Returns that chunk, or -1 if it fails the transfer. */
  onChunk(immediate: number, bytes: number): number {
    if (this.ended) return -1
    const again = this.chunks.awaited
    if (again >= 0 && immediate === wrapped(again)) return this.#onChunkAgain(again, bytes)
    const chunk = this.#chunkOf(immediate)
    const wrong = this.#wrongWithChunk(chunk, immediate, bytes)
    if (wrong) {
      this.#state.violated(wrong)
      return -1
    }
    this.chunks.onArrived(chunk)
    return chunk
  }

  /** The chunk that has come; -1: it is none that may. On one connection chunks come in their order. */
  #chunkOf(immediate: number): number {
    const { arrived, written, slots } = this.chunks
    if (!this.#hasLanes) return immediate === wrapped(arrived) ? arrived : -1
    const chunk = advanceCount(arrived, immediate, written + slots)
    return chunk >= 0 && this.chunks.hasArrived(chunk) ? -1 : chunk
  }

  /** Those of a lost connection's chunks that have not come. Call it when nothing of them can come any more. */
  missingOf({ lane, chunks }: LaneChunks): LaneChunks {
    const { written, slots } = this.chunks
    const last = written + slots - 1
    return { lane, chunks: chunks.filter(chunk => !this.chunks.hasArrived(latestCount(last, chunk))) }
  }

  onFinished(): void {
    if (this.#state.current === 'committing') this.#state.enter('done')
  }

  onMessage(message: TransferMessage): void {
    if (!this.#state.admits(message)) return
    if (message.body === 'offer') this.#onOffer(message.offer)
    else if (message.body === 'lost') this.#onLost(message.lost)
    else if (message.body === 'commit') this.#onCommit(message.commit.digest)
  }

  fail(failure: WeirError): void {
    this.#state.fail(failure)
  }

  #onChunkAgain(chunk: number, bytes: number): number {
    const { plan } = this.chunks
    if (bytes === plan!.wholeBytesOf(chunk)) {
      this.chunks.onCameAgain()
      return chunk
    }
    this.#state.violated(`chunk ${chunk} again with ${bytes} bytes`)
    return -1
  }

  #wrongWithChunk(chunk: number, immediate: number, bytes: number): string | null {
    if (this.#state.current !== 'receiving') return `a chunk in state ${this.#state.current}`
    const { arrived, written, slots } = this.chunks
    const plan = this.chunks.plan!
    if ((chunk < 0 ? arrived : chunk) >= plan.chunks) return 'a chunk after the last one'
    if ((chunk < 0 ? arrived : chunk) - written >= slots) return 'a chunk without credit'
    if (chunk < 0) return `chunk ${immediate} where ${arrived} is due`
    // The first chunk that is shorter than the others says where the file ends.
    const length = bytes - plan.digestBytes - plan.sealBytes
    if (plan.isOpen && length >= 0 && length < plan.chunkBytes) {
      if (this.chunks.arrivedEnd > chunk) return `chunk ${chunk} is the last one, and later ones have come`
      plan.endAt(plan.positionOf(chunk) + length)
    }
    if (plan.movesZerosAlone && length === 0) plan.noteZeros(chunk)
    const due = plan.movedBytesOf(chunk)
    return bytes === due ? null : `chunk ${chunk} has ${bytes} bytes, ${due} are due`
  }

  #onOffer(offer: Offer): void {
    this.#offer = offer
    takeOffer(offer, this.#state)
  }

  #onLost({ lane, chunks }: LaneChunks): void {
    if (!this.#hasLanes || chunks.length > RING_SLOTS_MAX)
      this.#state.violated(`${chunks.length} chunks of stream ${lane} were lost`)
  }

  #onCommit(digest: Uint8Array): void {
    const { arrived, plan } = this.chunks
    if (arrived !== plan!.chunks) {
      this.#state.violated(`commit after ${arrived} of ${plan!.chunks} chunks`)
      return
    }
    this.#digest = digest
    this.#state.enter('committing')
  }
}
