/** The end that a user asked for a transfer: it connects, and it disconnects when the transfer has ended. */
import { WeirError } from '../../errors.js'
import type { Connection, ConnectionHandler } from '../../nic/types.js'
import type { DomainId } from '../../qp/memory/memory.js'
import type { Completion } from '../../qp/queues/completion-queue.js'
import { type Nanos, SECOND } from '../../time/nanos.js'
import type { HostAddress } from '../../wire/net/address.js'
import { type SessionConfig, TransferEndpoint } from '../mover/endpoint.js'
import type { ActiveMover, DeliveredFile, MoverHost } from '../mover/mover.js'
import { TransferFailure } from '../protocol/failure.js'
import { type SenderFigures, TRANSFER_PORT, type TransferMessage } from '../protocol/messages.js'
import { Exchange, type ExchangeEnding } from './exchange.js'

/** Receives for the peer's messages: at most one of each kind is in flight, and there are Pings. */
const RECEIVES = 16

/** How long the other end may take for its next message: while chunks move, and while it reads or syncs its disk. */
const STALLED_AFTER_NS = 600 * SECOND
const DISK_WORK_NS = 3600 * SECOND

export interface ActiveSessionConfig extends SessionConfig {
  remote: HostAddress
  /** UDP port of RoCEv2 at the remote end. Default: that of this host. */
  udpPort?: number
  /** True: repeats the request although ICMP says that nobody listens, because the other end may be starting. Default false. */
  patient?: boolean
  /** Name of the other end for messages. */
  peer: string
}

/** What the session is to do, and how. */
interface ActiveWay {
  /** Private data of the connection: what the other end is to do. Default: empty, it is to receive. */
  privateData?: Uint8Array
  /** For messages: this end cannot 'send' a file, others are being 'sent'. */
  cannot: string
  being: string
  newMover(endpoint: TransferEndpoint, host: MoverHost): ActiveMover
}

/** What a finished transfer has done. */
export interface TransferOutcome extends DeliveredFile {
  /** Bytes that an earlier transfer had delivered and that were right. */
  resumedBytes: number
  durationNs: Nanos
  retransmittedBytes: number
  /** Packets that were retransmitted and had not been lost. */
  spuriousRetransmissions: number
  timeouts: number
  /** Other paths that were taken. */
  pathMoves: number
  /** Chunks that did not have their digest, and were moved again. */
  damagedChunks: number
  baseRttNs: Nanos
  /** The controller that decided at the end, and why it was that one. */
  controller: string
  controllerReason: string
  /** Who was at the other end of a sealed connection; '' in the clear. */
  sealedWith: string
  /** Connections that carried the file in the last attempt. */
  streams: number
  /** Highest queue that telemetry has shown, as far as it was sampled. */
  maxPathQueueBytes: number
}

export class ActiveSession implements ConnectionHandler, MoverHost, ExchangeEnding {
  readonly domain: DomainId
  readonly mover: ActiveMover
  /** Settles when every resource has been given back. */
  readonly outcome: Promise<TransferOutcome>
  readonly #config: ActiveSessionConfig
  readonly #privateData: Uint8Array | undefined
  readonly #endpoint: TransferEndpoint
  readonly #exchange: Exchange
  readonly #startNs: Nanos
  #endNs = 0
  #disconnected = false
  /** The connection ends only after the other end has acknowledged all messages, although the transfer has failed. */
  #lastWords = false
  #maxPathQueueBytes = 0
  /** When the other end last made progress. A Ping is none. */
  #progressNs: Nanos
  #resolve: (outcome: TransferOutcome) => void = () => {}
  #reject: (error: WeirError) => void = () => {}

  /** Throws WEIR_FULL when there is no ring, or no room for it in the table of memory. */
  constructor(config: ActiveSessionConfig, { privateData, cannot, being, newMover }: ActiveWay) {
    this.#config = config
    this.#privateData = privateData
    this.#endpoint = new TransferEndpoint(config, RECEIVES, being)
    this.domain = this.#endpoint.domain
    this.mover = newMover(this.#endpoint, this)
    this.#exchange = new Exchange(this.#endpoint, this.mover, this, cannot)
    this.#startNs = this.#endpoint.now()
    this.#progressNs = this.#startNs
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // Whoever waits for the outcome sees a failure, even later. Node.js must not end the process if nobody waits.
    this.outcome.catch(() => {})
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

  /** Highest queue that telemetry has shown, as far as it was sampled. */
  get maxPathQueueBytes(): number {
    return this.#maxPathQueueBytes
  }

  get hasEnded(): boolean {
    return this.#exchange.hasEnded
  }

  /** Connects. A session that was cancelled before makes no connection: it settles at once. */
  start(): void {
    const { failure } = this.mover.machine
    if (failure) {
      this.#exchange.onClosed(failure)
      return
    }
    this.#connect()
  }

  /** Ends the transfer at both ends, as WEIR_CANCELLED: what has arrived is removed. */
  cancel(text: string): void {
    this.#exchange.fail(new TransferFailure('CANCELLED', text))
    this.#endpoint.wake()
  }

  /** Ends the transfer at both ends, as WEIR_CONNECTION_LOST: what has arrived is kept for another attempt. */
  interrupt(text: string): void {
    const why = new TransferFailure('SHUTTING_DOWN', text)
    // The other end learns why: an orderly end alone would mean that a user has cancelled.
    if (this.#endpoint.established && !this.hasEnded) {
      this.#lastWords = true
      this.#exchange.guarded(() => this.#endpoint.say({ body: 'fail', fail: why.toMessage() }))
    }
    this.#exchange.fail(why)
    this.#endpoint.wake()
  }

  /** The user of this end decides when it ends, so nobody has to ask the peer. */
  async goesOn(): Promise<boolean> {
    return !this.hasEnded
  }

  /** Call about once a second. */
  tick(now: Nanos): void {
    this.#sampleQueue()
    this.#checkPatience(now)
    this.#exchange.tick(now)
  }

  onCreated(_now: Nanos, connection: Connection): void {
    this.#endpoint.connection = connection
    this.#endpoint.channel.attach(connection)
  }

  onEstablished(now: Nanos, connection: Connection): void {
    this.#endpoint.connection = connection
    if (this.mover.machine.ended) this.#disconnect(now)
    else this.#exchange.guarded(() => this.mover.greet(now))
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    this.#exchange.onCompletion(now, completion)
  }

  onClosed(now: Nanos, _connection: Connection, error: WeirError | null): void {
    const { peer } = this.#config
    this.#exchange.onClosed(error ?? new WeirError('WEIR_CONNECTION_LOST', `${peer} ended the connection`))
    this.onEnded(now)
  }

  advance(): void {
    this.#exchange.advance()
  }

  onProgress(now: Nanos): void {
    this.#progressNs = now
  }

  /** Sends the last message. The connection ends when the other end has acknowledged it. */
  finish(last: TransferMessage): void {
    this.#endpoint.say(last)
    this.onEnded(this.#endpoint.now())
    this.#endpoint.wake()
  }

  onEnded(now: Nanos): void {
    if (this.#endNs === 0) this.#endNs = now
    // After success the other end acknowledges all messages before the connection ends.
    const breaksOff = this.state === 'failed' && !this.#lastWords
    if (breaksOff || !this.#endpoint.channel.busy) this.#disconnect(now)
  }

  onSettled(failure: WeirError | null): void {
    this.#sampleQueue()
    if (this.state === 'done') this.#resolve(this.#outcome())
    else this.#reject(failure ?? new WeirError('WEIR_INTERNAL', 'a transfer ended without an outcome'))
  }

  #connect(): void {
    const { verbs, remote, udpPort, patient, peer: peerName } = this.#config
    const options = { privateData: this.#privateData, udpPort, patient, peerName }
    const endpoint = this.#endpoint
    try {
      endpoint.dial = (privateData, lane) =>
        verbs.connect(endpoint.now(), remote, TRANSFER_PORT, lane, { privateData, udpPort, peerName })
      endpoint.connection = verbs.connect(endpoint.now(), remote, TRANSFER_PORT, this, options)
      endpoint.wake()
    } catch (error) {
      const why = error instanceof WeirError ? error : TransferFailure.from(error, 'cannot connect')
      this.#exchange.onClosed(why)
    }
  }

  #checkPatience(now: Nanos): void {
    if (this.hasEnded || !this.#endpoint.established) return
    // The other end waits while this one works on its disk.
    if (this.#exchange.hasStep) this.#progressNs = now
    const isMoving = this.state === 'streaming' || this.state === 'receiving'
    const mayTakeNs = isMoving ? STALLED_AFTER_NS : DISK_WORK_NS
    if (now - this.#progressNs < mayTakeNs) return
    this.#exchange.fail(new TransferFailure('STALLED', `${this.#config.peer} was silent for too long`))
  }

  #disconnect(now: Nanos): void {
    if (this.#endpoint.closed || this.#disconnected) return
    this.#disconnected = true
    this.#endpoint.disconnect(now)
  }

  #sampleQueue(): void {
    const bytes = this.figures?.pathQueueBytes ?? 0
    if (bytes > this.#maxPathQueueBytes) this.#maxPathQueueBytes = bytes
  }

  #outcome(): TransferOutcome {
    const { mover } = this
    const { retransmittedBytes = 0, spuriousRetransmissions = 0 } = this.figures ?? {}
    const { timeouts = 0, pathMoves = 0, baseRttNs = 0 } = this.figures ?? {}
    const { controller = '', controllerReason = '' } = this.figures ?? {}
    return {
      ...mover.delivered(),
      resumedBytes: mover.resumedBytes - mover.machine.chunks.mended.bytesBefore(mover.resumedBytes),
      durationNs: this.#endNs - this.#startNs,
      retransmittedBytes,
      spuriousRetransmissions,
      timeouts,
      pathMoves,
      damagedChunks: this.damagedChunks,
      baseRttNs,
      controller,
      controllerReason,
      sealedWith: this.sealedWith,
      streams: this.streams,
      maxPathQueueBytes: this.#maxPathQueueBytes,
    }
  }
}
