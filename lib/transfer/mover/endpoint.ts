/**
 * What a session has of this host: a connection, the channel for messages over it, and a ring that no other connection reaches.
 *
 * The peer may use the ring for as long as the connection lives. So nobody calls `release` before its end.
 */
import type { Connection, ConnectionSeal, Verbs } from '../../nic/types.js'
import type { DomainId, MemoryRegion } from '../../qp/memory/memory.js'
import type { Nanos } from '../../time/nanos.js'
import type { SenderFigures, TransferMessage } from '../protocol/messages.js'
import { MessageChannel } from './channel.js'
import type { RealTime } from './real-time.js'
import type { RingPool } from './ring-pool.js'

export interface SessionConfig {
  verbs: Verbs
  time: RealTime
  rings: RingPool
}

export class TransferEndpoint {
  readonly domain: DomainId
  readonly channel: MessageChannel
  /** Null before there is one; stays set after its end. */
  connection: Connection | null = null
  /** The connection has ended, or could not be begun. */
  closed = false
  readonly #config: SessionConfig
  readonly #being: string
  #ring: Buffer | null = null
  #region: MemoryRegion | null = null

  /**
   * @param receives receives to keep posted
   * @param being what a ring is for, for messages: others are being 'sent'
   */
  constructor(config: SessionConfig, receives: number, being: string) {
    const { verbs } = config
    this.#config = config
    this.#being = being
    this.domain = verbs.memory.newDomain()
    this.channel = new MessageChannel(verbs, receives, this.domain)
  }

  /** What seals chunks for the peer; null: they move in the clear. */
  get seal(): ConnectionSeal | null {
    return this.connection?.seal ?? null
  }

  /** Bytes of the seal of each chunk. */
  get sealBytes(): number {
    return this.seal?.trailerBytes ?? 0
  }

  /** Who is at the other end of a sealed connection; '' in the clear. */
  get sealedWith(): string {
    return this.seal === null ? '' : this.seal.peer.name || 'shared secret'
  }

  get established(): boolean {
    return this.connection?.established ?? false
  }

  /** State of the path as this end's transport sees it; null before there is a connection. */
  get figures(): SenderFigures | null {
    return this.connection?.stats ?? null
  }

  /** Payload that the peer's transport has acknowledged, messages included. */
  get ackedBytes(): number {
    return this.connection?.stats.ackedBytes ?? 0
  }

  now(): Nanos {
    return this.#config.time.now()
  }

  /** Call it after every command that did not come from a handler of the NIC. */
  wake(): void {
    this.#config.time.wake()
  }

  /** Sends a message from outside of the NIC's handlers; none once the connection has ended. Throws WEIR_FULL. */
  say(message: TransferMessage): void {
    if (this.closed) return
    this.channel.send(this.now(), message)
    this.wake()
  }

  /** Size of the ring, also of one that has not been taken. */
  get ringBytes(): number {
    return this.#config.rings.bytes
  }

  get holdsRing(): boolean {
    return this.#ring !== null
  }

  /** The ring, taken from the pool when first needed. Throws BUSY (WEIR_FULL) when none is free. */
  get ring(): Buffer {
    this.#ring ??= this.#config.rings.take(this.#being)
    return this.#ring
  }

  /**
   * The ring as memory of the NIC; what `access` the first call gives it stays. Throws WEIR_FULL, and then the pool has the ring
   * again.
   */
  registerRing(access: number): MemoryRegion {
    if (this.#region) return this.#region
    const { ring } = this
    const { verbs, rings } = this.#config
    try {
      this.#region = verbs.memory.register(ring, ring.length, access, this.domain)
      return this.#region
    } catch (error) {
      this.#ring = null
      rings.give(ring)
      throw error
    }
  }

  /** Gives all memory back. Call once, when the connection has ended and nothing touches the ring any more. */
  release(): void {
    const { verbs, rings } = this.#config
    if (this.#region) verbs.memory.deregister(this.#region)
    this.channel.close()
    if (this.#ring) rings.give(this.#ring)
    this.#ring = null
  }
}
