/**
 * What a session has of this host: a connection, the channel for messages over it, and a ring that no other connection reaches.
 *
 * The peer may use the ring for as long as the connection lives. So nobody calls `release` before its end.
 */
import { WeirError } from '../../errors.js'
import type { Connection, ConnectionHandler, ConnectionSeal, Verbs } from '../../nic/types.js'
import type { DomainId, MemoryRegion } from '../../qp/memory/memory.js'
import type { Nanos } from '../../time/nanos.js'
import { LANE_KEY_BYTES, laneData, type SenderFigures, type TransferMessage } from '../protocol/messages.js'
import { MessageChannel } from './channel.js'
import type { LaneReceives, LaneUser } from './lane.js'
import type { LaneKeys } from './lane-keys.js'
import { Lanes } from './lanes.js'
import type { RealTime } from './real-time.js'
import type { RingPool } from './ring-pool.js'

export interface SessionConfig {
  verbs: Verbs
  time: RealTime
  rings: RingPool
  /** Where peers may add connections. Default: they may not. */
  laneKeys?: LaneKeys
}

export class TransferEndpoint {
  readonly domain: DomainId
  readonly channel: MessageChannel
  /** Connections that carry chunks: the one of the messages, and further ones. */
  readonly lanes: Lanes
  /** The connection of the messages has ended, or could not be begun. */
  closed = false
  /** Begins a further connection to the peer. Null: this end does not connect. */
  dial: ((privateData: Uint8Array, handler: ConnectionHandler) => Connection) | null = null
  readonly #config: SessionConfig
  readonly #being: string
  #ring: Buffer | null = null
  #region: MemoryRegion | null = null
  #laneKey: Uint8Array | null = null

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
    this.lanes = new Lanes(this.domain)
  }

  /** The connection of the messages. Null before there is one; stays set after its end. */
  get connection(): Connection | null {
    return this.lanes.main.connection
  }

  set connection(connection: Connection | null) {
    this.lanes.main.connection = connection
  }

  /** All connections have ended: nothing touches the ring any more. */
  get hasEnded(): boolean {
    return this.closed && this.lanes.haveEnded
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
    return this.connection && this.lanes.sum(this.connection.stats)
  }

  /** Payload that the peer's transport has acknowledged, messages included. */
  get ackedBytes(): number {
    return this.connection ? this.lanes.sum(this.connection.stats).ackedBytes : 0
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

  /** From now on the peer may add connections. Returns the key that it has to say for that; empty: it may not. */
  admitLanes(receives: LaneReceives | null): Uint8Array {
    const { laneKeys } = this.#config
    if (!laneKeys || this.closed) return new Uint8Array()
    this.#laneKey ??= laneKeys.add({
      lanes: this.lanes,
      remote: this.connection!.remote.toString(),
      receives,
    })
    return this.#laneKey
  }

  /** Begins further connections, so that there are `streams`. A transfer goes on without those that come to nothing. */
  openLanes(streams: number, way: number, key: Uint8Array | undefined): void {
    if (key?.length !== LANE_KEY_BYTES) return
    for (let number = 1; number < streams; number++) {
      const lane = this.lanes.add(number, null)
      try {
        lane.connection = this.dial!(laneData(way, number, key), lane)
      } catch (error) {
        if (!(error instanceof WeirError)) throw error
        this.lanes.remove(lane)
        break
      }
    }
    this.wake()
  }

  /** Who hears of the further connections. */
  set laneUser(user: LaneUser) {
    this.lanes.user = user
  }

  /** Ends all connections. */
  disconnect(now: Nanos, why?: WeirError): void {
    this.#withdrawLaneKey()
    if (!this.closed) this.connection?.disconnect(now, why)
    this.lanes.leave(now)
  }

  #withdrawLaneKey(): void {
    if (this.#laneKey) this.#config.laneKeys!.remove(this.#laneKey)
  }

  /** Gives all memory back. Call once, when the connection has ended and nothing touches the ring any more. */
  release(): void {
    const { verbs, rings } = this.#config
    this.#withdrawLaneKey()
    if (this.#region) verbs.memory.deregister(this.#region)
    this.channel.close()
    if (this.#ring) rings.give(this.#ring)
    this.#ring = null
  }
}
