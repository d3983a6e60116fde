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
import { LaneReads } from './lane-reads.js'
import {
  type DigestKind,
  type Filled,
  type Offer,
  type SenderFigures,
  STREAMS_MAX,
  type TransferMessage,
} from './messages.js'
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
  chunk: number
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
  /** Chunks that some connection has begun to ask for, and those of lost connections among them: they come first. */
  #asked = 0
  #returned: number[] = []
  /** The first is the connection of the messages. */
  readonly #lanes: LaneReads[] = [new LaneReads()]
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
    return this.#lanes.reduce((sum, { inFlightBytes }) => sum + inFlightBytes, 0)
  }

  /** The same of one connection. */
  inFlightOf(lane: number): number {
    return this.#laneOf(lane).inFlightBytes
  }

  /** Bytes of the file that have come, resumed ones included. */
  get arrivedBytes(): number {
    const { plan, arrived, arrivedBeyond } = this.chunks
    if (!plan) return 0
    const parts = this.#lanes.reduce((sum, lane) => sum + lane.arrivedBytes, arrivedBeyond * plan.chunkBytes)
    return Math.min(plan.sizeBytes, plan.bytesAfter(arrived) + parts)
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
    const plan = new ChunkPlan(size, resumeBytes, chunkBytes, digestBytes, this.sealBytes)
    plan.movesZerosAlone = digestBytes > 0
    this.chunks.begin(plan, slots)
  }

  /** The server's slot for a chunk that is moved again. */
  get repeatSlot(): number {
    return this.chunks.slots
  }

  /** The piece for a connection to READ next, or null: none is filled, or no slot is free, or its window is full. */
  pieceToRead(number = 0): Piece | null {
    const { chunks } = this
    if (!chunks.moves) return null
    const lane = this.#laneOf(number)
    const again = chunks.awaited
    const plan = chunks.plan!
    if (this.#mayReread && number === 0) {
      const left = plan.wholeBytesOf(again) - this.#rereadAskedBytes
      if (left > 0) return this.#pieceOf(lane, again, this.repeatSlot, this.#rereadAskedBytes, left)
    }
    const chunk = lane.askedBytes > 0 ? lane.chunks.at(-1)! : this.#chunkToAskFor
    if (chunk < 0) return null
    const offset = plan.movesFrom(chunk) + lane.askedBytes
    const left = plan.movedBytesOf(chunk) - lane.askedBytes
    return this.#pieceOf(lane, chunk, chunks.slotOf(chunk), offset, left)
  }

  /** The next chunk that no connection has begun to ask for, or -1. */
  get #chunkToAskFor(): number {
    if (this.#returned.length > 0) return this.#returned[0]!
    const { written, slots } = this.chunks
    return this.#asked === this.#filled || this.#asked - written >= slots ? -1 : this.#asked
  }

  #laneOf(number: number): LaneReads {
    this.#lanes[number] ??= new LaneReads()
    return this.#lanes[number]
  }

  /** As much of `left` bytes as the window allows; the digest goes with the last bytes before it. */
  #pieceOf(lane: LaneReads, chunk: number, from: number, offset: number, left: number): Piece | null {
    const window = lane.windowBytes || WINDOW_BYTES_DEFAULT
    const units = Math.max(1, Math.floor(window / PIECES_OF_WINDOW / PIECE_UNIT_BYTES))
    const most = units * PIECE_UNIT_BYTES
    const { digestBytes, sealBytes } = this.chunks.plan!
    const length = left <= most + digestBytes + sealBytes ? left : most
    if (lane.inFlightBytes > 0 && lane.inFlightBytes + length > window) return null
    return { chunk, slot: this.chunks.slotOf(chunk), from, offset, length }
  }

  /** True if the piece is of a chunk that is moved again. */
  isReread({ from }: Piece): boolean {
    return from === this.repeatSlot
  }

  /** The READ of that piece has been handed to the queue pair. */
  onAskedFor(piece: Piece, number = 0): void {
    const lane = this.#laneOf(number)
    lane.inFlightBytes += piece.length
    if (this.isReread(piece)) {
      this.#rereadAskedBytes += piece.length
      return
    }
    if (lane.askedBytes === 0) this.#begin(lane, piece.chunk)
    lane.askedBytes += piece.length
    if (lane.askedBytes === this.chunks.plan!.movedBytesOf(piece.chunk)) lane.askedBytes = 0
  }

  #begin(lane: LaneReads, chunk: number): void {
    lane.chunks.push(chunk)
    if (this.#returned.shift() === undefined) this.#asked++
  }

  /** The oldest READ under way on the connection, of chunks in their order, has completed. */
  onRead(bytes: number, number = 0): void {
    const lane = this.#laneOf(number)
    lane.inFlightBytes -= bytes
    lane.arrivedBytes += bytes
    const [chunk] = lane.chunks as [number]
    if (lane.arrivedBytes < this.chunks.plan!.movedBytesOf(chunk)) return
    lane.arrivedBytes = 0
    lane.chunks.shift()
    this.chunks.onArrived(chunk)
  }

  /** A further connection has ended: others ask for what it has not brought. */
  onLaneLost(number: number): void {
    this.#returned.push(...this.#laneOf(number).giveUp())
  }

  /** The oldest READ under way of the chunk that is moved again has completed. */
  onReread(bytes: number): void {
    this.#laneOf(0).inFlightBytes -= bytes
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

  #onFilled({ chunks, path, zeros = [], laneWindows = [] }: Filled): void {
    // The slots of chunks that were not read cannot have been filled anew.
    const most = Math.min(this.chunks.plan!.chunks, this.chunks.arrived + this.chunks.slots)
    const filled = advanceCount(this.#filled, chunks, most)
    if (filled < 0) {
      this.#state.violated(`${chunks} chunks filled, ${most} are possible`)
      return
    }
    if (!this.#takeZeros(zeros, filled)) {
      this.#state.violated('zeros in chunks that were not filled')
      return
    }
    this.#filled = filled
    if (path) {
      this.#figures = path
      this.#laneOf(0).windowBytes = path.windowBytes
    }
    for (const [i, windowBytes] of laneWindows.slice(0, STREAMS_MAX - 1).entries())
      this.#laneOf(i + 1).windowBytes = windowBytes
  }

  /** Notes chunks of zeros among those that are new. Returns false if one is not. */
  #takeZeros(zeros: readonly number[], filled: number): boolean {
    const plan = this.chunks.plan!
    if (zeros.length > filled - this.#filled || (zeros.length > 0 && !plan.movesZerosAlone)) return false
    for (const number of zeros) {
      const chunk = advanceCount(this.#filled, number, filled - 1)
      if (chunk < 0) return false
      plan.noteZeros(chunk)
    }
    return true
  }
}
