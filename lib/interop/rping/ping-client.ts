/**
 * The connecting end of rping. A ping is four messages: this end says where its text is, the other one READs it and says so; this
 * end says where it wants the text back, the other one WRITEs it there and says so.
 */
import { WeirError } from '../../errors.js'
import type { Host, HostRegion } from '../../host/host.js'
import { Access } from '../../qp/memory/memory.js'
import type { Nanos } from '../../time/nanos.js'
import { Conversation, MessageMemory } from '../conversation.js'
import { infoOf } from './memory-info.js'

/** rping's port, in RDMA_PS_TCP. */
export const RPING_PORT = 7174
/** Printable characters of rping's text: A to z. */
const [FIRST, LAST] = [65, 122]

export class PingClient {
  readonly #host: Host
  readonly #talk: Conversation
  /** What is sent, and behind it what comes back. */
  readonly #region: HostRegion
  readonly #size: number
  #sent = 0

  /** Throws as `Host.connect` does. */
  static async connect(
    host: Host,
    remote: string,
    { port = RPING_PORT, size, signal }: { port?: number; size: number; signal?: AbortSignal },
  ): Promise<PingClient> {
    const memory = await MessageMemory.open(host)
    const bytes = new SharedArrayBuffer(2 * size)
    const region = await host.register(bytes, Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE)
    const receives = memory.receives
    const connection = await host.connect(remote, port, signal ? { receives, signal } : { receives })
    return new PingClient(host, new Conversation(connection, memory), region, size)
  }

  private constructor(host: Host, talk: Conversation, region: HostRegion, size: number) {
    this.#host = host
    this.#talk = talk
    this.#region = region
    this.#size = size
  }

  get connection() {
    return this.#talk.connection
  }

  /**
   * Sends a ping, and returns its round-trip time. Throws WEIR_CONNECTION_LOST, and with `verify` WEIR_DIGEST_MISMATCH for a text
   * that comes back changed.
   */
  async ping(verify: boolean): Promise<Nanos> {
    const size = this.#size
    const { bytes, address, key } = this.#region
    this.#fill(bytes.subarray(0, size))
    bytes.fill(0, size)
    const began = performance.now()
    await this.#tell({ address, key, length: size })
    await this.#tell({ address: address + size, key, length: size })
    const ns = Math.round((performance.now() - began) * 1e6)
    if (verify && Buffer.compare(bytes.subarray(0, size), bytes.subarray(size)) !== 0)
      throw new WeirError('WEIR_DIGEST_MISMATCH', `the text of ping ${this.#sent} has come back changed`)
    return ns
  }

  /** Resolves once the other end is gone, with the reason (WEIR_CONNECTION_LOST). */
  async lost(): Promise<Error> {
    const { closed, remote } = this.connection
    return (await closed) ?? new WeirError('WEIR_CONNECTION_LOST', `${remote} has ended the connection`)
  }

  /** Disconnects, and gives the memory back. */
  async close(): Promise<void> {
    await this.#talk.connection.disconnect()
    await this.#host.deregister(this.#region)
  }

  /** Says where memory is, and waits until the other end has used it. */
  async #tell(info: { address: number; key: number; length: number }): Promise<void> {
    await this.#talk.send(infoOf(info))
    if ((await this.#talk.receive()) !== null) return
    const { remote } = this.#talk.connection
    throw new WeirError(
      'WEIR_CONNECTION_LOST',
      `${remote} has ended the connection amid a ping: is its buffer smaller than ${this.#size} bytes (rping -S)?`,
    )
  }

  /** `rping -v` at the other end prints it. A zero ends it, as rping's own. */
  #fill(text: Uint8Array): void {
    const letters = LAST - FIRST + 1
    for (let i = 0; i < text.length; i++) text[i] = FIRST + ((this.#sent + i) % letters)
    text.set(Buffer.from(`rdma-ping-${this.#sent}: `).subarray(0, text.length))
    text[text.length - 1] = 0
    this.#sent++
  }
}
