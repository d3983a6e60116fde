import type { HostAddress } from '../../wire/net/address.js'
import { type KeepAlive, PeerProcess } from './keep-alive.js'

/** The Weir processes to which there are connections: one of an address has one UDP port. */
export class PeerProcesses {
  readonly #byName = new Map<string, PeerProcess>()

  /** A connection has been established. @param udpPort of the peer, 0 = this host's */
  join(connection: KeepAlive, remote: HostAddress, udpPort: number): void {
    const name = `${remote} ${udpPort}`
    const process = this.#byName.get(name) ?? new PeerProcess(name)
    this.#byName.set(name, process)
    process.add(connection)
    connection.joined(process)
  }

  /** The connection is over. Returns the one that asks for all of its process from now on, if that is another one than before. */
  leave(connection: KeepAlive): KeepAlive | null {
    const { process } = connection
    if (process === null) return null
    const isNew = process.remove(connection)
    if (process.oldest === null) this.#byName.delete(process.name)
    return isNew ? process.oldest : null
  }
}
