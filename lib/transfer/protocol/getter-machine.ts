/**
 * The getter's side of the transfer protocol as a pure state machine: which message may come when, which piece
 * to READ next, which chunk may be written, which credit is owed. No I/O, no clock.
 *
 *     written ≤ arrived ≤ asked ≤ filled,  asked - written ≤ slots
 *
 * A chunk's slot at the server is free once it has been read, its local slot once it is in the file.
 *
 * The getter READs a chunk in pieces, so that no more bytes are in flight than the server's window allows. Nothing acknowledges
 * READ responses (IBA 9.7.6), so the responder could not hold them back by itself.
 */
import type { WeirError } from '../../errors.js'
import { ChunkPlan } from './chunk-plan.js'
import { DIGEST_BYTES } from './digest.js'
import type { DigestKind, Filled, Offer, SenderFigures, TransferMessage } from './messages.js'
import { SinkChunks, type SinkState } from './sink-chunks.js'
import { type SinkMachine, takeOffer } from './sink-machine.js'
import { TransferState } from './transfer-state.js'
import { advanceCount, wrapped } from './wrapped-count.js'

type State = 'connecting' | 'asked' | 'held' | SinkState

/** Which messages of the server are in turn in which state. */
const IN_TURN: Record<State, readonly string[]> = {
  connecting: [],
  asked: ['offer', 'refuse', 'fail'],
  opening: ['fail'],
  held: ['fail'],
  receiving: ['filled', 'again', 'commit', 'fail'],
  committing: ['again', 'fail'],
}

/** Pieces of a window: while the server writes one, others are in flight. */
const PIECES_OF_WINDOW = 4
/** Pieces are a multiple of this, the greatest path MTU: only the last packet of a chunk is short. */
const PIECE_UNIT_BYTES = 4096
/** Window before the server has stated one. */
const WINDOW_BYTES_DEFAULT = 64 * 1024

/** A part of a chunk: bytes `offset` to `offset + length` of a slot. */
interface Piece {
  /** The slot at this end. */
  slot: number
  /** The slot at the server: the same, but for a chunk that is moved again. */
  from: number
  offset: number
  length: number
}

export class GetterMachine implements SinkMachine {
  readonly chunks: SinkChunks
  readonly #state: TransferState<State>
  readonly #digestKind: DigestKind
  #offer: Offer | null = null
  #digest: Uint8Array | null = null
  #figures: SenderFigures | null = null
  #filled = 0
  /** Chunks asked for whole, and bytes asked for of the next. */
  #asked = 0
  #askedBytes = 0
  /** Bytes that have come of the chunk after those that have arrived. */
  #arrivedBytes = 0
  #inFlightBytes = 0
  /** The awaited chunk stands in the server's ring again; how many of its bytes were asked for, and how many have come. */
  #mayReread = false
  #rereadAskedBytes = 0
  #rereadBytes = 0
  /** Bytes of each chunk's seal. */
  sealBytes = 0

  /** @param digestKind what is asked for; @param peer name of the server for messages */
  constructor(digestKind: DigestKind, peer: string) {
    this.#state = new TransferState<State>('connecting', IN_TURN, peer)
    this.chunks = new SinkChunks(this.#state, 'arrived')
    this.#digestKind = digestKind
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

  /** State of the path by the server's last message about it; null before one has come. */
  get figures(): SenderFigures | null {
    return this.#figures
  }

  /** Bytes that were asked for and have not come. */
  get inFlightBytes(): number {
    return this.#inFlightBytes
  }

  /** Bytes of the file that have come, resumed ones included. */
  get arrivedBytes(): number {
    const { plan, arrived } = this.chunks
    if (!plan) return 0
    return Math.min(plan.sizeBytes, plan.bytesAfter(arrived) + this.#arrivedBytes)
  }

  /** The connection stands and the Request has been handed over. */
  onAsked(): void {
    this.#state.expect('connecting')
    this.#state.enter('asked')
  }

  /** The file is being opened. */
  get opens(): boolean {
    return this.#state.current === 'opening' || this.#state.current === 'held'
  }

  /** Another transfer of this host has the file open: this one waits for it. */
  onHeld(): void {
    if (this.opens) this.#state.enter('held')
  }

  /** The file is open: Ready goes out. */
  onOpened(resumeBytes: number, chunkBytes: number, slots: number): void {
    if (!this.opens) return
    const { size, chunkDigests } = this.#offer!
    const digestBytes = chunkDigests ? DIGEST_BYTES[this.#digestKind] : 0
    this.chunks.begin(new ChunkPlan(size, resumeBytes, chunkBytes, digestBytes, this.sealBytes), slots)
  }

  /** The server's slot for a chunk that is moved again. */
  get repeatSlot(): number {
    return this.chunks.slots
  }

  /** The piece to READ next, or null: none is filled, or no slot is free, or the window is full. */
  get pieceToRead(): Piece | null {
    const { chunks } = this
    if (!chunks.moves) return null
    const again = chunks.awaited
    const plan = chunks.plan!
    if (this.#mayReread) {
      const left = plan.wholeBytesOf(again) - this.#rereadAskedBytes
      if (left > 0) return this.#pieceOf(again, this.repeatSlot, this.#rereadAskedBytes, left)
    }
    if (this.#asked === this.#filled || this.#asked - chunks.written >= chunks.slots) return null
    const offset = plan.movesFrom(this.#asked) + this.#askedBytes
    const left = plan.movedBytesOf(this.#asked) - this.#askedBytes
    return this.#pieceOf(this.#asked, chunks.slotOf(this.#asked), offset, left)
  }

  /** As much of `left` bytes as the window allows; the digest goes with the last bytes before it. */
  #pieceOf(chunk: number, from: number, offset: number, left: number): Piece | null {
    const window = this.#figures?.windowBytes || WINDOW_BYTES_DEFAULT
    const units = Math.max(1, Math.floor(window / PIECES_OF_WINDOW / PIECE_UNIT_BYTES))
    const most = units * PIECE_UNIT_BYTES
    const { digestBytes, sealBytes } = this.chunks.plan!
    const length = left <= most + digestBytes + sealBytes ? left : most
    if (this.#inFlightBytes > 0 && this.#inFlightBytes + length > window) return null
    return { slot: this.chunks.slotOf(chunk), from, offset, length }
  }

  /** True if the piece is of a chunk that is moved again. */
  isReread({ from }: Piece): boolean {
    return from === this.repeatSlot
  }

  /** The READ of that piece has been handed to the queue pair. */
  onAskedFor(piece: Piece): void {
    this.#inFlightBytes += piece.length
    if (this.isReread(piece)) {
      this.#rereadAskedBytes += piece.length
      return
    }
    this.#askedBytes += piece.length
    if (this.#askedBytes < this.chunks.plan!.movedBytesOf(this.#asked)) return
    this.#asked++
    this.#askedBytes = 0
  }

  /** The oldest READ under way of chunks in their order has completed. */
  onRead(bytes: number): void {
    this.#inFlightBytes -= bytes
    this.#arrivedBytes += bytes
    const { plan, arrived } = this.chunks
    if (this.#arrivedBytes < plan!.movedBytesOf(arrived)) return
    this.#arrivedBytes = 0
    this.chunks.onArrived()
  }

  /** The oldest READ under way of the chunk that is moved again has completed. */
  onReread(bytes: number): void {
    this.#inFlightBytes -= bytes
    this.#rereadBytes += bytes
    const { plan, awaited } = this.chunks
    if (this.#rereadBytes < plan!.wholeBytesOf(awaited)) return
    this.#mayReread = false
    this.#rereadBytes = 0
    this.#rereadAskedBytes = 0
    this.chunks.onCameAgain()
  }

  onFinished(): void {
    if (this.#state.current === 'committing') this.#state.enter('done')
  }

  onMessage(message: TransferMessage): void {
    if (!this.#state.admits(message)) return
    if (message.body === 'offer') this.#onOffer(message.offer)
    else if (message.body === 'filled') this.#onFilled(message.filled)
    else if (message.body === 'again') this.#onStandsAgain(message.again.chunk)
    else if (message.body === 'commit') this.#onCommit(message.commit.digest)
  }

  fail(failure: WeirError): void {
    this.#state.fail(failure)
  }

  #onOffer(offer: Offer): void {
    if (!offer.ring) this.#state.violated('an offer without a ring')
    else if (offer.openEnd) this.#state.violated('an open end, which nobody has asked for')
    else if (offer.digest !== this.#digestKind)
      this.#state.violated(`digest ${offer.digest}, not ${this.#digestKind}`)
    else {
      this.#offer = offer
      takeOffer(offer, this.#state)
    }
  }

  #onCommit(digest: Uint8Array): void {
    const { chunks } = this.chunks.plan!
    if (this.#filled !== chunks) {
      this.#state.violated(`commit after ${this.#filled} of ${chunks} chunks`)
      return
    }
    this.#digest = digest
    this.#state.enter('committing')
  }

  #onStandsAgain(chunk: number): void {
    const again = this.chunks.awaited
    if (again >= 0 && chunk === wrapped(again) && !this.#mayReread) this.#mayReread = true
    else this.#state.violated(`chunk ${chunk} again, which was not asked for`)
  }

  #onFilled({ chunks, path }: Filled): void {
    // The slots of chunks that were not read cannot have been filled anew.
    const most = Math.min(this.chunks.plan!.chunks, this.chunks.arrived + this.chunks.slots)
    const filled = advanceCount(this.#filled, chunks, most)
    if (filled < 0) {
      this.#state.violated(`${chunks} chunks filled, ${most} are possible`)
      return
    }
    this.#filled = filled
    if (path) this.#figures = path
  }
}
