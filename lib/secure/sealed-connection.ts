/**
 * A connection whose messages are records. SENDs are sealed as they are posted, and opened before their completion is shown; the application's own
 * memory holds plain bytes only. Messages count, in order, so none can be left out, repeated or moved. The immediate and the length of
 * a message are covered, and readable on the path.
 *
 * WRITEs and READs go through as they are: the application seals what they move by `seal`.
 */
import { assert, WeirError } from '../errors.js'
import type { Connection, ConnectionSeal, ConnectionStats } from '../nic/types.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import { ReceiveOpcode } from '../qp/queues/completion-queue.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from '../qp/queues/work.js'
import { WorkStatus } from '../qp/queues/work-status.js'
import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import type { BounceMemory, BounceSlot } from './bounce-memory.js'
import { aboutOf, RecordKind, type RecordOpener, type RecordSealer, TAG_BYTES } from './records.js'

/** Sealed messages that may wait for the send queue. */
const WAITING_MAX = 16
/** Marks a message with an immediate, beside its 32 bits. */
const HAS_IMMEDIATE = 2 ** 32

/** What a connection has once the handshake is done. */
export interface MessageKeys {
  sealer: RecordSealer
  opener: RecordOpener
  seal: ConnectionSeal
}

interface PostedReceive {
  work: ReceiveWork
  slot: BounceSlot
}

interface PostedSend {
  slot: BounceSlot | null
  signaled: boolean
}

export class SealedConnection implements Connection {
  readonly inner: Connection
  readonly memory: BounceMemory
  #keys: MessageKeys | null = null
  #received = 0
  #holdsReceives: ReceiveWork[] | null = []
  readonly #receives: PostedReceive[] = []
  readonly #sends: PostedSend[] = []
  readonly #waiting: SendWork[] = []
  #failed = false

  constructor(inner: Connection, memory: BounceMemory) {
    this.inner = inner
    this.memory = memory
  }

  get id(): number {
    return this.inner.id
  }

  get remote(): HostAddress {
    return this.inner.remote
  }

  get peerPrivateData(): Uint8Array {
    return this.inner.peerPrivateData
  }

  get agreed(): Uint8Array {
    return this.inner.agreed
  }

  get established(): boolean {
    return this.#keys !== null && this.inner.established
  }

  get pathMtu(): number {
    return this.inner.pathMtu
  }

  get stats(): ConnectionStats {
    return this.inner.stats
  }

  get seal(): ConnectionSeal | null {
    return this.#keys?.seal ?? null
  }

  /** The handshake has its receives: those of the application may follow. */
  passReceives(): void {
    const held = this.#holdsReceives ?? []
    this.#holdsReceives = null
    for (const work of held) this.postReceive(work)
  }

  /** The handshake is done. */
  open(keys: MessageKeys): void {
    this.#keys = keys
  }

  postSend(now: Nanos, work: SendWork): boolean {
    if (this.#failed || this.#keys === null) return false
    if (!isMessage(work.opcode)) {
      if (this.#waiting.length > 0 || !this.inner.postSend(now, work)) return false
      this.#sends.push({ slot: null, signaled: work.signaled !== false })
      return true
    }
    if (this.#waiting.length === WAITING_MAX) return false
    this.#waiting.push(this.#sealed(work))
    this.#flush(now)
    return true
  }

  postReceive(work: ReceiveWork): boolean {
    if (this.#holdsReceives !== null) {
      this.#holdsReceives.push({ ...work })
      return true
    }
    const slot = this.memory.take(work.length + TAG_BYTES)
    const { region, offset } = slot
    if (this.inner.postReceive({ id: work.id, region, offset, length: work.length + TAG_BYTES })) {
      // Whoever posts it may use the object again.
      this.#receives.push({ work: { ...work }, slot })
      return true
    }
    this.memory.give(slot)
    return false
  }

  disconnect(now: Nanos, error?: WeirError): void {
    this.inner.disconnect(now, error)
  }

  /** Takes a completion of the application's work, and makes it that of a plain connection. Returns false if it is not to be shown. */
  onCompletion(now: Nanos, completion: Completion): boolean {
    if (this.#failed) return false
    if (completion.isReceive) return this.#onReceived(now, completion)
    for (let sent = this.#sends.shift(); sent !== undefined; sent = this.#sends.shift()) {
      if (sent.slot !== null) this.memory.give(sent.slot)
      if (sent.signaled) break
    }
    if (isMessage(completion.opcode as WorkOpcode) && completion.status === WorkStatus.SUCCESS)
      completion.byteLength -= TAG_BYTES
    this.#flush(now)
    return true
  }

  #onReceived(now: Nanos, completion: Completion): boolean {
    const posted = this.#receives.shift()
    assert(posted !== undefined, 'a completion of no receive')
    const { work, slot } = posted
    const isMessage = completion.status === WorkStatus.SUCCESS && completion.opcode === ReceiveOpcode.RECV
    const isRight = !isMessage || this.#opens(completion, work, slot)
    this.memory.give(slot)
    if (isRight) return true
    this.#failed = true
    const text = `a message of ${this.remote} was not authentic: somebody on the path has changed it, or put another one in its place`
    this.disconnect(now, new WeirError('WEIR_CONNECTION_LOST', text))
    return false
  }

  #opens(completion: Completion, work: ReceiveWork, slot: BounceSlot): boolean {
    const length = completion.byteLength - TAG_BYTES
    if (length < 0 || length > work.length) return false
    const { hasImmediate, immediate } = completion
    const about = messageOf(hasImmediate ? immediate : null, length)
    const number = this.#received++
    const into = work.region.bytes!.subarray(work.offset, work.offset + length)
    const tag = slot.bytes.subarray(length, length + TAG_BYTES)
    completion.byteLength = length
    return this.#keys!.opener.open(number, slot.bytes.subarray(0, length), into, tag, about)
  }

  #sealed(work: SendWork): SendWork {
    const { opcode, region, offset, length, immediate = 0 } = work
    assert(work.more === undefined, 'a sealed message is one piece')
    const slot = this.memory.take(length + TAG_BYTES)
    const about = messageOf(opcode === WorkOpcode.SEND_WITH_IMM ? immediate : null, length)
    const tag = slot.bytes.subarray(length, length + TAG_BYTES)
    const from = region.bytes!.subarray(offset, offset + length)
    this.#keys!.sealer.seal(from, slot.bytes, tag, about)
    return { ...work, region: slot.region, offset: slot.offset, length: length + TAG_BYTES, slot } as SendWork
  }

  #flush(now: Nanos): void {
    while (this.#waiting.length > 0) {
      const work = this.#waiting[0]! as SendWork & { slot: BounceSlot }
      if (!this.inner.postSend(now, work)) return
      this.#waiting.shift()
      this.#sends.push({ slot: work.slot, signaled: work.signaled !== false })
    }
  }
}

/** SEND with invalidate is none: it does more than a message. */
function isMessage(opcode: WorkOpcode): boolean {
  return opcode === WorkOpcode.SEND || opcode === WorkOpcode.SEND_WITH_IMM
}

/** What both ends say of a message. @param immediate null: it has none */
function messageOf(immediate: number | null, length: number): Buffer {
  return aboutOf(RecordKind.MESSAGE, immediate === null ? 0 : HAS_IMMEDIATE + immediate, 0, length)
}
