/** One file on its way in, at the end that asked for it: READs chunks out of the server's ring and writes them. */

import { Access, type MemoryRegion } from '../../qp/memory/memory.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import type { Nanos } from '../../time/nanos.js'
import type { FileStore } from '../file/file.js'
import { FileIntake } from '../file/file-intake.js'
import { slotsFor, slotsIn } from '../protocol/chunk-plan.js'
import { DIGEST_BYTES } from '../protocol/digest.js'
import { TransferFailure } from '../protocol/failure.js'
import { GetterMachine } from '../protocol/getter-machine.js'
import {
  type DigestKind,
  GET_PRIVATE_DATA,
  type Offer,
  type SenderFigures,
  TRANSFER_VERSION,
} from '../protocol/messages.js'
import { ActiveSession, type ActiveSessionConfig } from './active-session.js'
import { CHANNEL_ID_MAX } from './channel.js'

const READ_ID = CHANNEL_ID_MAX + 1
const REREAD_ID = CHANNEL_ID_MAX + 2

export interface GetSessionConfig extends ActiveSessionConfig {
  /** Where the file goes. */
  store: FileStore
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
}

export class GetSession extends ActiveSession {
  protected readonly machine: GetterMachine
  readonly #config: GetSessionConfig
  readonly #intake: FileIntake
  readonly #region: MemoryRegion

  /** Throws WEIR_FULL when no ring is free. */
  constructor(config: GetSessionConfig) {
    super(config, { cannot: 'write', being: 'fetched' }, GET_PRIVATE_DATA)
    this.#config = config
    this.#region = this.registerRing(Access.LOCAL_WRITE)
    this.machine = new GetterMachine(config.digestKind, config.peer)
    this.#intake = new FileIntake({
      machine: this.machine,
      store: config.store,
      user: this,
      onWritten: () => this.advanceNow(),
      onDamaged: () => this.advanceNow(),
      onFinished: () => this.#onFinished(),
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

  /** The server's offer, as the file is to be here; null before it has come. */
  get offer(): Offer | null {
    const { name, overwrite } = this.#config
    const { offer } = this.machine
    // This end chooses the name: what a server says of it never reaches the file system.
    return offer && { ...offer, name, directory: '', overwrite, transfer: new Uint8Array() }
  }

  get deliveredBytes(): number {
    return this.machine.arrivedBytes
  }

  /** As the server sees it, once it has said so: its packets carry the file. What this end repeated is added. */
  override get figures(): SenderFigures | null {
    const told = this.machine.figures
    const own = super.figures
    if (!told || !own) return own
    return {
      ...told,
      retransmittedBytes: told.retransmittedBytes + own.retransmittedBytes,
      spuriousRetransmissions: told.spuriousRetransmissions + own.spuriousRetransmissions,
      timeouts: told.timeouts + own.timeouts,
    }
  }

  protected greet(now: Nanos): void {
    const { path, digestKind } = this.#config
    const request = { version: TRANSFER_VERSION, path, digest: digestKind, transfer: this.transfer }
    this.channel.send(now, { body: 'request', request })
    this.machine.onAsked()
  }

  protected override get awaitsTransport(): boolean {
    return this.machine.inFlightBytes > 0
  }

  protected nextStep(): (() => Promise<void>) | null {
    if (this.machine.state === 'opening' && !this.#intake.opened) return () => this.#open()
    return this.#intake.nextStep()
  }

  /** Finds where the file goes, and says to the server how its ring is cut and where to begin. */
  async #open(): Promise<void> {
    const offer = this.offer!
    this.#checkUnchanged(offer)
    await this.#intake.open(offer, this.ring, this.#config.chunkBytes)
    if (this.machine.state !== 'opening' || this.closed) return
    const { chunkBytes, slots } = this.#shape(offer)
    const chunkDigests = offer.chunkDigests === true
    const { resumeBytes, resumeDigest } = this.#intake
    this.machine.onOpened(resumeBytes, chunkBytes, slots)
    this.channel.send(this.time.now(), {
      body: 'ready',
      ready: { rkey: 0, address: 0, chunkBytes, slots, resumeBytes, resumeDigest, chunkDigests },
    })
    this.time.wake()
  }

  /** Attempts of one transfer bring one file. */
  #checkUnchanged({ size, mtimeMs }: Offer): void {
    const { path, offered } = this.#config
    if (!offered || (offered.size === size && offered.mtimeMs === mtimeMs)) return
    throw new TransferFailure(
      'CHANGED',
      `${path} was modified at ${this.peer} while it was fetched: try again`,
    )
  }

  /** As many slots as the path is long for, and both rings have room for, of this end's chunks. */
  #shape({ ring, chunkDigests }: Offer): { chunkBytes: number; slots: number } {
    const { chunkBytes, digestKind, slots: most } = this.#config
    const serverRingBytes = ring!.bytes
    const ringBytes = Math.min(this.ring.length, serverRingBytes)
    const digestBytes = chunkDigests ? DIGEST_BYTES[digestKind] : 0
    const slotsMax = Math.min(most, slotsIn(ringBytes, chunkBytes, digestBytes))
    const slots = slotsFor(this.figures?.rttNs ?? 0, slotsMax)
    if (slots >= 1) return { chunkBytes, slots }
    const text = `${this.peer} has memory for ${serverRingBytes} bytes, too little for this end's chunks of ${chunkBytes}: restart one of the daemons with another --chunk`
    throw new TransferFailure('UNSUPPORTED', text)
  }

  protected override onTransferred(_now: Nanos, completion: Completion): void {
    if (completion.opcode !== WorkOpcode.RDMA_READ) return
    if (completion.id === REREAD_ID) this.machine.onReread(completion.byteLength)
    else this.machine.onRead(completion.byteLength)
  }

  protected advance(now: Nanos): void {
    const again = this.machine.chunks.toAskFor
    if (again >= 0) {
      this.channel.send(now, { body: 'again', again: { chunk: again % 2 ** 32 } })
      this.machine.chunks.onAskedAgain()
    }
    this.#read(now)
    // One message for all slots that have become free; when one is on its way, the next follows it.
    if (this.channel.busy || !this.machine.chunks.creditDue) return
    this.channel.send(now, { body: 'credit', credit: { chunks: this.machine.chunks.takeCredit() } })
  }

  /** Hands every READ that may go to the queue pair. */
  #read(now: Nanos): void {
    for (let piece = this.machine.pieceToRead; piece; piece = this.machine.pieceToRead) {
      const ring = this.machine.offer!.ring!
      const { slotBytes } = this.machine.chunks.plan!
      const posted = this.connection!.postSend(now, {
        id: this.machine.isReread(piece) ? REREAD_ID : READ_ID,
        opcode: WorkOpcode.RDMA_READ,
        region: this.#region,
        offset: piece.slot * slotBytes + piece.offset,
        length: piece.length,
        remoteAddress: ring.address + piece.from * slotBytes + piece.offset,
        rkey: ring.rkey,
      })
      if (!posted) return
      this.machine.onAskedFor(piece)
    }
  }

  /** The server learns that its file has arrived, and then the connection ends. */
  #onFinished(): void {
    const now = this.time.now()
    if (!this.closed) this.channel.send(now, { body: 'done', done: { path: '' } })
    this.onEnded(now)
    this.time.wake()
  }

  protected delivered() {
    const digest = this.#intake.digest!
    return {
      path: this.#intake.path,
      bytes: this.sizeBytes,
      digestKind: digest.kind,
      digest: digest.bytes,
    }
  }

  protected async closeFile(): Promise<void> {
    await this.#intake.close(this.machine.failure)
  }
}
