/**
 * The end that somebody else's transfer comes to: it answers, says why when it cannot go on, and
 * leaves it to the peer to disconnect, for a while.
 */
import { WeirError } from '../../errors.js'
import type { Connection } from '../../nic/types.js'
import { type Nanos, SECOND } from '../../time/nanos.js'
import { TransferFailure } from '../protocol/failure.js'
import type { TransferMessage } from '../protocol/messages.js'
import type { Attempts } from './attempts.js'
import type { Holder, Places } from './places.js'
import { Session, type SessionConfig, type Words } from './session.js'

/** How long the peer may take to say what it wants. */
const BEGIN_WITHIN_NS = 10 * SECOND
/** How long the peer may take for the next chunk, or for its answer about one. */
const STALLED_AFTER_NS = 600 * SECOND
/** How long the peer may take to disconnect after the last message. */
const LINGER_NS = 2 * SECOND

export interface PassiveSessionConfig extends SessionConfig {
  /** Attempts of all sessions of this end. Default: no session is a further attempt of a transfer. */
  attempts?: Attempts
  /** Who holds memory of this direction. Default: nobody gives way. */
  places?: Places
}

/** How it ended. */
export interface PassiveOutcome {
  /** Path of the file in the inbox or the share, '' when nothing was delivered. */
  path: string
  bytes: number
  failure: WeirError | null
}

export abstract class PassiveSession extends Session implements Holder {
  /** Resolves when every resource has been given back. Never rejects. */
  readonly outcome: Promise<PassiveOutcome>
  /** Deadline of what the peer has to do next. */
  #patienceNs: Nanos
  readonly #attempts: Attempts | undefined
  readonly #places: Places | undefined
  /** Resolves when the connection is established, or never will be. */
  readonly begun: Promise<boolean>
  progressNs: Nanos
  #answered = false
  #resolve: (outcome: PassiveOutcome) => void = () => {}
  #resolveBegun: (established: boolean) => void = () => {}

  constructor(config: PassiveSessionConfig, receives: number, words: Words) {
    super(config, receives, words)
    this.#attempts = config.attempts
    this.#places = config.places
    this.progressNs = config.time.now()
    this.#patienceNs = this.progressNs + BEGIN_WITHIN_NS
    this.begun = new Promise(resolve => {
      this.#resolveBegun = resolve
    })
    this.outcome = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  get remoteName(): string {
    return this.connection?.remote.toString() ?? ''
  }

  get hasAsked(): boolean {
    return this.machine.state !== 'waiting'
  }

  override onCreated(_now: Nanos, connection: Connection): void {
    this.connection = connection
  }

  override onEstablished(now: Nanos, connection: Connection): void {
    super.onEstablished(now, connection)
    this.#resolveBegun(true)
    try {
      this.channel.attach(connection)
      this.#places?.enter(this)
    } catch (error) {
      this.#leave(now, connection, error as WeirError)
    }
  }

  /** There is no memory for messages, so that the connection itself has to say why it ends. */
  #leave(now: Nanos, connection: Connection, why: WeirError): void {
    this.#answered = true
    this.machine.fail(why)
    connection.disconnect(now, why)
  }

  /** Another host needs the place. */
  giveWay(why: TransferFailure, atOnce: boolean): void {
    const { granted } = this
    const body = why.toMessage()
    this.machine.fail(new WeirError('WEIR_CONNECTION_LOST', why.message, { cause: why }))
    this.sayLast(this.time.now(), granted ? { body: 'fail', fail: body } : { body: 'refuse', refuse: body })
    if (atOnce && !this.closed) this.connection?.disconnect(this.time.now())
  }

  /** The peer goes on by another connection: this one ends at once, and what has arrived is kept. */
  supersede(): void {
    const text = `the ${this.peerRole} has come back by another connection`
    this.machine.fail(new WeirError('WEIR_CONNECTION_LOST', text))
    this.#answered = true
    if (!this.closed) this.connection?.disconnect(this.time.now())
    this.time.wake()
  }

  override tick(now: Nanos): void {
    if (this.closed) return
    if (now >= this.#patienceNs && !this.isBusy) this.#onPatienceOver(now)
    super.tick(now)
  }

  onClosed(_now: Nanos, _connection: Connection, error: WeirError | null): void {
    this.closed = true
    this.#resolveBegun(false)
    // An orderly end before Done is a cancelled transfer.
    const text = `the ${this.peerRole} cancelled the transfer`
    this.machine.fail(error ?? new WeirError('WEIR_CANCELLED', text))
    this.settleIfIdle()
  }

  /** What the peer is, as in 'sender'. */
  protected abstract readonly peerRole: string
  /** True while it is this end that has something to do. */
  abstract get isBusy(): boolean
  /** True once the peer's wish has been granted: from then on a failure is said by Fail, not by Refuse. */
  protected abstract get granted(): boolean
  /** Path of the file in the inbox or the share once it has been delivered, else ''. */
  protected abstract get deliveredPath(): string
  protected abstract closeFile(): Promise<void>

  /** Resolves when no earlier attempt of the transfer holds anything: its file, a ring. */
  protected async succeedEarlier(transfer: Uint8Array): Promise<void> {
    await this.#attempts?.begin(this.connection!.remote.toString(), transfer, this)
  }

  /** Resolves when there is memory for it, or none can be had, which whoever takes it then hears. */
  protected async takePlace(): Promise<void> {
    await this.#places?.makeRoom(this.time.now(), this)
  }

  /** The peer does what it should. */
  protected onProgress(now: Nanos): void {
    this.progressNs = now
    this.#patienceNs = now + STALLED_AFTER_NS
  }

  protected onEnded(now: Nanos): void {
    if (this.#answered || this.closed) return
    if (this.machine.state === 'failed') {
      const why = TransferFailure.from(this.machine.failure, 'transfer').toMessage()
      this.sayLast(now, this.granted ? { body: 'fail', fail: why } : { body: 'refuse', refuse: why })
    } else {
      this.#answered = true
      this.#patienceNs = now + LINGER_NS
    }
  }

  /** The last message of this end. */
  protected sayLast(now: Nanos, message: TransferMessage): void {
    if (this.closed) return
    this.#answered = true
    this.#patienceNs = now + LINGER_NS
    try {
      if (this.connection?.established) this.channel.send(now, message)
      else this.connection?.disconnect(now)
    } catch {
      this.connection?.disconnect(now)
    }
    this.time.wake()
  }

  protected async finish(): Promise<void> {
    let failure = this.machine.failure
    try {
      await this.closeFile()
    } catch (error) {
      failure ??= TransferFailure.from(error, `cannot close ${this.name}`)
    }
    this.#resolve({ path: this.deliveredPath, bytes: this.deliveredBytes, failure })
  }

  #onPatienceOver(now: Nanos): void {
    if (this.machine.ended) this.connection?.disconnect(now)
    else this.fail(new TransferFailure('STALLED', `the ${this.peerRole} was silent for too long`))
  }
}
