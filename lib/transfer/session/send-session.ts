/** One file on its way out, at the end that offers it: reads chunks and WRITEs them into the receiver's ring. */

import { Access, type MemoryRegion } from '../../qp/memory/memory.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import type { Nanos } from '../../time/nanos.js'
import type { FileSource } from '../file/file.js'
import { FileFeed } from '../file/file-feed.js'
import { DIGEST_BYTES, type Digest } from '../protocol/digest.js'
import { TRANSFER_VERSION, type TransferMessage } from '../protocol/messages.js'
import { SenderMachine } from '../protocol/sender-machine.js'
import { ActiveSession, type ActiveSessionConfig } from './active-session.js'
import { CHANNEL_ID_MAX } from './channel.js'

const WRITE_ID = CHANNEL_ID_MAX + 1
const REPEAT_ID = CHANNEL_ID_MAX + 2

interface SendSessionConfig extends ActiveSessionConfig {
  /** Whoever made it closes it. */
  source: FileSource
  digest: Digest
  /** Name at the receiver. */
  name: string
  directory: string
  /** As in Offer. */
  nameInFolder?: string
  overwrite: boolean
}

export class SendSession extends ActiveSession {
  protected readonly machine: SenderMachine
  readonly #config: SendSessionConfig
  readonly #feed: FileFeed
  readonly #region: MemoryRegion
  #digest: Uint8Array = new Uint8Array()
  /** Bytes sent that are no bytes of the file new to the receiver: messages, digests, chunks that are moved again. */
  #otherBytes = 0

  /** Throws WEIR_FULL when no ring is free. */
  constructor(config: SendSessionConfig) {
    super(config, { cannot: 'send', being: 'sent' })
    const { source, digest, peer } = config
    this.#config = config
    this.#region = this.registerRing(Access.LOCAL_WRITE)
    this.machine = new SenderMachine(source.size, this.ring.length, peer, DIGEST_BYTES[digest.kind])
    this.#feed = new FileFeed({
      machine: this.machine,
      source,
      digest,
      ring: this.ring,
      onLoaded: () => this.advanceNow(),
      onFinished: bytes => this.#commit(bytes),
    })
  }

  get name(): string {
    return this.#config.source.name
  }

  get sizeBytes(): number {
    return this.#config.source.size
  }

  get begun(): boolean {
    return this.machine.plan !== null
  }

  get resumedBytes(): number {
    return this.machine.plan?.resumeBytes ?? 0
  }

  get deliveredBytes(): number {
    const { plan, completedChunks, postedChunks } = this.machine
    if (!plan) return 0
    const certain = plan.bytesAfter(completedChunks)
    const possible = plan.bytesAfter(postedChunks)
    // The transport counts acknowledged packets, a few of them messages: finer than chunks, kept between them.
    const fine = plan.resumeBytes + (this.connection?.stats.ackedBytes ?? 0) - this.#otherBytes
    return Math.max(certain, Math.min(possible, fine))
  }

  protected greet(now: Nanos): void {
    const { source, name, directory, nameInFolder, overwrite, digest } = this.#config
    const { size, allocatedBytes, mode, mtimeMs } = source
    const where = { name, directory, nameInFolder, overwrite }
    const file = { ...where, size, allocatedBytes, mode, mtimeMs, transfer: this.transfer }
    const known = { chunkDigests: true, knowsHeld: true }
    const offer = { version: TRANSFER_VERSION, ...file, digest: digest.kind, ring: null, ...known }
    this.channel.send(now, { body: 'offer', offer })
    this.machine.onOffered()
  }

  protected override onMessage(now: Nanos, message: TransferMessage): void {
    super.onMessage(now, message)
    if (message.body === 'ready') this.#otherBytes = this.connection!.stats.ackedBytes
  }

  protected override get awaitsTransport(): boolean {
    return this.machine.postedChunks > this.machine.completedChunks
  }

  protected nextStep(): (() => Promise<void>) | null {
    return this.#feed.nextStep()
  }

  protected override onTransferred(_now: Nanos, completion: Completion): void {
    if (completion.opcode !== WorkOpcode.RDMA_WRITE_WITH_IMM) return
    if (completion.id === REPEAT_ID) this.machine.onRepeatCompleted()
    else this.machine.onCompleted()
  }

  /** Hands every chunk that may go to the queue pair. */
  protected advance(now: Nanos): void {
    const again = this.machine.chunkToRepeat
    if (again >= 0) {
      const length = this.machine.plan!.lengthOf(again) + this.machine.plan!.digestBytes
      if (!this.#post(now, REPEAT_ID, again, this.machine.repeatSlot, 0, length)) return
      this.#otherBytes += length
      this.machine.onRepeated()
    }
    for (let chunk = this.machine.chunkToPost; chunk >= 0; chunk = this.machine.chunkToPost) {
      const plan = this.machine.plan!
      const slot = this.machine.localSlotOf(chunk)
      if (!this.#post(now, WRITE_ID, chunk, slot, plan.movesFrom(chunk), plan.movedBytesOf(chunk))) return
      this.#otherBytes += plan.digestBytes
      this.machine.onPosted()
    }
  }

  /** Posts the WRITE of a chunk, or of the end of it from `offset` on. Returns false if the send queue is full. */
  #post(now: Nanos, id: number, chunk: number, slot: number, offset: number, length: number): boolean {
    return this.connection!.postSend(now, {
      id,
      opcode: WorkOpcode.RDMA_WRITE_WITH_IMM,
      region: this.#region,
      offset: slot * this.machine.plan!.slotBytes + offset,
      length,
      remoteAddress: this.machine.remoteAddressOf(chunk) + offset,
      rkey: this.machine.ready!.rkey,
      immediate: chunk % 2 ** 32,
    })
  }

  #commit(digest: Uint8Array): void {
    this.#digest = digest
    if (this.closed) return
    this.channel.send(this.time.now(), { body: 'commit', commit: { digest } })
    this.time.wake()
  }

  protected delivered() {
    const { source, digest } = this.#config
    return {
      path: this.machine.path,
      bytes: source.size,
      digestKind: digest.kind,
      digest: this.#digest,
    }
  }

  protected async closeFile(): Promise<void> {}
}
