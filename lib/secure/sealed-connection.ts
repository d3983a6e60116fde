/**
 * A connection whose messages are records. A SEND is sealed as the queue pair takes it, and opened before its completion is shown; the
 * application's own memory holds plain bytes only. Messages count, in order, so none can be left out, repeated or moved. The immediate, the
 * key that a message invalidates and its length are covered, and readable on the path.
 *
 * WRITEs and READs go through as they are: the application seals what they move by `seal`.
 */
import { assert, WeirError } from '../errors.js'
import type { Connection, ConnectionSeal, ConnectionStats } from '../nic/types.js'
import { Access, type MemoryRegion } from '../qp/memory/memory.js'
import { gather, scatter } from '../qp/memory/memory-list.js'
import { Completion, ReceiveOpcode } from '../qp/queues/completion-queue.js'
import { checkedReceive } from '../qp/queues/receive-queue.js'
import { checkedSend } from '../qp/queues/send-queue.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from '../qp/queues/work.js'
import { WorkStatus } from '../qp/queues/work-status.js'
import type { Nanos } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import type { BounceMemory, BounceSlot } from './bounce-memory.js'
import { aboutOf, RecordKind, type RecordOpener, type RecordSealer, TAG_BYTES } from './records.js'
import type { SealedReceives } from './sealed-receives.js'

/** Work that may wait for the queue pair. */
const WAITING_MAX = 16
/** Records are sealed so far ahead of what has been sent, or one message: they use few slots, which stay in the cache. */
const AHEAD_BYTES = 1 << 20
/** Marks a message with an immediate or a key to invalidate, beside its 32 bits. */
const HAS_WORD = 2 ** 32

/** What a connection has once the handshake is done. */
export interface MessageKeys {
  sealer: RecordSealer
  opener: RecordOpener
  seal: ConnectionSeal
}

/** What the queue pair has taken. */
interface PostedSend {
  readonly work: SendWork
  readonly slot: BounceSlot | null
  /** Bytes of its requests on the wire. */
  readonly bytes: number
}

export class SealedConnection implements Connection {
  readonly inner: Connection
  readonly memory: BounceMemory
  readonly receives: SealedReceives
  #keys: MessageKeys | null = null
  #received = 0
  readonly #sends: PostedSend[] = []
  #sendBytes = 0
  readonly #waiting: SendWork[] = []
  /** The first that waits, once it is sealed. */
  #next: { posted: PostedSend; sealed: SendWork } | null = null
  #hasEnded = false

  constructor(inner: Connection, memory: BounceMemory, receives: SealedReceives) {
    this.inner = inner
    this.memory = memory
    this.receives = receives
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

  /** The handshake is done. */
  open(keys: MessageKeys): void {
    this.#keys = keys
  }

  postSend(now: Nanos, work: SendWork): boolean {
    if (this.#hasEnded || this.#keys === null || this.#waiting.length === WAITING_MAX) return false
    // Whoever posts it may use the object again.
    this.#waiting.push({ ...checkedSend(this.id, work) })
    this.#flush(now)
    if (this.#hasEnded) this.#waiting.pop()
    return !this.#hasEnded
  }

  postReceive(work: ReceiveWork): boolean {
    return !this.#hasEnded && this.receives.post({ ...checkedReceive(this.id, work) })
  }

  disconnect(now: Nanos, error?: WeirError): void {
    this.inner.disconnect(now, error)
  }

  /** Takes a completion of the application's work, and makes it that of a plain connection. Returns false if it is not to be shown. */
  onCompletion(now: Nanos, completion: Completion): boolean {
    if (this.#hasEnded) return false
    return completion.isReceive ? this.#onReceived(now, completion) : this.#onSent(now, completion)
  }

  /** The connection has ended. What has not completed is flushed, oldest first. */
  flush(show: (completion: Completion) => void): void {
    this.#hasEnded = true
    const sends = [...this.#sends.map(({ work }) => work), ...this.#waiting]
    this.#sends.length = 0
    this.#waiting.length = 0
    this.#next = null
    const completion = new Completion()
    completion.qpn = this.id
    completion.status = WorkStatus.WR_FLUSH_ERR
    for (const { id, opcode } of sends) show(Object.assign(completion, { id, opcode }))
    completion.isReceive = true
    completion.opcode = ReceiveOpcode.RECV
    for (const { id } of this.receives.flush()) show(Object.assign(completion, { id }))
  }

  /** All work of the queue pair leaves a completion, so each is the oldest one's. */
  #onSent(now: Nanos, completion: Completion): boolean {
    const sent = this.#sends.shift()
    assert(sent !== undefined, 'a completion of no send')
    const { work, slot, bytes } = sent
    this.#sendBytes -= bytes
    if (slot !== null) this.memory.give(slot)
    this.#flush(now)
    if (completion.status !== WorkStatus.SUCCESS) return true
    if (slot !== null) completion.byteLength -= TAG_BYTES
    return work.signaled !== false
  }

  #onReceived(now: Nanos, completion: Completion): boolean {
    const receive = this.receives.shift()
    assert(receive !== undefined && receive.work !== null, 'a completion of no receive')
    const { work, slot } = receive
    const isMessage = completion.status === WorkStatus.SUCCESS && completion.opcode === ReceiveOpcode.RECV
    // A message that comes before the handshake is done is nobody's.
    const isRight = !isMessage || (this.#keys !== null && this.#opens(completion, work, slot!, this.#keys))
    if (slot !== null) this.memory.give(slot)
    if (isRight) return true
    const text = `a message of ${this.remote} was not authentic: somebody on the path has changed it, or put another one in its place`
    this.#fail(now, new WeirError('WEIR_CONNECTION_LOST', text))
    return false
  }

  #fail(now: Nanos, error: WeirError): void {
    this.#hasEnded = true
    this.disconnect(now, error)
  }

  #opens(completion: Completion, work: ReceiveWork, slot: BounceSlot, { opener }: MessageKeys): boolean {
    const { region, offset, length: most } = work
    const length = completion.byteLength - TAG_BYTES
    if (length < 0 || length > most) return false
    const { hasImmediate, immediate, invalidatedKey } = completion
    const about = messageOf(hasImmediate ? immediate : null, invalidatedKey || null, length)
    const record = slot.bytes.subarray(0, length)
    const tag = slot.bytes.subarray(length, length + TAG_BYTES)
    // Its own memory: what was deregistered meanwhile is not written, and a list is no single piece.
    const isPlain = region.bytes !== null && region.allows(Access.LOCAL_WRITE)
    const into = isPlain ? region.bytes.subarray(offset, offset + length) : record
    completion.byteLength = length
    if (!opener.open(this.#received++, record, into, tag, about)) return false
    if (!isPlain) passOn(completion, region, record)
    return true
  }

  #flush(now: Nanos): void {
    try {
      while (this.#waiting.length > 0 && this.#takesMore) if (!this.#passFirst(now)) return
    } catch (error) {
      // The host has no place for more memory.
      if (!(error instanceof WeirError)) throw error
      this.#fail(now, error)
    }
  }

  /** Gives the queue pair the first that waits; false if it is full. */
  #passFirst(now: Nanos): boolean {
    this.#next ??= this.#prepared(this.#waiting[0]!)
    const { posted, sealed } = this.#next
    if (!this.inner.postSend(now, sealed)) return false
    this.#next = null
    this.#waiting.shift()
    this.#sends.push(posted)
    this.#sendBytes += posted.bytes
    return true
  }

  /** The queue pair has little that it has not sent. */
  get #takesMore(): boolean {
    return this.#sends.length < 2 || this.#sendBytes - this.inner.stats.inFlightBytes < AHEAD_BYTES
  }

  #prepared(work: SendWork): { posted: PostedSend; sealed: SendWork } {
    const { opcode, region, offset, length, immediate = 0, invalidateKey = 0 } = work
    // The queue pair fails work whose memory may no longer be used.
    if (!isMessage(opcode) || !region.allows(0)) {
      const bytes = opcode < WorkOpcode.RDMA_READ ? length : 0
      return { posted: { work, slot: null, bytes }, sealed: { ...work, signaled: true } }
    }
    const slot = this.memory.take(length + TAG_BYTES)
    const record = slot.bytes.subarray(0, length)
    const about = messageOf(
      opcode === WorkOpcode.SEND_WITH_IMM ? immediate : null,
      opcode === WorkOpcode.SEND_WITH_INV ? invalidateKey : null,
      length,
    )
    if (region.pieces !== null) gather(region, offset, length, record, 0)
    const from = region.bytes?.subarray(offset, offset + length) ?? record
    this.#keys!.sealer.seal(from, record, slot.bytes.subarray(length, length + TAG_BYTES), about)
    const bytes = length + TAG_BYTES
    const sealed = { ...work, region: slot.region, offset: slot.offset, length: bytes, signaled: true }
    return { posted: { work, slot, bytes }, sealed }
  }
}

function isMessage(opcode: WorkOpcode): boolean {
  return opcode <= WorkOpcode.SEND_WITH_INV
}

/** What both ends say of a message. @param immediate and @param invalidates null: it has none */
function messageOf(immediate: number | null, invalidates: number | null, length: number): Buffer {
  return aboutOf(RecordKind.MESSAGE, marked(immediate), marked(invalidates), length)
}

function marked(word: number | null): number {
  return word === null ? 0 : HAS_WORD + word
}

/** Into the pieces of a list; memory that was deregistered meanwhile stays as it is. */
function passOn(completion: Completion, region: MemoryRegion, bytes: Uint8Array): void {
  if (region.pieces !== null && region.allows(Access.LOCAL_WRITE)) scatter(region, 0, bytes)
  else completion.status = WorkStatus.LOC_PROT_ERR
}
