/**
 * One end of a sealed connection, between the NIC and an application. First the ends make the handshake by four SENDs; the application hears
 * of the connection when that is done.
 *
 *     active                                passive
 *     e                       ─────────▶
 *                             ◀─────────    e, ee, s, es
 *     s, se, psk              ─────────▶    knows who it is, and decides
 *                             ◀─────────    verdict: the first record
 */
import { WeirError } from '../errors.js'
import type { Connection, ConnectionHandler, SealedPeer } from '../nic/types.js'
import { printable } from '../printable.js'
import type { DomainId } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import { ReceiveOpcode } from '../qp/queues/completion-queue.js'
import { WorkOpcode } from '../qp/queues/work.js'
import { WorkStatus } from '../qp/queues/work-status.js'
import type { Nanos } from '../time/nanos.js'
import type { BounceMemory } from './bounce-memory.js'
import { ChunkSeal } from './chunk-seal.js'
import { NoiseHandshake } from './noise.js'
import { aboutOf, RecordKind, RecordOpener, RecordSealer, secretFor, TAG_BYTES } from './records.js'
import { type MessageKeys, SealedConnection } from './sealed-connection.js'
import { SealedReceives } from './sealed-receives.js'
import type { KeyPair } from './x25519.js'

/** Receives of each end: two messages of the handshake, or one and the verdict. */
const RECEIVES = 2
const MESSAGE_BYTES_MAX = 320
/** Bytes of a reason in a verdict. */
const REASON_BYTES_MAX = MESSAGE_BYTES_MAX - TAG_BYTES - 1
/** Work of the handshake has ids from here on: beyond those of applications. */
const ID = 2 ** 32
const MESSAGE_ID = ID + RECEIVES
const VERDICT_ID = MESSAGE_ID + 1
const NOTHING = new Uint8Array(0)
const TITLE = 'weir sealed 1'

const Verdict = { ACCEPTED: 0, REFUSED: 1 } as const

export interface EndOptions {
  isActive: boolean
  /** CM port of the application. */
  port: number
  /** What the application of the active end has said in its request. */
  privateData: Uint8Array
  staticKey: KeyPair
  /** 32 bytes; zeros where the hosts share no secret. */
  psk: Uint8Array
  memory(domain: DomainId | undefined): BounceMemory
  /** The peer has shown its key. Throws a WeirError unless it may go on. */
  judge(publicKey: Uint8Array, connection: Connection): SealedPeer
  /** The handshake is done, or will never be. */
  onShaken(end: SealedEnd, error: WeirError | null): void
}

export class SealedEnd implements ConnectionHandler {
  /** Its receives. */
  readonly receiveSource: SealedReceives
  readonly #handler: ConnectionHandler
  readonly #options: EndOptions
  readonly #memory: BounceMemory
  #sealed: SealedConnection | null = null
  #noise: NoiseHandshake | null = null
  #keys: MessageKeys | null = null
  #peer: SealedPeer | null = null
  #isDone = false
  #failure: WeirError | null = null
  /** The peer is refused, and learns of it. */
  #refusal: WeirError | null = null
  #verdictSealer: RecordSealer | null = null
  #verdictOpener: RecordOpener | null = null

  constructor(handler: ConnectionHandler, options: EndOptions) {
    this.#handler = handler
    this.#options = options
    this.#memory = options.memory(handler.domain)
    this.receiveSource = new SealedReceives(this.#memory)
  }

  get domain(): DomainId {
    return this.#handler.domain ?? 0
  }

  /** As the application sees it. Null before there is one. */
  get connection(): SealedConnection | null {
    return this.#sealed
  }

  acceptData(): Uint8Array {
    return this.#handler.acceptData?.() ?? NOTHING
  }

  onCreated(now: Nanos, connection: Connection): void {
    this.#sealed = new SealedConnection(connection, this.#memory, this.receiveSource)
    this.#handler.onCreated?.(now, this.#sealed)
  }

  onEstablished(now: Nanos, connection: Connection): void {
    const { isActive, staticKey, psk } = this.#options
    this.#openReceives()
    const prologue = this.#prologue(connection)
    this.#noise = new NoiseHandshake({ isInitiator: isActive, staticKey, psk, prologue })
    if (isActive) this.#say(now, this.#noise.write(NOTHING))
  }

  onCompletion(now: Nanos, _connection: Connection, completion: Completion): void {
    if (completion.id >= ID) this.#onShaking(now, completion)
    else if (this.#sealed!.onCompletion(now, completion))
      this.#handler.onCompletion(now, this.#sealed!, completion)
  }

  onClosed(now: Nanos, _connection: Connection, error: WeirError | null): void {
    const sealed = this.#sealed
    sealed?.flush(completion => this.#handler.onCompletion(now, sealed, completion))
    this.#memory.release()
    const failure = this.#failure ?? error
    if (!this.#isDone) {
      this.#isDone = true
      this.#options.onShaken(this, failure)
    }
    this.#handler.onClosed(now, sealed ?? _connection, failure)
  }

  /** Ends a handshake that takes too long. */
  giveUp(now: Nanos, error: WeirError): void {
    this.#fail(now, error)
  }

  /** Covers what the connection manager's messages said, so that nobody on the path can have changed it. */
  #prologue({ agreed }: Connection): Buffer {
    const { port, privateData } = this.#options
    const said = Buffer.from(`${TITLE} ${port} ${privateData.length} ${agreed.length} `)
    return Buffer.concat([said, privateData, agreed])
  }

  #openReceives(): void {
    const handshake = Array.from({ length: RECEIVES }, (_, i) => ({ id: ID + i, length: MESSAGE_BYTES_MAX }))
    this.receiveSource.open(handshake)
  }

  #onShaking(now: Nanos, completion: Completion): void {
    const slot = completion.isReceive ? this.receiveSource.shift()?.slot : null
    if (completion.status !== WorkStatus.SUCCESS || this.#failure !== null) return
    if (!completion.isReceive) {
      // The peer has heard why.
      if (this.#refusal !== null && completion.id === VERDICT_ID) this.#fail(now, this.#refusal)
      return
    }
    const message = slot!.bytes.subarray(0, completion.byteLength)
    try {
      if (completion.opcode !== ReceiveOpcode.RECV) throw notAuthentic(this.#sealed!)
      if (this.#noise!.isFinished) this.#onVerdict(now, message)
      else this.#onMessage(now, message)
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      this.#fail(now, error)
    }
  }

  #onMessage(now: Nanos, message: Uint8Array): void {
    const noise = this.#noise!
    const { isActive, judge } = this.#options
    if (noise.read(message) === null) throw notAuthentic(this.#sealed!)
    if (isActive) {
      this.#peer = judge(noise.peerStatic, this.#sealed!)
      this.#say(now, noise.write(NOTHING))
      this.#makeKeys()
    } else if (noise.isFinished) this.#decide(now)
    else this.#say(now, noise.write(NOTHING))
  }

  /** The passive end: who connects is known now. */
  #decide(now: Nanos): void {
    try {
      this.#peer = this.#options.judge(this.#noise!.peerStatic, this.#sealed!)
    } catch (error) {
      if (!(error instanceof WeirError)) throw error
      this.#makeKeys()
      this.#sayVerdict(now, Verdict.REFUSED, error.message)
      this.#refusal = error
      return
    }
    this.#makeKeys()
    // The verdict is the first record. What the application sends follows it, and finds the receives of an application that has heard of it.
    this.#sayVerdict(now, Verdict.ACCEPTED, '')
    this.#done(now)
  }

  #onVerdict(now: Nanos, message: Uint8Array): void {
    const length = message.length - TAG_BYTES
    const about = aboutOf(RecordKind.VERDICT, 0, 0, length)
    const said = Buffer.alloc(Math.max(0, length))
    const isRight =
      length >= 1 &&
      this.#verdictOpener!.open(0, message.subarray(0, length), said, message.subarray(length), about)
    if (!isRight) throw notAuthentic(this.#sealed!)
    if (said[0] === Verdict.ACCEPTED) this.#done(now)
    else {
      const why = printable(said.toString('utf8', 1))
      throw new WeirError('WEIR_REJECTED', `${this.#sealed!.remote} refused the connection: ${why}`)
    }
  }

  #makeKeys(): void {
    const { send, receive } = this.#noise!.finish()
    const peer = this.#peer ?? { key: '', name: '' }
    const chunks = new ChunkSeal(
      peer,
      new RecordSealer(secretFor(send, 'chunks')),
      new RecordOpener(secretFor(receive, 'chunks')),
    )
    this.#verdictSealer = new RecordSealer(secretFor(send, 'verdict'))
    this.#verdictOpener = new RecordOpener(secretFor(receive, 'verdict'))
    this.#keys = {
      sealer: new RecordSealer(secretFor(send, 'messages')),
      opener: new RecordOpener(secretFor(receive, 'messages')),
      seal: chunks,
    }
  }

  #done(now: Nanos): void {
    this.#isDone = true
    this.#sealed!.open(this.#keys!)
    this.#options.onShaken(this, null)
    this.#handler.onEstablished(now, this.#sealed!)
  }

  /** @param message null: the peer's key is of small order */
  #say(now: Nanos, message: Uint8Array | null, id = MESSAGE_ID): void {
    if (message === null) throw notAuthentic(this.#sealed!)
    const { memory, inner } = this.#sealed!
    const slot = memory.take(MESSAGE_BYTES_MAX)
    slot.bytes.set(message)
    const { region, offset } = slot
    inner.postSend(now, { id, opcode: WorkOpcode.SEND, region, offset, length: message.length })
  }

  #sayVerdict(now: Nanos, verdict: number, reason: string): void {
    const text = Buffer.from(`${String.fromCharCode(verdict)}${reason}`).subarray(0, 1 + REASON_BYTES_MAX)
    const record = Buffer.alloc(text.length + TAG_BYTES)
    const about = aboutOf(RecordKind.VERDICT, 0, 0, text.length)
    this.#verdictSealer!.seal(text, record, record.subarray(text.length), about)
    this.#say(now, record, VERDICT_ID)
  }

  #fail(now: Nanos, error: WeirError): void {
    if (this.#failure !== null || this.#isDone) return
    this.#failure = error
    this.#sealed?.inner.disconnect(now, error)
  }
}

function notAuthentic({ remote }: Connection): WeirError {
  const text = `${remote} has another secret, or somebody on the path has changed what the two hosts said to each other: both need the same --key-file, or none`
  return new WeirError('WEIR_REJECTED', text)
}
