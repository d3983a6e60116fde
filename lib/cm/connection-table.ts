import { IntMap } from '../int-map.js'
import { DeadlineHeap } from '../time/deadline-heap.js'
import { type Nanos, NEVER } from '../time/nanos.js'
import type { HostAddress } from '../wire/net/address.js'
import { CmConnection, type Ends } from './connection.js'
import type { Duties } from './duties.js'
import { PeerIndex } from './peer-index.js'

/**
 * All connections of a manager, by the names that messages use: the local communication id, the peer's GUID
 * with its communication id (repeated REQs, timeouts) or with its QPN (stale connections), the local QPN
 * (data).
 *
 * A GUID counts only together with the address that it came from, so that a host that claims another's GUID
 * finds nothing.
 */
export class ConnectionTable {
  readonly capacity: number
  readonly #slots: (CmConnection | null)[] = []
  readonly #free: number[] = []
  readonly #deadlines = new DeadlineHeap()
  readonly #duties: Duties
  readonly #byId = new IntMap<CmConnection>()
  /** Peers that there are connections with, by address and GUID. */
  readonly #peers = new Map<string, PeerIndex<CmConnection>>()
  readonly #byQpn = new IntMap<CmConnection>()
  /** In the order in which they entered timewait. */
  readonly #timewait = new Set<CmConnection>()

  /** The peer that was named last, and its name: mostly it is the next one too. */
  #named: { remote: HostAddress; caGuid: bigint; name: string } | null = null

  /** @param duties count its connections with a deadline too */
  constructor(capacity: number, duties: Duties) {
    this.capacity = capacity
    this.#duties = duties
  }

  get size(): number {
    return this.#byId.size
  }

  get timewaitCount(): number {
    return this.#timewait.size
  }

  get full(): boolean {
    return this.#byId.size >= this.capacity
  }

  /** Adds a connection. The table must have room, and the id must be unused. */
  add(id: number, passive: boolean, ends: Ends): CmConnection {
    const slot = this.#free.pop() ?? this.#newSlot()
    const connection = new CmConnection(slot, id, passive, ends)
    this.#slots[slot] = connection
    this.#byId.set(id, connection)
    return connection
  }

  #newSlot(): number {
    this.#slots.push(null)
    return this.#deadlines.add()
  }

  remove(connection: CmConnection): void {
    this.#byId.deleteIf(connection.id, connection)
    this.#forgetQueuePairs(connection)
    const { index } = connection
    if (index !== null) {
      index.byId.deleteIf(connection.remoteId, connection)
      if (index.isEmpty && this.#peers.get(index.name) === index) this.#peers.delete(index.name)
    }
    this.#timewait.delete(connection)
    this.setDeadline(connection, NEVER)
    this.#slots[connection.slot] = null
    this.#free.push(connection.slot)
  }

  /** Adds the connection to the indices by peer, after `remoteId` and `peer` are set. */
  addRemote(connection: CmConnection): void {
    const peer = connection.peer!
    const name = this.#nameOf(connection.remote, peer.caGuid)
    let index = this.#peers.get(name)
    if (index === undefined) {
      index = new PeerIndex<CmConnection>(name)
      this.#peers.set(name, index)
    }
    connection.index = index
    index.byId.set(connection.remoteId, connection)
    index.byQpn.set(peer.qpn, connection)
  }

  addQpn(connection: CmConnection, qpn: number): void {
    connection.qpn = qpn
    this.#byQpn.set(qpn, connection)
  }

  /**
   * In timewait the queue pair does not identify the connection any more, so that the peer may connect the
   * same one again.
   */
  enterTimewait(connection: CmConnection): void {
    this.#forgetQueuePairs(connection)
    this.#timewait.add(connection)
  }

  #forgetQueuePairs(connection: CmConnection): void {
    this.#byQpn.deleteIf(connection.qpn, connection)
    connection.index?.byQpn.deleteIf(connection.peer!.qpn, connection)
  }

  oldestInTimewait(): CmConnection | null {
    for (const connection of this.#timewait) return connection
    return null
  }

  byId(id: number): CmConnection | null {
    return this.#byId.get(id)
  }

  /** Finds a connection by both communication ids. `remoteId` 0 finds one whose peer is not known yet. */
  byIds(id: number, remoteId: number): CmConnection | null {
    const connection = this.#byId.get(id)
    return connection && connection.remoteId === remoteId ? connection : null
  }

  byRemoteId(remote: HostAddress, caGuid: bigint, remoteId: number): CmConnection | null {
    return this.#peers.get(this.#nameOf(remote, caGuid))?.byId.get(remoteId) ?? null
  }

  byRemoteQpn(remote: HostAddress, caGuid: bigint, qpn: number): CmConnection | null {
    return this.#peers.get(this.#nameOf(remote, caGuid))?.byQpn.get(qpn) ?? null
  }

  #nameOf(remote: HostAddress, caGuid: bigint): string {
    const last = this.#named
    if (last?.remote === remote && last.caGuid === caGuid) return last.name
    const name = nameOf(remote, caGuid)
    this.#named = { remote, caGuid, name }
    return name
  }

  byQpn(qpn: number): CmConnection | null {
    return this.#byQpn.get(qpn)
  }

  setDeadline({ slot }: CmConnection, time: Nanos): void {
    if (this.#deadlines.timeOf(slot) !== NEVER) this.#duties.count--
    if (time !== NEVER) this.#duties.count++
    this.#deadlines.set(slot, time)
  }

  nextDeadline(): Nanos {
    return this.#deadlines.firstTime()
  }

  /** Returns the connection with the earliest deadline that is not after `now`. */
  due(now: Nanos): CmConnection | null {
    return this.#deadlines.firstTime() <= now ? this.#slots[this.#deadlines.first()]! : null
  }
}

function nameOf(remote: HostAddress, caGuid: bigint): string {
  return `${remote} ${caGuid.toString(16)}`
}
