/** One file on its way in, at the end that asked for it: READs chunks out of the server's ring and writes them. */

import { Access, type MemoryRegion } from '../../qp/memory/memory.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import type { Nanos } from '../../time/nanos.js'
import type { FileStore, FileUser } from '../file/file.js'
import { FileIntake } from '../file/file-intake.js'
import { slotsFor, slotsIn } from '../protocol/chunk-plan.js'
import { DIGEST_BYTES } from '../protocol/digest.js'
import { TransferFailure } from '../protocol/failure.js'
import { GetterMachine } from '../protocol/getter-machine.js'
import {
  type DigestKind,
  type Offer,
  READS_LANE,
  type SenderFigures,
  TRANSFER_VERSION,
  type TransferMessage,
} from '../protocol/messages.js'
import { wrapped } from '../protocol/wrapped-count.js'
import { CHANNEL_ID_MAX } from './channel.js'
import type { TransferEndpoint } from './endpoint.js'
import type { Lane } from './lane.js'
import type { ActiveMover, DeliveredFile, MoverHost } from './mover.js'

const READ_ID = CHANNEL_ID_MAX + 1
const REREAD_ID = CHANNEL_ID_MAX + 2

export interface GetMoverConfig {
  /** Where the file goes. */
  store: FileStore
  /** Name of the server for messages. */
  peer: string
  /** Path relative to what the server shares. */
  path: string
  /** Name of the file here. */
  name: string
  digestKind: DigestKind
  overwrite: boolean
  chunkBytes: number
  /** Chunks under way, at most. */
  slots: number
  /** What an earlier attempt was offered. Default: there was none. */
  offered?: Offer | null
  /** Names the transfer to the server, the same in all its attempts. Default: empty, this is the only one. */
  transfer?: Uint8Array
  /** As of SendMoverConfig. */
  streams?: number
}

export class GetMover implements ActiveMover, FileUser {
  readonly machine: GetterMachine
  readonly #config: GetMoverConfig
  readonly #endpoint: TransferEndpoint
  readonly #host: MoverHost
  readonly #intake: FileIntake
  readonly #region: MemoryRegion

  /** Throws WEIR_FULL when no ring is free. */
  constructor(config: GetMoverConfig, endpoint: TransferEndpoint, host: MoverHost) {
    this.#config = config
    this.#endpoint = endpoint
    this.#host = host
    this.#region = endpoint.registerRing(Access.LOCAL_WRITE)
    this.machine = new GetterMachine(config.digestKind, config.peer)
    this.#intake = new FileIntake({
      machine: this.machine,
      store: config.store,
      user: this,
      seal: () => endpoint.seal,
      onWritten: () => host.advance(),
      onDamaged: () => host.advance(),
      // The server learns that its file has arrived.
      onFinished: () => host.finish({ body: 'done', done: { path: '' } }),
    })
  }

  get name(): string {
    return this.#config.name
  }

  get sizeBytes(): number {
    return this.machine.offer?.size ?? 0
  }

  get begun(): boolean {
    return this.machine.chunks.plan !== null
  }

  get resumedBytes(): number {
    return this.machine.chunks.plan?.resumeBytes ?? 0
  }

  get deliveredBytes(): number {
    return this.machine.arrivedBytes
  }

  /** The server's offer, as the file is to be here; null before it has come. */
  get offer(): Offer | null {
    const { name, overwrite } = this.#config
    const { offer } = this.machine
    // This end chooses the name. The server's name for the file never reaches the file system.
    return offer && { ...offer, name, directory: '', overwrite, transfer: new Uint8Array() }
  }

  /** What the server has said, because its packets carry the file, and what this end has retransmitted. */
  get figures(): SenderFigures | null {
    const told = this.machine.figures
    const own = this.#endpoint.figures
    if (!told || !own) return own
    return {
      ...told,
      retransmittedBytes: told.retransmittedBytes + own.retransmittedBytes,
      spuriousRetransmissions: told.spuriousRetransmissions + own.spuriousRetransmissions,
      timeouts: told.timeouts + own.timeouts,
      pathMoves: told.pathMoves + own.pathMoves,
    }
  }

  get awaitsTransport(): boolean {
    return this.machine.inFlightBytes > 0
  }

  get hasEnded(): boolean {
    return this.#host.hasEnded
  }

  /** The server hears nothing of it: both users of the file are at this end. */
  onHeld(): void {
    this.machine.onHeld()
  }

  async goesOn(): Promise<boolean> {
    return await this.#host.goesOn()
  }

  greet(now: Nanos): void {
    const { path, digestKind, transfer = new Uint8Array(), streams } = this.#config
    const request = { version: TRANSFER_VERSION, path, digest: digestKind, transfer, streams }
    this.#endpoint.channel.send(now, { body: 'request', request })
    this.machine.onAsked()
  }

  onMessage(now: Nanos, message: TransferMessage): void {
    if (message.body !== 'ping') this.#host.onProgress(now)
    this.machine.onMessage(message)
  }

  onTransferred(now: Nanos, completion: Completion, lane: Lane): void {
    if (completion.opcode !== WorkOpcode.RDMA_READ) return
    this.#host.onProgress(now)
    if (completion.id === REREAD_ID) this.machine.onReread(completion.byteLength)
    else this.machine.onRead(completion.byteLength, lane.number)
  }

  onLaneLost(_now: Nanos, lane: Lane): void {
    this.machine.onLaneLost(lane.number)
  }

  advance(now: Nanos): void {
    const { chunks } = this.machine
    const { channel } = this.#endpoint
    const again = chunks.toAskFor
    if (again >= 0) {
      channel.send(now, { body: 'again', again: { chunk: wrapped(again) } })
      chunks.onAskedAgain()
    }
    this.#read(now)
    // One message is for all slots that have become free. While it is in flight, the next one waits.
    if (channel.busy || !chunks.creditDue) return
    channel.send(now, { body: 'credit', credit: { chunks: chunks.takeCredit() } })
  }

  nextStep(): (() => Promise<void>) | null {
    if (this.machine.opens && !this.#intake.opened) return () => this.#open()
    return this.#intake.nextStep()
  }

  delivered(): DeliveredFile {
    const digest = this.#intake.digest!
    return {
      path: this.#intake.path,
      bytes: this.sizeBytes,
      digestKind: digest.kind,
      digest: digest.bytes,
    }
  }

  async close(): Promise<void> {
    await this.#intake.close(this.machine.failure)
  }

  /** Finds where the file goes, and says to the server how its ring is cut and where to begin. */
  async #open(): Promise<void> {
    const offer = this.offer!
    this.#checkUnchanged(offer)
    await this.#intake.open(offer, this.#endpoint.ring, this.#config.chunkBytes)
    if (!this.machine.opens || this.hasEnded) return
    const { chunkBytes, slots } = this.#shape(offer)
    const chunkDigests = offer.chunkDigests === true
    const { resumeBytes, resumeDigest } = this.#intake
    this.machine.sealBytes = this.#endpoint.sealBytes
    this.machine.onOpened(resumeBytes, chunkBytes, slots)
    const zerosAlone = this.machine.chunks.plan!.movesZerosAlone
    const known = { chunkDigests, zerosAlone }
    const ready = { rkey: 0, address: 0, chunkBytes, slots, resumeBytes, resumeDigest, ...known }
    this.#endpoint.say({ body: 'ready', ready })
    this.#endpoint.openLanes(this.#config.streams ?? 1, READS_LANE, offer.laneKey)
  }

  /** Attempts of one transfer bring one file. */
  #checkUnchanged({ size, mtimeMs }: Offer): void {
    const { path, peer, offered } = this.#config
    if (!offered || (offered.size === size && offered.mtimeMs === mtimeMs)) return
    throw new TransferFailure('CHANGED', `${path} was modified at ${peer} while it was fetched: try again`)
  }

  /** As many slots as the path is long for, and both rings have room for, of this end's chunks. */
  #shape({ ring, chunkDigests }: Offer): { chunkBytes: number; slots: number } {
    const { chunkBytes, digestKind, slots: most, peer, streams } = this.#config
    const serverRingBytes = ring!.bytes
    const ringBytes = Math.min(this.#endpoint.ringBytes, serverRingBytes)
    const digestBytes = chunkDigests ? DIGEST_BYTES[digestKind] : 0
    const slotsMax = Math.min(most, slotsIn(ringBytes, chunkBytes, digestBytes))
    const slots = slotsFor(this.figures?.rttNs ?? 0, slotsMax, streams)
    if (slots >= 1) return { chunkBytes, slots }
    const text = `${peer} has memory for ${serverRingBytes} bytes, too little for this end's chunks of ${chunkBytes}: restart one of the daemons with another --chunk`
    throw new TransferFailure('UNSUPPORTED', text)
  }

  /** Hands every READ that may go to a queue pair: the next piece to the one with the least bytes under way. */
  #read(now: Nanos): void {
    const { machine } = this
    for (let lane = this.#laneToRead; lane; lane = this.#laneToRead) {
      const piece = machine.pieceToRead(lane.number)!
      const ring = machine.offer!.ring!
      const { slotBytes } = machine.chunks.plan!
      const posted = lane.connection!.postSend(now, {
        id: machine.isReread(piece) ? REREAD_ID : READ_ID,
        opcode: WorkOpcode.RDMA_READ,
        region: this.#region,
        offset: piece.slot * slotBytes + piece.offset,
        length: piece.length,
        remoteAddress: ring.address + piece.from * slotBytes + piece.offset,
        rkey: ring.rkey,
      })
      if (!posted) return
      machine.onAskedFor(piece, lane.number)
    }
  }

  /** Null: none may READ now. */
  get #laneToRead(): Lane | null {
    const { machine } = this
    const { main, more } = this.#endpoint.lanes
    let found = machine.pieceToRead() ? main : null
    let least = found ? machine.inFlightOf(0) : Number.POSITIVE_INFINITY
    for (const lane of more) {
      const bytes = machine.inFlightOf(lane.number)
      if (bytes >= least || !lane.isOpen || !machine.pieceToRead(lane.number)) continue
      found = lane
      least = bytes
    }
    return found
  }
}
