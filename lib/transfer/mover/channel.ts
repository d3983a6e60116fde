/**
 * Messages over the SENDs of one connection: the memory they travel in, the receives that wait for them, and
 * a bounded backlog for when the send queue is full.
 *
 * Receives are posted again as soon as they are consumed, so that a peer that keeps to the protocol never
 * meets an empty receive queue. A WRITE with immediate consumes one too.
 */
import { WeirError } from '../../errors.js'
import type { Connection, Verbs } from '../../nic/types.js'
import { Access, type DomainId, type MemoryRegion } from '../../qp/memory/memory.js'
import { type Completion, ReceiveOpcode } from '../../qp/queues/completion-queue.js'
import { WorkOpcode } from '../../qp/queues/work.js'
import { WorkStatus } from '../../qp/queues/work-status.js'
import type { Nanos } from '../../time/nanos.js'
import { messageFault } from '../fault-points.js'
import {
  decodeMessage,
  encodeMessage,
  MESSAGE_BYTES_MAX,
  type TransferMessage,
} from '../protocol/messages.js'

/** Messages on their way at a time. */
const SEND_SLOTS = 8
/** Messages that wait for a send slot. */
const BACKLOG_MAX = 16
/** Work requests with greater ids are not the channel's. */
export const CHANNEL_ID_MAX = 0xffff

export class MessageChannel {
  readonly #verbs: Verbs
  readonly #receives: number
  readonly #domain: DomainId
  #region: MemoryRegion | null = null
  readonly #freeSends: number[] = []
  readonly #backlog: Uint8Array[] = []
  #connection: Connection | null = null
  #closed = false

  /**
   * @param receives receives to keep posted: messages and immediates that the peer may have on the way
   * @param domain of the connection
   */
  constructor(verbs: Verbs, receives: number, domain: DomainId) {
    this.#verbs = verbs
    this.#receives = receives
    this.#domain = domain
    for (let slot = 0; slot < SEND_SLOTS; slot++) this.#freeSends.push(slot)
  }

  /** True while a message waits or has not been acknowledged. */
  get busy(): boolean {
    return this.#backlog.length > 0 || this.#freeSends.length < SEND_SLOTS
  }

  /** True if a message would be sent at once, as far as this end is concerned. */
  get hasRoom(): boolean {
    return this.#backlog.length === 0 && this.#freeSends.length > 0
  }

  /**
   * Takes the memory and posts the receives: call from onCreated, or from onEstablished at the passive end, where a request that
   * is never confirmed costs no memory then. Throws WEIR_FULL.
   */
  attach(connection: Connection): void {
    this.#connection = connection
    const bytes = Buffer.alloc((this.#receives + SEND_SLOTS) * MESSAGE_BYTES_MAX)
    this.#region = this.#verbs.memory.register(bytes, bytes.length, Access.LOCAL_WRITE, this.#domain)
    for (let i = 0; i < this.#receives; i++) this.#postReceive(i)
  }

  /** Sends, now or as soon as there is room. Throws WEIR_FULL when too much waits. */
  send(now: Nanos, message: TransferMessage): void {
    if (this.#closed) return
    if (this.#backlog.length >= BACKLOG_MAX) {
      throw new WeirError('WEIR_FULL', `transfer: ${BACKLOG_MAX} messages wait to be sent already`)
    }
    messageFault('sends', message.body)
    this.#backlog.push(encodeMessage(message))
    this.flush(now)
  }

  /** Tries again what found the send queue full. */
  flush(now: Nanos): void {
    if (this.#closed || this.#region === null) return
    const region = this.#region
    while (this.#backlog.length > 0 && this.#freeSends.length > 0) {
      const slot = this.#freeSends.at(-1)!
      const message = this.#backlog[0]!
      const offset = (this.#receives + slot) * MESSAGE_BYTES_MAX
      region.bytes!.set(message, offset)
      const id = this.#receives + slot
      const work = { id, opcode: WorkOpcode.SEND, region, offset, length: message.length }
      if (!this.#connection!.postSend(now, work)) return
      this.#backlog.shift()
      this.#freeSends.pop()
    }
  }

  /**
   * Takes any completion of the connection; those of other work mean nothing to it. Returns the message that
   * came, or null. Throws WEIR_PROTOCOL when it is malformed.
   */
  onCompletion(now: Nanos, completion: Completion): TransferMessage | null {
    if (this.#closed || completion.status !== WorkStatus.SUCCESS) return null
    if (!completion.isReceive) {
      if (completion.id > CHANNEL_ID_MAX) return null
      this.#freeSends.push(completion.id - this.#receives)
      this.flush(now)
      return null
    }
    try {
      if (completion.opcode !== ReceiveOpcode.RECV) return null
      const offset = completion.id * MESSAGE_BYTES_MAX
      const message = decodeMessage(this.#region!.bytes!.subarray(offset, offset + completion.byteLength))
      messageFault('takes', message.body)
      return message
    } finally {
      this.#postReceive(completion.id)
    }
  }

  /** Gives the memory back. Call when the connection has ended. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#backlog.length = 0
    if (this.#region !== null) this.#verbs.memory.deregister(this.#region)
  }

  #postReceive(id: number): void {
    const offset = id * MESSAGE_BYTES_MAX
    const posted = this.#connection!.postReceive({
      id,
      region: this.#region!,
      offset,
      length: MESSAGE_BYTES_MAX,
    })
    if (!posted)
      throw new WeirError('WEIR_FULL', `transfer: the receive queue has less than ${this.#receives} places`)
  }
}
