/**
 * One file on its way in, at the end that it is offered to: the sender WRITEs chunks into this end's ring.
 *
 * The ring stays registered until the connection ends, even after a failure. Otherwise the sender would see its WRITEs refused
 * instead of the reason. A slot is closed to the sender from the arrival of its chunk until the chunk is in the file. So the
 * intake writes the same bytes that it has hashed.
 */

import { Access } from '../../qp/memory/memory.js'
import { WriteGate } from '../../qp/memory/write-gate.js'
import { type Completion, ReceiveOpcode } from '../../qp/queues/completion-queue.js'
import type { Nanos } from '../../time/nanos.js'
import type { FileStore, FileUser } from '../file/file.js'
import { FileIntake } from '../file/file-intake.js'
import { slotsFor } from '../protocol/chunk-plan.js'
import type { LaneChunks, SenderFigures, TransferMessage } from '../protocol/messages.js'
import { ReceiverMachine } from '../protocol/receiver-machine.js'
import { wrapped } from '../protocol/wrapped-count.js'
import type { TransferEndpoint } from './endpoint.js'
import type { PassiveMover, PassiveMoverHost } from './mover.js'

export interface ReceiveMoverConfig {
  store: FileStore
  chunkBytes: number
  /** The most slots of a ring. On a short path there are fewer. */
  slots: number
}

export class ReceiveMover implements PassiveMover, FileUser {
  readonly machine: ReceiverMachine
  readonly peerRole = 'sender'
  /** This end has nothing but messages in flight. */
  readonly awaitsTransport = false
  readonly #config: ReceiveMoverConfig
  readonly #endpoint: TransferEndpoint
  readonly #host: PassiveMoverHost
  readonly #intake: FileIntake
  #gate: WriteGate | null = null

  constructor(config: ReceiveMoverConfig, endpoint: TransferEndpoint, host: PassiveMoverHost) {
    this.#config = config
    this.#endpoint = endpoint
    this.#host = host
    this.machine = new ReceiverMachine(config.chunkBytes)
    this.#intake = new FileIntake({
      machine: this.machine,
      store: config.store,
      user: this,
      seal: () => endpoint.seal,
      onWritten: () => this.#onWritten(),
      onDamaged: () => host.advance(),
      onFinished: () => host.finish({ body: 'done', done: { path: this.#intake.path } }),
    })
  }

  get name(): string {
    return this.machine.offer?.name ?? ''
  }

  get sizeBytes(): number {
    const { plan } = this.machine.chunks
    return plan && !plan.isOpen ? plan.sizeBytes : (this.machine.offer?.size ?? 0)
  }

  get deliveredBytes(): number {
    return this.#intake.writtenBytes
  }

  get resumedBytes(): number {
    return this.machine.chunks.plan?.resumeBytes ?? 0
  }

  get figures(): SenderFigures | null {
    return this.#endpoint.figures
  }

  get isBusy(): boolean {
    if (this.machine.chunks.awaited >= 0) return false
    return this.machine.state === 'opening' || this.machine.state === 'committing'
  }

  get granted(): boolean {
    return this.machine.chunks.plan !== null
  }

  get deliveredPath(): string {
    return this.#intake.path
  }

  get hasEnded(): boolean {
    return this.#host.hasEnded
  }

  /** The sender learns that it waits for another one. */
  onHeld(): void {
    if (this.hasEnded || !this.machine.offer!.knowsHeld) return
    this.#endpoint.say({ body: 'held', held: {} })
  }

  async goesOn(): Promise<boolean> {
    return await this.#host.goesOn()
  }

  onMessage(now: Nanos, message: TransferMessage): void {
    // A pipe may have nothing to say for hours: its sender is there all the same.
    if (message.body === 'ping' && this.machine.chunks.plan?.isOpen) this.#host.onProgress(now)
    this.machine.onMessage(message)
    if (message.body === 'lost' && !this.machine.ended) this.#onLost(now, message.lost)
  }

  onTransferred(now: Nanos, completion: Completion): void {
    if (completion.opcode !== ReceiveOpcode.RECV_RDMA_WITH_IMM) return
    const chunk = this.machine.onChunk(completion.immediate, completion.byteLength)
    // This comes before any step reads the chunk.
    if (chunk >= 0) this.#gate!.close(this.machine.chunks.slotOf(chunk))
    this.#host.onProgress(now)
  }

  /** The sender asks what has come. */
  onLaneLost(): void {}

  advance(now: Nanos): void {
    const { chunks } = this.machine
    const { channel } = this.#endpoint
    const again = chunks.toAskFor
    if (again >= 0) {
      this.#gate!.open(chunks.slotOf(again))
      channel.send(now, { body: 'again', again: { chunk: wrapped(again) } })
      chunks.onAskedAgain()
    }
    // One message is for all slots that have become free. While it is in flight, the next one waits.
    if (channel.busy || !chunks.creditDue) return
    channel.send(now, { body: 'credit', credit: { chunks: chunks.takeCredit() } })
  }

  nextStep(): (() => Promise<void>) | null {
    if (this.machine.state === 'opening' && !this.#intake.opened) return () => this.#open()
    return this.#intake.nextStep()
  }

  async close(): Promise<void> {
    await this.#intake.close(this.machine.failure)
  }

  async #open(): Promise<void> {
    const { machine } = this
    const { chunkBytes, slots: slotsMax } = this.#config
    const offer = machine.offer!
    await this.#host.admit(offer.transfer)
    if (machine.state !== 'opening') return
    await this.#intake.open(offer, this.#endpoint.ring, chunkBytes)
    if (machine.state !== 'opening' || this.hasEnded) return
    const { resumeBytes, resumeDigest } = this.#intake
    const chunkDigests = offer.chunkDigests === true
    const streams = offer.streams ?? 1
    const slots = slotsFor(this.figures?.rttNs ?? 0, slotsMax, streams)
    const region = this.#endpoint.registerRing(Access.LOCAL_WRITE | Access.REMOTE_WRITE)
    machine.sealBytes = this.#endpoint.sealBytes
    const laneKey = streams > 1 ? this.#endpoint.admitLanes({ region, count: slots }) : new Uint8Array()
    machine.onOpened(resumeBytes, slots, laneKey.length > 0)
    this.#gate = new WriteGate(machine.chunks.plan!.slotBytes, slots)
    region.writeGate = this.#gate
    this.#host.onProgress(this.#endpoint.now())
    const ring = { rkey: region.key, address: region.address, chunkBytes, slots }
    const zerosAlone = machine.chunks.plan!.movesZerosAlone
    const ready = { ...ring, resumeBytes, resumeDigest, chunkDigests, zerosAlone, laneKey }
    this.#endpoint.say({ body: 'ready', ready })
  }

  /** What the connection still brings does not count, so that the answer stays true. */
  #onLost(now: Nanos, lost: LaneChunks): void {
    this.#endpoint.lanes.get(lost.lane)?.leave(now)
    this.#endpoint.channel.send(now, { body: 'missing', missing: this.machine.missingOf(lost) })
  }

  /** The oldest chunk is in the file; its credit follows. */
  #onWritten(): void {
    const { chunks } = this.machine
    this.#gate!.open(chunks.slotOf(chunks.written - 1))
    this.#host.advance()
  }
}
