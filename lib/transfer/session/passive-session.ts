/**
 * The end that another host asks for a transfer. It answers, says why it cannot go on, and gives the peer some time to
 * disconnect.
 */
import { WeirError } from '../../errors.js'
import type { Connection, ConnectionHandler } from '../../nic/types.js'
import type { DomainId } from '../../qp/memory/memory.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { type Nanos, SECOND } from '../../time/nanos.js'
import { type SessionConfig, TransferEndpoint } from '../mover/endpoint.js'
import type { PassiveMover, PassiveMoverHost } from '../mover/mover.js'
import { TransferFailure } from '../protocol/failure.js'
import type { SenderFigures, TransferMessage } from '../protocol/messages.js'
import type { Attempts } from './attempts.js'
import { Exchange, type ExchangeEnding } from './exchange.js'
import type { Holder, Places } from './places.js'

/** How long the peer may take to say what it wants. */
const BEGIN_WITHIN_NS = 10 * SECOND
/** How long the peer may take for the next chunk, or for its answer about one. */
const STALLED_AFTER_NS = 600 * SECOND
/** The same before files move: the peer lists a tree, or compares it with what it has. For digests it reads all of that. */
const DISK_WORK_NS = 3600 * SECOND
const DISK_WORK_STATES = ['listing', 'listed']
/** How long the peer may take to disconnect after the last message. */
const LINGER_NS = 2 * SECOND

export interface PassiveSessionConfig extends SessionConfig {
  /** Attempts of all sessions of this end. Default: no session is a further attempt of a transfer. */
  attempts?: Attempts
  /** Who holds memory of this direction. Default: nobody gives way. */
  places?: Places
}

/** What the session is to do, and how. */
interface PassiveWay {
  /** Receives to keep posted: messages and immediates that the peer may have on the way. */
  receives: number
  /** For messages: this end cannot 'read' a file, others are being 'served'. */
  cannot: string
  being: string
  newMover(endpoint: TransferEndpoint, host: PassiveMoverHost): PassiveMover
}

/** How a session has ended. */
export interface PassiveOutcome {
  /** Path of the file in the inbox or the share, '' when nothing was delivered. */
  path: string
  bytes: number
  failure: WeirError | null
}

export class PassiveSession implements ConnectionHandler, PassiveMoverHost, ExchangeEnding, Holder {
  readonly domain: DomainId
  readonly mover: PassiveMover
  /** Resolves when the connection is established, or never will be. */
  readonly begun: Promise<boolean>
  /** Resolves when every resource has been given back. Never rejects. */
  readonly outcome: Promise<PassiveOutcome>
  progressNs: Nanos
  readonly #endpoint: TransferEndpoint
  readonly #exchange: Exchange
  readonly #attempts: Attempts | undefined
  readonly #places: Places | undefined
  /** Deadline of what the peer has to do next. */
  #patienceNs: Nanos
  #answered = false
  /** This host shuts down, and the transfer had ended before: the connection ends when the other end has the last message. */
  #isLeaving = false
  #resolve: (outcome: PassiveOutcome) => void = () => {}
  #resolveBegun: (established: boolean) => void = () => {}

  constructor(config: PassiveSessionConfig, { receives, cannot, being, newMover }: PassiveWay) {
    this.#attempts = config.attempts
    this.#places = config.places
    this.#endpoint = new TransferEndpoint(config, receives, being)
    this.domain = this.#endpoint.domain
    this.mover = newMover(this.#endpoint, this)
    this.#exchange = new Exchange(this.#endpoint, this.mover, this, cannot)
    this.progressNs = this.#endpoint.now()
    this.#patienceNs = this.progressNs + BEGIN_WITHIN_NS
    this.begun = new Promise(resolve => {
      this.#resolveBegun = resolve
    })
    this.outcome = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  get connection(): Connection | null {
    return this.#endpoint.connection
  }

  get state(): string {
    return this.mover.machine.state
  }

  get name(): string {
    return this.mover.name
  }

  get sizeBytes(): number {
    return this.mover.sizeBytes
  }

  get deliveredBytes(): number {
    return this.mover.deliveredBytes
  }

  /** Those of them that this session has moved. */
  get movedBytes(): number {
    return this.mover.deliveredBytes - this.mover.resumedBytes
  }

  get figures(): SenderFigures | null {
    return this.mover.figures
  }

  /** Who is at the other end of a sealed connection; '' in the clear. */
  get sealedWith(): string {
    return this.#endpoint.sealedWith
  }

  /** Connections that carry the file. */
  get streams(): number {
    return this.#endpoint.lanes.used
  }

  get damagedChunks(): number {
    return this.mover.machine.chunks.damaged
  }

  get remoteName(): string {
    return this.connection?.remote.toString() ?? ''
  }

  /** A list of a tree asks for nothing yet. One that is still made here was asked for. */
  get hasAsked(): boolean {
    return this.state !== 'waiting' && (this.state !== 'listing' || this.isBusy)
  }

  get holdsRing(): boolean {
    return this.#endpoint.holdsRing
  }

  get isBusy(): boolean {
    return this.mover.isBusy
  }

  get hasEnded(): boolean {
    return this.#exchange.hasEnded
  }

  /** Ends the transfer at both ends, as WEIR_CANCELLED: what has arrived is removed. */
  cancel(text: string): void {
    this.#exchange.fail(new TransferFailure('CANCELLED', text))
    this.#endpoint.wake()
  }

  /** Ends the transfer at both ends, as WEIR_CONNECTION_LOST: what has arrived is kept for another attempt. */
  interrupt(text: string): void {
    this.#isLeaving = this.mover.machine.ended
    this.#exchange.fail(new TransferFailure('SHUTTING_DOWN', text))
    this.#endpoint.wake()
  }

  /** Another host needs the place. */
  giveWay(why: TransferFailure, atOnce: boolean): void {
    const { granted, machine } = this.mover
    machine.fail(new WeirError('WEIR_CONNECTION_LOST', why.message, { cause: why }))
    this.#sayWhy(this.#endpoint.now(), why, granted)
    if (atOnce) this.#disconnect(this.#endpoint.now())
  }

  /** The peer goes on over another connection. This one ends at once, and what has arrived is kept. */
  supersede(): void {
    const text = `the ${this.mover.peerRole} has come back by another connection`
    this.mover.machine.fail(new WeirError('WEIR_CONNECTION_LOST', text))
    this.#answered = true
    this.#disconnect(this.#endpoint.now())
    this.#endpoint.wake()
  }

  async goesOn(): Promise<boolean> {
    return await this.#exchange.goesOn()
  }

  /** Call about once a second. */
  tick(now: Nanos): void {
    if (this.#endpoint.closed) return
    if (now >= this.#patienceNs && !this.isBusy) this.#onPatienceOver(now)
    this.#exchange.tick(now)
  }

  onCreated(_now: Nanos, connection: Connection): void {
    this.#endpoint.connection = connection
  }

  onEstablished(now: Nanos, connection: Connection): void {
    this.#endpoint.connection = connection
    this.#resolveBegun(true)
    try {
      this.#endpoint.channel.attach(connection)
      this.#places?.enter(this)
    } catch (error) {
      this.#leave(now, connection, error as WeirError)
    }
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    this.#exchange.onCompletion(now, completion)
  }

  onClosed(_now: Nanos, _connection: Connection, error: WeirError | null): void {
    this.#resolveBegun(false)
    // An orderly end before Done is a cancelled transfer.
    const text = `the ${this.mover.peerRole} cancelled the transfer`
    this.#exchange.onClosed(error ?? new WeirError('WEIR_CANCELLED', text))
  }

  async admit(transfer: Uint8Array): Promise<void> {
    await this.#attempts?.begin(this.remoteName, transfer, this)
    if (!this.mover.machine.ended) await this.#places?.makeRoom(this.#endpoint.now(), this)
  }

  advance(): void {
    this.#exchange.advance()
  }

  onProgress(now: Nanos): void {
    this.progressNs = now
    this.#patienceNs = now + (DISK_WORK_STATES.includes(this.state) ? DISK_WORK_NS : STALLED_AFTER_NS)
  }

  finish(last: TransferMessage): void {
    this.#sayLast(this.#endpoint.now(), last)
  }

  onEnded(now: Nanos): void {
    // The other end ends the connection, as a rule. It may have left already, and its DREQ been lost.
    if (this.#isLeaving && !this.#endpoint.channel.busy) this.#disconnect(now)
    if (this.#answered || this.#endpoint.closed) return
    const { machine, granted } = this.mover
    if (this.state === 'failed') this.#sayWhy(now, TransferFailure.from(machine.failure, 'transfer'), granted)
    else {
      this.#answered = true
      this.#patienceNs = now + LINGER_NS
    }
  }

  onSettled(failure: WeirError | null): void {
    this.#resolve({ path: this.mover.deliveredPath, bytes: this.deliveredBytes, failure })
  }

  /** Without memory for messages, the disconnect itself says why. */
  #leave(now: Nanos, connection: Connection, why: WeirError): void {
    this.#answered = true
    this.mover.machine.fail(why)
    connection.disconnect(now, why)
  }

  #sayWhy(now: Nanos, why: TransferFailure, granted: boolean): void {
    const body = why.toMessage()
    this.#sayLast(now, granted ? { body: 'fail', fail: body } : { body: 'refuse', refuse: body })
  }

  /** The last message of this end. */
  #sayLast(now: Nanos, message: TransferMessage): void {
    if (this.#endpoint.closed) return
    this.#answered = true
    this.#patienceNs = now + LINGER_NS
    try {
      if (this.#endpoint.established) this.#endpoint.channel.send(now, message)
      else this.#disconnect(now)
    } catch {
      this.#disconnect(now)
    }
    this.#endpoint.wake()
  }

  #disconnect(now: Nanos): void {
    if (!this.#endpoint.closed) this.#endpoint.disconnect(now)
  }

  #onPatienceOver(now: Nanos): void {
    const { machine, peerRole } = this.mover
    if (machine.ended) this.#disconnect(now)
    else this.#exchange.fail(new TransferFailure('STALLED', `the ${peerRole} was silent for too long`))
  }
}
