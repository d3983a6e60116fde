import { WeirError } from '../errors.js'
import type { ConnectionStats } from '../nic/types.js'
import { checkedSend } from '../qp/queues/send-queue.js'
import type { SendWork } from '../qp/queues/work.js'
import { HostEnd } from './host-end.js'
import type { EstablishedConnection } from './messages.js'

/**
 * An application's end of a connection: a reliable connected queue pair and its completion queue. `Host.connect` and
 * `HostListener.accept` make it. `closed` resolves with null after an orderly disconnect by either side.
 */
export class HostConnection extends HostEnd {
  #about: EstablishedConnection | null = null

  /** Address of the other end. */
  get remote(): string {
    return this.#about!.remote
  }

  /** Payload bytes of a packet. */
  get pathMtu(): number {
    return this.#about!.pathMtu
  }

  /**
   * The private data that the peer sent at connect. Of a peer that is no Weir host: 56 bytes, or 196 of its answer, with zeros behind.
   */
  get peerPrivateData(): Uint8Array {
    return this.#about!.peerPrivateData
  }

  /**
   * Posts a work request: the operations of `WorkOpcode`, on memory that this host has registered, in up to four pieces. Returns
   * false when the queue is full (poll completions, then try again) or the connection has ended. Throws
   * WEIR_BAD_ARGUMENT for invalid work, for work outside its region, and for a region of another host or
   * protection domain.
   */
  postSend(work: SendWork): boolean {
    this.checkPieces('send work', work)
    checkedSend(this.qpn, work)
    return this.pushSend(work)
  }

  /**
   * Ends the connection in order. Work that has not completed completes with WR_FLUSH_ERR. Resolves when the
   * connection has ended.
   */
  async disconnect(): Promise<void> {
    if (!this.isClosed) await this.host.call('disconnect', { id: this.id })
    await this.closed
  }

  /** So that `await using` ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect()
  }

  /**
   * Current figures: rate, window, round-trip time, retransmissions. Throws WEIR_BAD_STATE when the
   * connection has ended.
   */
  async stats(): Promise<ConnectionStats> {
    if (this.isClosed) throw new WeirError('WEIR_BAD_STATE', 'the connection is closed')
    return (await this.host.call('stats', { id: this.id })) as ConnectionStats
  }

  override toJSON(): object {
    return { remote: this.#about?.remote ?? '', ...super.toJSON() }
  }

  /** Its host calls this. */
  onEstablished(about: EstablishedConnection): void {
    this.#about = about
    this.onReady(about)
  }
}
