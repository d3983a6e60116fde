/**
 * Messages on one connection, one at a time in each direction. Each end has one message in flight at most,
 * and memory for one in each direction. A peer that sends before it has been answered waits for a receive
 * (RNR NAK) and uses no memory.
 */
import { WeirError } from '../errors.js'
import type { Connection, Verbs } from '../nic/types.js'
import { Access, type DomainId, type MemoryRegion } from '../qp/memory/memory.js'
import type { Completion } from '../qp/queues/completion-queue.js'
import { WorkOpcode } from '../qp/queues/work.js'
import { WorkStatus } from '../qp/queues/work-status.js'
import type { Nanos } from '../time/nanos.js'
import { decodeMessage, encodeMessage, MESSAGE_BYTES_MAX, type PerfMessage } from './messages.js'

const RECEIVE_AT = 0
const SEND_AT = MESSAGE_BYTES_MAX

export class ControlChannel {
  readonly #verbs: Verbs
  readonly #region: MemoryRegion
  #connection: Connection | null = null
  #sending = false
  #next: Uint8Array | null = null
  #closed = false

  /** @param domain protection domain of the connection */
  constructor(verbs: Verbs, domain: DomainId) {
    this.#verbs = verbs
    const bytes = Buffer.alloc(2 * MESSAGE_BYTES_MAX)
    this.#region = verbs.memory.register(bytes, bytes.length, Access.LOCAL_WRITE, domain)
  }

  /** Posts the receive. Call it from onCreated. */
  attach(connection: Connection): void {
    this.#connection = connection
    this.#postReceive()
  }

  /**
   * Sends the message at once, or when the last one has been acknowledged. Throws WEIR_PROTOCOL if another
   * one waits already.
   */
  send(now: Nanos, message: PerfMessage): void {
    if (this.#closed) return
    if (this.#next !== null) throw new WeirError('WEIR_PROTOCOL', 'perf: out of turn')
    this.#next = encodeMessage(message)
    this.#flush(now)
  }

  /**
   * Handles every completion of the connection. Returns the message that arrived, or null. Throws
   * WEIR_PROTOCOL.
   */
  onCompletion(now: Nanos, completion: Completion): PerfMessage | null {
    if (this.#closed || completion.status !== WorkStatus.SUCCESS) return null
    if (!completion.isReceive) {
      this.#sending = false
      this.#flush(now)
      return null
    }
    const bytes = this.#region.bytes!.subarray(RECEIVE_AT, RECEIVE_AT + completion.byteLength)
    const message = decodeMessage(bytes)
    this.#postReceive()
    return message
  }

  /** Releases the memory. Call it when the connection has ended. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#verbs.memory.deregister(this.#region)
  }

  #flush(now: Nanos): void {
    if (this.#sending || this.#next === null) return
    this.#region.bytes!.set(this.#next, SEND_AT)
    const { length } = this.#next
    const work = { id: 0, opcode: WorkOpcode.SEND, region: this.#region, offset: SEND_AT, length }
    if (!this.#connection!.postSend(now, work)) return
    this.#next = null
    this.#sending = true
  }

  #postReceive(): void {
    this.#connection!.postReceive({
      id: 0,
      region: this.#region,
      offset: RECEIVE_AT,
      length: MESSAGE_BYTES_MAX,
    })
  }
}
