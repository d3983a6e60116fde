/**
 * One file on its way in, at the end that it is offered to: the sender WRITEs chunks into this end's ring.
 *
 * The ring stays registered until the connection ends, even after a failure: otherwise the sender would see its
 * WRITEs refused instead of the reason. A slot is closed to the sender from the arrival of its chunk until the chunk is in the
 * file: so the bytes that are hashed are those that are written.
 */

import { Access } from '../../qp/memory/memory.js'
import { WriteGate } from '../../qp/memory/write-gate.js'
import { type Completion, ReceiveOpcode } from '../../qp/queues/completion-queue.js'
import type { Nanos } from '../../time/nanos.js'
import type { FileStore } from '../file/file.js'
import { FileIntake } from '../file/file-intake.js'
import { slotsFor } from '../protocol/chunk-plan.js'
import { ReceiverMachine } from '../protocol/receiver-machine.js'
import { PassiveSession, type PassiveSessionConfig } from './passive-session.js'

/** Receives beyond one a slot: for messages. */
const SPARE_RECEIVES = 8

interface ReceiveSessionConfig extends PassiveSessionConfig {
  store: FileStore
  chunkBytes: number
  /** The most: on a short path there are fewer. */
  slots: number
}

export class ReceiveSession extends PassiveSession {
  protected readonly machine: ReceiverMachine
  protected readonly peerRole = 'sender'
  readonly #config: ReceiveSessionConfig
  readonly #intake: FileIntake
  #gate: WriteGate | null = null

  constructor(config: ReceiveSessionConfig) {
    super(config, config.slots + SPARE_RECEIVES, { cannot: 'write', being: 'received' })
    this.#config = config
    this.machine = new ReceiverMachine(config.chunkBytes)
    this.#intake = new FileIntake({
      machine: this.machine,
      store: config.store,
      user: this,
      onWritten: () => this.#onWritten(),
      onDamaged: () => this.advanceNow(),
      onFinished: () => this.#onFinished(),
    })
  }

  get name(): string {
    return this.machine.offer?.name ?? ''
  }

  get sizeBytes(): number {
    return this.machine.offer?.size ?? 0
  }

  get deliveredBytes(): number {
    return this.#intake.writtenBytes
  }

  get isBusy(): boolean {
    if (this.machine.awaitedChunk >= 0) return false
    return this.machine.state === 'opening' || this.machine.state === 'committing'
  }

  protected get granted(): boolean {
    return this.machine.plan !== null
  }

  protected get deliveredPath(): string {
    return this.#intake.path
  }

  protected override onTransferred(now: Nanos, completion: Completion): void {
    if (completion.opcode !== ReceiveOpcode.RECV_RDMA_WITH_IMM) return
    const chunk = this.machine.onChunk(completion.immediate, completion.byteLength)
    // Before anything reads it.
    if (chunk >= 0) this.#gate!.close(this.machine.slotOf(chunk))
    this.onProgress(now)
  }

  override onHeld(): void {
    if (this.hasEnded || !this.machine.offer!.knowsHeld) return
    this.guarded(() => this.channel.send(this.time.now(), { body: 'held', held: {} }))
    this.time.wake()
  }

  /** The oldest chunk is in the file; its credit follows. */
  #onWritten(): void {
    this.#gate!.open(this.machine.slotOf(this.machine.writtenChunks - 1))
    this.advanceNow()
  }

  protected nextStep(): (() => Promise<void>) | null {
    if (this.machine.state === 'opening' && !this.#intake.opened) return () => this.#open()
    return this.#intake.nextStep()
  }

  async #open(): Promise<void> {
    const { chunkBytes, slots: slotsMax } = this.#config
    await this.succeedEarlier(this.machine.offer!.transfer)
    if (this.machine.state !== 'opening') return
    await this.takePlace()
    if (this.machine.state !== 'opening') return
    await this.#intake.open(this.machine.offer!, this.ring, chunkBytes)
    if (this.machine.state !== 'opening' || this.closed) return
    const { resumeBytes, resumeDigest } = this.#intake
    const chunkDigests = this.machine.offer!.chunkDigests === true
    const slots = slotsFor(this.figures?.rttNs ?? 0, slotsMax)
    const region = this.registerRing(Access.LOCAL_WRITE | Access.REMOTE_WRITE)
    this.machine.onOpened(resumeBytes, slots)
    this.#gate = new WriteGate(this.machine.plan!.slotBytes, slots)
    region.writeGate = this.#gate
    const now = this.time.now()
    this.onProgress(now)
    const ring = { rkey: region.key, address: region.address, chunkBytes, slots }
    this.channel.send(now, { body: 'ready', ready: { ...ring, resumeBytes, resumeDigest, chunkDigests } })
    this.time.wake()
  }

  /** One message for all slots that have become free; when one is on its way, the next follows it. */
  protected advance(now: Nanos): void {
    const again = this.machine.chunkToAskFor
    if (again >= 0) {
      this.#gate!.open(this.machine.slotOf(again))
      this.channel.send(now, { body: 'again', again: { chunk: again % 2 ** 32 } })
      this.machine.onAskedAgain()
    }
    if (this.channel.busy || !this.machine.creditDue) return
    this.channel.send(now, { body: 'credit', credit: { chunks: this.machine.takeCredit() } })
  }

  #onFinished(): void {
    this.sayLast(this.time.now(), { body: 'done', done: { path: this.#intake.path } })
  }

  protected async closeFile(): Promise<void> {
    await this.#intake.close(this.machine.failure)
  }
}
