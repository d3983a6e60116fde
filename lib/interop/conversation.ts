/** Messages by SEND over a connection, and work that is waited for: what programs do that exchange a few words before, beside and after their data. */
import { WeirError } from '../errors.js'
import type { Host, HostRegion } from '../host/host.js'
import type { HostConnection } from '../host/host-connection.js'
import { Access, DEFAULT_DOMAIN } from '../qp/memory/memory.js'
import { Completion } from '../qp/queues/completion-queue.js'
import { type ReceiveWork, type SendWork, WorkOpcode } from '../qp/queues/work.js'
import { WorkStatus, workStatusName } from '../qp/queues/work-status.js'

/** Messages that may wait until they are asked for. A peer that sends more waits: receiver not ready. */
const MESSAGES_MAX = 8
/** Bytes of a message. A longer one ends the connection. */
const MESSAGE_BYTES_MAX = 256

/** Memory for the messages of one connection, in either direction. */
export class MessageMemory {
  readonly region: HostRegion
  /** To post before the peer can send. */
  readonly receives: readonly ReceiveWork[]

  private constructor(region: HostRegion) {
    this.region = region
    this.receives = Array.from({ length: MESSAGES_MAX }, (_, id) => ({
      id,
      region,
      offset: id * MESSAGE_BYTES_MAX,
      length: MESSAGE_BYTES_MAX,
    }))
  }

  /** @param domain of the connection */
  static async open(host: Host, domain = DEFAULT_DOMAIN): Promise<MessageMemory> {
    const bytes = new SharedArrayBuffer((MESSAGES_MAX + 1) * MESSAGE_BYTES_MAX)
    return new MessageMemory(await host.register(bytes, Access.LOCAL_WRITE, domain))
  }
}

/** One end of a connection. One call at a time waits. */
export class Conversation {
  readonly connection: HostConnection
  readonly #memory: MessageMemory
  readonly #completion = new Completion()
  /** Receives that hold a message, oldest first: their number and its length. */
  readonly #messages: { id: number; length: number }[] = []
  #workDone = 0

  /** @param memory its receives have been posted */
  constructor(connection: HostConnection, memory: MessageMemory) {
    this.connection = connection
    this.#memory = memory
  }

  /** The next message; null: the peer has left in order. Throws WEIR_CONNECTION_LOST. */
  async receive(): Promise<Uint8Array | null> {
    while (this.#messages.length === 0) if (!(await this.#step())) return await this.#end()
    const { id, length } = this.#messages.shift()!
    const at = id * MESSAGE_BYTES_MAX
    const bytes = this.#memory.region.bytes.slice(at, at + length)
    this.connection.postReceive(this.#memory.receives[id]!)
    return bytes
  }

  /** Throws WEIR_CONNECTION_LOST. */
  async send(bytes: Uint8Array): Promise<void> {
    const { region } = this.#memory
    const offset = MESSAGES_MAX * MESSAGE_BYTES_MAX
    region.bytes.set(bytes, offset)
    await this.work({ id: 0, opcode: WorkOpcode.SEND, region, offset, length: bytes.length })
  }

  /** Posts work, and waits until it has completed. Throws WEIR_CONNECTION_LOST. */
  async work(work: SendWork): Promise<void> {
    const before = this.#workDone
    const isPosted = this.connection.postSend(work)
    while (isPosted && this.#workDone === before) if (!(await this.#step())) break
    if (this.#workDone === before) throw (await this.connection.closed) ?? left(this.connection)
  }

  /** Takes a completion. False: the connection has ended, and there are no more. */
  async #step(): Promise<boolean> {
    const completion = this.#completion
    if (!(await this.connection.next(completion))) return false
    const { isReceive, id, byteLength, status } = completion
    // The end of the connection says why.
    if (status === WorkStatus.WR_FLUSH_ERR) return true
    if (status !== WorkStatus.SUCCESS) {
      void this.connection.disconnect()
      const text = `${this.connection.remote}: ${isReceive ? 'a message' : 'work'} failed with ${workStatusName(status)}`
      throw new WeirError('WEIR_CONNECTION_LOST', text)
    }
    if (isReceive) this.#messages.push({ id, length: byteLength })
    else this.#workDone++
    return true
  }

  async #end(): Promise<null> {
    const error = await this.connection.closed
    if (error !== null) throw error
    return null
  }
}

function left({ remote }: HostConnection): WeirError {
  return new WeirError('WEIR_CONNECTION_LOST', `${remote} has ended the connection amid the work`)
}
