import type { InspectOptions, inspect } from 'node:util'
import type { QueuePairPeer, UnconnectedQueuePair } from '../nic/types.js'
import { INSPECT, shown } from '../shown.js'
import type { HostConnection } from './host-connection.js'
import type { HostUnreliable } from './host-unreliable.js'

/** What a queue pair needs from its host. */
interface HostOfQueuePair {
  connect(peer: QueuePairPeer): Promise<void>
  close(): Promise<void>
}

/**
 * A queue pair that two programs connect by means of their own, as ibv_rc_pingpong does by TCP: each tells the other its address, QPN and
 * first PSN. As `ibv_modify_qp` to INIT; `connect` moves it to RTR and RTS.
 */
export class HostQueuePair<End extends HostConnection | HostUnreliable = HostConnection> {
  /** Number of the queue pair, 24 bits. */
  readonly qpn: number
  /** First PSN that this end sends with: the other end expects it. */
  readonly psn: number
  /** Posts receives before `connect`, and everything after it. */
  readonly connection: End
  readonly #host: HostOfQueuePair

  /** `Host.createQueuePair` calls this. */
  constructor({ qpn, psn }: UnconnectedQueuePair, connection: End, host: HostOfQueuePair) {
    this.qpn = qpn
    this.psn = psn
    this.connection = connection
    this.#host = host
  }

  /**
   * The other end has this QPN, and begins with this PSN. From now on both may send. Throws WEIR_BAD_STATE the second time, and
   * WEIR_BAD_ARGUMENT for numbers of more than 24 bits.
   */
  async connect(peer: QueuePairPeer): Promise<End> {
    await this.#host.connect(peer)
    return this.connection
  }

  /** What console.log and JSON.stringify show. */
  toJSON(): object {
    return { qpn: this.qpn, psn: this.psn, isClosed: this.connection.isClosed }
  }

  [INSPECT](_depth: number, options: InspectOptions, inspectOf: typeof inspect): string {
    return shown(this, options, inspectOf)
  }

  /** Ends the queue pair, connected or not, as `connection.disconnect` does. Nobody tells the other end. */
  async close(): Promise<void> {
    await this.#host.close()
  }

  /** So that `await using` ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
