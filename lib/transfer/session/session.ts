/**
 * The transfer of one file, at one end: joins a state machine of the protocol to a connection and to steps that take
 * time. What the four kinds of session share is here and in active-session.ts and passive-session.ts.
 *
 * The peer may use the ring for as long as the connection lives, and a step that runs may touch it too. So
 * everything is given back when the connection has ended and no step runs any more: once, in `#settle`.
 */
import { WeirError } from '../../errors.js'
import type { Connection, ConnectionHandler, Verbs } from '../../nic/types.js'
import type { DomainId, MemoryRegion } from '../../qp/memory/memory.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { WorkStatus } from '../../qp/queues/work-status.js'
import type { Nanos } from '../../time/nanos.js'
import type { FileUser } from '../file/file.js'
import { Challenge } from '../protocol/challenge.js'
import { TransferFailure } from '../protocol/failure.js'
import { Liveness } from '../protocol/liveness.js'
import type { TransferMachine } from '../protocol/machine.js'
import type { MendedChunks } from '../protocol/mended.js'
import type { SenderFigures, TransferMessage } from '../protocol/messages.js'
import { MessageChannel } from './channel.js'
import type { RealTime } from './real-time.js'
import type { RingPool } from './ring-pool.js'
import { StepRunner } from './step-runner.js'

export interface SessionConfig {
  verbs: Verbs
  time: RealTime
  rings: RingPool
}

/** What a session does to its file, for messages: it cannot "send" it, others are being "sent". */
export interface Words {
  cannot: string
  being: string
}

export abstract class Session implements ConnectionHandler, FileUser {
  /** No other connection reaches its ring. */
  readonly domain: DomainId
  protected abstract readonly machine: TransferMachine
  protected readonly verbs: Verbs
  protected readonly time: RealTime
  protected readonly rings: RingPool
  protected readonly channel: MessageChannel
  protected readonly steps: StepRunner
  /** Null before there is one; stays set after its end. */
  connection: Connection | null = null
  protected closed = false
  #ring: Buffer | null = null
  #region: MemoryRegion | null = null
  readonly #liveness: Liveness
  readonly #challenge = new Challenge()
  readonly #words: Words
  #settled = false

  /** @param receives receives to keep posted; @param ring taken already, when there is one */
  constructor(config: SessionConfig, receives: number, words: Words, ring: Buffer | null = null) {
    const { verbs, time, rings } = config
    this.verbs = verbs
    this.time = time
    this.rings = rings
    this.#words = words
    this.#ring = ring
    this.domain = verbs.memory.newDomain()
    this.channel = new MessageChannel(verbs, receives, this.domain)
    this.steps = new StepRunner(
      () => this.nextStep(),
      error => this.fail(TransferFailure.from(error, `cannot ${words.cannot} ${this.name}`)),
      () => this.settleIfIdle(),
    )
    this.#liveness = new Liveness(time.now())
  }

  get state(): string {
    return this.machine.state
  }

  /** State of the path that the file's bytes take; null before it is known. */
  get figures(): SenderFigures | null {
    return this.connection?.stats ?? null
  }

  /** Chunks that did not have their digest, and were moved again or are to be. */
  get damagedChunks(): number {
    return this.machine.chunks.damaged
  }

  /** Chunks of an earlier part among them. */
  get mended(): MendedChunks {
    return this.machine.chunks.mended
  }

  /** Name of the file, '' before it is known. */
  abstract get name(): string
  /** Bytes of the file, 0 before it is known. */
  abstract get sizeBytes(): number
  /** Bytes of the file that are known to have arrived, resumed ones included. */
  abstract get deliveredBytes(): number

  /** Ends the transfer at both ends, as WEIR_CANCELLED: what has arrived is removed. */
  cancel(text: string): void {
    this.fail(new TransferFailure('CANCELLED', text))
    this.time.wake()
  }

  /** Ends the transfer at both ends, as WEIR_CONNECTION_LOST: what has arrived is kept for another attempt. */
  interrupt(text: string): void {
    this.fail(new TransferFailure('SHUTTING_DOWN', text))
    this.time.wake()
  }

  get hasEnded(): boolean {
    return this.closed || this.machine.ended
  }

  onHeld(): void {}

  /** The peer has to acknowledge a message. If it cannot, its connection ends by that, and so does this session. */
  async goesOn(): Promise<boolean> {
    if (this.hasEnded) return false
    const now = this.time.now()
    const answered = this.#challenge.begin(now)
    // A message that is on its way will do.
    if (!this.channel.busy) this.guarded(() => this.channel.send(now, { body: 'ping', ping: {} }))
    this.time.wake()
    return (await answered) && !this.hasEnded
  }

  /** Call about once a second. */
  tick(now: Nanos): void {
    this.#challenge.tick(now)
    if (this.closed || !this.connection?.established) return
    if (this.channel.busy || this.awaitsTransport || !this.#liveness.pingDue(now)) return
    this.guarded(() => this.channel.send(now, { body: 'ping', ping: {} }))
  }

  onCreated(_now: Nanos, connection: Connection): void {
    this.connection = connection
    this.channel.attach(connection)
  }

  onEstablished(_now: Nanos, connection: Connection): void {
    this.connection = connection
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    if (completion.status !== WorkStatus.SUCCESS) return
    this.#liveness.onHeard(now)
    this.guarded(() => {
      const message = this.channel.onCompletion(now, completion)
      // The last message has been acknowledged.
      if (!this.channel.busy) this.#challenge.answer(true)
      if (message) this.onMessage(now, message)
      else this.onTransferred(now, completion)
      this.channel.flush(now)
      if (!this.closed && !this.machine.ended) this.advance(now)
    })
    if (this.machine.ended) this.onEnded(now)
    this.steps.kick()
  }

  abstract onClosed(now: Nanos, connection: Connection, error: WeirError | null): void

  /** What is to be done next that takes time, or null. */
  protected abstract nextStep(): (() => Promise<void>) | null
  /** Posts whatever may go now. */
  protected abstract advance(now: Nanos): void
  /** The machine has ended; called again with every completion that still comes. */
  protected abstract onEnded(now: Nanos): void
  /** Everything but the file has been given back: closes it and reports. */
  protected abstract finish(): Promise<void>

  /** True while the transport itself would find a peer that has died. */
  protected get awaitsTransport(): boolean {
    return false
  }

  protected onMessage(_now: Nanos, message: TransferMessage): void {
    this.machine.onMessage(message)
  }

  /** Work has completed that was no message, such as a READ or WRITE. */
  protected onTransferred(_now: Nanos, _completion: Completion): void {}

  /** Ends the transfer; the first reason stays. */
  protected fail(error: WeirError): void {
    this.machine.fail(error)
    this.#challenge.answer(false)
    this.onEnded(this.time.now())
  }

  protected guarded(action: () => void): void {
    try {
      action()
    } catch (error) {
      this.fail(error instanceof WeirError ? error : TransferFailure.from(error, 'internal error'))
    }
  }

  /** After a step: posts what it has made possible. */
  protected advanceNow(): void {
    if (this.closed || this.machine.ended) return
    this.advance(this.time.now())
    this.time.wake()
  }

  /** True while it holds memory of the pool. */
  get holdsRing(): boolean {
    return this.#ring !== null && !this.#settled
  }

  /** The ring, taken from the pool when first needed. Throws BUSY when none is free. */
  protected get ring(): Buffer {
    this.#ring ??= this.rings.take(this.#words.being)
    return this.#ring
  }

  /** The ring as memory of this end's adapter: what `access` the first call gives it stays. Throws WEIR_FULL, and gives the ring back. */
  protected registerRing(access: number): MemoryRegion {
    if (this.#region) return this.#region
    const { ring } = this
    try {
      this.#region = this.verbs.memory.register(ring, ring.length, access, this.domain)
      return this.#region
    } catch (error) {
      this.#ring = null
      this.rings.give(ring)
      throw error
    }
  }

  protected settleIfIdle(): void {
    if (this.closed) this.#challenge.answer(false)
    if (!this.closed || this.steps.running || this.#settled) return
    this.#settled = true
    void this.#settle()
  }

  async #settle(): Promise<void> {
    if (this.#region) this.verbs.memory.deregister(this.#region)
    this.channel.close()
    if (this.#ring) this.rings.give(this.#ring)
    await this.finish()
  }
}
