/**
 * Transfers to which their peers may add connections, at the end that was asked. The peer gets a key over the first connection, and says it
 * in the request for each further one: nobody else can.
 */
import { randomBytes } from 'node:crypto'
import { WeirError } from '../../errors.js'
import type { ConnectionHandler, ConnectionRequest } from '../../nic/types.js'
import { LANE_KEY_BYTES, readLaneData } from '../protocol/messages.js'
import type { LaneReceives } from './lane.js'
import type { Lanes } from './lanes.js'

interface Joinable {
  lanes: Lanes
  /** Address of the peer. */
  remote: string
  receives: LaneReceives | null
}

export class LaneKeys {
  readonly #joinable = new Map<string, Joinable>()

  /** From now on the peer may add connections. Returns the key for it. */
  add(joinable: Joinable): Uint8Array {
    const key = randomBytes(LANE_KEY_BYTES)
    this.#joinable.set(key.toString('hex'), joinable)
    return key
  }

  remove(key: Uint8Array): void {
    this.#joinable.delete(Buffer.from(key).toString('hex'))
  }

  /** A further connection. Null: it is the first of a transfer. Throws WEIR_REJECTED. */
  join({ privateData, remote }: ConnectionRequest): ConnectionHandler | null {
    const data = readLaneData(privateData)
    if (data === null) return null
    const found = this.#joinable.get(data.key)
    if (!found || found.remote !== remote.toString())
      throw new WeirError('WEIR_REJECTED', 'there is no transfer that this stream is of')
    return found.lanes.add(data.number, found.receives)
  }
}
