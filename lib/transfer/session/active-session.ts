/** The end that a user asked for a transfer: it connects, and it disconnects when the transfer has ended. */
import { WeirError } from '../../errors.js'
import type { Connection, ConnectOptions } from '../../nic/types.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { type Nanos, SECOND } from '../../time/nanos.js'
import type { HostAddress } from '../../wire/net/address.js'
import { TransferFailure } from '../protocol/failure.js'
import { type DigestKind, TRANSFER_PORT, type TransferMessage } from '../protocol/messages.js'
import { CHANNEL_ID_MAX } from './channel.js'
import { Session, type SessionConfig, type Words } from './session.js'

/** Receives that wait for the peer's messages: of each kind at most one is on its way, and there are Pings. */
const RECEIVES = 16

/** How long the other end may take for the next message about a file that moves, and while it reads or syncs its disk. */
const STALLED_AFTER_NS = 600 * SECOND
const DISK_WORK_NS = 3600 * SECOND

export interface ActiveSessionConfig extends SessionConfig {
  remote: HostAddress
  /** UDP port of RoCEv2 at the remote end. Default: that of this host. */
  udpPort?: number
  /** Goes on asking though ICMP says that nobody is there: the other end may be being started again. Default false. */
  patient?: boolean
  /** Name of the other end for messages. */
  peer: string
  /** Names the transfer to the other end, the same in all its attempts. Default: empty, this is the only one. */
  transfer?: Uint8Array
}

/** What a finished transfer has done. */
export interface TransferOutcome {
  /** Path of the delivered file: of a sent one within the receiver's inbox, of a fetched one on this machine. */
  path: string
  bytes: number
  /** Bytes that an earlier transfer had delivered and that were right. */
  resumedBytes: number
  durationNs: Nanos
  retransmittedBytes: number
  /** Packets that were retransmitted and had not been lost. */
  spuriousRetransmissions: number
  timeouts: number
  /** Chunks that did not have their digest, and were moved again. */
  damagedChunks: number
  digestKind: DigestKind
  digest: Uint8Array
  baseRttNs: Nanos
  /** The controller that decided at the end, and why it was that one. */
  controller: string
  controllerReason: string
  /** Highest queue that telemetry has shown, as far as it was sampled. */
  maxPathQueueBytes: number
}

export abstract class ActiveSession extends Session {
  /** Settles when every resource has been given back. */
  readonly outcome: Promise<TransferOutcome>
  protected readonly peer: string
  protected readonly transfer: Uint8Array
  readonly #remote: HostAddress
  readonly #connectOptions: ConnectOptions
  readonly #startNs: Nanos
  #endNs = 0
  #disconnected = false
  /** What is still to be said is heard before the connection ends, also after a failure. */
  #lastWords = false
  #maxPathQueueBytes = 0
  /** When the other end last did what it has to. A Ping is nothing that it has to do. */
  #progressNs: Nanos
  #resolve: (outcome: TransferOutcome) => void = () => {}
  #reject: (error: WeirError) => void = () => {}

  /** Throws BUSY (WEIR_FULL) when no ring is free. */
  constructor(config: ActiveSessionConfig, words: Words, privateData?: Uint8Array) {
    // The ring first: nothing is to be undone when there is none.
    super(config, RECEIVES, words, config.rings.take(words.being))
    this.peer = config.peer
    this.transfer = config.transfer ?? new Uint8Array()
    this.#remote = config.remote
    this.#connectOptions = { privateData, udpPort: config.udpPort, patient: config.patient }
    this.#startNs = config.time.now()
    this.#progressNs = this.#startNs
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // Whoever waits sees the failure, also later; a session that nobody waits for must not end the process.
    this.outcome.catch(() => {})
  }

  /** True once it is known where in the file the transfer begins. */
  abstract get begun(): boolean
  /** Bytes that earlier transfers, or attempts, had delivered. */
  abstract get resumedBytes(): number

  /** Highest queue that telemetry has shown, as far as it was sampled. */
  get maxPathQueueBytes(): number {
    return this.#maxPathQueueBytes
  }

  /** Connects. */
  start(): void {
    const { verbs, time } = this
    try {
      this.connection = verbs.connect(time.now(), this.#remote, TRANSFER_PORT, this, this.#connectOptions)
      time.wake()
    } catch (error) {
      this.closed = true
      this.fail(error instanceof WeirError ? error : TransferFailure.from(error, 'cannot connect'))
      this.settleIfIdle()
    }
  }

  /** The other end learns why: an orderly end alone would mean that a user has cancelled. */
  override interrupt(text: string): void {
    if (this.connection?.established && !this.closed && !this.machine.ended) {
      this.#lastWords = true
      const fail = new TransferFailure('SHUTTING_DOWN', text).toMessage()
      this.guarded(() => this.channel.send(this.time.now(), { body: 'fail', fail }))
    }
    super.interrupt(text)
  }

  /** It is the user of this end who decides. */
  override async goesOn(): Promise<boolean> {
    return !this.hasEnded
  }

  override tick(now: Nanos): void {
    this.#sampleQueue()
    this.#checkPatience(now)
    super.tick(now)
  }

  #checkPatience(now: Nanos): void {
    if (this.closed || this.machine.ended || !this.connection?.established) return
    // While this end works on its own disk, the other one waits.
    if (this.steps.running) this.#progressNs = now
    const mayTakeNs =
      this.machine.state === 'streaming' || this.machine.state === 'receiving'
        ? STALLED_AFTER_NS
        : DISK_WORK_NS
    if (now - this.#progressNs < mayTakeNs) return
    this.fail(new TransferFailure('STALLED', `${this.peer} was silent for too long`))
  }

  override onCompletion(now: Nanos, connection: Connection, completion: Completion): void {
    if (!completion.isReceive && completion.id > CHANNEL_ID_MAX) this.#progressNs = now
    super.onCompletion(now, connection, completion)
  }

  protected override onMessage(now: Nanos, message: TransferMessage): void {
    if (message.body !== 'ping') this.#progressNs = now
    super.onMessage(now, message)
  }

  override onEstablished(now: Nanos, connection: Connection): void {
    super.onEstablished(now, connection)
    if (this.machine.ended) this.#disconnect(now)
    else this.guarded(() => this.greet(now))
  }

  onClosed(now: Nanos, _connection: Connection, error: WeirError | null): void {
    this.closed = true
    this.fail(error ?? new WeirError('WEIR_CONNECTION_LOST', `${this.peer} ended the connection`))
    this.onEnded(now)
    this.settleIfIdle()
  }

  /** Says the first message. */
  protected abstract greet(now: Nanos): void

  /** Path, size and digest of a file that has been delivered. */
  protected abstract delivered(): Pick<TransferOutcome, 'path' | 'bytes' | 'digestKind' | 'digest'>

  protected onEnded(now: Nanos): void {
    if (this.#endNs === 0) this.#endNs = now
    // What is still to be said when all went well is heard before the connection ends.
    const breaksOff = this.machine.state === 'failed' && !this.#lastWords
    if (breaksOff || !this.channel.busy) this.#disconnect(now)
  }

  #disconnect(now: Nanos): void {
    if (this.closed || this.#disconnected) return
    this.#disconnected = true
    this.connection?.disconnect(now)
  }

  #sampleQueue(): void {
    const bytes = this.figures?.pathQueueBytes ?? 0
    if (bytes > this.#maxPathQueueBytes) this.#maxPathQueueBytes = bytes
  }

  /** Closes the file. */
  protected abstract closeFile(): Promise<void>

  protected async finish(): Promise<void> {
    this.#sampleQueue()
    let failure = this.machine.failure
    try {
      await this.closeFile()
    } catch (error) {
      failure ??= TransferFailure.from(error, `cannot close ${this.name}`)
    }
    if (this.machine.state === 'done') this.#resolve(this.#outcome())
    else this.#reject(failure ?? new WeirError('WEIR_INTERNAL', 'a transfer ended without an outcome'))
  }

  #outcome(): TransferOutcome {
    const { retransmittedBytes = 0, spuriousRetransmissions = 0 } = this.figures ?? {}
    const { timeouts = 0, baseRttNs = 0 } = this.figures ?? {}
    const { controller = '', controllerReason = '' } = this.figures ?? {}
    return {
      ...this.delivered(),
      resumedBytes: this.resumedBytes - this.mended.bytesBefore(this.resumedBytes),
      durationNs: this.#endNs - this.#startNs,
      retransmittedBytes,
      spuriousRetransmissions,
      timeouts,
      damagedChunks: this.damagedChunks,
      baseRttNs,
      controller,
      controllerReason,
      maxPathQueueBytes: this.#maxPathQueueBytes,
    }
  }
}
